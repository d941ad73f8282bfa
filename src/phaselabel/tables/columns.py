"""A table in, what each of its columns is out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from phaselabel.tables.table import Table

#: Texts that stand for a missing value in a column of features.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "None")
#: A column of words with at most this many different ones is a category; with more it is free text.
MOST_CATEGORIES = 30


@dataclass(frozen=True)
class Column:
    """What was found in one column.

    ``kind`` is one of number, category, text, date, vector, counter (it numbers the rows), comma (numbers
    with another decimal mark than the table's), constant, empty or nested; ``values`` are a category's
    different words; ``width`` is a vector's length.
    """

    name: str
    kind: str
    missing: int = 0
    values: tuple[str, ...] = ()
    width: int = 1


def survey(table: Table, skip: Sequence[str] = ()) -> tuple[dict[str, Column], int]:
    """Look at every column once; answer what each one is and how many rows there are."""
    names = [name for name in table.names if name not in skip]
    found = {name: _Sighting(table.decimal) for name in names}
    n_rows = 0
    for batch in table.batches(names or table.names[:1]):
        for name in names:
            found[name].see(batch.column(name), n_rows)
        n_rows += batch.num_rows
    return {name: sighting.column(name, n_rows) for name, sighting in found.items()}, n_rows


class _Sighting:
    """What is known of a column after some of its batches."""

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.missing = 0
        self.number = self.date = self.counter = self.comma = True
        self.vector = self.nested = False
        self.words: set[Any] = set()
        self.width = 0

    def see(self, column: pa.Array, start: int) -> None:
        if _is_list(column.type):
            self._see_vectors(column)
            return
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            self.nested = True
            return
        column = plain(column)
        present = column.drop_null()
        self.missing += len(column) - len(present)
        if len(self.words) <= MOST_CATEGORIES:
            self.words.update(pc.unique(present.slice(0, 2000)).to_pylist())
        if len(self.words) <= MOST_CATEGORIES:
            self.words.update(pc.unique(present).to_pylist())
        if self.number:
            numbers = as_numbers(present, self.decimal)
            self.number = numbers is not None
            self.counter = self.counter and numbers is not None and _counts_on(numbers, start, len(column))
        if self.date:
            self.date = not self.number and as_days(present) is not None
        if self.comma:
            other = "," if self.decimal == "." else "."
            self.comma = not self.number and as_numbers(present, other) is not None

    def _see_vectors(self, column: pa.Array) -> None:
        widths = pc.unique(pc.list_value_length(column)).to_pylist()
        inner = column.type.value_type
        self.vector = len(widths) == 1 and (pa.types.is_integer(inner) or pa.types.is_floating(inner))
        self.vector = self.vector and self.width in (0, widths[0])
        self.nested, self.width = not self.vector, widths[0] or 0

    def column(self, name: str, n_rows: int) -> Column:
        words = tuple(sorted(str(word) for word in self.words))
        if self.nested or self.vector:
            return Column(name, "nested" if self.nested else "vector", width=self.width)
        if self.missing == n_rows:
            return Column(name, "empty", self.missing)
        if len(words) == 1:
            return Column(name, "constant", self.missing, words)
        if self.number:
            counts = self.counter and n_rows > 2 and not self.missing
            return Column(name, "counter" if counts else "number", self.missing)
        if self.date:
            return Column(name, "date", self.missing)
        if self.comma:
            return Column(name, "comma", self.missing)
        if len(words) <= MOST_CATEGORIES:
            return Column(name, "category", self.missing, words)
        return Column(name, "text", self.missing)


def _counts_on(numbers: NDArray[np.float64], start: int, length: int) -> bool:
    """Whether these are row numbers, from 0 or from 1."""
    if len(numbers) != length:
        return False
    gap = numbers - np.arange(start, start + length)
    return bool((gap == gap[0]).all() and gap[0] in (0, 1)) if length else True


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def plain(column: pa.Array) -> pa.Array:
    """A column with dictionary codes replaced by their words and with texts for "missing" as nulls."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        gone = pc.is_in(column, value_set=pa.array(MISSING, column.type))
        return pc.if_else(gone, pa.scalar(None, column.type), column) if pc.any(gone).as_py() else column
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def as_numbers(column: pa.Array, decimal: str = ".") -> NDArray[np.float64] | None:
    """A column's values as numbers, NaN where missing; None if they aren't numbers.

    Examples
    --------
    >>> as_numbers(pa.array(["1,5", " 2"]), decimal=",")
    array([1.5, 2. ])
    """
    if pa.types.is_temporal(column.type):
        return None
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if is_text and decimal != ".":
        column = pc.replace_substring(column, decimal, ".")
    for trim in (False, True):
        try:
            values = pc.utf8_trim_whitespace(column) if trim else column
            return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            if not is_text:
                return None
    return None


def as_days(column: pa.Array) -> NDArray[np.float64] | None:
    """A column of dates as days since 1970, NaN where missing; None if they aren't dates."""
    try:
        stamps = column.cast(pa.timestamp("ms"))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    days = stamps.cast(pa.int64()).cast(pa.float64(), safe=False)
    return np.asarray(pc.divide(days, 86_400_000.0).to_numpy(zero_copy_only=False), np.float64)


def counted(values: NDArray[Any]) -> dict[str, int]:
    """How often each value occurs, the most frequent first.

    Examples
    --------
    >>> counted(np.array(["a", "b", "b"]))
    {'b': 2, 'a': 1}
    """
    found, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(found[i]): int(counts[i]) for i in order}
