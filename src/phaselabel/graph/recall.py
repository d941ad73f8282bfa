"""A search task in, random queries with their true neighbours out, by which the recall is measured."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phaselabel.graph.inverted_file import NearestLists
from phaselabel.graph.search_task import Nearest, SearchTask

#: Queries whose true neighbours are found: a third to choose the settings, the others to measure the recall.
TRIAL_QUERIES = 576

#: Standard errors by which the recall of the settings must exceed the recall that is asked for, because the
#: misses are concentrated in a few rows, of which a small sample contains too few.
SAFETY_ERRORS = 4


class RecallTrial:
    """Random queries and their true neighbours, which are found while the points are read block by block."""

    def __init__(self, task: SearchTask, size: int = TRIAL_QUERIES) -> None:
        self.task = task
        self.rows = np.random.default_rng(3).permutation(task.queries.sample(size, seed=2))
        self.queries = task.queries.block(self.rows)
        self.lists = NearestLists(len(self.rows), min(task.n_candidates, len(task.points)))

    def update(self, start: int, block: NDArray[np.float32]) -> None:
        """Compare the trial queries with more rows, as if these were one cell that every query opens."""
        numbers = np.arange(start, start + len(block), dtype=np.int32)
        ends, mean = np.array([0, len(block)]), block.mean(axis=0, keepdims=True)
        opened = np.zeros((len(self.rows), 1), np.int32)
        self.lists.update(block, numbers, ends, mean, self.queries, opened)

    def for_choosing(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A third of the queries, and their neighbours."""
        return self._part(slice(max(1, len(self.rows) // 3)))

    def for_measuring(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The other queries, and their neighbours."""
        return self._part(slice(max(1, len(self.rows) // 3) if len(self.rows) > 1 else 0, None))

    def recall(self, nearest: Nearest) -> float:
        """The share of true neighbours found, for the queries that were not used to choose the settings.

        A neighbour as near as the last true one counts as found: which of several at one distance is listed
        is chance.
        """
        queries, true = self.for_measuring()
        exact = self.task.empty()
        self.task.rerank(queries, np.ascontiguousarray(true), exact)
        last = exact[1][queries, -1:] * (1 + 1e-6)
        return float((nearest[1][queries] <= last).mean())

    def _part(self, which: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, ids = self.rows[which], self.lists.ids[which].astype(np.int64)
        if self.task.points.mixed:
            return rows, self._in_double_precision[which].astype(np.int64)
        if not self.task.itself:
            return rows, ids
        others = ids != rows[:, None]
        others[others.all(axis=1), -1] = False
        return rows, ids[others].reshape(len(rows), -1)

    @cached_property
    def _in_double_precision(self) -> NDArray[np.int32]:
        """The true neighbours where single precision may not find them."""
        nearest = self.task.empty()
        self.task.scan(self.rows, nearest)
        return np.asarray(nearest[0][self.rows])


def safe_recall(hits: NDArray[np.bool_]) -> float:
    """The share of neighbours found, less ``SAFETY_ERRORS`` standard errors of its mean over the queries."""
    share = hits.mean(axis=1)
    return float(share.mean() - SAFETY_ERRORS * share.std() / np.sqrt(len(share)))
