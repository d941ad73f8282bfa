"""A table of any kind in, an array of finite numbers (or a sparse matrix) that kernels can read out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def checked_table(X: Any, name: str) -> NDArray[Any]:
    """Any table as an array of uint8, float32 or float64; copied only if its type requires it."""
    values: NDArray[Any] = X
    if not _is_plain(X):
        from sklearn.utils import check_array  # takes a second to import, so only where it is needed

        values = check_array(X, dtype="numeric", input_name=name, ensure_min_features=1)
    if values.dtype == bool:
        return values.view(np.uint8)
    table: NDArray[Any] = as_float(np.asarray(values), name)
    return table


def checked_sparse_table(X: Any, name: str) -> sparse.csr_array:
    """A copy of a sparse matrix in float64, with every entry once, in the order of the columns."""
    from sklearn.utils import check_array

    matrix = checked_csr(check_array(X, accept_sparse=True, dtype="numeric", input_name=name), name)
    matrix = as_float(matrix, name).astype(np.float64)
    matrix.sum_duplicates()
    return matrix


def checked_csr(matrix: Any, name: str) -> sparse.csr_array:
    """A copy of a matrix as CSR; its indices are checked, since compiled code follows them unchecked."""
    try:
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
        if sparse.issparse(matrix):
            _check_indices(matrix)
    except ValueError as error:
        raise ValueError(f"{name} is not a proper sparse matrix: {error}; build it anew.") from None
    return sparse.csr_array(matrix, copy=True)


def _check_indices(matrix: Any) -> None:
    """Refuse indices that lead outside; SciPy looks at few of them where the last row pointer is 0."""
    if matrix.format == "coo":
        # SciPy below 1.13 has no coords, and no matrices of one dimension.
        for axis, numbers in enumerate(getattr(matrix, "coords", None) or (matrix.row, matrix.col)):
            _check_range(numbers, matrix.shape[axis])
    if matrix.format not in ("csr", "csc", "bsr"):
        return
    ends = np.asarray(matrix.indptr, np.int64)
    axis = 0 if matrix.format == "csc" else 1
    blocks = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    if len(ends) != matrix.shape[1 - axis] // blocks[1 - axis] + 1 or ends[0] != 0:
        raise ValueError("the row pointers do not fit its shape")
    if (np.diff(ends) < 0).any() or ends[-1] > min(len(matrix.indices), len(matrix.data)):
        raise ValueError("the row pointers do not rise, or point beyond its entries")
    _check_range(matrix.indices, matrix.shape[axis] // blocks[axis])


def _check_range(numbers: NDArray[Any], size: int) -> None:
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < size):
        raise ValueError(f"its indices must lie between 0 and {size - 1}")


def check_width(given: int, expected: int, name: str) -> None:
    """Refuse queries with other columns than the points."""
    if given != expected:
        raise ValueError(
            f"{name} has {given} features but X has {expected}; both must have the same columns."
        )


def as_float(values: Any, name: str) -> Any:
    """An array or a sparse matrix as uint8, float32 or float64, for which kernels are compiled.

    Refuses numbers that would be rounded or overflow. Indices of a CSR matrix become 32 bits long, if they
    fit: the forests of scikit-learn read no others.
    """
    if sparse.issparse(values):
        values = _with_short_indices(values)
    if values.dtype in (np.uint8, np.float32, np.float64):
        return values
    refuse_rounding(values.data if sparse.issparse(values) else values, name)
    with np.errstate(over="ignore"):
        converted = values.astype(np.float32 if np.can_cast(values.dtype, np.float32) else np.float64)
    entries = converted.data if sparse.issparse(converted) else converted
    if values.dtype.kind == "f" and not np.isfinite(entries).all():
        raise ValueError(f"{name} has a value beyond the range of float64; divide all values by a constant.")
    return converted


def _with_short_indices(matrix: Any) -> Any:
    fits = max(matrix.shape[1], matrix.nnz) <= np.iinfo(np.int32).max
    if matrix.format != "csr" or matrix.indices.dtype == np.int32 or not fits:
        return matrix
    indices, ends = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return type(matrix)((matrix.data, indices, ends), shape=matrix.shape)


def _is_plain(X: Any) -> bool:
    """Whether X is an array of finite numbers already."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not X.size or X.dtype.kind not in "buif":
        return False
    with np.errstate(all="ignore"):
        return X.dtype.kind != "f" or bool(np.isfinite(X.sum(dtype=np.float64)))


def refuse_rounding(values: NDArray[Any], name: str) -> None:
    """Refuse whole numbers beyond 2^53 that float64 cannot hold: distinct rows would become equal."""
    if values.dtype not in (np.int64, np.uint64) or not values.size:
        return
    if int(values.max()) <= 2**53 and int(values.min()) >= -(2**53):
        return
    # int64 has no absolute value of its smallest number; uint64 has.
    magnitude = np.where(values < 0, ~values.astype(np.uint64) + np.uint64(1), values.astype(np.uint64))
    excess = np.maximum(np.frexp(magnitude.astype(np.float64))[1] - 53, 0).astype(np.uint64)
    rounded = (magnitude & ((np.uint64(1) << excess) - np.uint64(1))) != 0
    if rounded.any():
        where = np.unravel_index(rounded.argmax(), values.shape)
        raise ValueError(
            f"{_place(where, name)} has the whole number {values[where]}, which float64 cannot hold exactly; "
            "subtract the smallest value of each column first, or convert to float64 yourself if the last "
            "digits do not matter."
        )


def _place(where: tuple[Any, ...], name: str) -> str:
    """Where a value stands; the entries of a sparse matrix have no place."""
    return f"Row {where[0]}, column {where[1]} of {name}" if len(where) == 2 else name
