"""What every table can do, whatever its format: named columns, read batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

ROWS_PER_BATCH = 1 << 16


class Table(ABC):
    """A file of named columns that is read batch by batch, as often as asked.

    Attributes
    ----------
    path : Path
        Where it is.
    names : list of str
        The columns, in the file's order.
    decimal : str
        The mark before the fraction where numbers are text.
    """

    path: Path
    names: list[str]
    decimal: str = "."

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
                close = [other for other in self.names if other.strip().casefold() == name.casefold()]
                close += get_close_matches(name, self.names, 1)
                meant = f" (did you mean {close[0]!r}?)" if close else ""
                raise ValueError(
                    f"{self.path.name} has no column {name!r}{meant}; it has {listed(map(repr, self.names))}."
                )

    def rewritten(self, added: Mapping[str, Sequence[str]]) -> Iterator[bytes] | None:
        """The file's own bytes with columns added, or None where its format isn't text."""
        return None


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


def refuse_format(path: Path, kind: str, error: Exception) -> NoReturn:
    """Say what the file seems to be instead."""
    with path.open("rb") as file:
        head = file.read(8)
    looks = {b"PAR1": "Parquet", b"ARRO": "Arrow", b"\x93NUM": "NumPy", b"PK\x03\x04": "a zip archive"}.get(
        head[:4]
    )
    guess = f"; it looks like {looks}" if looks and looks != kind else ""
    reason = " ".join(str(error).split())[:120]
    raise ValueError(
        f"{path.name} is not a {kind} file although its name says so{guess} ({reason}); rename it by what "
        "it is."
    ) from None
