"""Rows in, the nearest neighbours of every row out, by everybody's distance."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _graph_kernels as kernels
from phaselabel.graph.rows import Rows, SparseRows

Found = tuple[NDArray[np.int32], NDArray[np.float64]]
Tick = Callable[[int], None]

#: Candidates beyond the last neighbour that an exact search looks at again in double precision.
MARGIN = 8
#: Products spent at the most on comparing doubtful rows with everybody.
SCANS = 2e10
#: Up to this many features a k-d tree answers sooner than comparing everybody.
TREE_WIDTH = 8


@dataclass(frozen=True, eq=False)
class Task:
    """Who looks for how many neighbours among whom, with how much memory."""

    points: Rows
    queries: Rows
    n_neighbors: int
    itself: bool
    working_memory: int
    tick: Tick

    @property
    def reach(self) -> int:
        """Neighbours to ask an index for, which does not know who asks."""
        return self.n_neighbors + self.itself

    def block_rows(self, bytes_per_row: float) -> int:
        """Rows that may be worked on at a time."""
        return int(max(256, self.working_memory // max(1, int(bytes_per_row))))

    def empty(self) -> Found:
        """Where the answer goes."""
        shape = len(self.queries), self.n_neighbors
        return np.empty(shape, np.int32), np.empty(shape, np.float64)

    def rerank(
        self, rows: NDArray[np.int64], shortlist: NDArray[Any], found: Found, dtype: Any = np.float64
    ) -> None:
        """Sort the shortlists of some queries by their distances in the full dimension."""
        kernels.rerank(
            self.points.values,
            self.points.scale.astype(dtype, copy=False),
            self.queries.values,
            self.queries.scale.astype(dtype, copy=False),
            rows,
            np.ascontiguousarray(shortlist, np.int32),
            self.itself,
            *found,
        )

    def scan(self, rows: NDArray[np.int64], found: Found) -> None:
        """Compare some queries with everybody in double precision."""
        kernels.scan(
            self.points.values,
            self.points.scale,
            self.queries.values,
            self.queries.scale,
            rows,
            self.itself,
            *found,
        )


def exact(task: Task) -> Found:
    """Compare everybody with everybody; equal distances in the order of the rows' numbers.

    Distances are found in single precision by matrix products. Where that leaves in doubt who is nearest,
    the row is compared again with everybody in double precision, as long as such rows are few: among crowds
    of duplicates, and on grids where ties abound, any of the equals will do.
    """
    found = task.empty()
    size = min(task.reach + MARGIN, len(task.points))
    patience = int(SCANS / (len(task.points) * task.points.width))
    search = _tree(task, size) if task.points.width <= TREE_WIDTH else _everybody(task, size)
    step = min(task.block_rows(4 * task.points.width + 12 * size), 16_384)
    for start in range(0, len(task.queries), step):
        rows = np.arange(start, min(start + step, len(task.queries)))
        squares, shortlist, error = search(rows)
        task.rerank(rows, shortlist, found)
        if size < len(task.points):
            last = found[1][rows, -1]
            doubtful = (squares[:, -1] - error <= last) & (last > 0)
            patience -= int(doubtful.sum())
            if patience >= 0:
                task.scan(rows[doubtful], found)
        task.tick(len(rows))
    return found


def exact_memory(task: Task) -> float:
    """MiB needed besides the data: the points in single precision, one block, the answer."""
    copy = min(task.working_memory, 4 * len(task.points) * task.points.width)
    block = min(task.working_memory, 16_384 * (4 * task.points.width + 12 * (task.reach + MARGIN)))
    return (copy + block + 12 * task.n_neighbors * len(task.queries)) / 2**20


def outside(points: Rows, rows: NDArray[np.int64], part: NDArray[np.int32]) -> Found:
    """For each of ``rows``, the nearest point of another part."""
    found = np.empty(len(rows), np.int32), np.empty(len(rows), np.float64)
    kernels.scan_outside(points.values, points.scale, rows, part, *found)
    return found


def _everybody(task: Task, size: int) -> Callable[..., tuple[Any, Any, Any]]:
    """Shortlists by matrix products in single precision, and the error they may have made."""
    import faiss

    step = task.block_rows(4 * task.points.width)
    whole = task.points.block(slice(None)) if step >= len(task.points) else None
    # A sum of d products rounds like √d; pairs far apart compared to the query's length err in proportion.
    unit = 4 * np.sqrt(task.points.width) * 2.0**-24

    def search(rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        sought = task.queries.block(rows)
        if whole is not None:
            squares, shortlist = faiss.knn(sought, whole, size)
        else:
            squares, shortlist = _merged(sought, task.points, size, step)
        lengths = np.einsum("ij,ij->i", sought, sought)
        return squares, shortlist, unit * (16 * lengths + 4 * squares[:, -1])

    return search


def _merged(sought: NDArray[np.float32], points: Rows, size: int, step: int) -> tuple[Any, Any]:
    """The nearest ``size`` points of all blocks."""
    import faiss

    squares = np.empty((len(sought), 0), np.float32)
    shortlist = np.empty((len(sought), 0), np.int64)
    for part, block in points.blocks(step):
        near, ids = faiss.knn(sought, block, min(size, len(block)))
        squares = np.concatenate([squares, near], axis=1)
        shortlist = np.concatenate([shortlist, ids + part.start], axis=1)
        order = np.argsort(squares, axis=1, kind="stable")[:, :size]
        squares = np.take_along_axis(squares, order, 1)
        shortlist = np.take_along_axis(shortlist, order, 1)
    return squares, shortlist


def _tree(task: Task, size: int) -> Callable[..., tuple[Any, Any, Any]]:
    """Shortlists from a k-d tree in double precision."""
    from scipy.spatial import cKDTree

    tree = cKDTree(task.points.scaled(slice(None)).astype(np.float64))

    def search(rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        sought = task.queries.scaled(rows).astype(np.float64)
        distances, shortlist = tree.query(sought, size, workers=-1)
        squares = distances.reshape(len(rows), -1) ** 2
        return squares, shortlist.reshape(len(rows), -1), 1e-12 * squares[:, -1]

    return search


# -- sparse rows, and other metrics --------------------------------------------------------------------


#: Blocks of sparse queries that are compared side by side.
SPARSE_BLOCKS = 16


def sparse_memory(points: SparseRows, queries: SparseRows, n_neighbors: int) -> float:
    """MiB needed besides the data: the inverted file, a row of products for every block, the answer."""
    inverted = 12 * points.matrix.nnz + 8 * points.matrix.shape[1]
    return (inverted + 8 * SPARSE_BLOCKS * len(points) + 12 * n_neighbors * len(queries)) / 2**20


def exact_sparse(
    points: SparseRows, queries: SparseRows, n_neighbors: int, itself: bool, tick: Tick
) -> Found:
    """Compare sparse rows through an inverted file: only what two rows share is ever multiplied."""
    shape = len(queries), n_neighbors
    found = np.empty(shape, np.int32), np.empty(shape, np.float64)
    inverted = sparse.csc_array(points.matrix)
    for start in range(0, len(queries), 4096):
        rows = np.arange(start, min(start + 4096, len(queries)))
        kernels.scan_sparse(
            *_csr(queries),
            rows,
            *_csr(inverted),
            points.squares,
            queries.squares,
            itself,
            SPARSE_BLOCKS,
            *found,
        )
        kernels.measure_sparse(*_csr(queries), rows, *_csr(points), *found)
        tick(len(rows))
    return found


def _csr(matrix: Any) -> tuple[Any, Any, Any]:
    matrix = getattr(matrix, "matrix", matrix)
    return matrix.indptr, matrix.indices, matrix.data


def exact_by_metric(
    X: Any, queries: Any, n_neighbors: int, metric: str, working_memory: float, tick: Tick
) -> Found:
    """Any metric that scikit-learn knows by name."""
    import sklearn
    from sklearn.neighbors import NearestNeighbors

    itself = queries is None
    sought = X if itself else queries
    n, m = X.shape[0], sought.shape[0]
    if n * m > 1e8:
        warnings.warn(
            f"metric={metric!r} is compared row by row, {n * m:.1e} times; metric='euclidean' or 'cosine' "
            "would find the neighbours of so many rows far sooner.",
            UserWarning,
            stacklevel=3,
        )
    size = min(n_neighbors + itself + MARGIN, n)
    index = NearestNeighbors(n_neighbors=size, metric=metric, n_jobs=-1).fit(X)
    found = np.empty((m, n_neighbors), np.int32), np.empty((m, n_neighbors), np.float64)
    for start in range(0, m, 4096):
        rows = np.arange(start, min(start + 4096, m))
        with sklearn.config_context(working_memory=working_memory):
            distances, indices = index.kneighbors(sought[rows])
        if itself:
            distances[indices == rows[:, None]] = np.inf
        order = np.lexsort((indices, distances), axis=1)[:, :n_neighbors]
        found[0][rows] = np.take_along_axis(indices, order, 1)
        found[1][rows] = np.take_along_axis(distances, order, 1)
        tick(len(rows))
    return found
