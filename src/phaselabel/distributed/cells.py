"""Rows of a Dask array in; the same rows on disk, dealt to cells of near ones, out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.deal import Deal, order_file
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.tasks import Tasks, whole_worker

#: Rows of a sample that gives the cells, per cell.
PER_CELL = 256

#: Rows whose true neighbours are found: a third to choose how far cells reach, the others to measure.
TRIALS = 576

#: Candidates beyond the last neighbour that are measured again in double precision.
MARGIN = 8

#: A row is remembered in so many nearest cells besides its own, where it may be somebody's neighbour.
NEAR_CELLS = 15


@dataclass(frozen=True, eq=False)
class Sample:
    """What a look at a few rows tells: the cells' centres, and the rows on trial with their numbers."""

    centres: NDArray[np.float32]
    rows: NDArray[np.int64]
    points: NDArray[Any]
    home: NDArray[np.int64]

    def save(self, folder: Folder) -> None:
        """Keep it for all tasks to come."""
        for name, array in vars(self).items():
            folder.save(f"sample/{name}.npy", array)

    @classmethod
    def load(cls, folder: Folder) -> "Sample":
        """What was kept."""
        names = ("centres", "rows", "points", "home")
        return cls(*(folder.load(f"sample/{name}.npy") for name in names))


@dataclass(frozen=True, eq=False)
class Truth:
    """The true neighbours of the rows on trial: squared distances, and how far beyond the cell they lie.

    ``reach`` is, for each neighbour, the squared distance to the centre of the trial row's cell over that to
    the centre of its own: 1 if it is in the same cell.
    """

    squares: NDArray[np.float64]
    reach: NDArray[np.float64]

    def save(self, folder: Folder) -> None:
        """Keep it, for another process to go on."""
        folder.save("sample/squares.npy", self.squares)
        folder.save("sample/reach.npy", self.reach)

    @classmethod
    def load(cls, folder: Folder) -> "Truth":
        """What was kept."""
        return cls(folder.load("sample/squares.npy"), folder.load("sample/reach.npy"))


def chunks_of(X: Any, most: int) -> tuple[list[Any], NDArray[np.int64]]:
    """A Dask array as delayed blocks of at most so many whole rows, and their sizes."""
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        X = X.compute_chunk_sizes()
    rows = [size for size in X.chunks[0] if size]
    if len(X.chunks[1]) > 1 or max(rows, default=0) > most or 0 in X.chunks[0]:
        sizes = []
        for size in rows:
            parts = -(-size // most)
            sizes += [size // parts + (i < size % parts) for i in range(parts)]
        X = X.rechunk((tuple(sizes), (X.shape[1],)))
    return list(X.to_delayed().ravel()), np.array(X.chunks[0], np.int64)


def sample(
    tasks: Tasks,
    folder: Folder,
    chunks: list[Any],
    sizes: NDArray[np.int64],
    n_cells: int,
    most: int,
    cosine: bool,
) -> None:
    """Find the cells on a random sample of ``most`` rows at most."""
    n = int(sizes.sum())
    wanted = min(n, max(PER_CELL * n_cells, 2 * TRIALS), max(most, n_cells, 60))
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(n, wanted, replace=False))
    first = np.concatenate([[0], np.cumsum(sizes)])
    cuts = np.searchsorted(chosen, first)
    picked = [(c, int(f), chosen[a:b] - f, cosine) for c, f, a, b in zip(chunks, first, cuts, cuts[1:])]
    import dask

    pick = dask.delayed(_pick, pure=False)
    parts = [pick(*p, dask_key_name=f"phaselabel-sample-{tasks.token}-{i}") for i, p in enumerate(picked)]
    futures = tasks.client.compute(parts)
    tasks.single("cells", _centres, folder, futures, chosen, n_cells, cosine)


def _pick(chunk: NDArray[Any], first: int, rows: NDArray[np.int64], cosine: bool) -> NDArray[Any]:
    points = np.asarray(chunk)
    _refuse_strange(points, first, cosine)
    return points[rows]


def _centres(
    folder: Folder, parts: list[NDArray[Any]], rows: NDArray[np.int64], n_cells: int, cosine: bool
) -> None:
    """Coarse k-means."""
    import faiss

    points = np.concatenate(parts)
    with whole_worker():
        known = directions(points, cosine)
        means = faiss.Kmeans(known.shape[1], n_cells, niter=10, min_points_per_centroid=1, seed=1)
        means.train(known)
        trial = np.random.default_rng(3).permutation(len(points))[:TRIALS]
        home = faiss.knn(known[trial], means.centroids, 1)[1].ravel()
    centres = np.asarray(means.centroids, np.float32)
    Sample(centres, rows[trial], points[trial], home.astype(np.int64)).save(folder)


def directions(points: NDArray[Any], cosine: bool) -> NDArray[np.float32]:
    """Points as the cells see them: in single precision, of length 1 under cosine."""
    known = np.ascontiguousarray(points, np.float32)
    if cosine:
        lengths = np.sqrt(np.einsum("ij,ij->i", known, known, dtype=np.float64))
        known = (known / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32)
    return known


def deal_rows(
    tasks: Tasks,
    folder: Folder,
    chunks: list[Any],
    sizes: NDArray[np.int64],
    k: int,
    cosine: bool,
) -> tuple[Deal, Truth]:
    """Write every chunk sorted by cell, and find the true neighbours of the rows on trial."""
    first = np.concatenate([[0], np.cumsum(sizes)])
    answers = tasks.run(
        "shuffle",
        _deal_chunk,
        [(folder, t, int(first[t]), chunk, k, cosine) for t, chunk in enumerate(chunks)],
    )
    squares = np.concatenate([a["squares"] for a in answers], axis=1)
    slots = np.concatenate([a["slots"] for a in answers], axis=1)
    best = np.argsort(squares, axis=1, kind="stable")[:, : k + MARGIN]
    slots = np.where(
        np.isfinite(np.take_along_axis(squares, best, 1)), np.take_along_axis(slots, best, 1), -1
    )
    truth = tasks.single("truth", _measure, folder, first, slots, k, cosine)
    return Deal(folder, np.stack([a["counts"] for a in answers])), truth


def _deal_chunk(folder: Folder, t: int, first: int, chunk: Any, k: int, cosine: bool) -> dict[str, Any]:
    import faiss

    found = Sample.load(folder)
    points = np.asarray(chunk)
    n_cells = len(found.centres)
    with whole_worker():
        known = directions(points, cosine)
        squares, cells = faiss.knn(known, found.centres, min(NEAR_CELLS + 1, n_cells))
        order = np.argsort(cells[:, 0], kind="stable")
        shortlist = _shortlist(known, first, order, found, k, cosine)
        del known
        folder.save(order_file(t), order.astype(np.int32))
        folder.save(points_file(t), points[order])
    squares, cells = np.maximum(squares[order], 1e-30), cells[order]
    # Where else a row may be sought: by cell, its place in this chunk and how far beyond its own cell it is.
    ratio = (squares[:, 1:] / squares[:, :1]).ravel()
    place = np.repeat(np.arange(len(points)), cells.shape[1] - 1)
    by_cell = np.argsort(cells[:, 1:].ravel(), kind="stable")
    ends = np.cumsum(np.bincount(cells[:, 1:].ravel(), minlength=n_cells))
    guests = np.empty(len(place), GUEST)
    guests["place"], guests["reach"] = place[by_cell], ratio[by_cell]
    folder.save(guests_file(t), guests)
    folder.save(guests_file(t, "ends"), np.concatenate([[0], ends]))
    return {"counts": np.bincount(cells[:, 0], minlength=n_cells)} | shortlist


GUEST = np.dtype([("place", np.int32), ("reach", np.float32)])


def _shortlist(
    known: NDArray[np.float32], first: int, order: NDArray[np.intp], found: Sample, k: int, cosine: bool
) -> dict[str, Any]:
    """Who of this chunk may be near the rows on trial: squared distances, and where they are kept."""
    import faiss

    size = min(k + 1 + MARGIN, len(known))
    squares, near = faiss.knn(directions(found.points, cosine), known, size)
    squares[near + first == found.rows[:, None]] = np.inf
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return {"squares": squares, "slots": first + rank[near]}


def _measure(
    folder: Folder, first: NDArray[np.int64], slots: NDArray[np.int64], k: int, cosine: bool
) -> Truth:
    """The neighbours of the rows on trial among their shortlists, by distance in double precision.

    Every chunk's shortlist is longer than the answer, so that measuring there would cost as many times as
    there are chunks.
    """
    import faiss

    found = Sample.load(folder)
    squares, reach = np.full(slots.shape, np.inf), np.full(slots.shape, np.inf)
    chunks = np.where(slots >= 0, np.searchsorted(first, slots, side="right") - 1, -1)
    for chunk in np.unique(chunks[chunks >= 0]):
        stored = folder.load(points_file(int(chunk)), mapped=True)
        for some in _batches(np.argwhere(chunks == chunk), 64):
            trial, place = tuple(some.T), slots[tuple(some.T)] - first[chunk]
            points = stored[place]
            squares[trial] = true_squares(found.points[trial[0]], points, cosine)
            far = np.maximum(faiss.pairwise_distances(directions(points, cosine), found.centres), 1e-30)
            reach[trial] = far[np.arange(len(far)), found.home[trial[0]]] / far.min(axis=1)
        del stored
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return Truth(np.take_along_axis(squares, order, 1), np.take_along_axis(reach, order, 1))


def _batches(array: NDArray[Any], size: int) -> Iterator[NDArray[Any]]:
    return (array[start : start + size] for start in range(0, len(array), size))


def true_squares(queries: NDArray[Any], points: NDArray[Any], cosine: bool) -> NDArray[np.float64]:
    """Squared distances in double precision, row by row; of directions under cosine."""
    a, b = queries.astype(np.float64), points.astype(np.float64)
    if cosine:
        a = a / np.sqrt((a * a).sum(axis=1))[:, None]
        b = b / np.sqrt((b * b).sum(axis=1))[:, None]
    return np.asarray(np.square(b - a).sum(axis=1))


def _refuse_strange(points: NDArray[Any], first: int, cosine: bool) -> None:
    if points.dtype.kind == "f" and not np.isfinite(points.sum(dtype=np.float64)):
        bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
        if len(bad):
            raise ValueError(
                f"Row {first + bad[0]} of X contains NaN or infinity; fill or drop such rows first."
            )
    if cosine and (empty := np.flatnonzero(~points.any(axis=1))).size:
        raise ValueError(
            f"Row {first + empty[0]} of X is all zeros, and metric='cosine' is not defined for it; drop such "
            "rows or use metric='euclidean'."
        )


def points_file(chunk: int) -> str:
    """Where the rows of a chunk are kept, sorted by cell."""
    return f"points/{chunk:06d}.npy"


def guests_file(chunk: int, what: str = "list") -> str:
    """Where it is kept which rows of a chunk may be sought in which other cells."""
    return f"guests/{chunk:06d}-{what}.npy"
