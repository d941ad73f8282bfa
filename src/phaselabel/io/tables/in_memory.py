"""Columns in memory in, a table like one of a file out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from phaselabel.io.tables.table import ROWS_PER_BATCH, Table


class MemoryTable(Table):
    """A table whose columns are in memory.

    Parameters
    ----------
    path : Path
        Where the rows come from; its name is shown.
    columns : mapping of str to pyarrow.Array
        The columns, of the same length.
    scalar_names : sequence of str
        The columns that are written where the table is written with new columns.
    """

    def __init__(self, path: Path, columns: Mapping[str, pa.Array], scalar_names: Sequence[str]) -> None:
        self.path, self._table = path, pa.table(dict(columns))
        self.names = self._table.column_names
        self.scalar_names = list(scalar_names)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        chosen = self._table if columns is None else self._table.select(list(columns))
        yield from chosen.to_batches(ROWS_PER_BATCH)
