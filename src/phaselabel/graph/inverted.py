"""Rows in, cells of rows that lie together out (an inverted file), and the nearest rows of those opened."""

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel import _graph_kernels as kernels

#: So many means are all compared with a query; more are sorted into groups, of which it opens the nearest.
FLAT = 512
#: Groups that are opened where a row only looks for its own cell.
OWN = 3
#: Rows for each mean that take part in finding the means.
PER_MEAN = 48


class Lists:
    """The nearest rows seen so far by each of some queries, the nearest first; -1 where there is none yet."""

    def __init__(self, n_queries: int, length: int) -> None:
        self.ids = np.full((n_queries, length), -1, np.int32)
        self.squares = np.full((n_queries, length), np.inf, np.float32)

    def look(
        self,
        rows: NDArray[np.float32],
        numbers: NDArray[np.int32],
        first: NDArray[np.int64],
        means: NDArray[np.float32],
        queries: NDArray[np.float32],
        opened: NDArray[np.int32],
    ) -> None:
        """Look at the rows of the cells that each query opens."""
        import scipy.linalg.cython_blas  # noqa: F401 - the products' library, loaded so that it can be limited

        together = 2_048 if len(queries) > 4_096 else 144
        with threadpool_limits(1, "blas"):
            kernels.scan_cells(rows, numbers, first, means, queries, opened, together, self.ids, self.squares)


class InvertedFile:
    """Rows sorted into cells: entry a of ``rows`` is row ``order[a]``, and cell c starts at ``first[c]``.

    The means of the cells are found by k-means. Where they are many they are rows of an inverted file
    themselves, so that a query needn't be compared with all of them.
    """

    def __init__(self, rows: NDArray[np.float32], n_cells: int) -> None:
        means = Means.of(rows, n_cells)
        taken, self.cell = np.unique(means.nearest(rows, 1).ravel(), return_inverse=True)
        # No cell is empty: a query that opens one finds somebody.
        self.means = means if len(taken) == len(means) else Means(means.values[taken])
        self.order = np.argsort(self.cell, kind="stable").astype(np.int32)
        self.rows = rows[self.order]
        self.first = np.concatenate([[0], np.cumsum(np.bincount(self.cell))])

    def nearest(
        self, queries: NDArray[np.float32], count: int, cells: int, groups: int = OWN
    ) -> NDArray[np.int32]:
        """For each query, the nearest rows of the nearest ``cells``, which are sought in so many ``groups``.

        A list that isn't filled ends in -1.
        """
        opened = self.means.nearest(queries, cells, groups)
        # Who opens the same cells shall come one after the other.
        order = np.argsort(opened[:, 0], kind="stable")
        found = Lists(len(queries), min(count, len(self.rows)))
        found.look(self.rows, self.order, self.first, self.means.values, queries[order], opened[order])
        answer = np.empty_like(found.ids)
        answer[order] = found.ids
        return answer


class Means:
    """The means of cells, and which of them are nearest to a query."""

    def __init__(self, values: NDArray[np.float32]) -> None:
        self.values = values
        self.groups = InvertedFile(values, round(len(values) ** 0.5)) if len(values) > FLAT else None

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, rows: NDArray[np.float32], count: int) -> "Means":
        """The means of ``count`` cells, by k-means on a sample of the rows."""
        rng = np.random.default_rng(1)
        sample = rows[np.sort(rng.choice(len(rows), min(len(rows), PER_MEAN * count), replace=False))]
        means = cls(sample[np.sort(rng.choice(len(sample), count, replace=False))])
        for _ in range(5):
            own = means.nearest(sample, 1).ravel()
            order = np.argsort(own, kind="stable")
            _, start, size = np.unique(own[order], return_index=True, return_counts=True)
            sums = np.add.reduceat(sample[order], start)
            means = cls((sums / size[:, None]).astype(np.float32))
        return means

    def nearest(self, queries: NDArray[np.float32], count: int, groups: int = OWN) -> NDArray[np.int32]:
        """For each query its nearest means, the nearest first; -1 where the groups opened hold too few."""
        if self.groups is not None:
            return self.groups.nearest(queries, count, min(groups, len(self.groups.means)))
        import faiss

        return faiss.knn(queries, self.values, min(count, len(self)))[1].astype(np.int32)
