"""Points in, the nearest neighbours of every point out."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph.bridges import Bridges, bridge, parts
from phaselabel.graph.exact import (
    Found,
    Task,
    Tick,
    exact,
    exact_by_metric,
    exact_memory,
    exact_sparse,
    outside,
    sparse_memory,
)
from phaselabel.graph.rows import Rows, SparseRows
from phaselabel.graph.shortlist import Shortlists

log = logging.getLogger(__name__)

#: Metrics that are found at full speed, by all their names.
FAST = {"euclidean": "euclidean", "l2": "euclidean", "cosine": "cosine"}
METHODS = ("auto", "exact", "shortlist")
#: Products that a matrix multiplication does in a second or two.
QUICK = 5e10
#: Up to so many features a tree finds the neighbours of any number of rows sooner than anything else.
NARROW = 5


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The nearest neighbours of every row, nearest first, the row itself not counted.

    Attributes
    ----------
    indices : ndarray of shape (n, k)
        Row numbers of the neighbours.
    distances : ndarray of shape (n, k)
        How far they are.
    method : str
        How they were found.
    recall : float or None
        The share of the true neighbours among them, as measured on a random sample of rows; 1 if the search
        was exact, None if not known.
    bridges : Bridges or None
        Edges that join what would fall apart, if asked for.
    """

    indices: NDArray[np.integer[Any]]
    distances: NDArray[np.floating[Any]]
    method: str = "given"
    recall: float | None = None
    bridges: Bridges | None = None

    @cached_property
    def n_components(self) -> int:
        """How many separate parts the rows fall into, when each is joined to its neighbours."""
        return int(parts(self.indices, self.bridges).max(initial=-1)) + 1

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

    Exactly where that is quick. Else the rows are projected on their main directions and sorted into cells,
    a shortlist is taken from the nearest cells, and the shortlist is sorted by distance in the full
    dimension. How many cells and how long a shortlist is found out on a random sample of rows whose true
    neighbours are known; the recall is measured on another sample, and if it is below ``recall`` the
    search is repeated, harder.

    A row is left out of its own list by identity, so exact duplicates are neighbours at distance zero.
    Ties go to the smaller row number.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The points, of any real type. Arrays of uint8, bool, float32 and float64, memory-mapped ones too, are
        read in blocks and not copied; sparse rows are searched exactly and never made dense.
    n_neighbors : int, default=10
        How many neighbours to find, the point itself not counted.
    metric : str, default="euclidean"
        What near means: "euclidean" or "cosine" at full speed, or any metric that scikit-learn knows by name,
        exactly and slowly.
    method : {"auto", "exact", "shortlist"}
        "auto" is exact where that is quick.
    recall : float, default=0.99
        The share of the true neighbours to find, at least.
    queries : array-like of shape (m, d), optional
        Find the neighbours of these points among the rows of ``X`` instead; then no row is left out.
    connect : bool, default=False
        Join the separate parts that the neighbours leave by the shortest edges between them.
    working_memory : float, default=1024
        MiB that blocks of intermediate results may take.
    progress : bool, default=False
        Show a bar with the time left if the search takes more than two seconds.

    Returns
    -------
    Neighbors
        ``indices`` and ``distances``, nearest first; ``method`` and ``recall`` say what was done.

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
        with _bar(np.shape(X if queries is None else queries)[0], progress) as tick:
            return _by_metric(X, n_neighbors, metric, queries, working_memory, tick)
    kind: Any = SparseRows if sparse.issparse(X) else Rows
    points = kind.take(X, FAST[metric])
    itself = queries is None
    check_n_neighbors(n_neighbors, len(points), itself)
    sought = points if itself else kind.take(queries, FAST[metric], "queries", like=points)
    with _bar(len(sought), progress) as tick:
        if kind is SparseRows:
            _announce(sought, sparse_memory(points, sought, n_neighbors))
            found, done, reached = exact_sparse(points, sought, n_neighbors, itself, tick), "exact", 1.0
            power = points.power
        else:
            task = Task(points, sought, n_neighbors, itself, int(working_memory * 2**20), tick)
            found, done, reached = _dense(task, method, recall)
            power = points.scale[0]
    log.info("%d nearest neighbours of %d rows: %s, recall %.4f.", n_neighbors, len(sought), done, reached)
    indices, squares = found
    cosine = FAST[metric] == "cosine"
    if not connect:
        return Neighbors(indices, _distances(squares, cosine, power), done, reached)
    joined = bridge(indices, lambda rows, part: outside(points, rows, part))
    joined = replace(joined, distances=_distances(joined.distances, cosine, power))
    log.info("Joined %d parts by bridges.", len(joined) + 1)
    return Neighbors(indices, _distances(squares, cosine, power), done, reached, joined)


def _distances(squares: NDArray[np.float64], cosine: bool, power: float) -> NDArray[np.float64]:
    if cosine:
        # 1 - cos = |x - y|²/2 for unit vectors, down to what double precision can tell from 0.
        return np.where(squares < 1e-28, 0.0, squares / 2)
    return np.sqrt(squares) / power


def _check_choices(metric: str, method: str, recall: float, working_memory: float) -> None:
    if metric not in FAST:
        from sklearn.neighbors import VALID_METRICS  # half a second, so only where it's needed

        known = sorted({*FAST, *VALID_METRICS["brute"]} - {"precomputed"})
        if metric not in known:
            raise ValueError(f"metric must be one of {', '.join(known)}; got {metric!r}.")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if not 0 < recall <= 1:
        raise ValueError(f"recall must be above 0 and at most 1; got {recall!r}.")
    if not working_memory > 0:
        raise ValueError(f"working_memory must be a positive number of MiB; got {working_memory!r}.")


@contextmanager
def _bar(total: int, wanted: bool) -> Iterator[Any]:
    """What to call with the number of rows done."""
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
    X: Any, n_neighbors: int, metric: str, queries: Any, working_memory: float, tick: Tick
) -> Neighbors:
    from sklearn.utils import check_array

    points = check_array(X, accept_sparse="csr", input_name="X")
    sought = None if queries is None else check_array(queries, accept_sparse="csr", input_name="queries")
    check_n_neighbors(n_neighbors, points.shape[0], queries is None)
    found = exact_by_metric(points, sought, n_neighbors, metric, working_memory, tick)
    return Neighbors(*found, "exact", 1.0)


def _dense(task: Task, method: str, recall: float) -> tuple[Found, str, float]:
    """Exactly where that is quick, or asked for; else by shortlists."""
    effort = len(task.points) * len(task.queries) * task.points.width
    few = not task.itself and len(task.queries) < len(task.points) / 20  # an index would cost more
    quick = effort < QUICK or few or task.points.width <= NARROW
    if method == "exact" or recall == 1 or (method == "auto" and quick):
        _announce(task.queries, exact_memory(task))
        return exact(task), "exact", 1.0
    _announce(task.queries, Shortlists.memory(task))
    return _shortlisted(task, recall, insist=method == "shortlist")


def _announce(queries: Rows | SparseRows, memory: float) -> None:
    log.info("Neighbours of %d rows will take about %.0f MiB besides the data.", len(queries), memory)


def _shortlisted(task: Task, recall: float, insist: bool) -> tuple[Found, str, float]:
    """Search as hard as the recall asked for needs, which is tried on a few rows first."""
    shortlists = Shortlists(task)
    settings = shortlists.settings(recall)
    while insist or shortlists.pays(settings):
        reached = shortlists.rehearse(settings)
        if reached >= recall or settings.exhaustive:
            found = shortlists.search(settings)
            return found, f"shortlist ({settings})", shortlists.recall(found)
        log.info("Recall %.4f is below %.4f with %s: searching harder.", reached, recall, settings)
        settings = settings.harder()
    log.info("Recall %.4f would need %s: comparing all rows is sooner done.", recall, settings)
    return exact(task), "exact", 1.0


def check_n_neighbors(n_neighbors: int, n_points: int, itself: bool = True) -> None:
    """Refuse a number of neighbours that the points cannot give."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer) or n_neighbors < 1:
        raise ValueError(f"n_neighbors must be a whole number of at least 1; got {n_neighbors!r}.")
    if n_neighbors > n_points - itself:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be smaller than the number of rows, n_samples = {n_points}; "
            f"use at most {max(n_points - itself, 1)} or add rows."
        )
