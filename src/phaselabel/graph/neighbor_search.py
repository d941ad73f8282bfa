"""Points in, a search that can be asked for the neighbours of some of them at a time out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph.dense_search import DenseSearch
from phaselabel.graph.neighbors import FAST, Neighbors, check_n_neighbors, distances_of, nearest_neighbors
from phaselabel.graph.scaled_rows import ScaledRows
from phaselabel.graph.search_task import SearchTask


class NeighborSearch:
    """The search of :func:`nearest_neighbors`, asked for some of the rows at a time.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The points.
    n_neighbors : int
        The number of neighbours to find, the point itself not counted.
    metric : str
        The distance.
    recall : float
        The smallest share of the true neighbours to find.
    working_memory : float, default=1024
        MiB that blocks of intermediate results may take.

    Attributes
    ----------
    recall : float
        The share of the true neighbours that was found, measured on a sample.
    """

    def __init__(
        self, X: Any, n_neighbors: int, metric: str, recall: float, working_memory: float = 1024
    ) -> None:
        self._X, self._k, self._metric, self._memory, self.recall = (
            X,
            n_neighbors,
            metric,
            working_memory,
            1.0,
        )
        self._search: DenseSearch | None = None
        check_n_neighbors(n_neighbors, X.shape[0])
        if metric in FAST and not sparse.issparse(X):
            points = ScaledRows.take(X, FAST[metric])
            task = SearchTask(
                points, points, n_neighbors, True, int(working_memory * 2**20), lambda rows: None
            )
            self._search = DenseSearch(task, "auto", recall)
            self.recall = self._search.recall

    def neighbors_of(self, rows: NDArray[np.int64]) -> Neighbors:
        """The neighbours of some rows, as a search for all rows finds them."""
        if self._search is None:
            return self._one_more(rows)
        indices, squares = self._search.answer(rows)
        cosine, power = FAST[self._metric] == "cosine", self._search.task.points.scale[0]
        return Neighbors(indices[rows], distances_of(squares[rows], cosine, power))

    def _one_more(self, rows: NDArray[np.int64]) -> Neighbors:
        """One neighbour more than is wanted, which is left out where the row itself is not among them."""
        k = self._k
        found = nearest_neighbors(
            self._X, k + 1, metric=self._metric, queries=self._X[rows], working_memory=self._memory
        )
        itself = found.indices == rows[:, None]
        itself[~itself.any(axis=1), -1] = True
        shape = len(rows), k
        return Neighbors(found.indices[~itself].reshape(shape), found.distances[~itself].reshape(shape))
