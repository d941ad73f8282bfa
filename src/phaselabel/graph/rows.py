"""A table of numbers in, rows that a search can read block by block out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Rows that suffice to know where the cloud lies and in which directions it extends.
_SAMPLE = 10_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Points as they were given, and how to bring them into the range of float32.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        The points as uint8, float32 or float64; may be memory-mapped.
    scale : ndarray of shape (n,)
        What each row is multiplied by: one power of two for all under the Euclidean metric, so that nothing
        is rounded, and 1/|x| under cosine.
    centre : ndarray of shape (d,)
        What is then subtracted before the precision is lowered.
    """

    values: NDArray[Any]
    scale: NDArray[np.float64]
    centre: NDArray[np.float64]

    @classmethod
    def take(cls, X: Any, metric: str, name: str = "X", like: "Rows | None" = None) -> "Rows":
        """Check a table and take it; ``like`` gives scale and centre to rows that shall be compared."""
        values = _checked(X, name)
        if like is not None:
            _same_width(values.shape[1], like.width, name)
        if metric == "cosine":
            scale = _inverse_lengths(values, name)
        else:
            power = like.scale[0] if like is not None else _power_of_two(values)
            scale = np.full(len(values), power)
        centre = like.centre if like is not None else np.zeros(values.shape[1])
        rows = cls(values, scale, centre)
        if like is None:
            some = rows.sample(_SAMPLE)
            rows = cls(values, scale, rows.scaled(some).mean(axis=0, dtype=np.float64))
        return rows

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        """How many features there are."""
        return int(self.values.shape[1])

    @property
    def fits_single(self) -> bool:
        """Whether products of values and scales keep their meaning in single precision."""
        with np.errstate(over="ignore"):
            scale = self.scale.astype(np.float32)
        return self.values.dtype != np.float64 and bool(np.isfinite(scale).all() and scale.all())

    def sample(self, size: int, seed: int = 0) -> NDArray[np.int64]:
        """Numbers of ``size`` random rows in ascending order, all of them if there are no more."""
        if len(self) <= size:
            return np.arange(len(self))
        return np.sort(np.random.default_rng(seed).choice(len(self), size, replace=False))

    def scaled(self, rows: Any) -> NDArray[np.floating[Any]]:
        """Some rows, scaled; float32 where that loses nothing of what was given."""
        values = self.values[rows]
        exact = np.float32 if np.can_cast(values.dtype, np.float32) else np.float64
        scaled: NDArray[np.floating[Any]] = values.astype(exact)
        scaled *= self.scale[rows, None].astype(exact)
        return scaled

    def block(self, rows: Any) -> NDArray[np.float32]:
        """Some rows, scaled and centred, in float32."""
        scaled = self.scaled(rows)
        scaled -= self.centre.astype(scaled.dtype)
        return np.ascontiguousarray(scaled, np.float32)

    def blocks(self, size: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """All rows, ``size`` at a time."""
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            yield part, self.block(part)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Sparse points, scaled like :class:`Rows`: ``matrix`` in double precision, and the squared lengths."""

    matrix: sparse.csr_array
    power: float

    @classmethod
    def take(cls, X: Any, metric: str, name: str = "X", like: "SparseRows | None" = None) -> "SparseRows":
        """Check a sparse table and take it; ``like`` gives the scale to rows that shall be compared."""
        from sklearn.utils import check_array

        matrix = sparse.csr_array(check_array(X, accept_sparse="csr", dtype="numeric", input_name=name))
        if like is not None:
            _same_width(matrix.shape[1], like.matrix.shape[1], name)
        power = like.power if like is not None else _power_of_two(matrix.data)
        data = matrix.data * np.float64(power)
        matrix = sparse.csr_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
        matrix.sum_duplicates()
        rows = cls(matrix, power)
        if metric == "cosine":
            lengths = np.sqrt(rows.squares)
            refuse_zero_rows(lengths, name)
            matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
        return rows

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def squares(self) -> NDArray[np.float64]:
        """The squared length of every row."""
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1)).ravel()


def _same_width(given: int, expected: int, name: str) -> None:
    if given != expected:
        raise ValueError(
            f"{name} has {given} features but X has {expected}; both must have the same columns."
        )


def _checked(X: Any, name: str) -> NDArray[Any]:
    """Any table as an array that the kernels can read; copied only if its type leaves no choice."""
    values = X
    if not _is_plain(X):
        from sklearn.utils import check_array  # a second to import, so only where there is something to check

        values = check_array(X, dtype="numeric", input_name=name, ensure_min_features=1)
    if values.dtype == bool:
        return values.view(np.uint8)
    if values.dtype in (np.uint8, np.float32, np.float64):
        return np.asarray(values)
    # Three types of number are enough to compile the kernels for; these conversions lose nothing.
    return values.astype(np.float32 if np.can_cast(values.dtype, np.float32) else np.float64)


def _is_plain(X: Any) -> bool:
    """Whether X is beyond doubt a table of finite numbers already."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not X.size or X.dtype.kind not in "buif":
        return False
    with np.errstate(all="ignore"):
        return X.dtype.kind != "f" or bool(np.isfinite(X.sum(dtype=np.float64)))


def _power_of_two(values: NDArray[Any]) -> float:
    """Brings the largest number below 1."""
    largest = max(abs(float(values.max())), abs(float(values.min()))) if values.size else 0.0
    limit = 1000 if values.dtype == np.float64 else 120  # the power itself must be a number, too
    return 2.0 ** -int(np.clip(np.frexp(largest)[1], -limit, limit)) if largest > 0 else 1.0


def _inverse_lengths(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    power = _power_of_two(values)
    lengths = np.empty(len(values))
    for start in range(0, len(values), _SAMPLE):
        part = values[start : start + _SAMPLE] * power
        lengths[start : start + _SAMPLE] = np.sqrt(np.einsum("ij,ij->i", part, part, dtype=np.float64))
    refuse_zero_rows(lengths, name)
    return power / lengths


def refuse_zero_rows(lengths: NDArray[np.floating[Any]], name: str) -> None:
    """Cosine has no answer for a row without direction."""
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        raise ValueError(
            f"Row {empty[0]} of {name} is all zeros ({empty.size} such rows), and metric='cosine' is not "
            "defined for it; drop such rows or use metric='euclidean'."
        )
