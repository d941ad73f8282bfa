"""A table in, what each of its columns is out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from phaselabel.io.tables.keys import KeyWatch, is_named_key
from phaselabel.io.tables.notation import (
    ACCOUNTING,
    THOUSANDS,
    date_formats,
    pointed,
    signs_in,
    written_numbers,
)
from phaselabel.io.tables.table import Table
from phaselabel.io.tables.vectors import is_list

#: Texts that mean a missing value in a column of features.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "None")
#: A column of words with at most this many different words is a category; with more it is free text.
MOST_CATEGORIES = 30
#: A column of text is said to be nearly numbers if at most this share of its cells are something else.
MOST_ODD = 0.1
#: A number as text.
NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class Column:
    """What one column holds.

    Attributes
    ----------
    name : str
        The column's name.
    kind : str
        One of number, category, text, date, vector, counter (it numbers the rows), key (it names them), comma
        (numbers with another decimal mark than the table's, or with both), constant, empty or nested.
    missing : int
        The number of missing values.
    values : tuple of str
        The different words of a category.
    width : int
        The length of a vector.
    odd : str
        How many cells are no numbers, and which is the first, where nearly all the others are; else empty.
    n_odd : int
        The number of these cells.
    written : str
        How numbers or dates are written, where that is not as usual: signs, or a format of dates.
    reason : str
        Why the column only names its rows, where it does.
    infinite : int
        The number of infinite values.
    """

    name: str
    kind: str
    missing: int = 0
    values: tuple[str, ...] = ()
    width: int = 1
    odd: str = ""
    n_odd: int = 0
    written: str = ""
    reason: str = ""
    infinite: int = 0


def survey(table: Table, skip: Sequence[str] = ()) -> tuple[dict[str, Column], int]:
    """Read every column once.

    Parameters
    ----------
    table : Table
        The table.
    skip : sequence of str
        Columns that are not features.

    Returns
    -------
    columns : dict of str to Column
        What each of the other columns holds.
    n_rows : int
        The number of rows.
    """
    seen, n_rows = observe(table, [name for name in table.names if name not in skip])
    return {name: column.concluded(name, n_rows) for name, column in seen.items()}, n_rows


def observe(table: Table, names: Sequence[str], first_row: int = 0) -> tuple[dict[str, "Observed"], int]:
    """Read some columns of a table, or of a part of one that starts with row ``first_row``.

    The observations of all parts of a table, merged in order, are those of the whole table.
    """
    seen = {name: Observed(table.decimal) for name in names}
    n_rows = 0
    for batch in table.batches(names or table.names[:1]):
        # By position: finding a column by its name takes as long as there are columns.
        for name, column in zip(names, batch.columns):
            seen[name].add(column, first_row + n_rows)
        n_rows += batch.num_rows
    return seen, n_rows


class Observed:
    """What is known of a column after some of its batches."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.present = self.missing = self.numbers = self.infinite = 0
        self.number = self.date = self.comma = True
        self.nested = False
        #: What must be added to the row number to get the value, in every batch; None where that differs.
        self.offsets: set[float | None] = set()
        self.words: set[Any] = set()
        self.widths: set[int] = set()
        self.odd: tuple[int, str] | None = None
        #: The signs of numbers that are not written plainly; None if there are other cells.
        self.signs: set[str] | None = set()
        #: The ways in which all dates so far may be written.
        self.formats: list[str] | None = None
        self.keys = KeyWatch()

    def add(self, column: pa.Array, start: int) -> None:
        """Read one more batch, whose first row has the number ``start``."""
        if not len(column):
            return
        if is_list(column.type):
            self._add_vectors(column)
            return
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            self.nested = True
            return
        column = plain(column)
        present = column.drop_null()
        self.present += len(present)
        self.missing += len(column) - len(present)
        if not len(present):
            return
        self._add_words(present.slice(0, 100))  # of most columns these have too many words already
        self._add_words(present)
        self._add_scalars(column, present, start)

    def _add_words(self, present: pa.Array) -> None:
        if len(self.words) > MOST_CATEGORIES:
            return
        words = pc.unique(present)
        if pa.types.is_temporal(words.type):  # as a recipe reads them; Python's dates end with the year 9999
            words = words.cast(pa.string())
        self.words.update(words.to_pylist())

    def _add_scalars(self, column: pa.Array, present: pa.Array, start: int) -> None:
        if self.number:
            numbers = as_numbers(present, self.decimal)
            self.number = numbers is not None
        if self.number:
            self.numbers += len(present)
            self.infinite += int(np.isinf(numbers).sum())  # type: ignore[arg-type]
            self.offsets.add(_offset(numbers, start, len(column)))
            self.date, self.formats = False, []
            self.keys.add(present, numbers)  # type: ignore[arg-type]
            return
        self._count_numbers(column, start)
        self.date = self.date and as_days(present) is not None
        self.comma = self.comma and _has_other_mark(present, self.decimal)
        self._add_written(present)

    def _add_written(self, present: pa.Array) -> None:
        """Look for numbers with signs, and for dates that are not ISO 8601."""
        if not _is_text(present.type):
            self.signs = None
            return
        if self.signs is not None:
            signs = signs_in(present, self.decimal)
            self.signs = None if signs is None else self.signs | signs
        if self.formats != []:
            found = date_formats(present)
            self.formats = found if self.formats is None else [how for how in self.formats if how in found]

    def _count_numbers(self, column: pa.Array, start: int) -> None:
        """Count the cells of a batch that are numbers, and keep the first one that is not."""
        if not _is_text(column.type):
            return
        matches = pc.match_substring_regex(pointed(column, self.decimal), NUMBER)
        self.numbers += pc.sum(matches).as_py() or 0
        place = pc.index(matches, False).as_py()
        if self.odd is None and place >= 0:
            self.odd = start + place, column[place].as_py()

    def _add_vectors(self, column: pa.Array) -> None:
        lengths = pc.unique(pc.list_value_length(column)).to_pylist()
        inner = column.type.value_type
        self.widths.update(-1 if length is None else length for length in lengths)
        self.nested = self.nested or not (pa.types.is_integer(inner) or pa.types.is_floating(inner))

    def merge(self, later: "Observed") -> None:
        """Add what is known of the batches that follow."""
        self.present += later.present
        self.missing += later.missing
        self.infinite += later.infinite
        self.numbers += later.numbers
        self.number = self.number and later.number
        self.date, self.comma = self.date and later.date, self.comma and later.comma
        self.nested = self.nested or later.nested
        self.offsets |= later.offsets
        self.words |= later.words
        self.widths |= later.widths
        self.odd = self.odd or later.odd
        both = self.signs is not None and later.signs is not None
        self.signs = (self.signs or set()) | (later.signs or set()) if both else None
        if self.formats is None or later.formats is None:
            self.formats = later.formats if self.formats is None else self.formats
        else:
            self.formats = [how for how in self.formats if how in later.formats]
        self.keys.merge(later.keys)

    def concluded(self, name: str, n_rows: int) -> Column:
        """What the column holds."""
        words = tuple(sorted(str(word) for word in self.words))
        if self.widths and not self.nested and len(self.widths) == 1 and not self.present + self.missing:
            width = min(self.widths)
            return Column(name, "vector" if width > 0 else "nested", width=max(width, 0))
        if self.nested or self.widths:
            return Column(name, "nested", width=0)
        if self.missing == n_rows:
            return Column(name, "empty", self.missing)
        if len(words) == 1:
            return Column(name, "constant", self.missing, words)
        if self.number:
            counts = self.offsets in ({0.0}, {1.0}) and n_rows > 2 and not self.missing
            if not counts and len(words) > MOST_CATEGORIES and (reason := self.keys.reason(name)):
                return Column(name, "key", self.missing, reason=reason)
            return Column(name, "counter" if counts else "number", self.missing, infinite=self.infinite)
        if self.date:
            return Column(name, "date", self.missing)
        # 1,5 is a number with a comma, 1,234 one with a separator: the latter is checked to be in threes.
        if self.signs and len(self.signs - {THOUSANDS, ACCOUNTING}) < 2:
            return Column(name, "number", self.missing, written=" and ".join(sorted(self.signs)))
        if self.comma:
            return Column(name, "comma", self.missing)
        if self.formats:
            return Column(name, "date", self.missing, written=self.formats[0])
        odd = self._odd_cells()
        n_odd = self.present - self.numbers if odd else 0
        if len(words) <= MOST_CATEGORIES:
            return Column(name, "category", self.missing, words, odd=odd, n_odd=n_odd)
        named = "words under the name of a key" if is_named_key(name) and not odd else ""
        return Column(name, "text", self.missing, odd=odd, n_odd=n_odd, reason=named)

    def _odd_cells(self) -> str:
        others = self.present - self.numbers
        if self.odd is None or others > MOST_ODD * self.present:
            return ""
        row, cell = self.odd
        cells = "1 cell is not" if others == 1 else f"{others:,} cells are not"
        return (
            f"{self.numbers:,} of its cells are numbers, but {cells} (the first is {cell!r:.40} in row "
            f"{row:,}, counted from 0)"
        )


def _offset(numbers: NDArray[np.float64] | None, start: int, length: int) -> float | None:
    """The difference between the values and the row numbers, if it is the same everywhere."""
    if numbers is None or len(numbers) != length:
        return None
    offsets = numbers - np.arange(start, start + length)
    return float(offsets[0]) if (offsets == offsets[0]).all() else None


def _has_other_mark(column: pa.Array, decimal: str) -> bool:
    """Whether a column holds numbers if the other decimal mark counts, with thousands or not, or both do."""
    if not _is_text(column.type):
        return as_numbers(column) is not None
    other = "," if decimal == "." else "."
    either = pc.replace_substring(column, ",", ".")
    return any(found is not None for found in (as_numbers(either), written_numbers(column, other)))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def plain(column: pa.Array) -> pa.Array:
    """A column with dictionary codes replaced by their words, and texts that mean "missing" by nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _is_text(column.type):
        gone = pc.is_in(column, value_set=pa.array(MISSING, column.type))
        return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def as_numbers(column: pa.Array, decimal: str = ".") -> NDArray[np.float64] | None:
    """A column's values as numbers, NaN where missing; None if they are not numbers.

    Examples
    --------
    >>> as_numbers(pa.array(["1,5", " 2"]), decimal=",")
    array([1.5, 2. ])
    """
    if pa.types.is_temporal(column.type):
        return None
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    is_text = _is_text(column.type)
    if is_text:
        column = pointed(column, decimal)
    for trim in (False, True):
        try:
            values = pc.utf8_trim_whitespace(column) if trim else column
            return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if not is_text:
                return None
    return None


def numbers_of(table: Table, name: str) -> NDArray[np.float64] | None:
    """A column of a table as numbers, NaN where a cell is missing; None if it holds something else."""
    return as_numbers(plain(table.column(name).combine_chunks()), table.decimal)


def as_days(column: pa.Array) -> NDArray[np.float64] | None:
    """A column of dates as days since 1970, NaN where missing; None if they are not dates."""
    fine = pa.types.is_timestamp(column.type) and column.type.unit in ("us", "ns")
    try:
        stamps = column.cast(pa.timestamp("ms"), safe=not fine)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    days = stamps.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(pc.divide(days, 86_400_000.0).to_numpy(zero_copy_only=False), np.float64)


def counted(values: NDArray[Any]) -> dict[str, int]:
    """Count each value; the most frequent one is first.

    Examples
    --------
    >>> counted(np.array(["a", "b", "b"]))
    {'b': 2, 'a': 1}
    """
    found, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(found[i]): int(counts[i]) for i in order}
