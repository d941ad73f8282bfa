"""Rows of a Dask array in; the same rows on disk, sorted into cells of near rows, out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.distributed.build.partition import Partition, order_file
from phaselabel.distributed.build.plan import Plan
from phaselabel.distributed.build.row_files import load_rows, save_rows
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.tasks import Tasks, exclusive_worker
from phaselabel.graph.inverted_file import Means

#: Rows of the sample per cell.
SAMPLE_ROWS_PER_CELL = 256

#: Iterations of the k-means that finds the cells.
K_MEANS_ITERATIONS = 10

#: Rows whose true neighbours are computed: a third sets the reach of the cells, the others measure recall.
TRIAL_ROWS = 576

#: Candidates beyond the last neighbour whose distance is computed again in double precision.
EXTRA_CANDIDATES = 8

#: Nearest cells, besides its own, in which a row may be a candidate.
NEAR_CELLS = 15

#: A row that is a candidate in another cell: its place in the file of its chunk, and its reach.
CANDIDATE = np.dtype([("place", np.int32), ("reach", np.float32)])


@dataclass(frozen=True, eq=False)
class Sample:
    """What a sample of the rows gives: the centres of the cells, and the trial rows.

    Attributes
    ----------
    centres : ndarray of shape (n_cells, d)
        The means of the cells.
    rows, points, cells : ndarray
        The numbers of the trial rows, their features, and their cells.
    """

    centres: NDArray[np.float32]
    rows: NDArray[np.int64]
    points: NDArray[Any]
    cells: NDArray[np.int64]

    def save(self, folder: Folder) -> None:
        """Write it for all later tasks."""
        for name, array in vars(self).items():
            folder.save(f"sample/{name}.npy", array)

    @classmethod
    def load(cls, folder: Folder) -> "Sample":
        """Read what :meth:`save` wrote."""
        names = ("centres", "rows", "points", "cells")
        return cls(*(folder.load(f"sample/{name}.npy") for name in names))


@dataclass(frozen=True, eq=False)
class TrueNeighbors:
    """The true neighbours of the trial rows.

    Attributes
    ----------
    squares : ndarray of shape (n_trials, k)
        Squared distances.
    reach : ndarray of shape (n_trials, k)
        The neighbour's squared distance to the centre of the trial row's cell, divided by that to the centre
        of its own cell: 1 if both are in the same cell.
    """

    squares: NDArray[np.float64]
    reach: NDArray[np.float64]

    def save(self, folder: Folder) -> None:
        """Write it, so that another process can continue."""
        folder.save("sample/squares.npy", self.squares)
        folder.save("sample/reach.npy", self.reach)

    @classmethod
    def load(cls, folder: Folder) -> "TrueNeighbors":
        """Read what :meth:`save` wrote."""
        return cls(folder.load("sample/squares.npy"), folder.load("sample/reach.npy"))


def row_chunks(X: Any, max_rows: int) -> tuple[list[Any], NDArray[np.int64]]:
    """A Dask array as delayed chunks of whole rows, at most ``max_rows`` each, and their sizes."""
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        X = X.compute_chunk_sizes()
    rows = [size for size in X.chunks[0] if size]
    if is_sparse(X):
        if len(X.chunks[1]) > 1 or len(rows) < len(X.chunks[0]):
            raise ValueError("Sparse rows must be whole and chunks not empty; use X.rechunk({1: -1}).")
        return list(X.to_delayed().ravel()), np.array(rows, np.int64)
    if len(X.chunks[1]) > 1 or max(rows, default=0) > max_rows or 0 in X.chunks[0]:
        sizes = []
        for size in rows:
            parts = -(-size // max_rows)
            sizes += [size // parts + (i < size % parts) for i in range(parts)]
        X = X.rechunk((tuple(sizes), (X.shape[1],)))
    return list(X.to_delayed().ravel()), np.array(X.chunks[0], np.int64)


def is_sparse(X: Any) -> bool:
    """Whether the chunks of a Dask array are sparse matrices, as it says."""
    return bool(sparse.issparse(X._meta))


def sample_cells(
    tasks: Tasks,
    folder: Folder,
    chunks: list[Any],
    sizes: NDArray[np.int64],
    plan: Plan,
    cosine: bool,
) -> None:
    """Find the cells by k-means on a random sample of the rows; keep rows that fit every worker."""
    import dask

    n, n_cells = int(sizes.sum()), plan.n_cells
    most = max(plan.sample_rows, n_cells, 60)
    n_sampled = min(n, max(SAMPLE_ROWS_PER_CELL * n_cells, 2 * TRIAL_ROWS), most)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(n, n_sampled, replace=False))
    first = np.concatenate([[0], np.cumsum(sizes)])
    cuts = np.searchsorted(chosen, first)
    arguments = [(c, int(f), chosen[a:b] - f, cosine) for c, f, a, b in zip(chunks, first, cuts, cuts[1:])]
    pick = dask.delayed(_pick, pure=False)
    parts = [
        pick(
            *given, (folder, i) if plan.whole else None, dask_key_name=f"phaselabel-sample-{tasks.token}-{i}"
        )
        for i, given in enumerate(arguments)
    ]
    futures = tasks.client.compute(parts)
    tasks.run_once("cells", _write_sample, folder, futures, chosen, n_cells, cosine)


def _pick(
    chunk: Any, first: int, rows: NDArray[np.int64], cosine: bool, keep: tuple[Folder, int] | None
) -> Any:
    """Some rows of a chunk, which is checked, and kept in the folder where it need not be read again."""
    points: Any = sparse.csr_array(chunk) if sparse.issparse(chunk) else chunk
    if not isinstance(points, np.ndarray) and (keep is None or not sparse.issparse(points)):
        raise ValueError(
            f"X must have chunks of NumPy arrays, as it says; got {type(chunk).__name__}. Make sparse rows "
            "with X.map_blocks(..., meta=scipy.sparse.csr_array((0, 0)))."
        )
    _check_rows(points, first, cosine)
    if keep is not None:
        save_rows(keep[0], unsorted_file(keep[1]), points)
    return points[rows]


def _write_sample(
    folder: Folder, parts: list[NDArray[Any]], rows: NDArray[np.int64], n_cells: int, cosine: bool
) -> None:
    if sparse.issparse(parts[0]):  # cells are runs of rows
        Sample(np.zeros((n_cells, 0), np.float32), rows[:0], np.zeros((0, 0)), rows[:0]).save(folder)
        return
    points = np.concatenate(parts)
    with exclusive_worker():
        directions = search_points(points, cosine)
        means = Means.by_kmeans(directions, n_cells, SAMPLE_ROWS_PER_CELL, K_MEANS_ITERATIONS)
        trial = np.random.default_rng(3).permutation(len(points))[:TRIAL_ROWS]
        cells = nearest_centres(directions[trial], means.values, 1)[1].ravel()
    Sample(means.values, rows[trial], points[trial], cells).save(folder)


def search_points(points: NDArray[Any], cosine: bool) -> NDArray[np.float32]:
    """Rows as the search compares them: in single precision, of length 1 under cosine."""
    out = np.ascontiguousarray(points, np.float32)
    if cosine:
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))
        out = (out / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)
    return out


def nearest_centres(
    points: NDArray[np.float32], centres: NDArray[np.float32], count: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The squared distances to the nearest centres, and their numbers, the nearest first."""
    import faiss

    squares, cells = faiss.knn(points, centres, min(count, len(centres)))
    return squares, cells.astype(np.int64)


def shuffle_rows(
    tasks: Tasks,
    folder: Folder,
    chunks: list[Any],
    sizes: NDArray[np.int64],
    plan: Plan,
    cosine: bool,
) -> tuple[Partition, TrueNeighbors | None]:
    """Write every chunk sorted by cell; where cells are searched, find true neighbours of the trial rows."""
    first, k = np.concatenate([[0], np.cumsum(sizes)]), plan.n_neighbors
    if plan.whole:
        arguments = [(folder, t, int(first[t]), plan, cosine) for t in range(len(chunks))]
        counts = tasks.run("shuffle", _sort_chunk, arguments)
        folder.remove("unsorted/*")
        return Partition(folder, np.stack(counts)), None
    results = tasks.run(
        "shuffle",
        _shuffle_chunk,
        [(folder, t, int(first[t]), chunk, k, cosine) for t, chunk in enumerate(chunks)],
    )
    squares = np.concatenate([result["squares"] for result in results], axis=1)
    slots = np.concatenate([result["slots"] for result in results], axis=1)
    best = np.argsort(squares, axis=1, kind="stable")[:, : k + EXTRA_CANDIDATES]
    slots = np.where(
        np.isfinite(np.take_along_axis(squares, best, 1)), np.take_along_axis(slots, best, 1), -1
    )
    truth = tasks.run_once("truth", _true_neighbors, folder, first, slots, k, cosine)
    return Partition(folder, np.stack([result["counts"] for result in results])), truth


def _sort_chunk(folder: Folder, t: int, first: int, plan: Plan, cosine: bool) -> NDArray[np.int64]:
    """Sort a chunk that was kept by cell; return how many rows are in each."""
    points, sample = load_rows(folder, unsorted_file(t)), Sample.load(folder)
    if sparse.issparse(points):
        cells = (first + np.arange(points.shape[0])) * len(sample.centres) // plan.n_rows
    else:
        with exclusive_worker():
            cells = nearest_centres(search_points(points, cosine), sample.centres, 1)[1].ravel()
    order = np.argsort(cells, kind="stable")
    folder.save(order_file(t), order.astype(np.int32))
    save_rows(folder, points_file(t), points[order])
    return np.bincount(cells, minlength=len(sample.centres))


def _shuffle_chunk(folder: Folder, t: int, first: int, chunk: Any, k: int, cosine: bool) -> dict[str, Any]:
    sample = Sample.load(folder)
    points = np.asarray(chunk)
    n_cells = len(sample.centres)
    with exclusive_worker():
        directions = search_points(points, cosine)
        squares, cells = nearest_centres(directions, sample.centres, NEAR_CELLS + 1)
        order = np.argsort(cells[:, 0], kind="stable")
        shortlist = _shortlist(directions, first, order, sample, k, cosine)
        del directions
        folder.save(order_file(t), order.astype(np.int32))
        folder.save(points_file(t), points[order])
    squares, cells = np.maximum(squares[order], 1e-30), cells[order]
    # The other cells in which a row may be a candidate, sorted by cell.
    reach = (squares[:, 1:] / squares[:, :1]).ravel()
    place = np.repeat(np.arange(len(points)), cells.shape[1] - 1)
    by_cell = np.argsort(cells[:, 1:].ravel(), kind="stable")
    ends = np.cumsum(np.bincount(cells[:, 1:].ravel(), minlength=n_cells))
    candidates = np.empty(len(place), CANDIDATE)
    candidates["place"], candidates["reach"] = place[by_cell], reach[by_cell]
    folder.save(candidates_file(t), candidates)
    folder.save(candidates_file(t, "ends"), np.concatenate([[0], ends]))
    return {"counts": np.bincount(cells[:, 0], minlength=n_cells)} | shortlist


def _shortlist(
    directions: NDArray[np.float32],
    first: int,
    order: NDArray[np.intp],
    sample: Sample,
    k: int,
    cosine: bool,
) -> dict[str, NDArray[Any]]:
    """The rows of this chunk that are nearest to the trial rows: squared distances, and their places."""
    import faiss

    size = min(k + 1 + EXTRA_CANDIDATES, len(directions))
    squares, near = faiss.knn(search_points(sample.points, cosine), directions, size)
    squares[near + first == sample.rows[:, None]] = np.inf
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return {"squares": squares, "slots": first + rank[near]}


def _true_neighbors(
    folder: Folder, first: NDArray[np.int64], slots: NDArray[np.int64], k: int, cosine: bool
) -> TrueNeighbors:
    """The neighbours of the trial rows among their shortlists, by distance in double precision.

    Chunks answer with shortlists in single precision: distances in double precision for every chunk's list
    would cost as many times more as there are chunks.
    """
    import faiss

    sample = Sample.load(folder)
    squares, reach = np.full(slots.shape, np.inf), np.full(slots.shape, np.inf)
    chunks = np.where(slots >= 0, np.searchsorted(first, slots, side="right") - 1, -1)
    for chunk in np.unique(chunks[chunks >= 0]):
        stored = folder.load(points_file(int(chunk)), mapped=True)
        for batch in _batches(np.argwhere(chunks == chunk), 64):
            trial, place = tuple(batch.T), slots[tuple(batch.T)] - first[chunk]
            points = stored[place]
            squares[trial] = true_squares(sample.points[trial[0]], points, cosine)
            far = np.maximum(faiss.pairwise_distances(search_points(points, cosine), sample.centres), 1e-30)
            reach[trial] = far[np.arange(len(far)), sample.cells[trial[0]]] / far.min(axis=1)
        del stored
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return TrueNeighbors(np.take_along_axis(squares, order, 1), np.take_along_axis(reach, order, 1))


def _batches(array: NDArray[Any], size: int) -> Iterator[NDArray[Any]]:
    return (array[start : start + size] for start in range(0, len(array), size))


def true_squares(queries: NDArray[Any], points: NDArray[Any], cosine: bool) -> NDArray[np.float64]:
    """Squared distances in double precision, row by row; of directions under cosine."""
    a, b = queries.astype(np.float64), points.astype(np.float64)
    if cosine:
        a = a / np.sqrt((a * a).sum(axis=1))[:, None]
        b = b / np.sqrt((b * b).sum(axis=1))[:, None]
    return np.asarray(np.square(b - a).sum(axis=1))


def _check_rows(points: Any, first: int, cosine: bool) -> None:
    """Refuse rows that have no distance to others."""
    if sparse.issparse(points):
        bad = np.flatnonzero(~np.isfinite(points.sum(axis=1)))
        empty = np.flatnonzero(abs(points).sum(axis=1) == 0)
    else:
        bad = np.zeros(0, np.intp)
        if points.dtype.kind == "f" and not np.isfinite(points.sum(dtype=np.float64)):
            bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
        empty = np.flatnonzero(~points.any(axis=1)) if cosine else bad[:0]
    if len(bad):
        raise ValueError(f"Row {first + bad[0]} of X contains NaN or infinity; fill or drop such rows first.")
    if cosine and len(empty):
        raise ValueError(
            f"Row {first + empty[0]} of X is all zeros, and metric='cosine' is not defined for it; drop such "
            "rows or use metric='euclidean'."
        )


def points_file(chunk: int) -> str:
    """The file of the rows of a chunk, sorted by cell."""
    return f"points/{chunk:06d}.npy"


def unsorted_file(chunk: int) -> str:
    """The file of the rows of a chunk in their own order."""
    return f"unsorted/{chunk:06d}.npy"


def candidates_file(chunk: int, what: str = "list") -> str:
    """The file of the rows of a chunk that are candidates in other cells."""
    return f"candidates/{chunk:06d}-{what}.npy"
