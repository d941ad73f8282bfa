"""Known labels in, which of them are hidden in which turn out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Labels are dealt into at most this many folds.
MOST_FOLDS = 5

#: Folds are hidden one after the other until this many labels have been hidden: more would tell little.
ENOUGH_HIDDEN = 500


@dataclass(frozen=True, eq=False)
class Folds:
    """The known labels, dealt into folds: experts are asked once per hidden fold, and once with all labels.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        The known classes; -1 where not known.
    n_classes : int
        K.
    known : ndarray of int
        The labelled rows.
    fold : ndarray of int
        The fold of each of them that is hidden; -1 for those that never are.
    n_dealt, n_hidden : int
        The number of folds, and of those that are hidden in turn.
    """

    labels: NDArray[np.int32]
    n_classes: int
    known: NDArray[np.intp]
    fold: NDArray[np.intp]
    n_dealt: int
    n_hidden: int

    @classmethod
    def of(cls, labels: NDArray[np.int32], n_classes: int, most_turns: int = MOST_FOLDS) -> "Folds":
        """Deal the labels of every class out in turn; the only label of a class is never hidden.

        At most ``most_turns`` of the folds are hidden.

        Examples
        --------
        >>> folds = Folds.of(np.array([0, 0, 1, 1, -1, 2], np.int32), 3)
        >>> folds.n_hidden, int((folds.fold < 0).sum())  # the class with one label keeps it
        (2, 1)
        """
        rng = np.random.default_rng(0)
        known = np.flatnonzero(labels >= 0)
        y = labels[known]
        counts = np.bincount(y, minlength=n_classes)
        n = int(min(MOST_FOLDS, counts.max(initial=0)))
        fold = np.full(len(known), -1)
        if n > 1:
            for k in np.flatnonzero(counts > 1):
                mine = rng.permutation(np.flatnonzero(y == k))
                fold[mine] = (np.arange(len(mine)) + rng.integers(n)) % n
        size = np.bincount(fold[fold >= 0], minlength=n)
        enough = min(ENOUGH_HIDDEN, int(size.sum()))
        used = min(int(np.searchsorted(np.cumsum(size), enough) + 1), most_turns) if n > 1 else 0
        return cls(labels, n_classes, known, np.where(fold < used, fold, -1), n if used else 0, used)

    @property
    def turns(self) -> range:
        """One turn for every hidden fold, and the last one with all labels."""
        return range(self.n_hidden + 1)

    def shown_rows(self, turn: int) -> NDArray[np.intp]:
        """The rows whose labels are shown in a turn."""
        return self.known[self.fold != turn] if turn < self.n_hidden else self.known

    def hidden(self, turn: int) -> NDArray[np.intp]:
        """The labelled rows that are hidden in a turn."""
        return self.known[self.fold == turn]

    def shown(self, turn: int) -> NDArray[np.int32]:
        """The labels of a turn, -1 where hidden or not known."""
        labels = np.full(len(self.labels), -1, np.int32)
        rows = self.shown_rows(turn)
        labels[rows] = self.labels[rows]
        return labels

    @property
    def judged(self) -> NDArray[np.intp]:
        """The labelled rows that are hidden in some turn."""
        return self.known[self.fold >= 0]


def class_weights(
    y: NDArray[np.integer[Any]], n_classes: int, shares: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Weights with which every class counts the same, however many labels it has; 1 on average.

    Examples
    --------
    >>> class_weights(np.array([0, 1, 1]), 2).tolist()
    [1.5, 0.75, 0.75]

    Rows may be shares of a label; together they then count as many labels as the shares add up to.

    >>> class_weights(np.array([0, 1, 1]), 2, np.array([1, 0.5, 0.5])).tolist()
    [1.0, 0.5, 0.5]
    """
    shares = np.ones(len(y)) if shares is None else shares
    weights = shares / np.bincount(y, shares, minlength=n_classes)[y]
    return np.asarray(weights / weights.mean() * shares.mean())
