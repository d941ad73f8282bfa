"""Many rows in, the nearest neighbours of every row out, from shortlists that are sorted by true distance."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel._kernels import graph as kernels
from phaselabel.graph.all_pairs import squared_distances
from phaselabel.graph.inverted_file import InvertedFile
from phaselabel.graph.recall import RecallTrial, safe_recall
from phaselabel.graph.scaled_rows import ScaledRows
from phaselabel.graph.search_task import Nearest, SearchTask

#: n rows are sorted into this many times n^0.7 cells.
CELL_FACTOR = 0.1
#: Most directions of the projection.
MAX_DIRECTIONS = 64
#: Most rows of a block of queries.
BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class Settings:
    """How hard the shortlists are searched.

    Attributes
    ----------
    width : int
        Directions of the projection.
    n_cells : int
        Cells of the inverted file.
    groups, probes : int
        Groups of cells, and cells, that a query opens.
    shortlist : int
        Candidates of a query that are sorted by true distance.
    limit : int
        Longest useful shortlist: the number of rows.
    """

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
        """Whether all cells are opened and all rows are on the shortlist."""
        return min(self.probes, self.groups) >= self.n_cells and self.shortlist >= self.limit

    def harder(self) -> "Settings":
        """A quarter more of everything."""
        return replace(
            self,
            groups=min(self.groups + self.groups // 4 + 1, self.n_cells),
            probes=min(self.probes + self.probes // 4 + 1, self.n_cells),
            shortlist=min(self.shortlist + self.shortlist // 4 + 1, self.limit),
        )


class ShortlistSearch:
    """The points projected on their main directions and sorted into the cells of an inverted file.

    Neighbours are then close in memory, too. Row i is entry ``place[i]`` of the file.
    """

    def __init__(self, task: SearchTask, width: int = MAX_DIRECTIONS) -> None:
        self.task = task
        # One thread: small products gain nothing from more, and give the same bits on any machine.
        with threadpool_limits(1, "blas"):
            self.directions = _main_directions(task.points, min(width, task.points.width))
        self.width = self.directions.shape[1]
        self.trial = RecallTrial(task)
        projected = np.empty((len(task.points), self.width), np.float32)
        for part, block in task.points.blocks(min(task.block_rows(8 * task.points.width), 8_192)):
            np.matmul(block, self.directions, out=projected[part])
            self.trial.update(part.start, block)
        self.file = InvertedFile(projected, max(1, round(CELL_FACTOR * len(projected) ** 0.7)))
        self.place = np.empty_like(self.file.order)
        self.place[self.file.order] = np.arange(len(projected), dtype=np.int32)

    @staticmethod
    def memory(task: SearchTask) -> float:
        """MiB needed besides the data: projection and index, the result, one block."""
        width = min(MAX_DIRECTIONS, task.points.width)
        index = len(task.points) * (8 * width + 24)
        result = 12 * task.n_neighbors * len(task.queries)
        return (index + result + min(task.working_memory, 8_192 * 8 * task.points.width)) / 2**20

    def project(self, rows: NDArray[np.integer]) -> NDArray[np.float32]:
        """Queries on the main directions."""
        if self.task.itself:
            projected: NDArray[np.float32] = self.file.rows[self.place[rows]]
            return projected
        return np.ascontiguousarray(self.task.queries.block(rows) @ self.directions)

    def settings(self, recall: float) -> Settings:
        """The cheapest settings that find this share of the trial queries' true neighbours, with a margin."""
        queries, true = self.trial.for_choosing()
        projected, means = self.project(queries), self.file.means
        home = self.file.cell[true]
        cells = _n_nearer(projected, means.values, home)  # cells to open before that of each neighbour
        groups = len(means)
        if means.groups is not None:
            group = _n_nearer(projected, means.groups.means.values, means.groups.cell[home])
            needed = 1 - 0.1 * (1 - recall)  # at most a tenth of the allowed misses is due to closed groups
            groups = next(g for g in _ladder(1, int(group.max()) + 1) if safe_recall(group < g) >= needed)
            cells = np.where(group < groups, cells, len(means))
        squares = np.square(projected[:, None] - self.file.rows[self.place[true]]).sum(2)
        nearer = self._rows_nearer(projected, squares)
        sufficient = [
            Settings(self.width, len(means), groups, probes, length, len(self.file.rows))
            for probes in _ladder(1, min(int(cells.max()) + 1, len(means)))
            for length in _ladder(self.task.n_candidates, int(nearer.max()) + 1 + self.task.itself)
            if safe_recall((cells < probes) & (nearer + self.task.itself < length)) >= recall
        ]
        return min(sufficient, key=self.cost)

    def _rows_nearer(self, projected: NDArray[np.float32], squares: NDArray[np.float32]) -> NDArray[np.int64]:
        """The number of rows that are nearer to each query than ``squares``, in the projection."""
        counts = np.zeros(squares.shape, np.int64)
        last = squares.max(axis=1)
        for start in range(0, len(self.file.rows), 16_384):
            others = squared_distances(projected, self.file.rows[start : start + 16_384])
            for q in range(len(squares)):
                counts[q] += np.searchsorted(np.sort(others[q, others[q] < last[q]]), squares[q])
        return counts - self.task.itself

    def is_cheaper(self, settings: Settings) -> bool:
        """Whether this is cheaper than comparing all rows by matrix products, which are six times as fast."""
        return self.cost(settings) < len(self.file.rows) * self.task.points.width / 6

    def cost(self, settings: Settings) -> float:
        """The cost of a query, in products of the re-rank; products of matrices are four times as fast."""
        scanned = settings.probes * len(self.file.rows) / settings.n_cells
        ranked = settings.n_cells
        if self.file.means.groups is not None:
            n_groups = len(self.file.means.groups.means)
            ranked = n_groups + settings.groups * settings.n_cells // n_groups
        ranking = ranked * self.width / 4 + 1_000 * settings.probes
        reranking = settings.shortlist * (self.task.points.width + 600)
        return float(scanned * (self.width + 16) / 4 + ranking + reranking)

    def rehearse(self, settings: Settings) -> float:
        """The recall of these settings on the trial queries."""
        nearest = self.task.empty()
        self._answer(self.trial.for_measuring()[0], settings, nearest)
        return self.trial.recall(nearest)

    def answer(self, queries: NDArray[np.int64] | None, settings: Settings, nearest: Nearest) -> None:
        """Fill in the lists of some queries, all by default, in the order of the cells.

        Open the nearest cells, list the nearest rows in the projection, and sort them by true distance.
        """
        task = self.task
        order: NDArray[np.integer] = self.file.order if task.itself else np.arange(len(task.queries))
        if queries is not None:
            order = queries[np.argsort(self.place[queries])] if task.itself else queries
        bytes_per_row = 16 * settings.shortlist + 12 * settings.probes + 4 * self.width
        step = min(task.block_rows(bytes_per_row), BLOCK_ROWS)
        for start in range(0, len(order), step):
            rows = order[start : start + step].astype(np.int64)
            self._answer(rows, settings, nearest)
            task.tick(len(rows))

    def _answer(self, rows: NDArray[np.int64], settings: Settings, nearest: Nearest) -> None:
        """Search for the neighbours of some queries."""
        task = self.task
        shortlist = self.file.nearest(
            self.project(rows), settings.shortlist, settings.probes, settings.groups
        )
        if task.points.fits_single and task.queries.fits_single:
            # Single precision selects; double precision decides the order and the distance.
            task.rerank(rows, shortlist, nearest, np.float32)
            shortlist = nearest[0][rows]
        task.rerank(rows, shortlist, nearest)
        # Where many rows are equal, the opened cells may hold too few other rows.
        task.scan(rows[nearest[0][rows, -1] == kernels.MISSING], nearest)


def _main_directions(points: ScaledRows, width: int) -> NDArray[np.float32]:
    """The directions of largest variance of a sample of the points: PCA by subspace iteration."""
    sample = points.block(points.sample(5_000))
    sample -= sample.mean(axis=0)
    extra = min(width + 16, points.width)
    basis = np.random.default_rng(4).normal(size=(points.width, extra)).astype(np.float32)
    for _ in range(4):
        basis = np.linalg.qr(sample.T @ (sample @ basis))[0]
    image = sample @ basis
    rotation = np.linalg.eigh(image.T @ image)[1][:, ::-1]
    return np.ascontiguousarray(basis @ rotation[:, :width], np.float32)


def _n_nearer(
    queries: NDArray[np.float32], means: NDArray[np.float32], chosen: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The number of means that are nearer to a query than each of its ``chosen`` means."""
    squares = squared_distances(queries, means)
    rank = np.argsort(np.argsort(squares, axis=1, kind="stable"), axis=1)
    return np.take_along_axis(rank, chosen, 1)


def _ladder(low: int, top: int) -> list[int]:
    """Numbers from ``low`` to ``top`` in steps of about a tenth."""
    steps, value = [], low
    while value < top:
        steps.append(value)
        value += 1 + value // 10
    return [*steps, max(low, top)]
