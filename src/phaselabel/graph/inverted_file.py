"""Rows in, cells of rows that lie close together out: an inverted file, and the nearest rows in it."""

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel._kernels import graph as kernels
from phaselabel.graph.all_pairs import nearest_pairs

#: Most means that a query is compared with one by one; more means are sorted into groups.
MAX_UNGROUPED_MEANS = 512
#: Groups of means that are opened to find the cell of a row.
GROUPS_FOR_OWN_CELL = 3
#: Rows per cell in the sample that k-means runs on.
SAMPLE_PER_CELL = 48
#: Rounds of k-means.
KMEANS_ROUNDS = 5


class NearestLists:
    """For each query the nearest rows seen so far, the nearest first; -1 where there is none yet."""

    def __init__(self, n_queries: int, length: int) -> None:
        self.ids = np.full((n_queries, length), -1, np.int32)
        self.squares = np.full((n_queries, length), np.inf, np.float32)

    def update(
        self,
        rows: NDArray[np.float32],
        numbers: NDArray[np.int32],
        first: NDArray[np.int64],
        means: NDArray[np.float32],
        queries: NDArray[np.float32],
        opened: NDArray[np.int32],
    ) -> None:
        """Compare each query with the rows of the cells that it opens."""
        import scipy.linalg.cython_blas  # noqa: F401 - loads the BLAS of the products, so that it can be limited

        batch = 2_048 if len(queries) > 4_096 else 144
        with threadpool_limits(1, "blas"):
            kernels.scan_cells(rows, numbers, first, means, queries, opened, batch, self.ids, self.squares)


class InvertedFile:
    """Rows sorted into cells: entry a of ``rows`` is row ``order[a]``, and cell c starts at ``first[c]``.

    The means of the cells are found by k-means. Where they are many they are the rows of another inverted
    file, so that a query need not be compared with all of them.
    """

    def __init__(self, rows: NDArray[np.float32], n_cells: int) -> None:
        means = Means.by_kmeans(rows, n_cells)
        used, self.cell = np.unique(means.nearest(rows, 1).ravel(), return_inverse=True)
        # No cell is empty: a query that opens a cell finds at least one row.
        self.means = means if len(used) == len(means) else Means(means.values[used])
        self.order = np.argsort(self.cell, kind="stable").astype(np.int32)
        self.rows = rows[self.order]
        self.first = np.concatenate([[0], np.cumsum(np.bincount(self.cell))])

    def nearest(
        self, queries: NDArray[np.float32], count: int, n_cells: int, n_groups: int = GROUPS_FOR_OWN_CELL
    ) -> NDArray[np.int32]:
        """For each query the ``count`` nearest rows of the ``n_cells`` nearest cells.

        The cells are looked for in the ``n_groups`` nearest groups. A list with fewer than ``count`` rows
        ends in -1.
        """
        opened = self.means.nearest(queries, n_cells, n_groups)
        # Queries that open the same cells follow each other.
        order = np.argsort(opened[:, 0], kind="stable")
        lists = NearestLists(len(queries), min(count, len(self.rows)))
        lists.update(self.rows, self.order, self.first, self.means.values, queries[order], opened[order])
        nearest = np.empty_like(lists.ids)
        nearest[order] = lists.ids
        return nearest


class Means:
    """The means of cells; finds those nearest to a query."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        self.values = values
        many = len(values) > MAX_UNGROUPED_MEANS
        self.groups = InvertedFile(values, round(len(values) ** 0.5)) if many else None

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def by_kmeans(
        cls,
        rows: NDArray[np.float32],
        n_cells: int,
        sample_per_cell: int = SAMPLE_PER_CELL,
        rounds: int = KMEANS_ROUNDS,
    ) -> "Means":
        """The means of ``n_cells`` cells, or fewer where cells stay empty, by k-means on a sample."""
        rng = np.random.default_rng(1)
        sample_size = min(len(rows), sample_per_cell * n_cells)
        sample = rows[np.sort(rng.choice(len(rows), sample_size, replace=False))]
        means = cls(sample[np.sort(rng.choice(len(sample), n_cells, replace=False))])
        for _ in range(rounds):
            cell = means.nearest(sample, 1).ravel()
            order = np.argsort(cell, kind="stable")
            _, start, size = np.unique(cell[order], return_index=True, return_counts=True)
            sums = np.add.reduceat(sample[order], start)
            means = cls((sums / size[:, None]).astype(np.float32))
        return means

    def nearest(
        self, queries: NDArray[np.float32], count: int, n_groups: int = GROUPS_FOR_OWN_CELL
    ) -> NDArray[np.int32]:
        """For each query its nearest means, the nearest first; -1 where the opened groups hold too few."""
        if self.groups is not None:
            return self.groups.nearest(queries, count, min(n_groups, len(self.groups.means)))
        return nearest_pairs(queries, self.values, min(count, len(self)))[1].astype(np.int32)
