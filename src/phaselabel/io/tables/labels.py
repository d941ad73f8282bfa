"""A column with a few labels in, those labels out; and the answer as new columns."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import partial
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from phaselabel.io.tables.columnar import ArrayTable
from phaselabel.io.tables.columns import as_numbers
from phaselabel.io.tables.spellings import joined, look_alikes
from phaselabel.io.tables.table import Table, listed

#: Entries that mean "no label" unless the user names others.
UNLABELED = ("", "?", "NA")
#: Those in NPY and NPZ files.
UNLABELED_IN_ARRAYS = (*UNLABELED, "-1")


class Labels:
    """The few labels of a table.

    Parameters
    ----------
    column : pyarrow.ChunkedArray or pyarrow.Array
        A column of labels, or the part of one that starts with row ``first_row``.
    unlabeled : sequence of str
        The entries that mean "no label"; a missing value and an empty entry always do.
    first_row : int, default=0
        The number of the first row.

    Attributes
    ----------
    rows : ndarray of int64
        The rows with a label.
    values : ndarray of object
        Their labels.
    n_rows : int
        The number of all rows.
    type : pyarrow.DataType
        The type of the column.
    unlabeled : tuple of str
        The entries that mean "no label".
    joined : list of list of (str, int)
        Spellings that :meth:`cleaned` has made one class, and the number of rows of each.

    Examples
    --------
    >>> labels = Labels(pa.array(["cat", "?", None, "dog"]), ["?"])
    >>> labels.rows.tolist(), labels.values.tolist(), labels.n_rows
    ([0, 3], ['cat', 'dog'], 4)
    """

    def __init__(
        self, column: pa.ChunkedArray | pa.Array, unlabeled: Sequence[str], first_row: int = 0
    ) -> None:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_nested(column.type) or pa.types.is_temporal(column.type):
            raise ValueError(
                f"A column of labels can't be of type {column.type}; use words or whole numbers."
            )
        self.type, self.n_rows = column.type, len(column)
        self.unlabeled = tuple(dict.fromkeys((*unlabeled, "")))
        self.joined: list[list[tuple[str, int]]] = []
        known = [
            (row, value)
            for row, value in enumerate(column.to_pylist(), first_row)
            if not means_unlabeled(value, self.unlabeled)
        ]
        self.rows = np.array([row for row, _ in known], np.int64)
        self.values = np.empty(len(known), object)
        self.values[:] = [value for _, value in known]

    @classmethod
    def of(
        cls,
        table: Table,
        name: str,
        n_rows: int,
        unlabeled: Sequence[str] = (),
        other: Table | None = None,
        by: str | None = None,
        find: Callable[[str, Collection[str]], list[tuple[str, int]]] | None = None,
    ) -> "Labels":
        """The labels in a column of a table, or those for its rows in another table, or both.

        Parameters
        ----------
        table : Table
            The table.
        name : str
            The column.
        n_rows : int
            The number of rows of the table.
        unlabeled : sequence of str
            The entries that mean "no label"; by default those that :func:`unlabeled_in` names.
        other : Table, optional
            A table with an entry for every row, or with a column that says which rows it is about: ``row``,
            or the one that ``by`` names. In the second case the labels of ``table`` count too, if it has any.
        by : str, optional
            A column of both tables that names their rows.
        find : callable, optional
            Called with ``by`` and some entries of it; returns those that the table has, and their rows. By
            default all of the column is read here.
        """
        source = table if other is None else other
        marks = tuple(unlabeled) or unlabeled_in(source)
        if other is None:
            column = source.column(name)
        elif by is None:
            column = _column_for(other, name, n_rows, table)
        else:
            column = _matched(other, name, table, n_rows, by, find or partial(rows_with_keys, table))
        labels = cls(column, marks)
        if other is not None and name in table.names and (by is not None or "row" in other.names):
            labels = cls(table.column(name), marks).updated(labels)
        labels.check(source, name if other is None else None)
        return labels

    def updated(self, later: "Labels") -> "Labels":
        """These labels, with those of ``later`` added, or put in their place."""
        if str(self.type) != str(later.type):
            later.values[:] = [_of_type(value, self.type) for value in later.values]
        known = dict(zip(self.rows.tolist(), self.values)) | dict(zip(later.rows.tolist(), later.values))
        return self._with(np.array(sorted(known), np.int64), [known[row] for row in sorted(known)])

    def cleaned(self) -> "Labels":
        """The labels with one spelling where they differ by case or spaces only."""
        counts = self.counts
        labels = self._with(self.rows, joined(self.values).tolist())
        labels.joined = [[(label, counts[label]) for label in group] for group in look_alikes(counts)]
        return labels

    def without(self, words: Sequence[str]) -> "Labels":
        """The labels without those that are one of some words, in any case, with any spaces around them."""
        marks = {word.strip().casefold() for word in words}
        kept = np.array([str(value).strip().casefold() not in marks for value in self.values], bool)
        labels = self._with(self.rows[kept], self.values[kept].tolist())
        dropped = (str(value).strip() for value in self.values[~kept])
        labels.unlabeled = tuple(dict.fromkeys((*self.unlabeled, *dropped)))
        return labels

    def _with(self, rows: NDArray[np.int64], values: Sequence[Any]) -> "Labels":
        labels = copy(self)
        labels.rows, labels.values = rows, np.empty(len(rows), object)
        labels.values[:] = values
        return labels

    @classmethod
    def merged(cls, parts: Sequence["Labels"]) -> "Labels":
        """The labels of a table from those of its parts, which are in order."""
        labels = cls(pa.array([], parts[0].type), parts[0].unlabeled)
        labels.type = next((part.type for part in parts if not pa.types.is_null(part.type)), labels.type)
        labels.n_rows = sum(part.n_rows for part in parts)
        labels.rows = np.concatenate([part.rows for part in parts])
        labels.values = np.concatenate([part.values for part in parts])
        return labels

    @property
    def counts(self) -> Counter[Any]:
        """The number of rows of each class."""
        return Counter(self.values.tolist())

    @property
    def entries(self) -> NDArray[np.object_]:
        """One entry per row, None where there is no label."""
        entries = np.empty(self.n_rows, object)
        entries[self.rows] = self.values
        return entries

    def check(self, table: Table, name: str | None = None) -> None:
        """Refuse labels of fewer than two classes; the table, or its column ``name``, is what they are in."""
        where = table.path.name if name is None else f"Column {name!r} of {table.path.name}"
        counts = self.counts
        if not counts:
            shown = ", ".join(repr(mark) if mark else "empty entries" for mark in self.unlabeled)
            raise ValueError(
                f"{where} has no label: every entry counts as unlabelled ({shown}); label some rows."
            )
        if len(counts) == 1:
            only, count = next(iter(counts.items()))
            raise ValueError(
                f"{where} has one class only, {only!r} ({count:,} row{'s'[: count != 1]}), so there is "
                "nothing to tell apart; label some rows of another class, or check what stands for 'no "
                "label' (--unlabeled)."
            )


def unlabeled_in(table: Table) -> tuple[str, ...]:
    """The entries that mean "no label" in a table of this format, unless the user names others."""
    return UNLABELED_IN_ARRAYS if isinstance(table, ArrayTable) else UNLABELED


def means_unlabeled(value: Any, marks: Collection[str]) -> bool:
    """Whether an entry of a column of labels means "no label": a missing or empty one, or one of the marks.

    Examples
    --------
    >>> [means_unlabeled(value, ("?", "-1")) for value in (None, float("nan"), " ", " ? ", -1.0, "cat")]
    [True, True, True, True, True, False]
    """
    if value is None or value != value:
        return True
    whole = isinstance(value, float) and value.is_integer() and str(int(value)) in marks
    return whole or str(value).strip() in ("", *marks)


def found_columns(
    name: str,
    predicted: NDArray[Any],
    confidence: NDArray[Any],
    reached: NDArray[Any],
    kind: Any,
    novel: NDArray[Any] | None = None,
) -> dict[str, pa.Array]:
    """The new columns of a table.

    Parameters
    ----------
    name : str
        The column with the given labels.
    predicted : ndarray
        The class of every row; what it says of a row that is not reached is not used.
    confidence : ndarray
        The probability that each class is right.
    reached : ndarray of bool
        Whether any label reaches the row.
    kind : pyarrow.DataType
        The type of the labels.
    novel : ndarray of bool, optional
        Which rows look like none of the labelled ones; a column of its own.
    """
    classes = [label if has_class else None for label, has_class in zip(predicted.tolist(), reached)]
    columns = pa.array(classes, kind), pa.array(np.round(confidence, 4)), pa.array(reached)
    found = dict(zip(found_names(name), columns))
    if novel is not None:
        found[novel_name(name)] = pa.array(novel)
    return found


def found_names(name: str) -> list[str]:
    """The names of the new columns.

    Examples
    --------
    >>> found_names("topic")
    ['topic_predicted', 'topic_confidence', 'topic_reached']
    """
    return [f"{name}_{what}" for what in ("predicted", "confidence", "reached")]


def novel_name(name: str) -> str:
    """The name of the new column that is there only if some rows look like none of the labelled ones."""
    return f"{name}_novel"


def refuse_found(table: Table, name: str) -> None:
    """Refuse a table that already has such columns."""
    for new in (*found_names(name), novel_name(name)):
        if new in table.names:
            raise ValueError(
                f"{table.path.name} has a column {new!r} already; rename it, or take the original table."
            )


def _of_type(value: Any, kind: pa.DataType) -> Any:
    """A label from another file in the type of the table's own labels: 1 may be "1" there."""
    try:
        return pa.array([str(value)]).cast(kind)[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(f"The label {value!r} is not of the type of the table's labels, {kind}.") from None


def _matched(
    source: Table,
    name: str,
    table: Table,
    n_rows: int,
    by: str,
    find: Callable[[str, Collection[str]], list[tuple[str, int]]],
) -> pa.Array:
    """The labels of another file at the rows of a table that have the same entry in a column."""
    table.require([by])
    source.require([by])
    others = [other for other in source.names if other != by]
    if name not in others and len(others) != 1:
        raise ValueError(
            f"{source.path.name} has {len(others)} columns besides {by!r} ({listed(others)}); name the one "
            "with the labels with --label."
        )
    column = source.column(name if name in others else others[0]).combine_chunks()
    keys = _keys(source, by)
    found = find(by, {key for key in keys if key})
    for file, its in ((source, keys), (table, [key for key, _ in found])):
        twice = [key for key, count in Counter(its).items() if count > 1 and key]
        if twice:
            raise ValueError(
                f"{file.path.name} has {twice[0]!r} in column {by!r} more than once; --id needs one row each."
            )
    place = dict(found)
    lost = [key for key in keys if key not in place]
    if lost:
        raise ValueError(
            f"{source.path.name} has a label for {lost[0]!r} in column {by!r}, which {table.path.name} does "
            f"not have ({len(lost):,} such row{'s'[: len(lost) != 1]}); check --id, or leave them out."
        )
    entries: list[Any] = [None] * n_rows
    for key, label in zip(keys, column.to_pylist()):
        entries[place[key]] = label
    return pa.array(entries, column.type)


def rows_with_keys(
    table: Table, by: str, wanted: Collection[str], first_row: int = 0
) -> list[tuple[str, int]]:
    """The rows of a table, or of a part of one, whose entry in a column is one of some."""
    return [(key, row) for row, key in enumerate(_keys(table, by), first_row) if key in wanted]


def _keys(table: Table, by: str) -> list[str]:
    """The entries of a column as text without spaces around them."""
    return ["" if key is None else str(key).strip() for key in table.column(by).to_pylist()]


def _column_for(source: Table, name: str, n_rows: int, table: Table) -> pa.Array:
    """The column of a file of labels, with an entry for every row of the table."""
    names = [other for other in source.names if other != "row"]
    shared = [other for other in names if other in table.names and other != name]
    if shared and "row" not in source.names and (name in names or len(names) == 2):
        raise ValueError(
            f"{source.path.name} has the column {shared[0]!r} of the table too; join the labels by it with "
            f"--id {quote(shared[0])}, or keep the labels alone."
        )
    if name not in names and len(names) != 1:
        raise ValueError(
            f"{source.path.name} has {len(names)} columns ({listed(names)}); name the one with the labels "
            "with --label."
        )
    column = source.column(name if name in names else names[0]).combine_chunks()
    if "row" in source.names:
        return _placed(column, source, n_rows)
    if len(column) != n_rows:
        raise ValueError(
            f"{source.path.name} has {len(column):,} labels for {n_rows:,} rows; give one per row (empty "
            "where not known), or add a column 'row'."
        )
    return column


def _placed(column: pa.Array, source: Table, n_rows: int) -> pa.Array:
    """Labels at the rows that the column ``row`` names."""
    rows = as_numbers(source.column("row").combine_chunks())
    if rows is None or not np.isfinite(rows).all() or (rows != np.floor(rows)).any():
        raise ValueError(f"Column 'row' of {source.path.name} must hold whole numbers, counted from 0.")
    outside = rows[(rows < 0) | (rows >= n_rows)]
    if len(outside):
        raise ValueError(
            f"{source.path.name} speaks of row {outside[0]:.0f}; the table has rows 0 to {n_rows - 1}."
        )
    numbers, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"{source.path.name} speaks of row {numbers[counts > 1][0]:.0f} more than once; keep one label."
        )
    entries: list[Any] = [None] * n_rows
    for row, label in zip(rows.astype(int), column.to_pylist()):
        entries[row] = label
    return pa.array(entries, column.type)
