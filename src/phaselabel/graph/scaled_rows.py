"""A table of numbers in, rows in a safe range of magnitudes that a search can read block by block out."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from phaselabel.graph.table_checks import check_width, checked_sparse_table, checked_table

#: Largest value under the Euclidean metric: distances then stay within the range of float64.
MAX_VALUE = 1e300
#: Rows of the sample that gives the mean of the points, and rows that are read at once.
_SAMPLE = 10_000
#: Rows of the sample that gives the typical deviation from the medians.
_DEVIATION_SAMPLE = 1_000
#: Largest deviation, in typical deviations, of points without outliers.
MAX_ORDINARY = 2.0**20
#: Deviation, in typical deviations, above which a row is an outlier, if there are any.
MIN_OUTLIER = 2.0**10
#: Largest share of the rows that count as outliers.
MAX_OUTLIERS = 0.01
#: Largest deviation, in typical deviations, whose square does not overflow in double precision.
MAX_DEVIATION = 1e140
#: Largest scaled value whose square does not overflow in single precision.
MAX_SINGLE = 2.0**50
#: Largest number of products spent on comparing some rows with all points in double precision.
MAX_SCAN_PRODUCTS = 2e10

_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Points as they were given, and the scale that brings them into the range of float32.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        The points as uint8, float32 or float64; may be memory-mapped.
    scale : ndarray of shape (n,)
        The factor of each row: one power of two for all rows under the Euclidean metric, so that nothing is
        rounded, and 1/|x| under cosine.
    centre : ndarray of shape (d,)
        Subtracted from the scaled rows before the precision is lowered.
    limit : float
        Larger scaled deviations from the centre are cut off in single precision, so that a few outliers do
        not determine the precision of all other rows.
    outliers : ndarray of int
        Rows that are cut off. They must be compared with all points in double precision.
    mixed : bool
        Whether too many rows for outliers have very large deviations. Then only deviations beyond
        ``MAX_SINGLE`` are cut off, and single precision hardly resolves the distances between the other rows.
    """

    values: NDArray[Any]
    scale: NDArray[np.float64]
    centre: NDArray[np.float64]
    limit: float = np.inf
    outliers: NDArray[np.int64] = field(default_factory=lambda: _NO_ROWS)
    mixed: bool = False

    @classmethod
    def take(cls, X: Any, metric: str, name: str = "X", like: "ScaledRows | None" = None) -> "ScaledRows":
        """Check a table and scale it; queries get the scale and the centre of the points, ``like``."""
        values = checked_table(X, name)
        if like is not None:
            check_width(values.shape[1], like.width, name)
        if metric == "cosine":
            scale = _inverse_lengths(values, name)
            return cls._about_mean(values, scale) if like is None else cls(values, scale, like.centre)
        return cls._points(values, name) if like is None else cls._queries(values, name, like)

    @classmethod
    def _about_mean(cls, values: NDArray[Any], scale: NDArray[np.float64]) -> "ScaledRows":
        rows = cls(values, scale, np.zeros(values.shape[1]))
        some = rows.scaled(rows.sample(_SAMPLE))
        return cls(values, scale, some.mean(axis=0, dtype=np.float64))

    @classmethod
    def _points(cls, values: NDArray[Any], name: str) -> "ScaledRows":
        low, high = _checked_range(values, name)
        medians, typical = _typical_deviation(values)
        largest = float(np.maximum(high - medians, medians - low).max())
        if largest <= MAX_ORDINARY * typical or not typical:
            power = _power_of_two(max(abs(float(low.min())), abs(float(high.max()))), values.dtype)
            return cls._about_mean(values, np.full(len(values), power))
        if largest > MAX_DEVIATION * typical:
            raise ValueError(_too_far(values, medians, name))
        # Scaled by the typical deviation, not by the largest value, beside which the others would vanish.
        power = _power_of_two(typical, values.dtype)
        scale, centre, limit = np.full(len(values), power), medians * power, MIN_OUTLIER * typical * power
        outliers = cls(values, scale, centre)._beyond(limit)
        if len(outliers) > min(MAX_OUTLIERS * len(values), MAX_SCAN_PRODUCTS / values.size):
            return cls(values, scale, centre, MAX_SINGLE, mixed=True)
        return cls(values, scale, centre, limit, outliers)

    @classmethod
    def _queries(cls, values: NDArray[Any], name: str, like: "ScaledRows") -> "ScaledRows":
        scale = np.full(len(values), like.scale[0])
        middle = like.centre / like.scale[0]
        low, high = _checked_range(values, name)
        with np.errstate(over="ignore"):
            largest = float(np.maximum(high - middle, middle - low).max() * like.scale[0])
        if largest > MAX_DEVIATION:
            raise ValueError(_too_far(values, middle, name))
        limit = min(like.limit, MAX_SINGLE)
        if largest <= limit:
            return cls(values, scale, like.centre)
        # A query beyond the limit may be near an outlier; without outliers all points are equally far.
        rows = cls(values, scale, like.centre, limit)
        return cls(values, scale, like.centre, limit, rows._beyond(limit) if len(like.outliers) else _NO_ROWS)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.values.shape[1])

    @cached_property
    def fits_single(self) -> bool:
        """Whether products of values and scales neither overflow nor lose digits in single precision."""
        single = np.finfo(np.float32)
        in_range = (self.scale >= single.tiny) & (self.scale <= single.max)
        return self.values.dtype != np.float64 and bool(in_range.all())

    def sample(self, size: int, seed: int = 0) -> NDArray[np.int64]:
        """Numbers of ``size`` random rows in ascending order, all of them if there are no more."""
        return _sample(len(self), size, seed)

    def scaled(self, rows: NDArray[np.integer] | slice) -> NDArray[np.floating]:
        """Some rows, scaled; in float32 where that loses nothing, else in float64."""
        precision = np.float32 if self.fits_single else np.float64
        scaled: NDArray[np.floating] = self.values[rows].astype(precision)
        with np.errstate(over="ignore"):  # of values that are cut off
            scaled *= self.scale[rows, None].astype(precision)
        return scaled

    def block(self, rows: NDArray[np.integer] | slice) -> NDArray[np.float32]:
        """Some rows, scaled and centred, in float32."""
        scaled = self.scaled(rows)
        scaled -= self.centre.astype(scaled.dtype)
        if self.limit < np.inf:
            np.clip(scaled, -self.limit, self.limit, out=scaled)
        return np.ascontiguousarray(scaled, np.float32)

    def blocks(self, size: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """All rows, ``size`` at a time."""
        for part in _slices(len(self), size):
            yield part, self.block(part)

    def _beyond(self, limit: float) -> NDArray[np.int64]:
        """Rows with a scaled deviation from the centre above ``limit``."""
        beyond = [(np.abs(self.scaled(part) - self.centre) > limit).any(axis=1) for part in self._parts()]
        return np.flatnonzero(np.concatenate(beyond))

    def _parts(self) -> Iterator[slice]:
        return _slices(len(self), _SAMPLE)


@dataclass(frozen=True, eq=False)
class ScaledSparseRows:
    """Sparse points in double precision, scaled like :class:`ScaledRows`.

    Attributes
    ----------
    matrix : csr_array of shape (n, d)
        The scaled points.
    power : float
        The power of two that they were multiplied by; 1 under cosine.
    """

    matrix: sparse.csr_array
    power: float

    @classmethod
    def take(
        cls, X: Any, metric: str, name: str = "X", like: "ScaledSparseRows | None" = None
    ) -> "ScaledSparseRows":
        """Check a sparse table and scale it; queries get the scale of the points, ``like``."""
        matrix = checked_sparse_table(X, name)
        if like is not None:
            check_width(matrix.shape[1], like.width, name)
        magnitudes = _row_magnitudes(matrix)
        if metric == "cosine":
            _refuse_zero_rows(magnitudes, name)
            matrix.data *= np.repeat(_powers_of_two(magnitudes), np.diff(matrix.indptr))
            rows = cls(matrix, 1.0)
            matrix.data /= np.repeat(np.sqrt(rows.squares), np.diff(matrix.indptr))
            return rows
        _checked_range(magnitudes[:, None], name)
        power = like.power if like is not None else _sparse_power(magnitudes)
        with np.errstate(over="ignore"):
            far = magnitudes * power > MAX_DEVIATION
        if far.any():
            row = int(far.argmax())
            raise ValueError(_too_far(matrix[[row]].toarray(), np.zeros(matrix.shape[1]), name, row))
        matrix.data *= power
        return cls(matrix, power)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.matrix.shape[1])

    @property
    def squares(self) -> NDArray[np.float64]:
        """The squared length of every row."""
        return np.asarray(self.matrix.multiply(self.matrix).sum(axis=1)).ravel()


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _sample(n: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


# -- magnitudes ----------------------------------------------------------------------------------------


def _checked_range(values: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The smallest and the largest value of every column; refuses values whose distances overflow."""
    low, high = values.min(axis=0), values.max(axis=0)
    largest = np.maximum(np.abs(high.astype(np.float64)), np.abs(low.astype(np.float64)))
    if largest.max() > MAX_VALUE:
        row = np.abs(values[:, largest.argmax()]).argmax()
        raise ValueError(
            f"Row {row} of {name} has a value of {largest.max():.3g}, and distances overflow beyond "
            f"{MAX_VALUE:.0e}; replace it if it marks a missing value, or divide all values by a constant."
        )
    return low, high


def _typical_deviation(values: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """The medians of the columns, and the median over the rows of the largest deviation from them.

    Rows that deviate nowhere are not counted. All of it is taken from a sample.
    """
    some = values[_sample(len(values), _DEVIATION_SAMPLE)].astype(np.float64)
    medians = np.median(some, axis=0)
    deviations = np.abs(some - medians).max(axis=1)
    deviations = deviations[deviations > 0]
    return medians, float(np.median(deviations)) if len(deviations) else 0.0


def _power_of_two(magnitude: float, dtype: DTypeLike = np.float64) -> float:
    """The power of two that brings a magnitude below 1."""
    limit = 1000 if dtype == np.float64 else 120  # the power itself must be representable
    return 2.0 ** -int(np.clip(np.frexp(magnitude)[1], -limit, limit)) if magnitude > 0 else 1.0


def _powers_of_two(magnitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    powers: NDArray[np.float64] = np.ldexp(1.0, -np.clip(np.frexp(magnitudes)[1], -1000, 1000))
    return powers


def _inverse_lengths(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    inverse = np.empty(len(values))
    for part in _slices(len(values), _SAMPLE):
        some = values[part].astype(np.float64)
        magnitudes = np.abs(some).max(axis=1)
        _refuse_zero_rows(magnitudes, name, part.start)
        # By a power of two of its own, a row neither over- nor underflows beside much larger ones.
        powers = _powers_of_two(magnitudes)
        some *= powers[:, None]
        inverse[part] = powers / np.sqrt(np.einsum("ij,ij->i", some, some))
    return inverse


def _row_magnitudes(matrix: sparse.csr_array) -> NDArray[np.float64]:
    """The largest absolute value of every row."""
    magnitudes = np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        magnitudes[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[filled])
    return magnitudes


def _sparse_power(magnitudes: NDArray[np.float64]) -> float:
    """The power of two that brings the largest row below 1, or a typical one if they differ too much."""
    filled = magnitudes[magnitudes > 0]
    if not len(filled):
        return 1.0
    largest, typical = float(filled.max()), float(np.median(filled))
    return _power_of_two(largest if largest <= MAX_ORDINARY * typical else typical)


def _refuse_zero_rows(magnitudes: NDArray[np.float64], name: str, first: int = 0) -> None:
    # The inverse of a smaller length overflows.
    zero = np.flatnonzero(magnitudes < np.finfo(np.float64).tiny)
    if zero.size:
        what = "is all zeros" if magnitudes[zero[0]] == 0 else "has no value above 2e-308"
        raise ValueError(
            f"Row {first + zero[0]} of {name} {what} ({zero.size} such rows), and metric='cosine' is "
            "not defined for it; drop such rows or use metric='euclidean'."
        )


def _too_far(values: NDArray[Any], middle: NDArray[np.float64], name: str, first: int = 0) -> str:
    """The message for the value that is farthest from the others."""
    with np.errstate(over="ignore"):
        row, column = np.unravel_index(np.abs(values - middle).argmax(), values.shape)
    return (
        f"Row {first + row} of {name} has the value {values[row, column]:.3g} in column {column}, more than "
        f"{MAX_DEVIATION:.0e} times as far away as a typical row of X, beside which distances cannot be "
        "computed; replace it if it marks a missing value, or drop the row."
    )
