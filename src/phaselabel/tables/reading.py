"""A file in, batches of named columns out."""

import csv
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

ROWS_PER_BATCH = 1 << 16
DELIMITERS = {".csv": ",", ".tsv": "\t"}


class Table(ABC):
    """A file of named columns that is read batch by batch, as often as asked.

    Attributes
    ----------
    path : Path
        Where it is.
    names : list of str
        The columns, in the file's order.
    """

    path: Path
    names: list[str]

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, all columns or those named."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One whole column."""
        self.require([name])
        chunks = [batch.column(0) for batch in self.batches([name])]
        return pa.chunked_array(chunks) if chunks else pa.chunked_array([pa.array([], pa.string())])

    def require(self, columns: Sequence[str]) -> None:
        """Refuse the name of a column that isn't there."""
        for name in columns:
            if name not in self.names:
                raise ValueError(
                    f"{self.path.name} has no column {name!r}; it has {listed(map(repr, self.names))}."
                )

    def rewritten(self, added: Mapping[str, Sequence[str]]) -> Iterator[bytes] | None:
        """The file's own bytes with columns added, or None where its format isn't text."""
        return None


class CsvTable(Table):
    """A table of text: every field is the text that stands in the file, until somebody asks for numbers."""

    def __init__(
        self, path: Path, delimiter: str = ",", encoding: str = "utf-8", header: bool = True
    ) -> None:
        self.path, self.delimiter, self.encoding, self.header = path, delimiter, encoding, header
        with path.open("rb") as file:
            self._quoted = any(b'"' in block for block in iter(lambda: file.read(1 << 22), b""))
            file.seek(0)
            if b"\0" in file.read(4096):
                _refuse_format(path, "text", ValueError("it holds bytes that are no text"))
        first = next(self._records(), (b"", []))[1]
        if not first:
            raise ValueError(f"{path.name} is empty; a table needs a line of column names and rows below it.")
        names = [self._text(field, 1) for field in first]
        if header:
            names[0] = names[0].removeprefix("\ufeff")
            self._check_header(names)
        self.names = names if header else [f"c{i + 1}" for i in range(len(names))]
        self._check_shape()

    def _check_header(self, names: list[str]) -> None:
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(
                f"{self.path.name} has more than one column {min(twice)!r}; rename all but one of them."
            )
        if all(_is_number(name) for name in names):
            raise ValueError(
                f"The first line of {self.path.name} holds numbers, not column names; add a line of names, "
                "or pass --no-header to call the columns c1, c2, …"
            )

    def _check_shape(self) -> None:
        """Count the rows; refuse lines of another length and a quote that is never closed."""
        self.n_rows, line = -int(self.header), 1
        quick = not self._quoted
        for raw, fields in self._records():
            width = raw.count(self.delimiter.encode()) + 1 if quick else len(fields)
            if width != len(self.names):
                raise ValueError(
                    f"Line {line} of {self.path.name} has {width} field{'s'[: width != 1]} where the "
                    "first line has "
                    f"{len(self.names)}; quote fields that contain {self.delimiter!r}, or name the separator "
                    "with --delimiter."
                )
            line += raw.count(b"\n")
            self.n_rows += 1

    def _records(self) -> Iterator[tuple[bytes, list[str]]]:
        """Every record as it stands in the file, line end included, and its fields (bytes as Latin-1)."""
        with self.path.open("rb") as file:
            if not self._quoted:
                split = self.delimiter.encode()
                for number, line in enumerate(file):
                    if line.strip(b"\r\n") or len(getattr(self, "names", "xx")) == 1:
                        yield line, _latin(line.rstrip(b"\r\n").split(split)) if number == 0 else []
                return
            # Latin-1 maps bytes to characters one to one, so the csv module can find the records of a file
            # in any encoding that contains ASCII, and what it consumed is the record's own bytes.
            taken: list[bytes] = []

            def lines() -> Iterator[str]:
                for line in file:
                    taken.append(line)
                    yield line.decode("latin-1")

            csv.field_size_limit(sys.maxsize)
            reader = csv.reader(lines(), delimiter=self.delimiter, strict=True)
            try:
                for fields in reader:
                    raw = b"".join(taken)
                    taken.clear()
                    if fields or len(getattr(self, "names", "xx")) == 1:
                        yield raw, fields
            except csv.Error as error:
                raise ValueError(
                    f"{self.path.name} is not a proper table near line {reader.line_num} ({error}): a quoted "
                    'field must be closed, and a quote inside it doubled ("").'
                ) from None

    def _text(self, field: str, line: int) -> str:
        try:
            return field.encode("latin-1").decode(self.encoding)
        except (UnicodeDecodeError, LookupError):
            raise ValueError(self._not_text()) from None

    def _not_text(self) -> str:
        return (
            f"{self.path.name} is not {self.encoding} text; name its encoding with --encoding (often latin-1 "
            "or cp1252), or its real format by its extension."
        )

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """All fields as text."""
        from pyarrow import csv as arrow_csv

        wanted = list(self.names if columns is None else columns)
        try:
            reader = arrow_csv.open_csv(
                self.path,
                arrow_csv.ReadOptions(
                    column_names=self.names,
                    skip_rows_after_names=int(self.header),
                    block_size=1 << 24,
                    encoding=self.encoding,
                ),
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=self._quoted,
                    ignore_empty_lines=len(self.names) > 1,
                ),
                arrow_csv.ConvertOptions(
                    include_columns=wanted,
                    column_types=dict.fromkeys(wanted, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            yield from reader
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                raise ValueError(self._not_text()) from None
            if "Empty CSV" in str(error):
                return
            raise ValueError(f"{self.path.name} could not be read: {error}") from None

    def rewritten(self, added: Mapping[str, Sequence[str]]) -> Iterator[bytes]:
        """Each record's own bytes with the new fields at its end."""
        records = self._records()
        rows = zip(*added.values(), strict=True)
        if self.header:
            yield self._extended(next(records)[0], list(added))
        for (raw, _), fields in zip(records, rows, strict=True):
            yield self._extended(raw, fields)

    def _extended(self, raw: bytes, fields: Sequence[str]) -> bytes:
        body = raw.rstrip(b"\r\n")
        tail = "".join(self.delimiter + quoted(field, self.delimiter) for field in fields)
        return body + tail.encode(self.encoding) + raw[len(body) :]


class JsonLinesTable(Table):
    """One JSON object per line; what a line doesn't mention is missing."""

    def __init__(self, path: Path) -> None:
        from pyarrow import json as arrow_json

        self.path = path
        try:
            self._table = arrow_json.read_json(path, arrow_json.ReadOptions(block_size=1 << 24))
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"{path.name} is not JSON lines, one object per line with columns of one type ({error})."
            ) from None
        self.names = self._table.column_names

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """As JSON's types say."""
        table = self._table if columns is None else self._table.select(list(columns))
        yield from table.to_batches(ROWS_PER_BATCH)

    def rewritten(self, added: Mapping[str, Sequence[Any]]) -> Iterator[bytes]:
        """Each line's own bytes with the new entries before its closing brace."""
        rows = zip(*added.values(), strict=True)
        with self.path.open("rb") as file:
            lines = (line for line in file if line.strip())
            for line, values in zip(lines, rows, strict=True):
                body = line.rstrip()
                tail = json.dumps(dict(zip(added, values)), ensure_ascii=False)[1:]
                comma = b", " if body[:-1].strip() != b"{" else b""
                yield body[:-1] + comma + tail.encode() + line[len(body) :]


class ParquetTable(Table):
    """A Parquet file, row group by row group."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path = path
        try:
            self._file = parquet.ParquetFile(path, memory_map=True)
        except (pa.ArrowInvalid, OSError) as error:
            _refuse_format(path, "Parquet", error)
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
                _refuse_format(path, "Arrow", error)
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
            _refuse_format(path, "NumPy", error)
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


def open_table(
    path: str | Path, *, delimiter: str | None = None, encoding: str = "utf-8", header: bool = True
) -> Table:
    """Open a table by its extension: CSV, TSV, Parquet, JSON lines, Arrow, NPY or NPZ.

    Parameters
    ----------
    path : path-like
        The file.
    delimiter, encoding, header
        How to read text: the separator (by the extension), its encoding, whether the first line has names.

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
    kind = format_of(path)
    if kind in DELIMITERS:
        return CsvTable(path, delimiter or DELIMITERS[kind], encoding, header)
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
            f"{Path(path).name}: the extension {suffix!r} is not one of {listed(_EXTENSIONS, 20)}; "
            "rename or convert "
            "the file."
        )
    return _EXTENSIONS[suffix]


def quoted(field: str, delimiter: str) -> str:
    """A field of a CSV file, in quotes where it needs them.

    Examples
    --------
    >>> quoted("plain", ","), quoted("a, b", ",")
    ('plain', '"a, b"')
    """
    if any(mark in field for mark in (delimiter, '"', "\n", "\r")) or field != field.strip():
        return '"' + field.replace('"', '""') + '"'
    return field


def listed(words: Any, most: int = 8) -> str:
    """Words for a sentence, the first few of them.

    Examples
    --------
    >>> listed("abc"), listed("abcd", 2)
    ('a, b, c', 'a, b and 2 more')
    """
    words = [str(word) for word in words]
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"


def _latin(fields: list[bytes]) -> list[str]:
    return [field.decode("latin-1") for field in fields]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_format(path: Path, kind: str, error: Exception) -> NoReturn:
    """Say what the file seems to be instead."""
    with path.open("rb") as file:
        head = file.read(8)
    looks = {b"PAR1": "Parquet", b"ARRO": "Arrow", b"\x93NUM": "NumPy", b"PK\x03\x04": "a zip archive"}.get(
        head[:4]
    )
    guess = f"; it looks like {looks}" if looks and looks != kind else ""
    reason = " ".join(str(error).split())[:120]
    raise ValueError(
        f"{path.name} is not a {kind} file although its name says so{guess} ({reason}); rename it by "
        "what it is."
    ) from None
