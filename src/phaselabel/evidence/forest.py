"""Labelled rows in, decision trees of plain arrays that give log-probabilities of any row out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from phaselabel._kernels import forest as kernels
from phaselabel.evidence.folds import class_weights

#: The trees of a forest.
MOST_TREES, LEAST_TREES = 100, 8

#: Labels times the trees of all turns, and rows times trees, at most: to grow and to follow them takes time.
MOST_GROWTH, MOST_VISITS = 100_000, 10_000_000

#: The votes of a forest count as this many, beside one that is spread over all classes.
FOREST_VOTES = 10.0

#: A dense table has at most this many entries.
LARGEST_TABLE = 20_000_000

Rows = Any  # an array or a CSR matrix, rows by columns


def affordable_trees(n_rows: int, n_labels: int, n_turns: int) -> int:
    """How many trees a forest has in every turn: fewer of many labels, and fewer that are shown many rows.

    Examples
    --------
    >>> affordable_trees(2000, 50, 6), affordable_trees(2000, 1000, 6), affordable_trees(1_000_000, 2000, 2)
    (100, 16, 10)
    """
    affordable = min(MOST_GROWTH // max(n_labels * n_turns, 1), MOST_VISITS // max(n_rows, 1))
    return max(LEAST_TREES, min(MOST_TREES, affordable))


@dataclass(frozen=True, eq=False)
class Forest:
    """Decision trees as arrays: for every node the column, the threshold, both children, and class shares."""

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        X: Rows,
        y: NDArray[np.integer[Any]],
        n_classes: int,
        n_trees: int,
        *,
        extra: bool = False,
        seed: int = 0,
    ) -> "Forest":
        """Grow a random forest, or extremely randomised trees, from labelled rows; classes count the same.

        A split is the best one, by Gini's impurity, of as many random columns as the root of their number.

        Parameters
        ----------
        X, y
            Labelled rows and their classes.
        n_classes : int
            K.
        n_trees : int
            The number of trees.
        extra : bool, default=False
            Whether thresholds are drawn at random.
        seed : int, default=0
            Where the random numbers start; forests that are joined need different ones.
        """
        table, columns = _dense(X)
        weights, classes = class_weights(y, n_classes), np.asarray(y, np.int64)
        n_tried = max(1, int(np.sqrt(table.shape[1])))
        seeds = np.random.SeedSequence(seed).generate_state(n_trees, np.uint64)
        grown, most = [], 2 * len(y)
        for some in gen_batches(n_trees, max(1, LARGEST_TABLE // (most * n_classes))):
            shape = len(seeds[some]), most
            feature, left, right = (np.empty(shape, np.int32) for _ in range(3))
            threshold, value = np.empty(shape), np.empty((*shape, n_classes), np.float32)
            n_nodes = np.empty(len(seeds[some]), np.int64)
            nodes = feature, threshold, left, right, value
            kernels.grow_trees(table, classes, weights, seeds[some], n_tried, extra, *nodes, n_nodes)
            made = np.arange(most) < n_nodes[:, None]
            roots = np.zeros(len(n_nodes), np.int32)
            np.cumsum(n_nodes[:-1], out=roots[1:])
            for children in left, right:
                children += np.where(children >= 0, roots[:, None], 0)
            ends = threshold[made], left[made], right[made], value[made]
            grown.append(cls(roots, columns[feature[made]], *ends))
        return cls.joined(grown)

    @classmethod
    def joined(cls, forests: "list[Forest]") -> "Forest":
        """All trees of several forests."""
        if len(forests) == 1:
            return forests[0]
        first = np.cumsum([0, *(len(forest.feature) for forest in forests)]).astype(np.int32)

        def side(name: str) -> NDArray[np.int32]:
            parts = [getattr(forest, name) for forest in forests]
            return np.concatenate([np.where(part >= 0, part + f, -1) for part, f in zip(parts, first)])

        others = [np.concatenate([getattr(forest, name) for forest in forests])
                  for name in ("feature", "threshold", "value")]  # fmt: skip
        return cls(side("roots"), others[0], others[1], side("left"), side("right"), others[2])

    def log_probabilities(self, X: Rows) -> NDArray[np.float32]:
        """One row per row of ``X``, one column per class."""
        n_classes = self.value.shape[1]
        shares = np.empty((X.shape[0], n_classes), np.float32)
        trees = self.roots, self.feature, self.threshold, self.left, self.right, self.value
        for some in gen_batches(X.shape[0], max(1, LARGEST_TABLE // max(X.shape[1], 1))):
            rows = X[some].toarray() if sparse.issparse(X) else np.ascontiguousarray(X[some], np.float32)
            kernels.leaf_means(rows, *trees, shares[some])
        shares *= FOREST_VOTES / (FOREST_VOTES + 1)
        shares += 1 / (n_classes * (FOREST_VOTES + 1))
        return np.log(shares, out=shares)


def _dense(X: Rows) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Labelled rows as a dense table, and the column of the rows that each of its columns is.

    Of sparse rows only columns that have an entry can part them; of very many the ones with most entries.
    """
    if not sparse.issparse(X):
        return np.ascontiguousarray(X, np.float32), np.arange(X.shape[1], dtype=np.int32)
    entries = np.bincount(X.indices, minlength=X.shape[1])
    most = max(1, LARGEST_TABLE // max(X.shape[0], 1))
    columns = np.sort(np.argsort(-entries, kind="stable")[:most])
    columns = columns[entries[columns] > 0] if entries.any() else columns[:1]
    return X[:, columns].toarray().astype(np.float32), columns.astype(np.int32)
