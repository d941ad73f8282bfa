"""Rows and a few labels in, splits that keep unlabelled rows in training out."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.counts import check_count
from phaselabel.labels import encode


class LabeledFold:
    """Folds of the labelled rows; every unlabelled row stays in training, where it shapes the graph.

    Parameters
    ----------
    n_splits : int, default=5
        Folds. A class's only label is never held back.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known". Values with a fraction, for a regressor, are dealt by their
        size; NaN means "not known" there. Values that are all whole numbers are taken for classes.

    Examples
    --------
    >>> folds = LabeledFold(2)
    >>> [test.tolist() for _, test in folds.split([[0]] * 5, [0, 0, -1, 1, 1])]
    [[0, 3], [1, 4]]
    """

    def __init__(self, n_splits: int = 5, *, unlabeled: Any = -1) -> None:
        check_count(n_splits, 2, "n_splits")
        self.n_splits, self.unlabeled = n_splits, unlabeled

    def _dealt_out(self, y: Any) -> NDArray[np.int32]:
        """Class numbers; of numbers with a fraction, groups of ``n_splits`` that are near each other."""
        try:
            return encode(y, self.unlabeled)[1]
        except ValueError as error:
            if "continuous" not in str(error):
                raise
        values = np.asarray(y, np.float64).ravel()
        known = np.flatnonzero(~np.isnan(values))
        groups = np.full(len(values), -1, np.int32)
        order = known[np.argsort(values[known], kind="stable")]
        groups[order] = np.arange(len(known)) // max(1, min(self.n_splits, len(known)))
        last = groups == groups.max()
        if groups.max() > 0 and last.sum() < self.n_splits:  # too few for a group of their own
            groups[last] -= 1
        return groups

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Count the folds.

        Parameters
        ----------
        X : object, optional
            Not used.
        y : array-like of shape (n_samples,), optional
            The labels; with few of them there may be fewer folds than ``n_splits``.
        groups : object, optional
            Not used.

        Returns
        -------
        int
            The number of folds of ``y``, or ``n_splits`` without ``y``.

        Examples
        --------
        >>> LabeledFold(3).get_n_splits(y=[0, 0, -1, 1, 1])
        2
        """
        return sum(1 for _ in self.split(X, y)) if y is not None else self.n_splits

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows to train on, unlabelled ones among them, and the labelled rows to test on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; not used.
        y : array-like of shape (n_samples,)
            The labels; ``unlabeled`` where not known.
        groups : object, optional
            Not used.

        Yields
        ------
        train : ndarray of int
            The rows to train on.
        test : ndarray of int
            The rows to test on; each has a label.

        Examples
        --------
        >>> train, test = next(LabeledFold(2).split([[0]] * 5, [0, 0, -1, 1, 1]))
        >>> train.tolist(), test.tolist()
        ([1, 2, 4], [0, 3])
        """
        labels = self._dealt_out(y)
        fold = np.full(len(labels), -1)
        for k in range(labels.max() + 1):
            members = np.flatnonzero(labels == k)
            if len(members) > 1:
                fold[members] = np.arange(len(members)) % min(self.n_splits, len(members))
        if not (fold >= 0).any():
            raise ValueError(
                "LabeledFold needs a class with at least 2 labels; label a few more rows, or add 0.5 to y if "
                "it holds a regressor's values: numbers without a fraction are taken for classes."
            )
        for number in range(fold.max() + 1):
            test = fold == number
            if test.any():
                yield np.flatnonzero(~test), np.flatnonzero(test)
