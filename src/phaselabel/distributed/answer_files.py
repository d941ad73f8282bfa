"""Labels of the rows of one part in, a file of its own in the folder of the answer out."""

import re
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from phaselabel.distributed.folder import file_system, is_address
from phaselabel.distributed.sources import ParquetPart, Part
from phaselabel.io.tables import ParquetTable, found_columns, found_names, novel_name


def target_kind(path: str | Path) -> str:
    """What to write, by the name: ``.parquet``, ``.zarr``, or a folder of NPY files without extension."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".zarr", ".npy", ""):
        raise ValueError(
            f"{path}: with --dask the output is a folder named .parquet, .zarr or .npy, so that every worker "
            "can write its own part."
        )
    return suffix or ".npy"


def is_answer(folder: Path, name: str, kind: str) -> bool:
    """Whether a folder holds an answer of ``phaselabel label --dask`` and nothing else.

    Parameters
    ----------
    folder : Path
        The folder.
    name, kind : str
        What the labels are called, and the format of the files.
    """
    columns = "|".join(map(re.escape, [*found_names(name), novel_name(name)]))
    patterns = {
        ".npy": rf"({columns})-\d{{6}}\.npy",
        ".parquet": r"part-\d{6}\.parquet",
        ".zarr": rf"(({columns})/)?(zarr\.json|\.z(group|array|attrs|metadata))|({columns})/(c/)?\d+",
    }
    entries = list(folder.rglob("*"))
    files = [entry for entry in entries if not entry.is_dir()]
    if any(entry.is_symlink() or not (entry.is_file() or entry.is_dir()) for entry in entries):
        return False
    if not all(re.fullmatch(patterns[kind], file.relative_to(folder).as_posix()) for file in files):
        return False
    if kind != ".parquet":
        return bool(files)
    return bool(files) and set(found_names(name)) <= set(ParquetTable(min(files)).names)


def write_part(
    folder: str,
    kind: str,
    number: int,
    name: str,
    label_type: pa.DataType,
    beside: Part | None,
    predicted: NDArray[Any],
    confidence: NDArray[np.float64],
    reached: NDArray[np.bool_],
    novel: NDArray[np.bool_] | None = None,
) -> int:
    """Write one part of the answer to a file of its own.

    Parameters
    ----------
    folder, kind : str
        The folder, and the format of its files.
    number : int
        The number of the part.
    name : str
        What the labels are called.
    label_type : pyarrow.DataType
        The type of the labels.
    beside : Part, optional
        The rows that the answer is written beside, in Parquet.
    predicted, confidence, reached, novel : ndarray
        The answer; without ``novel`` there is no column for it.

    Returns
    -------
    int
        The number of rows.
    """
    if is_address(folder):
        with TemporaryDirectory(prefix="phaselabel-") as draft:
            answer = predicted, confidence, reached, novel
            done = write_part(draft, kind, number, name, label_type, beside, *answer)
            files, root = file_system(folder)
            for file in sorted(Path(draft).iterdir()):
                files.makedirs(root, exist_ok=True)
                files.put_file(str(file), f"{root}/{file.name}")
        return done
    target = Path(folder)
    if kind == ".npy":
        columns = dict(zip(found_names(name), (predicted, confidence, reached)))
        for column, values in (
            columns.items() if novel is None else {**columns, novel_name(name): novel}.items()
        ):
            plain = values.astype(str) if values.dtype == object else values
            np.save(target / f"{column}-{number:06d}.npy", plain, allow_pickle=False)
        return len(reached)
    from pyarrow import parquet

    found = pa.table(found_columns(name, predicted, confidence, reached, label_type, novel))
    path = target / f"part-{number:06d}.parquet"
    if not isinstance(beside, ParquetPart):
        parquet.write_table(found, path)
        return len(reached)
    done, writer = 0, None
    with ExitStack() as stack:
        for table in beside.whole_groups():
            schema = pa.schema([*table.schema, *found.schema], metadata=table.schema.metadata)
            writer = writer or stack.enter_context(parquet.ParquetWriter(path, schema))
            here = found.slice(done, len(table))
            writer.write_table(pa.table([*table.columns, *here.columns], schema=schema))
            done += len(table)
    return done
