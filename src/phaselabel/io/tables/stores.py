"""A workbook or a database file in, one of its sheets or tables out."""

import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from phaselabel.io.tables.table import ROWS_PER_BATCH, Table, listed, refuse_duplicates, refuse_format

#: Bytes that the parts of a workbook may have when unpacked.
LARGEST_WORKBOOK = 2 << 30

#: Rows and cells of a sheet at most, empty ones counted: a file of a few bytes can name the last cell.
MOST_ROWS, MOST_CELLS = 1 << 20, 1 << 26

#: Bytes of texts that any database may hold, and the times its size that a larger one may: a column of
#: SQLite can be computed when it is read.
SMALL_BYTES, MOST_EXPANSION = 1 << 28, 100


class TooLargeError(ValueError):
    """A small file that would take much memory."""


class StoredTable(Table):
    """Columns in memory, from a file of several tables."""

    def __init__(self, path: Path, table: pa.Table) -> None:
        self.path, self._table, self.names = path, table, table.column_names
        refuse_duplicates(path, self.names)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order."""
        table = self._table if columns is None else self._table.select(list(columns))
        yield from table.to_batches(ROWS_PER_BATCH)


def open_workbook(path: Path, sheet: str | None = None) -> StoredTable:
    """A sheet of an Excel workbook; its first row has the names of the columns.

    Parameters
    ----------
    path : Path
        The ``.xlsx`` file.
    sheet : str, optional
        The name of the sheet; the only one by default.
    """
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            "Reading Excel workbooks needs openpyxl; install it with: pip install 'phaselabel[files]'"
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > LARGEST_WORKBOOK:
                raise TooLargeError(f"{path.name} unpacks to more than 2 GiB; save the sheet as CSV (UTF-8).")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except TooLargeError:
        raise
    except Exception as error:  # zipfile and openpyxl raise whatever their parsers do
        refuse_format(path, "Excel", error)
    try:
        name = _chosen(path, sheet, book.sheetnames, "sheet")
        rows = _rows(path, book[name])
    finally:
        book.close()
    if not rows:
        raise ValueError(f"Sheet {name!r} of {path.name} is empty.")
    width = max(len(row) for row in rows)
    _refuse_many(path, len(rows), width * len(rows))
    header = [*rows[0], *[None] * width][:width]
    names = [f"column {i + 1}" if cell is None else str(cell).strip() for i, cell in enumerate(header)]
    columns = [[row[i] if i < len(row) else None for row in rows[1:]] for i in range(width)]
    refuse_duplicates(path, names)
    return StoredTable(path, pa.table(dict(zip(names, map(_array, columns)))))


def _rows(path: Path, sheet: Any) -> list[tuple[Any, ...]]:
    """The rows that are not empty, each up to its last cell that is not."""
    rows, cells = [], 0
    try:
        sheet.reset_dimensions()  # what the sheet says of its size may be anything
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            end = len(row)
            while end and row[end - 1] is None:
                end -= 1
            cells += end
            _refuse_many(path, number, cells)
            if end:
                rows.append(row[:end])
    except TooLargeError:
        raise
    except Exception as error:  # openpyxl raises whatever its parsers do
        refuse_format(path, "Excel", error)
    return rows


def _refuse_many(path: Path, rows: int, cells: int) -> None:
    if rows > MOST_ROWS or cells > MOST_CELLS:
        raise TooLargeError(
            f"A sheet of {path.name} has more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells, empty ones "
            "counted; save it as CSV (UTF-8)."
        )


def open_database(path: Path, table: str | None = None) -> StoredTable:
    """A table of an SQLite or DuckDB file, which is opened for reading only.

    Parameters
    ----------
    path : Path
        The file.
    table : str, optional
        The name of the table; the only one by default.
    """
    with path.open("rb") as file:
        head = file.read(16)
    if head == b"SQLite format 3\0":
        return _from_sqlite(path, table)
    if head[8:12] == b"DUCK":
        return _from_duckdb(path, table)
    refuse_format(path, "database", ValueError("it is neither an SQLite nor a DuckDB file"))


def _from_sqlite(path: Path, wanted: str | None) -> StoredTable:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    most = max(SMALL_BYTES, MOST_EXPANSION * path.stat().st_size)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SMALL_BYTES)
        connection.execute("PRAGMA trusted_schema=OFF")
        query = (
            "SELECT name FROM sqlite_master WHERE type='table' AND typeof(name)='text' "
            "AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
        name = _chosen(path, wanted, [row[0] for row in connection.execute(query)], "table")
        cursor = connection.execute('SELECT * FROM "' + name.replace('"', '""') + '"')
        names = [column[0] for column in cursor.description]
        rows = []
        for row in cursor:
            rows.append(row)
            most -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
            if most < 0:
                raise TooLargeError(f"{path.name} holds far more than its size; export the table as CSV.")
    except (sqlite3.Error, UnicodeError) as error:
        raise ValueError(f"{path.name} is damaged ({error}); take another copy.") from None
    except MemoryError:  # SQLite also runs out of it on small files that are damaged
        raise ValueError(
            f"{path.name} is damaged, or needs more memory than there is; take another copy, or export the "
            "table as CSV."
        ) from None
    finally:
        connection.close()
    columns = zip(*rows) if rows else ([] for _ in names)
    return StoredTable(path, pa.table({n: _array(list(c)) for n, c in zip(names, columns)}))


def _from_duckdb(path: Path, wanted: str | None) -> StoredTable:
    try:
        import duckdb
    except ImportError:
        raise ImportError("Reading DuckDB files needs duckdb; install it with: pip install duckdb") from None
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as base:
            # Tables only: a view may compute anything.
            listing = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
            found = [row[0] for row in base.execute(listing).fetchall()]
            name = _chosen(path, wanted, found, "table")
            query = base.sql('SELECT * FROM "' + name.replace('"', '""') + '"')
            return StoredTable(path, query.to_arrow_table())
    except duckdb.Error as error:
        words = " ".join(str(error).split())[:160]
        raise ValueError(f"{path.name} can't be read as a DuckDB file ({words}).") from None


def _chosen(path: Path, wanted: str | None, names: list[str], what: str) -> str:
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"{path.name} has no {what} {wanted!r}; it has {listed(map(repr, names))}.")
        return wanted
    if len(names) != 1:
        raise ValueError(
            f"{path.name} has {len(names)} {what}s ({listed(map(repr, names))}); name one with --sheet."
        )
    return names[0]


def _array(cells: list[Any]) -> pa.Array:
    """Cells of one type as they are; cells of several types as text, which tables of text handle."""
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, TypeError, OverflowError):
        texts = (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in cells)
        return pa.array([None if cell is None else str(cell) for cell in texts], pa.string())
