"""A Parquet, Arrow or NumPy file in, batches of typed columns out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from phaselabel.tables.table import ROWS_PER_BATCH, Table, listed, refuse_format


class ParquetTable(Table):
    """A Parquet file, row group by row group."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path = path
        try:
            self._file = parquet.ParquetFile(path, memory_map=True)
        except (pa.ArrowInvalid, OSError) as error:
            refuse_format(path, "Parquet", error)
        self.names = self._file.schema_arrow.names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """As the file's schema says."""
        for batch in self._file.iter_batches(ROWS_PER_BATCH, columns=columns):
            yield batch if columns is None else batch.select(list(columns))


class ArrowTable(Table):
    """An Arrow (Feather) file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (pa.ArrowInvalid, OSError):
            try:
                self._table = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
            except (pa.ArrowInvalid, OSError) as error:
                refuse_format(path, "Arrow", error)
        self.names = self._table.column_names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """As the file's schema says."""
        table = self._table if columns is None else self._table.select(list(columns))
        yield from table.to_batches(ROWS_PER_BATCH)


class ArrayTable(Table):
    """A NumPy array, memory-mapped, or an archive of them; a matrix is one column of vectors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
            arrays = (
                {"x": found} if isinstance(found, np.ndarray) else {key: found[key] for key in found.files}
            )
        except Exception as error:
            refuse_format(path, "NumPy", error)
        self._arrays = {
            name: array if array.ndim == 1 else array.reshape(len(array), -1)
            for name, array in arrays.items()
            if array.ndim
        }
        lengths = {name: len(array) for name, array in self._arrays.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"The arrays of {path.name} have different numbers of rows "
                f"({listed(f'{name} {rows:,}' for name, rows in lengths.items())}); keep those with "
                "one entry per row."
            )
        self.names = list(self._arrays)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Vectors as lists of fixed size, sharing memory with the file."""
        names = list(self.names if columns is None else columns)
        n_rows = len(self._arrays[names[0]]) if names else 0
        for start in range(0, n_rows, ROWS_PER_BATCH):
            rows = slice(start, start + ROWS_PER_BATCH)
            yield pa.record_batch([_arrow(self._arrays[name][rows]) for name in names], names)


def _arrow(array: Any) -> pa.Array:
    if array.ndim == 1:
        return pa.array(array)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(array).reshape(-1)), array.shape[1]
    )
