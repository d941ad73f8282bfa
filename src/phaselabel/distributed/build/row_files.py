"""Rows of a chunk, dense or sparse, in; the same rows in files of the job, and back, out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from phaselabel.distributed.folder import Folder

#: The arrays of sparse rows, each in a file of its own.
PARTS = ("data", "indices", "indptr", "shape")


def save_rows(folder: Folder, name: str, rows: Any) -> None:
    """Write rows; sparse ones as the arrays they consist of."""
    if not sparse.issparse(rows):
        folder.save(name, rows)
        return
    for part in PARTS:
        folder.save(_part(name, part), np.asarray(getattr(rows, part)))


def load_rows(folder: Folder, name: str, mapped: bool = False) -> Any:
    """Read rows; with ``mapped`` only those parts of dense ones that are used."""
    try:
        return folder.load(name, mapped)
    except FileNotFoundError:
        data, indices, indptr, shape = (folder.load(_part(name, part)) for part in PARTS)
        return sparse.csr_array((data, indices, indptr), shape=tuple(shape))


def stacked(parts: Sequence[Any]) -> Any:
    """Rows of several chunks as one table."""
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def stored_bytes(rows: Any) -> int:
    """The memory that rows take."""
    if sparse.issparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    return int(rows.nbytes)


def _part(name: str, part: str) -> str:
    return name.replace(".npy", f"-{part}.npy")
