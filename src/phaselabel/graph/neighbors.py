"""Points in, the nearest neighbours of every point out."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.counts import check_count
from phaselabel.graph.bridges import Bridges, components_of, join_components
from phaselabel.graph.dense_search import DenseSearch, log_memory
from phaselabel.graph.exact_search import exact_by_metric, exact_sparse, nearest_outside, sparse_memory
from phaselabel.graph.scaled_rows import ScaledRows, ScaledSparseRows
from phaselabel.graph.search_task import SearchTask, Tick
from phaselabel.graph.table_checks import check_width, checked_csr, refuse_rounding

log = logging.getLogger(__name__)

#: Metrics with a search of our own, by all their names.
FAST = {"euclidean": "euclidean", "l2": "euclidean", "cosine": "cosine"}
#: Metrics with parameters that scikit-learn computes from the rows, and what to do instead.
FITTED_METRICS = {
    "mahalanobis": "whiten the columns with PCA(whiten=True)",
    "seuclidean": "scale the columns with StandardScaler",
}
#: The values of ``method``.
METHODS = ("auto", "exact", "shortlist")
#: Squared distance of two unit vectors below which double precision cannot tell them apart.
ZERO_COSINE = 1e-28


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbours of every row, the nearest first, the row itself not counted.

    Parameters
    ----------
    indices : ndarray of shape (n, k)
        Row numbers of the neighbours.
    distances : ndarray of shape (n, k)
        Their distances.
    method : str, default="given"
        How they were found.
    recall : float, optional
        The share of the true neighbours among them, measured on a random sample of rows; 1 if the search was
        exact, None if unknown.
    bridges : Bridges, optional
        Edges that join the components, if ``connect=True`` was given.

    Attributes
    ----------
    n_neighbors : int
        The number of neighbours of every row.
    n_components : int
        The number of connected components.

    See Also
    --------
    nearest_neighbors : Find them.
    similarity_graph : Make a graph of them.

    Examples
    --------
    >>> neighbors = Neighbors(np.array([[1], [0], [1]]), np.array([[1.0], [1.0], [2.0]]))
    >>> neighbors.n_neighbors, neighbors.n_components
    (1, 1)
    """

    indices: NDArray[np.integer]
    distances: NDArray[np.floating]
    method: str = "given"
    recall: float | None = None
    bridges: Bridges | None = None

    @cached_property
    def n_components(self) -> int:
        """The number of connected components, when every row is joined to its neighbours.

        Examples
        --------
        >>> nearest_neighbors([[0.0], [1.0], [5.0], [6.0]], 1).n_components
        2
        """
        return int(components_of(self.indices, self.bridges).max(initial=-1)) + 1

    @property
    def n_neighbors(self) -> int:
        """The number of neighbours of every row.

        Examples
        --------
        >>> nearest_neighbors([[0.0], [1.0], [5.0]], 2).n_neighbors
        2
        """
        return int(self.indices.shape[1])

    @classmethod
    def from_distances(cls, distances: Any, n_neighbors: int) -> "Neighbors":
        """Take the ``n_neighbors`` nearest rows of each row from a matrix of distances.

        Parameters
        ----------
        distances : array-like or sparse matrix of shape (n, n)
            The distances; the diagonal is skipped. In a sparse matrix a stored zero is a neighbour at
            distance zero, and an entry that is not stored is no neighbour.
        n_neighbors : int
            The number of neighbours of every row.

        Returns
        -------
        Neighbors
            The neighbours, ties in the order of the row numbers.

        Examples
        --------
        >>> distances = [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
        >>> Neighbors.from_distances(distances, 1).indices.ravel().tolist()
        [1, 0, 1]
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
        """Take the ``n_neighbors`` nearest points of each query from a matrix of distances.

        Parameters
        ----------
        distances : array-like or sparse matrix of shape (n_queries, n_points)
            The distances. In a sparse matrix an entry that is not stored is no neighbour.
        n_neighbors : int
            The number of neighbours of every query.

        Returns
        -------
        Neighbors
            The neighbours, ties in the order of the points' numbers.

        Examples
        --------
        >>> Neighbors.from_query([[0.5, 0.0, 2.0]], 2).indices.tolist()
        [[1, 0]]
        """
        rows, columns, values, shape = _entries(distances)
        return cls._nearest(rows, columns, values, shape[0], n_neighbors)

    @classmethod
    def _nearest(
        cls,
        rows: NDArray[np.integer],
        columns: NDArray[np.integer],
        values: NDArray[np.floating],
        n: int,
        k: int,
    ) -> "Neighbors":
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
    """Rows, columns, values and shape of a matrix; zeros of a dense matrix are entries, too."""
    if sparse.issparse(distances):
        matrix = sparse.csr_array(distances)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return rows, matrix.indices, matrix.data, matrix.shape
    matrix = np.atleast_2d(np.asarray(distances, np.float64))
    rows, columns = (grid.ravel() for grid in np.indices(matrix.shape))
    return rows, columns, matrix.ravel(), matrix.shape


def nearest_neighbors(
    X: Any,
    n_neighbors: int = 10,
    *,
    metric: str = "euclidean",
    method: str = "auto",
    recall: float = 0.99,
    queries: Any = None,
    connect: bool = False,
    working_memory: float = 1024,
    progress: bool = False,
) -> Neighbors:
    """Find the ``n_neighbors`` nearest other rows of every row of ``X``.

    The search is exact where that is quick. Otherwise the rows are projected on their main directions and
    sorted into cells, a shortlist is taken from the nearest cells, and the shortlist is sorted by distance in
    the full dimension. The number of cells and the length of the shortlist are computed from a random sample
    of rows whose true neighbours are known; the recall is measured on another sample, and if it is below
    ``recall`` more cells are opened.

    A row is left out of its own list by its number, so exact duplicates are neighbours at distance zero.
    Ties go to the smaller row number.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The points, of any real type. Arrays of uint8, bool, float32 and float64, memory-mapped ones too, are
        read in blocks and not copied; sparse rows are searched exactly and never made dense.
    n_neighbors : int, default=10
        The number of neighbours to find, the point itself not counted.
    metric : str, default="euclidean"
        The distance: "euclidean" or "cosine" at full speed, or any metric that scikit-learn knows by name,
        exactly and slowly.
    method : {"auto", "exact", "shortlist"}, default="auto"
        The search; "auto" is exact where that is quick.
    recall : float, default=0.99
        The smallest share of the true neighbours to find.
    queries : array-like of shape (m, d), optional
        Find the neighbours of these points among the rows of ``X`` instead; then no row is left out.
    connect : bool, default=False
        Join the connected components by the shortest edges between them.
    working_memory : float, default=1024
        MiB that blocks of intermediate results may take.
    progress : bool, default=False
        Show a progress bar if the search takes more than two seconds.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances``, the nearest first; ``method`` and ``recall`` describe the search.

    See Also
    --------
    similarity_graph : Make a graph of the neighbours.

    Examples
    --------
    >>> nearest_neighbors([[0.0], [1.0], [3.0]], 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    _check_choices(metric, method, recall, working_memory)
    if connect and (queries is not None or sparse.issparse(X) or metric not in FAST):
        raise ValueError(
            "connect=True needs dense rows, no queries, and metric='euclidean' or 'cosine'; leave it out."
        )
    if metric not in FAST:
        return _by_metric(X, n_neighbors, metric, queries, working_memory, progress)
    if sparse.issparse(X):
        return _sparse(X, n_neighbors, FAST[metric], queries, progress)
    points = ScaledRows.take(X, FAST[metric])
    itself = queries is None
    check_n_neighbors(n_neighbors, len(points), itself)
    rows = points if itself else ScaledRows.take(queries, FAST[metric], "queries", like=points)
    with _bar(len(rows), progress) as tick:
        task = SearchTask(points, rows, n_neighbors, itself, int(working_memory * 2**20), tick)
        search = DenseSearch(task, method, recall)
        indices, squares = search.answer()
        done, reached = search.description, search.measured((indices, squares))
    _log_result(n_neighbors, len(rows), done, reached)
    cosine, power = FAST[metric] == "cosine", points.scale[0]
    distances = distances_of(squares, cosine, power)
    if not connect:
        return Neighbors(indices, distances, done, reached)
    bridges = join_components(indices, lambda rows, component: nearest_outside(points, rows, component))
    bridges = replace(bridges, distances=distances_of(bridges.distances, cosine, power))
    log.info("Joined %d components by bridges.", len(bridges) + 1)
    return Neighbors(indices, distances, done, reached, bridges)


def _sparse(X: Any, n_neighbors: int, metric: str, queries: Any, progress: bool) -> Neighbors:
    """Compare sparse rows, which is always exact."""
    points = ScaledSparseRows.take(X, metric)
    itself = queries is None
    check_n_neighbors(n_neighbors, len(points), itself)
    rows = points if itself else ScaledSparseRows.take(queries, metric, "queries", like=points)
    with _bar(len(rows), progress) as tick:
        log_memory(len(rows), sparse_memory(points, rows, n_neighbors))
        indices, squares = exact_sparse(points, rows, n_neighbors, itself, tick)
    _log_result(n_neighbors, len(rows), "exact", 1.0)
    return Neighbors(indices, distances_of(squares, metric == "cosine", points.power), "exact", 1.0)


def _log_result(n_neighbors: int, n_queries: int, done: str, recall: float) -> None:
    log.info("%d nearest neighbours of %d rows: %s, recall %.4f.", n_neighbors, n_queries, done, recall)


def distances_of(squares: NDArray[np.float64], cosine: bool, power: float) -> NDArray[np.float64]:
    """Distances from the squares that a search computes of scaled rows."""
    if cosine:
        # 1 - cos = |x - y|²/2 for unit vectors.
        return np.where(squares < ZERO_COSINE, 0.0, squares / 2)
    return np.sqrt(squares) / power


def check_metric(metric: Any) -> None:
    """Refuse a distance that is not known by name."""
    if not isinstance(metric, str) or metric not in FAST:
        from sklearn.neighbors import VALID_METRICS  # takes half a second, so only where it is needed

        known = sorted({*FAST, *VALID_METRICS["brute"]} - {"precomputed", *FITTED_METRICS})
        if isinstance(metric, str) and metric in FITTED_METRICS:
            raise ValueError(
                f"metric={metric!r} depends on all rows; {FITTED_METRICS[metric]} and use metric='euclidean'."
            )
        if not isinstance(metric, str) or metric not in known:
            raise ValueError(f"metric must be one of {', '.join(known)}; got {metric!r}.")


def _check_choices(metric: str, method: str, recall: float, working_memory: float) -> None:
    check_metric(metric)
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if not isinstance(recall, Real) or not 0 < recall <= 1:
        raise ValueError(f"recall must be above 0 and at most 1; got {recall!r}.")
    if not isinstance(working_memory, Real) or not 0 < working_memory < np.inf:
        raise ValueError(f"working_memory must be a positive number of MiB; got {working_memory!r}.")


@contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Tick]:
    """A function to call with the number of rows done; it moves a progress bar if that is wanted."""
    if not wanted:
        yield lambda rows: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "A progress bar needs tqdm; install it with: pip install phaselabel[progress]"
        ) from None
    with tqdm(total=total, desc="neighbours", unit="row", unit_scale=True, delay=2) as bar:
        yield bar.update


def _by_metric(
    X: Any, n_neighbors: int, metric: str, queries: Any, working_memory: float, progress: bool
) -> Neighbors:
    """Compare rows by a metric of scikit-learn, which is always exact."""
    points, itself = _for_metric(X, "X"), queries is None
    check_n_neighbors(n_neighbors, points.shape[0], itself)
    rows = points if itself else _for_metric(queries, "queries")
    if not itself:
        check_width(rows.shape[1], points.shape[1], "queries")
    with _bar(rows.shape[0], progress) as tick:
        indices, distances = exact_by_metric(
            points, None if itself else rows, n_neighbors, metric, working_memory, tick
        )
    undefined = ~np.isfinite(distances).all(axis=1)
    if undefined.any():
        raise ValueError(
            f"metric={metric!r} gives no finite distances for row {undefined.argmax()} of "
            f"{'X' if itself else 'queries'} ({undefined.sum()} such rows); drop such rows or use another "
            "metric."
        )
    return Neighbors(indices, distances, "exact", 1.0)


def _for_metric(X: Any, name: str) -> Any:
    """A table that scikit-learn may convert to float64 without rounding."""
    from sklearn.utils import check_array

    table = check_array(
        checked_csr(X, name) if sparse.issparse(X) else X, accept_sparse="csr", input_name=name
    )
    refuse_rounding(table.data if sparse.issparse(table) else table, name)
    return table


def check_n_neighbors(n_neighbors: int, n_points: int, itself: bool = True) -> None:
    """Refuse a number of neighbours that the points cannot give."""
    check_count(n_neighbors, 1, "n_neighbors")
    if n_neighbors > n_points - itself:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be smaller than the number of rows, n_samples = {n_points}; "
            f"use at most {max(n_points - itself, 1)} or add rows."
        )
