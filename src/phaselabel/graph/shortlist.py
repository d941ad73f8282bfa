"""Many rows in, the nearest neighbours of every row out, from shortlists that are sorted by true distance."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel import _graph_kernels as kernels
from phaselabel.graph.exact import Found, Task
from phaselabel.graph.inverted import InvertedFile, Lists
from phaselabel.graph.rows import Rows

#: Rows whose true neighbours are found: a third to choose the settings, the others to measure the recall.
TRIALS = 576
#: n rows are sorted into so many times n^0.7 cells.
CELLS = 0.1


@dataclass(frozen=True)
class Settings:
    """How hard the shortlists are searched."""

    width: int
    n_cells: int
    groups: int
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
        return min(self.probes, self.groups) >= self.n_cells and self.shortlist >= self.limit

    def harder(self) -> "Settings":
        """A quarter more of everything."""
        return replace(
            self,
            groups=min(self.groups + self.groups // 4 + 1, self.n_cells),
            probes=min(self.probes + self.probes // 4 + 1, self.n_cells),
            shortlist=min(self.shortlist + self.shortlist // 4 + 1, self.limit),
        )


class Shortlists:
    """The points projected on their main directions and sorted into the cells of an inverted file.

    There neighbours are close in memory, too. Row i is entry ``place[i]`` of the file.
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
        self.file = InvertedFile(projected, max(1, round(CELLS * len(projected) ** 0.7)))
        self.place = np.empty_like(self.file.order)
        self.place[self.file.order] = np.arange(len(projected), dtype=np.int32)

    @staticmethod
    def memory(task: Task, width: int = 64) -> float:
        """MiB that will be needed besides the data: projection and index, the answer, one block."""
        width = min(width, task.points.width)
        index = len(task.points) * (8 * width + 24)
        answer = 12 * task.n_neighbors * len(task.queries)
        return (index + answer + min(task.working_memory, 8_192 * 8 * task.points.width)) / 2**20

    def project(self, rows: Any) -> NDArray[np.float32]:
        """Queries on the main directions."""
        if self.task.itself:
            return self.file.rows[self.place[rows]]
        return np.ascontiguousarray(self.task.queries.block(rows) @ self.directions)

    def settings(self, recall: float) -> Settings:
        """The cheapest settings that surely find this share of the trial rows' true neighbours."""
        sought, true = self.trial.for_choosing()
        projected, means = self.project(sought), self.file.means
        home = self.file.cell[true]
        cells = _place(projected, means.values, home)  # cells to open for each neighbour
        groups = len(means)
        if means.groups is not None:
            group = _place(projected, means.groups.means.values, means.groups.cell[home])
            few = 1 - 0.1 * (1 - recall)  # hardly any of the misses allowed are for the groups
            groups = next(g for g in _ladder(1, int(group.max()) + 1) if _surely(group < g) >= few)
            cells = np.where(group < groups, cells, len(means))
        far = np.square(projected[:, None] - self.file.rows[self.place[true]]).sum(2)
        better = self._nearer(projected, far)  # and rows that stand before it in the projection
        enough = [
            Settings(self.width, len(means), groups, probes, length, len(self.file.rows))
            for probes in _ladder(1, min(int(cells.max()) + 1, len(means)))
            for length in _ladder(self.task.reach, int(better.max()) + 1 + self.task.itself)
            if _surely((cells < probes) & (better + self.task.itself < length)) >= recall
        ]
        return min(enough, key=self.cost)

    def _nearer(self, projected: NDArray[np.float32], far: NDArray[np.float32]) -> NDArray[np.int64]:
        import faiss

        counts = np.zeros(far.shape, np.int64)
        last = far.max(axis=1)
        for start in range(0, len(self.file.rows), 16_384):
            gaps = faiss.pairwise_distances(projected, self.file.rows[start : start + 16_384])
            for q in range(len(far)):
                counts[q] += np.searchsorted(np.sort(gaps[q, gaps[q] < last[q]]), far[q])
        return counts - self.task.itself

    def pays(self, settings: Settings) -> bool:
        """Whether comparing all rows, by matrix products that are several times as fast, would cost more."""
        return self.cost(settings) < len(self.file.rows) * self.task.points.width / 6

    def cost(self, settings: Settings) -> float:
        """What a query costs, in products of the re-rank; those of matrices are four times as fast."""
        scanned = settings.probes * len(self.file.rows) / settings.n_cells
        ranked = settings.n_cells
        if self.file.means.groups is not None:
            n_groups = len(self.file.means.groups.means)
            ranked = n_groups + settings.groups * settings.n_cells // n_groups
        ranking = ranked * self.width / 4 + 1_000 * settings.probes
        length = settings.shortlist
        return scanned * (self.width + 16) / 4 + ranking + length * (self.task.points.width + 600)

    def rehearse(self, settings: Settings) -> float:
        """The recall that a search would have."""
        found = self.task.empty()
        self._answer(self.trial.for_measuring()[0], settings, found)
        return self.recall(found)

    def search(self, settings: Settings) -> Found:
        """Open the nearest cells, list the nearest rows in the projection, and sort them by true distance."""
        task = self.task
        found = task.empty()
        order = self.file.order if task.itself else np.arange(len(task.queries))
        step = min(task.block_rows(16 * settings.shortlist + 12 * settings.probes + 4 * self.width), 65_536)
        for start in range(0, len(order), step):
            rows = order[start : start + step].astype(np.int64)
            self._answer(rows, settings, found)
            task.tick(len(rows))
        return found

    def recall(self, found: Found) -> float:
        """The share of true neighbours in the answer to rows that had no part in choosing the settings."""
        sought, true = self.trial.for_measuring()
        exact_found = self.task.empty()
        self.task.rerank(sought, np.ascontiguousarray(true), exact_found)
        last = exact_found[1][sought, -1:] * (1 + 1e-6)
        return float((found[1][sought] <= last).mean())

    def _answer(self, rows: NDArray[np.int64], settings: Settings, found: Found) -> None:
        """Search for some queries."""
        task = self.task
        shortlist = self.file.nearest(
            self.project(rows), settings.shortlist, settings.probes, settings.groups
        )
        if task.points.fits_single and task.queries.fits_single:
            # Single precision chooses, and double has the last word on order and distance.
            task.rerank(rows, shortlist, found, np.float32)
            shortlist = found[0][rows]
        task.rerank(rows, shortlist, found)
        # Where many rows are equal, the cells opened may hold too few others.
        task.scan(rows[found[0][rows, -1] == kernels.NOBODY], found)


class _Trial:
    """Random queries and their true neighbours, found while the points pass by."""

    def __init__(self, task: Task, size: int) -> None:
        self.task = task
        self.rows = np.random.default_rng(3).permutation(task.queries.sample(size, seed=2))
        self.sought = task.queries.block(self.rows)
        self.lists = Lists(len(self.rows), min(task.reach, len(task.points)))

    def look(self, start: int, block: NDArray[np.float32]) -> None:
        """Look at more rows: all of them are one cell, which everybody opens."""
        numbers = np.arange(start, start + len(block), dtype=np.int32)
        ends, mean = np.array([0, len(block)]), block.mean(axis=0, keepdims=True)
        self.lists.look(block, numbers, ends, mean, self.sought, np.zeros((len(self.rows), 1), np.int32))

    def for_choosing(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A third of the rows, and their neighbours."""
        return self._part(slice(max(1, len(self.rows) // 3)))

    def for_measuring(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The other rows, and their neighbours."""
        return self._part(slice(max(1, len(self.rows) // 3) if len(self.rows) > 1 else 0, None))

    def _part(self, which: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, ids = self.rows[which], self.lists.ids[which].astype(np.int64)
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


def _place(
    queries: NDArray[np.float32], means: NDArray[np.float32], sought: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many means are nearer to a query than those sought."""
    import faiss

    gaps = faiss.pairwise_distances(queries, means)
    place = np.argsort(np.argsort(gaps, axis=1, kind="stable"), axis=1)
    return np.take_along_axis(place, sought, 1)


def _surely(found: NDArray[np.bool_]) -> float:
    """The share of neighbours found, less four standard errors of its mean over the rows.

    Four, because misses are crowded in a few rows, of which a small sample has seen too few.
    """
    share = found.mean(axis=1)
    return float(share.mean() - 4 * share.std() / np.sqrt(len(share)))


def _ladder(low: int, top: int) -> list[int]:
    """Numbers from ``low`` to ``top`` in steps of about a tenth."""
    steps, value = [], low
    while value < top:
        steps.append(value)
        value += 1 + value // 10
    return [*steps, max(low, top)]
