"""A column of which a few entries are labels in, those labels out; and what was found, as new columns."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from phaselabel.tables.columnar import ArrayTable
from phaselabel.tables.columns import as_numbers
from phaselabel.tables.table import Table, listed

#: What counts as "not labelled" unless the user says otherwise; in arrays of numbers -1 does, too.
UNLABELED = ("", "?", "NA")


class Labels:
    """The few labels of a table, as they stand there.

    Attributes
    ----------
    values : ndarray of object
        One entry per row, None where there is no label.
    counts : Counter
        How many rows each class has.
    type : pyarrow.DataType
        What the column was.
    unlabeled : tuple of str
        What stands for "no label"; a missing value always does.
    """

    def __init__(self, column: pa.ChunkedArray, unlabeled: Sequence[str]) -> None:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_nested(column.type) or pa.types.is_temporal(column.type):
            raise ValueError(
                f"A column of labels can't be of type {column.type}; use words or whole numbers."
            )
        self.type, self.unlabeled = column.type, tuple(unlabeled)
        values = column.to_pylist()
        self.values = np.empty(len(values), object)
        self.values[:] = [None if _is_none(value, unlabeled) else value for value in values]
        self.counts = Counter(value for value in self.values if value is not None)

    @classmethod
    def of(
        cls,
        table: Table,
        name: str,
        n_rows: int,
        *,
        unlabeled: Sequence[str] = (),
        other: Table | None = None,
    ) -> "Labels":
        """The labels in a column of the table, or those of its rows in another table.

        That one has an entry for every row, or a column ``row`` that says which rows it speaks of.
        """
        source = table if other is None else other
        unlabeled = tuple(unlabeled) or UNLABELED + ("-1",) * isinstance(source, ArrayTable)
        column = source.column(name) if other is None else _column_for(other, name, n_rows)
        labels = cls(column, unlabeled)
        where = f"Column {name!r} of {source.path.name}" if other is None else source.path.name
        if not labels.counts:
            shown = ", ".join(repr(mark) for mark in unlabeled)
            raise ValueError(
                f"{where} has no label: every entry counts as unlabelled ({shown}); label some rows."
            )
        if len(labels.counts) == 1:
            only, count = next(iter(labels.counts.items()))
            raise ValueError(
                f"{where} has one class only, {only!r} ({count:,} rows), so there is nothing to tell apart; "
                "label some rows of another class, or check what stands for 'no label' (--unlabeled)."
            )
        return labels


def found_columns(
    name: str, predicted: NDArray[Any], confidence: NDArray[Any], reached: NDArray[Any], kind: Any
) -> dict[str, pa.Array]:
    """The new columns of a table: the class (of the type that labels have), how sure it is, if any."""
    words = [label if sure else None for label, sure in zip(predicted.tolist(), reached)]
    columns = pa.array(words, kind), pa.array(np.round(confidence, 4)), pa.array(reached)
    return dict(zip(found_names(name), columns))


def found_names(name: str) -> list[str]:
    """What the new columns are called.

    Examples
    --------
    >>> found_names("topic")
    ['topic_predicted', 'topic_confidence', 'topic_reached']
    """
    return [f"{name}_{what}" for what in ("predicted", "confidence", "reached")]


def refuse_found(table: Table, name: str) -> None:
    """Refuse a table that has such columns already."""
    for new in found_names(name):
        if new in table.names:
            raise ValueError(
                f"{table.path.name} has a column {new!r} already; rename it, or take the original table."
            )


def _is_none(value: Any, unlabeled: Sequence[str]) -> bool:
    if value is None or value != value:
        return True
    text = value.strip() if isinstance(value, str) else str(value)
    return text in unlabeled


def _column_for(source: Table, name: str, n_rows: int) -> pa.Array:
    """The column of a file of labels, spread over the rows if it says which rows it is about."""
    names = [other for other in source.names if other != "row"]
    if name not in names and len(names) != 1:
        raise ValueError(
            f"{source.path.name} has {len(names)} columns ({listed(names)}); name the one with the labels "
            "with --label."
        )
    column = source.column(name if name in names else names[0]).combine_chunks()
    if "row" in source.names:
        return _spread(column, source, n_rows)
    if len(column) != n_rows:
        raise ValueError(
            f"{source.path.name} has {len(column):,} labels for {n_rows:,} rows; give one per row (empty "
            "where not known), or add a column 'row'."
        )
    return column


def _spread(column: pa.Array, source: Table, n_rows: int) -> pa.Array:
    """Labels put on the rows that the column ``row`` names."""
    rows = as_numbers(source.column("row").combine_chunks())
    if rows is None or not np.isfinite(rows).all() or (rows != np.floor(rows)).any():
        raise ValueError(f"Column 'row' of {source.path.name} must hold whole numbers, counted from 0.")
    strange = rows[(rows < 0) | (rows >= n_rows)]
    if len(strange):
        raise ValueError(
            f"{source.path.name} speaks of row {strange[0]:.0f}; the table has rows 0 to {n_rows - 1}."
        )
    numbers, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"{source.path.name} speaks of row {numbers[counts > 1][0]:.0f} more than once; keep one label."
        )
    spread: list[Any] = [None] * n_rows
    for row, label in zip(rows.astype(int), column.to_pylist()):
        spread[row] = label
    return pa.array(spread, column.type)
