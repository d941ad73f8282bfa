"""A path in, the table of the format that its extension names out."""

from collections.abc import Callable
from pathlib import Path

from phaselabel.io.tables.columnar import ArrayTable, ArrowTable, ParquetTable
from phaselabel.io.tables.plain_copy import PACKED, recoded, unpacked, wide_encoding
from phaselabel.io.tables.stores import open_database, open_workbook
from phaselabel.io.tables.table import Table, listed
from phaselabel.io.tables.text import CsvTable, JsonLinesTable

#: The separator of each text format.
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def open_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    decimal: str = ".",
    sheet: str | None = None,
) -> Table:
    """Open a table by its extension.

    CSV, TSV and JSON lines, also compressed; Parquet, Arrow, NPY, NPZ, Excel, SQLite and DuckDB.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter : str, optional
        The separator of a text file; by default the extension decides.
    encoding : str, default="utf-8"
        The encoding of a CSV or TSV file. UTF-16 and UTF-32 are recognised by their byte order mark.
    header : bool, default=True
        Whether the first line of a text file holds the names of the columns.
    decimal : str, default="."
        The decimal mark of a text file.
    sheet : str, optional
        The sheet of a workbook, or the table of a database; the only one by default.

    Returns
    -------
    Table
        The table; its columns are read when they are needed.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the name and the folder you are in.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty.")
    if path.suffix.lower() in PACKED and Path(path.stem).suffix.lower() in _EXTENSIONS:
        copy = unpacked(path)
        table = open_table(copy.path, delimiter=delimiter, encoding=encoding, header=header, decimal=decimal)
        table.copy, table.source = table.copy or copy, path
        return table
    if path.suffix.lower() in WORKBOOKS:
        return open_workbook(path, sheet)
    if path.suffix.lower() in DATABASES:
        return open_database(path, sheet)
    try:
        kind = format_of(path)
    except ValueError as error:
        remedy = _REMEDIES.get(path.suffix.lower(), "rename or convert the file")
        raise ValueError(f"{str(error).rstrip('.')}; {remedy}.") from None
    if kind in DELIMITERS and (wide := wide_encoding(path, encoding)):
        copy = recoded(path, wide)
        table = CsvTable(copy.path, delimiter or DELIMITERS[kind], "utf-8", header, decimal)
        table.copy, table.source = copy, path
        return table
    if kind in DELIMITERS:
        return CsvTable(path, delimiter or DELIMITERS[kind], encoding, header, decimal)
    kinds: dict[str, Callable[[Path], Table]] = {
        ".jsonl": JsonLinesTable,
        ".parquet": ParquetTable,
        ".arrow": ArrowTable,
        ".npy": ArrayTable.from_file,
        ".npz": ArrayTable.from_file,
    }
    return kinds[kind](path)


_EXTENSIONS = {
    ".csv": ".csv", ".txt": ".csv", ".tsv": ".tsv", ".tab": ".tsv", ".jsonl": ".jsonl", ".ndjson": ".jsonl",
    ".parquet": ".parquet", ".pq": ".parquet", ".arrow": ".arrow", ".feather": ".arrow", ".ipc": ".arrow",
    ".npy": ".npy", ".npz": ".npz",
}  # fmt: skip

#: Files of several sheets, and of several tables; they are read, not written.
WORKBOOKS = (".xlsx", ".xlsm")
DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb", ".ddb")

_REMEDIES = {
    **dict.fromkeys((".xls", ".ods"), "save the sheet as CSV (UTF-8) in your spreadsheet program"),
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst"), "unpack the file first"),
    ".json": "write one object per line and call it .jsonl",
}


def is_of_format(path: str | Path, kind: str) -> bool:
    """Whether a file that has been read is of one of the formats that tables are written in.

    Examples
    --------
    >>> is_of_format("a.tab", ".tsv"), is_of_format("a.xlsx", ".csv")
    (True, False)
    """
    return _EXTENSIONS.get(Path(path).suffix.lower()) == kind


def format_of(path: str | Path) -> str:
    """The format of an extension; an unknown one is refused.

    Examples
    --------
    >>> format_of("posts.NDJSON")
    '.jsonl'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _EXTENSIONS:
        raise ValueError(
            f"{Path(path).name}: the extension {suffix!r} is not one of {listed(_EXTENSIONS, 20)}."
        )
    return _EXTENSIONS[suffix]
