"""A text file in, batches of columns out; and its bytes with new fields in every record."""

import codecs
import csv
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from phaselabel.io.tables.table import ROWS_PER_BATCH, Table, refuse_duplicates, refuse_format

TAB = "\t"
#: Separators to suggest where the header has a single field.
SEPARATORS = (";", TAB, "|", ",")


class CsvTable(Table):
    """A table of text; every field is the text in the file, and :func:`as_numbers` makes numbers of it."""

    def __init__(
        self,
        path: Path,
        delimiter: str = ",",
        encoding: str = "utf-8",
        header: bool = True,
        decimal: str = ".",
    ) -> None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ValueError(
                f"There is no encoding {encoding!r}; try utf-8, latin-1 or cp1252 (--encoding)."
            ) from None
        self.path, self.delimiter, self.encoding, self.header = path, delimiter, encoding, header
        self.decimal, self.names = decimal, []
        self._quoted = self._has_quotes()
        self._empty_lines = self._leading_empty_lines()
        first = next(self._records(), (b"", []))[1]
        if not first:
            raise ValueError(f"{path.name} is empty; a table needs a line of column names and rows below it.")
        names = [self._text(field) for field in first]
        if header:
            names[0] = names[0].removeprefix("\ufeff")
            self._check_header(names)
        self.names = names if header else [f"c{i + 1}" for i in range(len(names))]
        self._check_shape()

    def _has_quotes(self) -> bool:
        """Whether the file has a quote; a file that is not text is refused."""
        with self.path.open("rb") as file:
            head = file.read(4096)
            if b"\r" in head and b"\n" not in head and len(head) < 4096:
                raise ValueError(
                    f"The lines of {self.path.name} end with carriage returns alone, as on old Macs; save it "
                    "with ordinary line ends."
                )
            if b"\0" in head:
                refuse_format(self.path, "text", ValueError("it holds bytes that are no text"))
            return b'"' in head or any(b'"' in block for block in iter(lambda: file.read(1 << 22), b""))

    def _leading_empty_lines(self) -> int:
        """The number of empty lines before the first one that is not."""
        empty = 0
        with self.path.open("rb") as file:
            for line in file:
                if line.removeprefix(codecs.BOM_UTF8) not in (b"\n", b"\r\n"):
                    break
                empty += 1
        return empty

    def _check_header(self, names: list[str]) -> None:
        if names.count("") > 1:
            raise ValueError(
                f"The first line of {self.path.name} leaves {names.count('')} columns without a name; remove "
                "the line if it is a title above the names, or name the columns."
            )
        refuse_duplicates(self.path, names)
        if all(_is_number(name) for name in names):
            raise ValueError(
                f"The first line of {self.path.name} holds numbers, not column names; add a line of names, "
                "or pass --no-header to call the columns c1, c2, …"
            )
        other = max(SEPARATORS, key=names[0].count)
        if len(names) == 1 and other in names[0]:
            raise ValueError(
                f"{self.path.name} seems to be separated by {other!r}, not {self.delimiter!r}: pass "
                f"--delimiter {'TAB' if other == TAB else repr(other)}"
                + (" (and --decimal ',' if its numbers look like 1,5)." if other == ";" else ".")
            )

    def _check_shape(self) -> None:
        """Count the rows; refuse lines of another length and a quote that is never closed."""
        self.n_rows, line = -int(self.header), 1
        quick, mark = not self._quoted, self.delimiter.encode(self.encoding)
        for raw, fields in self._records():
            width = raw.count(mark) + 1 if quick else len(fields)
            if width != len(self.names):
                raise ValueError(
                    f"Line {line} of {self.path.name} has {width} field{'s'[: width != 1]} where the first "
                    f"line has {len(self.names)}; quote fields that contain {self.delimiter!r}, or name the "
                    "separator with --delimiter."
                )
            if quick and b"\r" in raw[:-2]:
                raise ValueError(
                    f"Line {line} of {self.path.name} has a carriage return inside; end lines with a line "
                    "feed, and quote fields of several lines."
                )
            line += raw.count(b"\n")
            self.n_rows += 1

    def _records(self) -> Iterator[tuple[bytes, list[str]]]:
        """Every record as it is in the file, line end included, and its fields (bytes as Latin-1).

        In a file without quotes only the fields of the first record are split. An empty line is a record only
        in a table of one column.
        """
        with self.path.open("rb") as file:
            if not self._quoted:
                split = self.delimiter.encode(self.encoding).decode("latin-1")
                for number, line in enumerate(file):
                    if number >= self._empty_lines and (len(self.names) == 1 or line.strip(b"\r\n")):
                        first = number == self._empty_lines
                        yield line, line.rstrip(b"\r\n").decode("latin-1").split(split) if first else []
                return
            # Latin-1 maps bytes to characters one to one. So the csv module finds the records of a file in
            # any encoding that contains ASCII, and the lines it has read are the bytes of the record.
            taken: list[bytes] = []

            def lines() -> Iterator[str]:
                for line in file:
                    taken.append(line)
                    yield line.decode("latin-1")

            limit = csv.field_size_limit(sys.maxsize)
            reader = csv.reader(lines(), delimiter=self.delimiter, strict=True)
            try:
                for _ in range(self._empty_lines):
                    next(reader)
                    taken.clear()
                for fields in reader:
                    raw = b"".join(taken)
                    taken.clear()
                    if fields or len(self.names) == 1:
                        yield raw, fields
            except csv.Error as error:
                raise ValueError(
                    f"{self.path.name} is not a proper table near line {reader.line_num} ({error}): a quoted "
                    'field must be closed, and a quote inside it doubled ("").'
                ) from None
            finally:
                csv.field_size_limit(limit)  # it is that of the whole process

    def _text(self, field: str) -> str:
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
        """The rows in order, all fields as text."""
        from pyarrow import csv as arrow_csv

        wanted = list(self.names if columns is None else columns)
        try:
            reader = arrow_csv.open_csv(
                pa.OSFile(os.fsencode(self.path)),  # a name of any bytes; Arrow itself wants UTF-8
                arrow_csv.ReadOptions(
                    column_names=self.names,
                    skip_rows=self._empty_lines,
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
        """The bytes of each record with the new fields at its end."""
        records = self._records()
        if self.header:
            yield self._extended(next(records)[0], [quoted(name, self.delimiter) for name in added])
        # A class name stands in many rows; it is looked at once.
        safe = [{text: quoted(text, self.delimiter) for text in set(values)} for values in added.values()]
        rows = zip(*(map(of.__getitem__, values) for of, values in zip(safe, added.values())), strict=True)
        for (raw, _), fields in zip(records, rows, strict=True):
            yield self._extended(raw, fields)

    def _extended(self, raw: bytes, fields: Sequence[str]) -> bytes:
        body = raw.rstrip(b"\r\n")
        tail = self.delimiter.join(("", *fields))
        return body + tail.encode(self.encoding) + raw[len(body) :]


class JsonLinesTable(Table):
    """One JSON object per line; a column that a line lacks is missing there."""

    def __init__(self, path: Path) -> None:
        from pyarrow import json as arrow_json

        self.path = path
        lines = _checked_lines(path)
        try:
            self._table = arrow_json.read_json(
                pa.OSFile(os.fsencode(path)), arrow_json.ReadOptions(block_size=1 << 24)
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = " ".join(str(error).split())[:200]
            raise ValueError(
                f"{path.name} is not JSON lines, one object per line with columns of one type ({reason})."
            ) from None
        self.names = self._table.column_names
        refuse_duplicates(path, self.names)
        try:
            self._table.validate(full=True)
        except pa.ArrowInvalid:  # Arrow reads [null, null] as a list that goes beyond its own end
            raise ValueError(
                f"{path.name} has lists with nulls, which can't be read; write null for the whole list."
            ) from None
        if lines != self._table.num_rows:
            raise ValueError(
                f"{path.name} has {self._table.num_rows:,} objects on {lines:,} lines; JSON lines have one "
                "object per line."
            )

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, of the types that JSON has."""
        table = self._table if columns is None else self._table.select(list(columns))
        yield from table.to_batches(ROWS_PER_BATCH)

    def rewritten(self, added: Mapping[str, Sequence[Any]]) -> Iterator[bytes]:
        """The bytes of each line with the new entries before its closing brace."""
        rows = zip(*added.values(), strict=True)
        with self.path.open("rb") as file:
            lines = (line for line in file if line.strip())
            for line, values in zip(lines, rows, strict=True):
                body = line.rstrip()
                tail = json.dumps(dict(zip(added, values)), ensure_ascii=False)[1:]
                comma = b", " if body[:-1].strip() != b"{" else b""
                yield body[:-1] + comma + tail.encode() + line[len(body) :]


def _checked_lines(path: Path) -> int:
    """The number of lines that are not empty; one that is no object is refused.

    Arrow's reader ends the process on a line such as ``null``.
    """
    lines = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            lines += 1
            try:
                sound = isinstance(json.loads(line), dict)
            except (ValueError, RecursionError):
                sound = False
            if not sound:
                raise ValueError(
                    f"Line {number} of {path.name} is not one JSON object; JSON lines have one object "
                    "per line."
                )
    return lines


def quoted(field: str, delimiter: str) -> str:
    """A field of a CSV file, in quotes where they are needed.

    Examples
    --------
    >>> quoted("plain", ","), quoted("a, b", ",")
    ('plain', '"a, b"')
    """
    marked = delimiter in field or '"' in field or "\n" in field or "\r" in field
    if marked or field != field.strip():
        return '"' + field.replace('"', '""') + '"'
    return field


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
