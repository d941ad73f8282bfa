"""Rows and a few labels in, splits that keep unlabelled rows in training, or the best settings, out."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from phaselabel.classifier import GinzburgLandauClassifier
from phaselabel.labels import encode


class LabeledFold:
    """Folds of the labelled rows; every unlabelled row stays in training, where it shapes the graph.

    Parameters
    ----------
    n_splits : int, default=5
        Folds. A class's only label is never held back.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known".

    Examples
    --------
    >>> folds = LabeledFold(2)
    >>> [test.tolist() for _, test in folds.split([[0]] * 5, [0, 0, -1, 1, 1])]
    [[0, 3], [1, 4]]
    """

    def __init__(self, n_splits: int = 5, *, unlabeled: Any = -1) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise ValueError(f"n_splits must be a whole number of at least 2; got {n_splits!r}.")
        self.n_splits, self.unlabeled = n_splits, unlabeled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are."""
        return sum(1 for _ in self.split(X, y)) if y is not None else self.n_splits

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows to train on, unlabelled ones among them, and the labelled rows to test on."""
        _, labels = encode(y, self.unlabeled)
        fold = np.full(len(labels), -1)
        for k in range(labels.max() + 1):
            members = np.flatnonzero(labels == k)
            if len(members) > 1:
                fold[members] = np.arange(len(members)) % self.n_splits
        if not (fold >= 0).any():
            raise ValueError("LabeledFold needs a class with at least 2 labels; label a few more rows.")
        for number in range(self.n_splits):
            test = fold == number
            if test.any():
                yield np.flatnonzero(~test), np.flatnonzero(test)


class GinzburgLandauClassifierCV(ClassifierMixin, BaseEstimator):
    """Choose neighbours, ε and μ from the few labels there are, then fit with the best.

    Labels are held back in turn, the rows themselves stay in the graph; with as many folds as labels this is
    leave-one-out. Ties go to the setting that comes first.

    Parameters
    ----------
    n_neighbors, epsilon, fidelity : sequence
        The values to try.
    cv : int, default=10
        Folds of the labels, at the most.
    estimator : GinzburgLandauClassifier, optional
        Everything else.

    Attributes
    ----------
    best_params_ : dict
        The settings that won.
    best_estimator_ : GinzburgLandauClassifier
        Fitted to all labels with them.
    curve_ : list of dict
        Every setting with its ``accuracy`` on held-back labels and the standard ``error`` of that.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = GinzburgLandauClassifierCV(n_neighbors=[1, 2]).fit(X, [0, -1, 0, 1, -1, 1])
    >>> model.transduction_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(
        self,
        n_neighbors: Sequence[int] = (10, 5, 20),
        epsilon: Sequence[float] = (1.0, 0.5),
        fidelity: Sequence[float] = (30.0, 1.0),
        *,
        cv: int = 10,
        estimator: GinzburgLandauClassifier | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.epsilon = epsilon
        self.fidelity = fidelity
        self.cv = cv
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Try every setting on held-back labels and fit the best to all of them."""
        model = clone(self.estimator) if self.estimator is not None else GinzburgLandauClassifier()
        classes, labels = encode(y, model.unlabeled)
        folds = list(LabeledFold(self.cv, unlabeled=model.unlabeled).split(X, y))
        X, _ = model._validated(X, y)
        n = X.shape[0]
        self.curve_ = []
        for k in dict.fromkeys(min(int(k), n - 1) for k in self.n_neighbors):
            graph, _ = model.set_params(n_neighbors=k)._graph(X)
            for epsilon, fidelity in product(self.epsilon, self.fidelity):
                model.set_params(epsilon=epsilon, fidelity=fidelity)
                hits = np.concatenate([_hits(model, graph, labels, classes, test) for _, test in folds])
                accuracy = float(hits.mean())
                error = float(np.sqrt(accuracy * (1 - accuracy) / len(hits)))
                setting = {"n_neighbors": k, "epsilon": epsilon, "fidelity": fidelity}
                self.curve_.append(setting | {"accuracy": accuracy, "error": error})
        best = max(self.curve_, key=lambda row: row["accuracy"])
        self.best_params_ = {name: best[name] for name in ("n_neighbors", "epsilon", "fidelity")}
        self.best_estimator_ = model.set_params(**self.best_params_).fit(X, y)
        self.classes_, self.n_features_in_ = classes, X.shape[1]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows with the best settings."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @property
    def transduction_(self) -> NDArray[Any]:
        """A label for every fitted row."""
        check_is_fitted(self)
        return self.best_estimator_.transduction_

    @property
    def confidence_(self) -> NDArray[np.float64]:
        """The probability that each of them is right."""
        check_is_fitted(self)
        return self.best_estimator_.confidence_


def _hits(
    model: GinzburgLandauClassifier, graph: Any, labels: NDArray[np.int32], classes: Any, test: Any
) -> NDArray[np.bool_]:
    """Which of the held-back labels the flow finds without them."""
    known = labels.copy()
    known[test] = -1
    return np.asarray(model._solve(graph, known, classes).arm[test] == labels[test])
