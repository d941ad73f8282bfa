"""Points in, the nearest neighbours of every point out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _kernels


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbours of every row, nearest first, the row itself not counted.

    Attributes
    ----------
    indices : ndarray of shape (n, k)
        Row numbers of the neighbours.
    distances : ndarray of shape (n, k)
        How far they are.
    """

    indices: NDArray[np.integer[Any]]
    distances: NDArray[np.floating[Any]]

    @property
    def n_neighbors(self) -> int:
        """How many neighbours each row has."""
        return int(self.indices.shape[1])

    @classmethod
    def from_distances(cls, distances: Any, n_neighbors: int) -> "Neighbors":
        """Take the ``n_neighbors`` nearest of each row from a matrix of distances, sparse or dense.

        In a sparse matrix stored zeros are neighbours at distance zero, and what is not stored is not a
        neighbour. The diagonal is skipped.
        """
        rows, columns, values, shape = _entries(distances)
        if shape[0] != shape[1]:
            raise ValueError(
                f"Precomputed distances must be square, one row and one column per point; got {shape}."
            )
        others = rows != columns
        return cls._nearest(rows[others], columns[others], values[others], shape[0], n_neighbors)

    @classmethod
    def from_query(cls, distances: Any, n_neighbors: int) -> "Neighbors":
        """Like :meth:`from_distances`, for new rows against the columns' points: nothing is skipped."""
        rows, columns, values, shape = _entries(distances)
        return cls._nearest(rows, columns, values, shape[0], n_neighbors)

    @classmethod
    def _nearest(cls, rows: Any, columns: Any, values: Any, n: int, k: int) -> "Neighbors":
        if not np.isfinite(values).all() or (values.size and values.min() < 0):
            raise ValueError("Precomputed distances must be finite and not negative.")
        counts = np.bincount(rows, minlength=n)
        if n and counts.min() < k:
            raise ValueError(
                f"Row {counts.argmin()} of the precomputed distances has {counts.min()} neighbours besides "
                f"itself but n_neighbors={k}; store more of them or lower n_neighbors."
            )
        order = np.lexsort((columns, values, rows))
        start = np.concatenate([[0], np.cumsum(counts)])[:-1]
        chosen = order[start[:, None] + np.arange(k)]
        return cls(columns[chosen].astype(np.int32), values[chosen].astype(np.float64))


def _entries(distances: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], tuple[int, int]]:
    """Rows, columns and values of a matrix; of a dense one all of them, zeros too."""
    if sparse.issparse(distances):
        matrix = sparse.csr_array(distances)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return rows, matrix.indices, matrix.data, matrix.shape
    matrix = np.atleast_2d(np.asarray(distances, np.float64))
    rows, columns = (grid.ravel() for grid in np.indices(matrix.shape))
    return rows, columns, matrix.ravel(), matrix.shape


def nearest_neighbors(X: Any, n_neighbors: int = 10, *, queries: Any = None) -> Neighbors:
    """Find the ``n_neighbors`` nearest other rows of every row of ``X`` by Euclidean distance, exactly.

    A row is left out of its own list by identity, so exact duplicates are neighbours at distance zero.
    Ties go to the smaller row number.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    n_neighbors : int, default=10
        How many neighbours to find, the point itself not counted.
    queries : array-like of shape (m, d), optional
        Find the neighbours of these points among the rows of ``X`` instead; then no row is left out.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances``, nearest first.

    Examples
    --------
    >>> nearest_neighbors([[0.0], [1.0], [3.0]], 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    from sklearn.neighbors import NearestNeighbors
    from sklearn.utils import check_array

    points = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    itself = queries is None
    check_n_neighbors(n_neighbors, points.shape[0], itself)
    sought = points if itself else check_array(queries, dtype=points.dtype, input_name="queries")
    # Distances are found as |x|² - 2 x·y + |y|²; far from the origin, or at extreme magnitudes, that
    # loses everything. Neighbours don't change when the cloud is centred and scaled.
    centre = points.mean(axis=0, dtype=np.float64)
    spread = float(np.abs(points - centre).max()) or 1.0
    points = ((points - centre) / spread).astype(points.dtype)
    sought = points if itself else ((sought - centre) / spread).astype(points.dtype)

    index = NearestNeighbors(n_neighbors=n_neighbors + itself).fit(points)
    indices = index.kneighbors(sought, return_distance=False)
    if itself:
        indices = _without_itself(indices)
    distances = np.empty(indices.shape, np.float64)
    _kernels.exact_distances(points, np.ascontiguousarray(sought), indices, distances)
    order = np.lexsort((indices, distances), axis=1)
    return Neighbors(
        np.take_along_axis(indices, order, 1).astype(np.int32),
        np.take_along_axis(distances, order, 1) * spread,
    )


def check_n_neighbors(n_neighbors: int, n_points: int, itself: bool = True) -> None:
    """Refuse a number of neighbours that the points cannot give."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a whole number of at least 1; got {n_neighbors!r}.")
    if n_neighbors > n_points - itself:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be smaller than the number of rows, n_samples = {n_points}; "
            f"use at most {max(n_points - itself, 1)} or add rows."
        )


def _without_itself(indices: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
    """Drop each row's own number; where enough duplicates have crowded it out, drop the last."""
    keep = indices != np.arange(indices.shape[0])[:, None]
    keep[keep.all(axis=1), -1] = False
    return indices[keep].reshape(indices.shape[0], -1)
