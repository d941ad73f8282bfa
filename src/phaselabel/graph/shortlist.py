"""Many rows in, the nearest neighbours of every row out, from shortlists that are sorted by true distance."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel import _graph_kernels as kernels
from phaselabel.graph.exact import Found, Task
from phaselabel.graph.rows import Rows

#: Rows whose true neighbours are found: a third to choose the settings, the others to measure the recall.
TRIALS = 576


@dataclass(frozen=True)
class Settings:
    """How hard the shortlists are searched."""

    width: int
    n_cells: int
    probes: int
    shortlist: int
    limit: int

    def __str__(self) -> str:
        return (
            f"{self.width} directions, {self.probes} of {self.n_cells} cells, shortlists of {self.shortlist}"
        )

    @property
    def exhaustive(self) -> bool:
        """Whether nothing is left to be opened, and shortlists are long beyond need."""
        return self.probes >= self.n_cells and self.shortlist >= self.limit

    def harder(self) -> "Settings":
        """Half as much again of everything."""
        return replace(
            self,
            probes=min(self.probes + self.probes // 2 + 1, self.n_cells),
            shortlist=min(self.shortlist + self.shortlist // 2 + 1, self.limit),
        )


class Shortlists:
    """The points projected on their main directions and sorted into cells (an inverted file).

    ``projected`` is in the order of the cells, so that neighbours are close in memory, too: its entry a is
    row ``order[a]``, row i is its entry ``place[i]``, and cell c starts at ``first[c]``.
    """

    def __init__(self, task: Task, width: int = 64) -> None:
        self.task = task
        # One thread: small products gain nothing from more, and give the same bits on any machine.
        with threadpool_limits(1, "blas"):
            self.directions = _directions(task.points, min(width, task.points.width))
        self.width = self.directions.shape[1]
        self.trial = _Trial(task, TRIALS)
        projected = np.empty((len(task.points), self.width), np.float32)
        for part, block in task.points.blocks(min(task.block_rows(8 * task.points.width), 8_192)):
            np.matmul(block, self.directions, out=projected[part])
            self.trial.look(part.start, block)
        self._sort_into_cells(projected)

    @staticmethod
    def memory(task: Task, width: int = 64) -> float:
        """MiB that will be needed besides the data: projection and index, the answer, one block."""
        width = min(width, task.points.width)
        index = len(task.points) * (8 * width + 24)
        answer = 12 * task.n_neighbors * len(task.queries)
        return (index + answer + min(task.working_memory, 8_192 * 8 * task.points.width)) / 2**20

    def _sort_into_cells(self, projected: NDArray[np.float32]) -> None:
        import faiss

        n = len(projected)
        self.n_cells = max(1, round(0.1 * n**0.7))
        means = faiss.Kmeans(
            self.width, self.n_cells, niter=5, max_points_per_centroid=48, min_points_per_centroid=1, seed=1
        )
        means.train(projected)
        self.means = means.centroids
        self.quantizer = faiss.IndexFlatL2(self.width)
        self.quantizer.add(self.means)
        self.cell = self.quantizer.search(projected, 1)[1].ravel()
        self.order = np.argsort(self.cell, kind="stable").astype(np.int32)
        self.place = np.empty_like(self.order)
        self.place[self.order] = np.arange(n, dtype=np.int32)
        self.projected = projected[self.order]
        self.first = np.concatenate([[0], np.cumsum(np.bincount(self.cell, minlength=self.n_cells))])

    def project(self, rows: Any) -> NDArray[np.float32]:
        """Queries on the main directions."""
        if self.task.itself:
            return self.projected[self.place[rows]]
        return np.ascontiguousarray(self.task.queries.block(rows) @ self.directions)

    def settings(self, recall: float) -> Settings:
        """The cheapest settings that would have found this share of the trial rows' true neighbours."""
        import faiss

        sought, true = self.trial.for_choosing()
        projected = self.project(sought)
        gaps = faiss.pairwise_distances(projected, self.means)
        place = np.argsort(np.argsort(gaps, axis=1, kind="stable"), axis=1)
        cells = np.take_along_axis(place, self.cell[true], 1).ravel()  # cells to open for each neighbour
        far = np.square(projected[:, None] - self.projected[self.place[true]]).sum(2)
        better = self._nearer(projected, far)  # and rows that stand before it in the projection
        best = None
        for probes in _ladder(int(cells.max()) + 1):
            opened = cells < probes
            if opened.mean() < recall:
                continue
            needed = np.sort(np.where(opened, better, np.iinfo(np.int64).max))
            length = int(needed[int(np.ceil(recall * needed.size)) - 1]) + 1 + self.task.itself
            cost = self.cost(probes, length)
            if best is None or cost < best[0]:
                best = (
                    cost,
                    Settings(
                        self.width, self.n_cells, probes, max(length, self.task.reach), len(self.projected)
                    ),
                )
        assert best is not None
        return best[1]

    def _nearer(self, projected: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.int64]:
        import faiss

        counts = np.zeros(far.shape, np.int64)
        last = far.max(axis=1)
        for start in range(0, len(self.projected), 16_384):
            gaps = faiss.pairwise_distances(projected, self.projected[start : start + 16_384])
            for q in range(len(far)):
                counts[q] += np.searchsorted(np.sort(gaps[q, gaps[q] < last[q]]), far[q])
        return counts.ravel() - self.task.itself

    def pays(self, settings: Settings) -> bool:
        """Whether comparing all rows, by matrix products that are several times as fast, would cost more."""
        everybody = len(self.projected) * self.task.points.width / 6
        return self.cost(settings.probes, settings.shortlist) < everybody

    def cost(self, probes: int, length: int) -> float:
        """What a query costs, in products of the re-rank; those of matrices are four times as fast."""
        scanned = probes * len(self.projected) / self.n_cells
        choosing = self.n_cells * self.width / 4 + 1_000 * probes
        return scanned * (self.width + 16) / 4 + choosing + length * (self.task.points.width + 600)

    def search(self, settings: Settings) -> Found:
        """Open the nearest cells, list the nearest rows in the projection, and sort them by true distance."""
        task = self.task
        found = task.empty()
        order = self.order if task.itself else np.arange(len(task.queries))
        step = min(task.block_rows(16 * settings.shortlist + 12 * settings.probes + 4 * self.width), 65_536)
        single = task.points.fits_single and task.queries.fits_single
        for start in range(0, len(order), step):
            rows, shortlist = self._shortlist(order[start : start + step], settings)
            if single:  # chooses, and double precision has the last word on order and distance
                task.rerank(rows, shortlist, found, np.float32)
                shortlist = found[0][rows]
            task.rerank(rows, shortlist, found)
            # Where many rows are equal, the cells opened may hold too few others.
            task.scan(rows[found[0][rows, -1] == kernels.NOBODY], found)
            task.tick(len(rows))
        return found

    def _shortlist(
        self, rows: NDArray[Any], settings: Settings
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Queries in the order of their nearest cells, and for each the nearest rows in the projection."""
        projected = self.project(rows)
        probes = self.quantizer.search(projected, settings.probes)[1]
        order = np.argsort(probes[:, 0], kind="stable")
        shape = len(rows), min(settings.shortlist, len(self.projected))
        ids, squares = np.empty(shape, np.int32), np.empty(shape, np.float32)
        import scipy.linalg.cython_blas  # noqa: F401 - the products' library, loaded so that it can be limited

        with threadpool_limits(1, "blas"):
            kernels.scan_cells(
                self.projected,
                self.order,
                self.first,
                self.means,
                projected[order],
                probes[order].astype(np.int32),
                ids,
                squares,
            )
        return rows[order].astype(np.int64), ids

    def recall(self, found: Found) -> float:
        """The share of true neighbours in the answer to rows that had no part in choosing the settings."""
        sought, true = self.trial.for_measuring()
        exact_found = self.task.empty()
        self.task.rerank(sought, np.ascontiguousarray(true), exact_found)
        last = exact_found[1][sought, -1:] * (1 + 1e-6)
        return float((found[1][sought] <= last).mean())


class _Trial:
    """Random queries and their true neighbours, found while the points pass by."""

    def __init__(self, task: Task, size: int) -> None:
        self.task = task
        self.rows = np.random.default_rng(3).permutation(task.queries.sample(size, seed=2))
        self.sought = task.queries.block(self.rows)
        self.squares = np.empty((len(self.rows), 0), np.float32)
        self.ids = np.empty((len(self.rows), 0), np.int64)

    def look(self, start: int, block: NDArray[np.float32]) -> None:
        import faiss

        near, ids = faiss.knn(self.sought, block, min(self.task.reach, len(block)))
        self.squares = np.concatenate([self.squares, near], axis=1)
        self.ids = np.concatenate([self.ids, ids + start], axis=1)
        order = np.argsort(self.squares, axis=1, kind="stable")[:, : self.task.reach]
        self.squares = np.take_along_axis(self.squares, order, 1)
        self.ids = np.take_along_axis(self.ids, order, 1)

    def for_choosing(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A third of the rows, and their neighbours."""
        return self._part(slice(max(1, len(self.rows) // 3)))

    def for_measuring(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The other rows, and their neighbours."""
        return self._part(slice(max(1, len(self.rows) // 3) if len(self.rows) > 1 else 0, None))

    def _part(self, which: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, ids = self.rows[which], self.ids[which]
        if not self.task.itself:
            return rows, ids
        others = ids != rows[:, None]
        others[others.all(axis=1), -1] = False
        return rows, ids[others].reshape(len(rows), -1)


def _directions(points: Rows, width: int) -> NDArray[np.float32]:
    """The directions in which a sample of the points extends most: PCA by subspace iteration."""
    sample = points.block(points.sample(5_000))
    sample -= sample.mean(axis=0)
    extra = min(width + 16, points.width)
    basis = np.random.default_rng(4).normal(size=(points.width, extra)).astype(np.float32)
    for _ in range(4):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    image = sample @ basis
    turn = np.linalg.eigh(image.T @ image)[1][:, ::-1]
    return np.ascontiguousarray(basis @ turn[:, :width], np.float32)


def _ladder(top: int) -> list[int]:
    """1, 2, 3, ... in steps of about a fifth, up to ``top``."""
    steps, value = [], 1
    while value < top:
        steps.append(value)
        value += 1 + value // 5
    return [*steps, top]
