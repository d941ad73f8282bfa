"""A file in, named columns in batches out: what tables of every format have in common."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import pyarrow as pa

#: Rows of a batch at most.
ROWS_PER_BATCH = 1 << 16


class Table(ABC):
    """A file of named columns that can be read, batch by batch, several times.

    Attributes
    ----------
    path : Path
        The file.
    names : list of str
        The columns, in the file's order.
    decimal : str
        The decimal mark of numbers that are text.
    """

    path: Path
    names: list[str]
    decimal: str = "."
    #: The file that was named, where the table is read from a plain copy of it.
    source: Path | None = None
    #: The plain copy that the table is read from, if the file is compressed or UTF-16; kept with the table.
    copy: object = None

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order; all columns, or those named."""

    def batches_with(
        self, rows: Collection[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The batches in which some rows are, and maybe others, each with the number of its first row."""
        start = 0
        for batch in self.batches(columns):
            yield start, batch
            start += batch.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        """One whole column."""
        self.require([name])
        chunks = [batch.column(0) for batch in self.batches([name])]
        return pa.chunked_array(chunks) if chunks else pa.chunked_array([pa.array([], pa.string())])

    def require(self, columns: Sequence[str]) -> None:
        """Refuse the name of a column that the table does not have."""
        known = set(self.names)
        for name in columns:
            if name not in known:
                close = [other for other in self.names if other.strip().casefold() == name.casefold()]
                close += get_close_matches(name, self.names, 1)
                meant = f" (did you mean {close[0]!r}?)" if close else ""
                raise ValueError(
                    f"{self.path.name} has no column {name!r}{meant}; it has {listed(map(repr, self.names))}."
                )

    def rewritten(self, added: Mapping[str, Sequence[str]]) -> Iterator[bytes] | None:
        """The bytes of the file with columns added, or None where its format is not text."""
        return None


def refuse_duplicates(path: Path, names: Sequence[str]) -> None:
    """Refuse a table with two columns of one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path.name} has more than one column {min(twice)!r}; rename all but one of them.")


def listed(words: Iterable[object], most: int = 8) -> str:
    """Words for a sentence; at most ``most`` of them are named.

    Examples
    --------
    >>> listed("abc"), listed("abcd", 2)
    ('a, b, c', 'a, b and 2 more')
    """
    texts = [str(word) for word in words]
    shown = ", ".join(texts[:most])
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most} more"


def refuse_format(path: Path, kind: str, error: Exception) -> NoReturn:
    """Raise an error that says what the file seems to be instead.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        The format that its extension names.
    error : Exception
        Why it could not be read in that format.
    """
    with path.open("rb") as file:
        head = file.read(4)
    looks = {b"PAR1": "Parquet", b"ARRO": "Arrow", b"\x93NUM": "NumPy", b"PK\x03\x04": "a zip archive"}.get(
        head
    )
    reason = " ".join(str(error).split())[:120]
    if looks == kind or (looks == "a zip archive" and kind == "NumPy"):
        raise ValueError(
            f"{path.name} is damaged ({reason}); take another copy, or write it again."
        ) from None
    guess = f"; it looks like {looks}" if looks else ""
    raise ValueError(
        f"{path.name} is not {'an' if kind in ('Arrow', 'Excel') else 'a'} {kind} file although its name "
        f"says so{guess} ({reason}); rename it by what it is."
    ) from None
