"""Rows in, the nearest neighbours of every row out, by comparing every query with every point."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from phaselabel._kernels import graph as kernels
from phaselabel._kernels.compile import is_forked
from phaselabel.graph.all_pairs import nearest_pairs
from phaselabel.graph.scaled_rows import MAX_SCAN_PRODUCTS, ScaledRows, ScaledSparseRows
from phaselabel.graph.search_task import Nearest, SearchTask, Tick

#: Candidates beyond the last neighbour that are measured again in double precision.
MARGIN = 8
#: Most features with which a k-d tree is faster than comparing all pairs.
TREE_WIDTH = 8
#: Most rows of a block of queries.
BLOCK_ROWS = 16_384

#: For some queries: squared distances and numbers of the candidates, and the error bound of the former.
_Search = Callable[
    [NDArray[np.int64]], tuple[NDArray[np.floating], NDArray[np.integer], NDArray[np.floating]]
]


class ExactSearch:
    """Compare queries with all points; ties go to the smaller row number.

    Distances are computed in single precision by matrix products. Where that leaves in doubt which points
    are nearest, the query is compared again with all points in double precision, as long as such queries
    are few: among many duplicates, and on grids, where ties abound, any of the equally near points will do.
    """

    def __init__(self, task: SearchTask) -> None:
        self.task = task
        self._size = size = min(task.n_candidates + MARGIN, len(task.points))
        self._scans_left = int(MAX_SCAN_PRODUCTS / (len(task.points) * task.points.width))
        self._search = _by_tree(task, size) if task.points.width <= TREE_WIDTH else _by_products(task, size)

    def answer(self, queries: NDArray[np.int64], nearest: Nearest) -> None:
        """Fill in the lists of some queries."""
        task = self.task
        step = min(task.block_rows(4 * task.points.width + 12 * self._size), BLOCK_ROWS)
        for start in range(0, len(queries), step):
            rows = queries[start : start + step]
            squares, shortlist, error = self._search(rows)
            task.rerank(rows, shortlist, nearest)
            if self._size < len(task.points):
                last = nearest[1][rows, -1]
                doubtful = (squares[:, -1] - error <= last) & (last > 0)
                self._scans_left -= int(doubtful.sum())
                if self._scans_left >= 0:
                    task.scan(rows[doubtful], nearest)
            task.tick(len(rows))


def exact_memory(task: SearchTask) -> float:
    """MiB needed besides the data: the points in single precision, one block, the result."""
    copy = min(task.working_memory, 4 * len(task.points) * task.points.width)
    block_row = 4 * task.points.width + 12 * (task.n_candidates + MARGIN)
    block = min(task.working_memory, BLOCK_ROWS * block_row)
    return (copy + block + 12 * task.n_neighbors * len(task.queries)) / 2**20


def nearest_outside(points: ScaledRows, rows: NDArray[np.int64], component: NDArray[np.int32]) -> Nearest:
    """For each of ``rows``, the nearest point of another component."""
    nearest = np.empty(len(rows), np.int32), np.empty(len(rows), np.float64)
    kernels.scan_outside(points.values, points.scale, rows, component, *nearest)
    return nearest


def _by_products(task: SearchTask, size: int) -> _Search:
    """Candidates by matrix products in single precision."""
    step = task.block_rows(4 * task.points.width)
    whole = task.points.block(slice(None)) if step >= len(task.points) else None
    # The rounding error of a sum of d products grows like √d; for pairs that are far apart compared with
    # the length of the query it grows with their distance.
    unit = 4 * np.sqrt(task.points.width) * 2.0**-24

    def search(rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        queries = task.queries.block(rows)
        if whole is not None:
            squares, shortlist = nearest_pairs(queries, whole, size)
        else:
            squares, shortlist = _by_blocks_of_points(queries, task.points, size, step)
        lengths = np.einsum("ij,ij->i", queries, queries)
        return squares, shortlist, unit * (16 * lengths + 4 * squares[:, -1])

    return search


def _by_blocks_of_points(
    queries: NDArray[np.float32], points: ScaledRows, size: int, step: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The nearest ``size`` points of all blocks, merged block by block."""
    squares = np.empty((len(queries), 0), np.float32)
    shortlist = np.empty((len(queries), 0), np.int64)
    for part, block in points.blocks(step):
        block_squares, block_numbers = nearest_pairs(queries, block, min(size, len(block)))
        squares = np.concatenate([squares, block_squares], axis=1)
        shortlist = np.concatenate([shortlist, block_numbers + part.start], axis=1)
        order = np.argsort(squares, axis=1, kind="stable")[:, :size]
        squares = np.take_along_axis(squares, order, 1)
        shortlist = np.take_along_axis(shortlist, order, 1)
    return squares, shortlist


def _by_tree(task: SearchTask, size: int) -> _Search:
    """Candidates from a k-d tree in double precision."""
    from scipy.spatial import cKDTree

    tree = cKDTree(task.points.scaled(slice(None)).astype(np.float64))

    def search(rows: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        queries = task.queries.scaled(rows).astype(np.float64)
        distances, shortlist = tree.query(queries, size, workers=-1)
        squares = distances.reshape(len(rows), -1) ** 2
        return squares, shortlist.reshape(len(rows), -1), 1e-12 * squares[:, -1]

    return search


# -- sparse rows, and other metrics --------------------------------------------------------------------


#: Blocks of sparse queries that are compared side by side, whatever the number of threads.
SPARSE_BLOCKS = 16
#: What scikit-learn returns, with the index of any row, where a squared distance overflows.
_OVERFLOWN = np.finfo(np.float64).max, np.sqrt(np.finfo(np.float64).max)
#: Queries between two steps of the progress bar.
TICK_ROWS = 4096


def sparse_memory(points: ScaledSparseRows, queries: ScaledSparseRows, n_neighbors: int) -> float:
    """MiB needed besides the data: the points by column, a row of products for every block, the result."""
    by_column = 12 * int(points.matrix.nnz) + 8 * points.width
    result = 12 * (2 * n_neighbors + MARGIN) * len(queries)
    return (by_column + 8 * SPARSE_BLOCKS * len(points) + result) / 2**20


def exact_sparse(
    points: ScaledSparseRows, queries: ScaledSparseRows, n_neighbors: int, itself: bool, tick: Tick
) -> Nearest:
    """Compare sparse rows column by column: only entries that two rows share are multiplied.

    A few more candidates than neighbours are measured again by differences, since the sums of products
    cancel where rows are close to each other and far from the origin.
    """
    shape = len(queries), min(n_neighbors + MARGIN, len(points) - itself)
    nearest = np.empty(shape, np.int32), np.empty(shape, np.float64)
    by_column = sparse.csc_array(points.matrix)
    for start in range(0, len(queries), TICK_ROWS):
        rows = np.arange(start, min(start + TICK_ROWS, len(queries)))
        kernels.scan_sparse(
            *_arrays(queries.matrix),
            rows,
            *_arrays(by_column),
            points.squares,
            queries.squares,
            itself,
            SPARSE_BLOCKS,
            *nearest,
        )
        kernels.measure_sparse(*_arrays(queries.matrix), rows, *_arrays(points.matrix), *nearest)
        tick(len(rows))
    indices, squares = nearest
    return indices[:, :n_neighbors].copy(), squares[:, :n_neighbors].copy()


def _arrays(
    matrix: sparse.csr_array | sparse.csc_array,
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.float64]]:
    return matrix.indptr, matrix.indices, matrix.data


def exact_by_metric(
    X: Any, queries: Any, n_neighbors: int, metric: str, working_memory: float, tick: Tick
) -> Nearest:
    """Compare rows by any metric that scikit-learn knows by name; the result holds distances, not squares."""
    import sklearn
    from sklearn.neighbors import NearestNeighbors

    itself = queries is None
    queries = X if itself else queries
    n, m = X.shape[0], queries.shape[0]
    if n * m > 1e8:
        warnings.warn(
            f"metric={metric!r} is compared row by row, {n * m:.1e} times; metric='euclidean' or 'cosine' "
            "would find the neighbours of so many rows far sooner.",
            UserWarning,
            stacklevel=3,
        )
    size = min(n_neighbors + itself + MARGIN, n)
    index = NearestNeighbors(n_neighbors=size, metric=metric, n_jobs=-1).fit(X)
    nearest = np.empty((m, n_neighbors), np.int32), np.empty((m, n_neighbors), np.float64)
    for start in range(0, m, TICK_ROWS):
        rows = np.arange(start, min(start + TICK_ROWS, m))
        # A forked child must not start OpenMP's threads.
        limits = threadpool_limits(1 if is_forked() else None, "openmp")
        with limits, sklearn.config_context(working_memory=working_memory):
            distances, indices = index.kneighbors(queries[rows])
        distances[np.isin(distances, _OVERFLOWN)] = np.inf
        if itself:
            distances[indices == rows[:, None]] = np.inf
        order = np.lexsort((indices, distances), axis=1)[:, :n_neighbors]
        nearest[0][rows] = np.take_along_axis(indices, order, 1)
        nearest[1][rows] = np.take_along_axis(distances, order, 1)
        tick(len(rows))
    return nearest
