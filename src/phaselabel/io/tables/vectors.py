"""A column of lists in, a matrix with a vector per row out; one of another length is named by its row."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def is_list(kind: pa.DataType) -> bool:
    """Whether the values of a column are lists.

    Examples
    --------
    >>> is_list(pa.list_(pa.float32())), is_list(pa.float32())
    (True, False)
    """
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether the values of a column are numbers, or true and false.

    Examples
    --------
    >>> is_number(pa.float32()), is_number(pa.string())
    (True, False)
    """
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def vectors_of(column: pa.Array, what: str, *, width: int | None = None, first_row: int = 0) -> NDArray[Any]:
    """The vectors of a column, one below the other; the length of every one is checked.

    Parameters
    ----------
    column : Array
        Lists of numbers.
    what : str
        The column, as an error names it.
    width : int, optional
        The length of the vectors; that of the first one by default.
    first_row : int, default=0
        The number of the first row, as an error names it.

    Returns
    -------
    ndarray of shape (n_rows, width)
        The numbers, NaN where one is missing.

    Examples
    --------
    >>> vectors_of(pa.array([[1.0, 2.0], [3.0, 4.0]]), "Column 'v'").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if not (is_list(column.type) and is_number(column.type.value_type)):
        raise ValueError(f"{what} must hold vectors of numbers; it is of type {column.type}.")
    lengths = pc.list_value_length(column)
    if width is None:
        width = pc.first(lengths).as_py() or 0  # of the first row that is not missing
    odd = pc.index(pc.fill_null(pc.equal(lengths, width), False), False).as_py()
    if odd >= 0:
        length = lengths[odd].as_py()
        raise ValueError(
            f"{what} must hold vectors of one length, {width}; row {first_row + odd:,}, counted from 0, "
            + ("has no vector." if length is None else f"has one of length {length}.")
        )
    flat: NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), width)
