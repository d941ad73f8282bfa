"""A path in, the table that its extension promises out."""

from collections.abc import Callable
from pathlib import Path

from phaselabel.tables.columnar import ArrayTable, ArrowTable, ParquetTable
from phaselabel.tables.table import Table, listed
from phaselabel.tables.text import CsvTable, JsonLinesTable

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def open_table(
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    decimal: str = ".",
) -> Table:
    """Open a table by its extension: CSV, TSV, Parquet, JSON lines, Arrow, NPY or NPZ.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter, encoding, header, decimal
        How to read text: the separator (by the extension), its encoding, whether the first line has names,
        the mark before a number's fraction.

    Returns
    -------
    Table
        Its columns, read when asked for.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the name and the folder you are in.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty.")
    try:
        kind = format_of(path)
    except ValueError as error:
        remedy = _REMEDIES.get(path.suffix.lower(), "rename or convert the file")
        raise ValueError(f"{str(error).rstrip('.')}; {remedy}.") from None
    if kind in DELIMITERS:
        return CsvTable(path, delimiter or DELIMITERS[kind], encoding, header, decimal)
    kinds: dict[str, Callable[[Path], Table]] = {
        ".jsonl": JsonLinesTable,
        ".parquet": ParquetTable,
        ".arrow": ArrowTable,
        ".npy": ArrayTable,
        ".npz": ArrayTable,
    }
    return kinds[kind](path)


_EXTENSIONS = {
    ".csv": ".csv", ".txt": ".csv", ".tsv": ".tsv", ".tab": ".tsv", ".jsonl": ".jsonl", ".ndjson": ".jsonl",
    ".parquet": ".parquet", ".pq": ".parquet", ".arrow": ".arrow", ".feather": ".arrow", ".ipc": ".arrow",
    ".npy": ".npy", ".npz": ".npz",
}  # fmt: skip

_REMEDIES = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as CSV (UTF-8) in your spreadsheet program"),
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst"), "unpack the file first"),
    ".json": "write one object per line and call it .jsonl",
}


def format_of(path: str | Path) -> str:
    """The format that an extension stands for, or an error that lists those we know.

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
