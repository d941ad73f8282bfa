"""A Parquet, Arrow or NumPy file in, batches of typed columns out."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from phaselabel.io.npy import ObjectsError, TooLargeError, open_arrays
from phaselabel.io.tables.table import ROWS_PER_BATCH, Table, listed, refuse_duplicates, refuse_format

#: The kinds of NumPy's types that can be a column: truth values, numbers, texts, bytes, dates.
TABLE_KINDS = "biufUSMm"


class ParquetTable(Table):
    """A Parquet file, or some of its row groups.

    Parameters
    ----------
    path : Path
        The file.
    groups : sequence of int, optional
        The numbers of the row groups; all of them by default.
    """

    def __init__(self, path: Path, groups: Sequence[int] | None = None) -> None:
        from pyarrow import parquet

        self.path, self._groups = path, groups
        try:
            self._file = parquet.ParquetFile(_mapped(path))
            self.names = self._file.schema_arrow.names
        except (pa.ArrowException, OSError, UnicodeError) as error:
            refuse_format(path, "Parquet", error)
        refuse_duplicates(path, self.names)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, of the types that the file's schema names."""
        # Named groups are read one at a time, so that not more than one of them is in memory.
        chosen = [None] if self._groups is None else [[group] for group in self._groups]
        try:
            for groups in chosen:
                for batch in self._file.iter_batches(ROWS_PER_BATCH, row_groups=groups, columns=columns):
                    batch.validate(full=True)  # texts may be no UTF-8
                    yield batch if columns is None else batch.select(list(columns))
        except (pa.ArrowException, OSError, UnicodeError) as error:
            refuse_format(self.path, "Parquet", error)


class ArrowTable(Table):
    """An Arrow (Feather) file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._table = _read_arrow(path)
            self.names = self._table.column_names
        except (pa.ArrowException, OSError, UnicodeError) as error:
            refuse_format(path, "Arrow", error)
        refuse_duplicates(path, self.names)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, of the types that the file's schema names."""
        table = self._table if columns is None else self._table.select(list(columns))
        yield from table.to_batches(ROWS_PER_BATCH)


def _mapped(path: Path) -> pa.MemoryMappedFile:
    """A file whose name may have any bytes; Arrow itself wants UTF-8."""
    return pa.memory_map(os.fsencode(path))


def _read_arrow(path: Path) -> pa.Table:
    """A table of which every offset and index has been checked: Arrow itself follows them unchecked."""
    source = _mapped(path)
    is_file = source.read(6) == b"ARROW1"
    source.seek(0)
    table = (pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)).read_all()
    table.validate(full=True)
    return table


class ArrayTable(Table):
    """Arrays with one entry per row; a matrix is one column of vectors.

    Parameters
    ----------
    path : Path
        The file that the arrays are from.
    arrays : mapping of str to ndarray
        The columns.
    """

    def __init__(self, path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.path = path
        self._arrays = {
            name: array if array.ndim == 1 else array.reshape(len(array), math.prod(array.shape[1:]))
            for name, array in arrays.items()
            if array.ndim
        }
        for name, array in self._arrays.items():
            if array.dtype.kind not in TABLE_KINDS or 0 in array.shape[1:]:
                raise ValueError(
                    f"The array {name!r} of {path.name} has the type {array.dtype} and the shape "
                    f"{array.shape}; a table is made of numbers, texts or dates, at least one per row."
                )
        lengths = {name: len(array) for name, array in self._arrays.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"The arrays of {path.name} have different numbers of rows "
                f"({listed(f'{name} {rows:,}' for name, rows in lengths.items())}); keep those with "
                "one entry per row."
            )
        self.names = list(self._arrays)

    @classmethod
    def from_file(cls, path: Path) -> "ArrayTable":
        """The array of a ``.npy`` file, memory-mapped, or the arrays of a ``.npz`` file."""
        return cls(path, arrays_of(path))

    @property
    def scalar_names(self) -> list[str]:
        """The columns that are not vectors."""
        return [name for name, array in self._arrays.items() if array.ndim == 1]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Vectors as lists of fixed size, which share memory with the file."""
        names = list(self.names if columns is None else columns)
        n_rows = len(self._arrays[names[0]]) if names else 0
        for start in range(0, n_rows, ROWS_PER_BATCH):
            rows = slice(start, start + ROWS_PER_BATCH)
            try:
                yield pa.record_batch([_arrow(self._arrays[name][rows]) for name in names], names)
            except (pa.ArrowException, UnicodeError) as error:
                refuse_format(self.path, "NumPy", error)


def arrays_of(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an NPY or NPZ file; a file of another kind is refused with what it seems to be."""
    try:
        return open_arrays(path)
    except TooLargeError:
        raise
    except ObjectsError:
        raise ValueError(
            f"{path.name} holds Python objects, which need pickle; save numbers, or text with "
            "array.astype(str)."
        ) from None
    except ValueError as error:
        refuse_format(path, "NumPy", error)


def _arrow(array: NDArray[Any]) -> pa.Array:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(array).reshape(-1)), array.shape[1]
    )
