"""A fitted classifier in; confidence, class sizes, suspect labels, explanations and new rows' labels out."""

from abc import abstractmethod
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from phaselabel.assess.calibration import Calibration, as_distributions, confidence
from phaselabel.assess.explain import Explanation, decision_shares, influences
from phaselabel.assess.hidden import HeldOut, Solver, calibration_from_hidden, hold_out
from phaselabel.assess.novelty import doubted, novelty_remark
from phaselabel.assess.query import choose_queries
from phaselabel.assess.verdict import verdict
from phaselabel.counts import check_count, is_whole
from phaselabel.estimators.graph_classifier import GraphClassifier
from phaselabel.estimators.on_dask import gathered
from phaselabel.evidence.advice import advice, alarms, doubts, untested
from phaselabel.evidence.opinion import Choice, Opinion
from phaselabel.few_labels.graph_quality import remarks
from phaselabel.few_labels.sharpen import sharpened
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.vote_shares import own_shares
from phaselabel.labels import decode

#: The verdict in a notebook where labels would have to be hidden first, which takes as long as some fits.
NOT_HIDDEN = (
    "How many labels are right is not known yet: hold_out() hides the known labels in turns and counts those "
    "that are found again."
)


class FittedClassifier(GraphClassifier):
    """What is asked of a classifier after a fit: how sure it is, what decided, and the labels of new rows."""

    abstain_below: float | None
    dask_options: dict[str, Any] | None
    epsilon: Any
    choice_: Choice | None
    novel_: NDArray[np.bool_] | None
    #: What a fit on a Dask array left; None after any other fit.
    _fitted: Any = None
    _believed: Opinion | None

    @abstractmethod
    def _solver(self) -> Solver:
        """Solves the problem of the fit again from some of its labels, by the graph alone."""

    def _forget(self) -> None:
        """Drop what belongs to an earlier fit."""
        self.__dict__.pop("_fitted", None)  # on a Dask array
        self.novel_ = None
        self._calibrated: list[Calibration] = []  # filled when first asked for; predicting adds no attribute

    def _check_abstention(self) -> None:
        below = self.abstain_below
        number = isinstance(below, Real) and not isinstance(below, bool | np.bool_)
        if below is not None and not (number and 0 <= below <= 1):
            raise ValueError(f"abstain_below must be None or a probability between 0 and 1; got {below!r}.")

    def _judge(self) -> list[str]:
        """Set ``remarks_``; return those that the user must hear of at once."""
        names = [str(name) for name in self.classes_]
        loud = alarms(self.class_sizes_, names)
        if self._fitted is not None:
            loud = self._fitted.outcome.remarks + loud
        elif self.choice_ is None:
            loud = remarks(self.graph_, self._labels, self.solution_) + loud
        loud += novelty_remark(*self._far(), len(names))
        quiet: list[str] = []
        if self.choice_ is not None:
            quiet = advice(self.choice_.figures, sizes_known=not isinstance(self.class_sizes, str))
            if self.choice_.figures.n_hidden:
                given = self._labels[self._labels >= 0] if self._fitted is None else self._fitted.labelled[1]
                quiet += untested(np.bincount(given, minlength=len(names)), names)
            # The lower ends of class_size_intervals_, without the table of all probabilities.
            sure, n_reached = self._sure_sizes()
            quiet += doubts(self.class_sizes_, sure / max(n_reached, 1), names)
        self.remarks_ = loud + quiet
        return loud

    def _far(self) -> tuple[int, int]:
        """The number of rows that look like none of the labelled ones, and the first of them."""
        if self._fitted is not None:
            return self._fitted.outcome.far
        far = np.zeros(0, bool) if self.novel_ is None else self.novel_
        return int(far.sum()), int(far.argmax()) if len(far) else -1

    def _sure_sizes(self) -> tuple[NDArray[np.float64], int]:
        """The confidence of every class's rows, added up, and the number of rows that have a class."""
        if self._fitted is not None:
            return self._fitted.sure_sizes(self._client), self._fitted.n_rows - self._fitted.n_unreached
        arm, reached = self.solution_.arm, self.solution_.arm >= 0
        sure = np.bincount(arm[reached], self.confidence_[reached], len(self.classes_)).astype(np.float64)
        return sure, int(reached.sum())

    def _decided(self, arm: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The labels of all rows; ``unlabeled`` where confidence is too low."""
        if self.abstain_below is not None:
            arm = np.where(self.confidence_ < self.abstain_below, -1, arm)
        return decode(arm, self.classes_, self.unlabeled)

    def gathered(self) -> Self:
        """The model with all of its arrays in this process; the model itself, unless it was fitted on Dask.

        After a fit on a Dask array it is called by ``predict``, ``explain``, ``query``, ``save`` and others;
        a model too large for this process is refused in a sentence.

        Returns
        -------
        GinzburgLandauClassifier
            A fitted model that works without a cluster.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.gathered() is model
        True
        """
        if self._fitted is None:
            return self
        if self._fitted.model is None:
            self._fitted.model = gathered(self)
        return self._fitted.model

    @property
    def _client(self) -> Any:
        return (self.dask_options or {}).get("client")

    # -- how good it is

    @property
    def calibration_(self) -> Calibration:
        """How votes become probabilities, by a second flow without some labels; computed when first used.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> type(model.calibration_).__name__
        'Calibration'
        """
        if (model := self.gathered()) is not self:
            return model.calibration_
        check_is_fitted(self, "solution_")
        if not self._calibrated:
            self._calibrated.append(
                calibration_from_hidden(self._solver(), self.graph_, self._labels, len(self.classes_))
            )
        return self._calibrated[0]

    @property
    def confidence_(self) -> Any:
        """The probability that each row's label is right; 0 where a row has no class.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> bool((model.confidence_ > 0.5).all())
        True
        """
        check_is_fitted(self, "solution_")
        if self._fitted is not None:
            return self._fitted.confidence(self._client)
        arm, k = self.solution_.arm, len(self.classes_)
        if self._believed is not None:
            believed = self._believed.confidence[np.arange(len(arm)), arm].astype(np.float64)
            sure = confidence(believed, arm, arm == self._labels, None, k)
        else:
            share = own_shares(self.graph_, self.solution_.state, k)
            sure = confidence(share, arm, arm == self._labels, self.calibration_, k)
        return sure if self.novel_ is None else doubted(sure, self.novel_, k)

    @property
    def class_sizes_(self) -> NDArray[np.float64]:
        """The proportion of every class among the rows that have one, as the flow found it.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.class_sizes_.tolist()
        [0.5, 0.5]
        """
        check_is_fitted(self, "solution_")
        sizes = self._counted()[2]
        return np.asarray(sizes / max(int(sizes.sum()), 1))

    @property
    def class_size_intervals_(self) -> NDArray[np.float64]:
        """The lowest and highest plausible proportion of every class: without its unsure rows, with others'.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.class_size_intervals_.shape
        (2, 2)
        """
        if (model := self.gathered()) is not self:
            return model.class_size_intervals_
        arm = self.solution_.arm
        reached = np.flatnonzero(arm >= 0)
        odds = self.label_distributions_[reached]
        own = arm[reached][:, None] == np.arange(odds.shape[1])
        low = np.where(own, odds, 0).sum(axis=0)
        high = np.where(own, 1, odds).sum(axis=0)
        return np.column_stack([low, high]) / max(len(reached), 1)

    @property
    def suspect_labels_(self) -> NDArray[np.intp]:
        """Rows whose given label is probably wrong, the surest first; computed when used.

        Labels are judged while they are hidden, and by how often the method is wrong;
        ``hold_out().suspects()`` has the probability of each and the number of false alarms to expect.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.suspect_labels_.tolist()
        []
        """
        return self.hold_out().suspects().rows

    def hold_out(self, folds: int = 10, random_state: Any = 0) -> HeldOut:
        """Hide the known labels in turns and look at what the same method finds for them.

        Parameters
        ----------
        folds : int, default=10
            The number of turns, from 2 on; fewer where the largest class has fewer labels. With evidence
            neither argument is used: ``fit`` has hidden labels already, in at most five turns.
        random_state : int, Generator or None
            How the labels are dealt out.

        Returns
        -------
        HeldOut
            ``accuracy`` with its ``interval()``, and each label beside what was found for it.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1])
        >>> model.hold_out().accuracy
        1.0
        """
        check_count(folds, 2, "folds")
        if self._fitted is not None and self.choice_ is not None:
            return self._fitted.held_out(self.class_sizes_)
        if (model := self.gathered()) is not self:
            return model.hold_out(folds, random_state)
        check_is_fitted(self, "solution_")
        if self._believed is not None:
            rows, believed = self._believed.hidden_rows, self._believed.hidden_probabilities
            return HeldOut.of_probabilities(
                rows, self._labels, believed, self._believed.n_folds, self._believed.choice.class_sizes,
                self.class_sizes_,
            )  # fmt: skip
        return hold_out(
            self._solver(),
            self.graph_,
            self._labels,
            len(self.classes_),
            folds=folds,
            random_state=random_state,
        )

    @property
    def _get_fitted_attr_html(self) -> Any:
        """No list of attributes in a notebook: scikit-learn would compute all of them, by dozens of flows."""
        raise AttributeError("_get_fitted_attr_html")

    def _counted(self) -> tuple[int, int, NDArray[np.int64]]:
        if self._fitted is None:
            return super()._counted()
        return self._fitted.n_rows, self._fitted.n_given, self._fitted.outcome.class_sizes

    def _sentences(self) -> list[str]:
        """The verdict, if labels were hidden already, and the remarks."""
        return [NOT_HIDDEN if self.choice_ is None else verdict(self.hold_out()), *self.remarks_]

    def explain(self, row: int, n: int = 5) -> Explanation:
        """What decided a fitted row: labelled rows, and the shares of its own columns and of its neighbours.

        A random walk on the graph starts at ``row`` and ends at the first labelled row it meets; the
        influence of a labelled row is the probability that the walk ends there.

        Parameters
        ----------
        row : int
            A fitted row.
        n : int, default=5
            How many labelled rows to name, at most.

        Returns
        -------
        Explanation
            A list of (row, label, share of the influence), the largest first. Its attributes ``by_columns``
            and ``by_neighbors`` are the shares of the decision that are due to the row's own columns and to
            its neighbours.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]], [0, -1, -1, 1])
        >>> [(row, int(label)) for row, label, share in model.explain(1)][0]
        (0, 0)
        >>> 0 <= model.explain(1).by_columns <= 1
        True
        """
        if (model := self.gathered()) is not self:
            return model.explain(row, n)
        check_is_fitted(self, "solution_")
        if not is_whole(row) or not 0 <= row < len(self._labels):
            raise ValueError(
                f"row must be a whole number between 0 and {len(self._labels) - 1}; got {row!r}."
            )
        check_count(n, 1, "n")
        weight = influences(self.graph_, self._labels >= 0, row)
        first = np.argsort(-weight, kind="stable")[:n]
        total = max(float(weight.sum()), 1e-30)
        rows = [
            (int(i), self.classes_[self._labels[i]], float(weight[i] / total)) for i in first if weight[i] > 0
        ]
        if self._labels[row] >= 0 or self.solution_.arm[row] < 0:
            return Explanation(rows, 0.0, 0.0)
        state, epsilon = self.solution_.state, FlowSettings(self.epsilon).last_epsilon
        return Explanation(rows, *decision_shares(self.graph_, state, self._believed, row, epsilon))

    def query(self, n: int = 1) -> NDArray[np.intp]:
        """The rows to label next: unsure, typical of their region, far from each other.

        Parameters
        ----------
        n : int, default=1
            How many rows.

        Returns
        -------
        ndarray of int
            The rows, the best first; components without a label come before all others.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
        >>> model = GinzburgLandauClassifier(n_neighbors=2).fit(X, [0, -1, -1, 1, -1, -1])
        >>> len(model.query(2))
        2
        """
        if (model := self.gathered()) is not self:
            return model.query(n)
        check_is_fitted(self, "solution_")
        check_count(n, 1, "n")
        sharp = sharpened(self.graph_)
        return choose_queries(sharp, self._labels, self.solution_.arm, len(self.classes_), int(n))

    # -- new rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by neighbours and models of the rows; ``unlabeled`` below ``abstain_below``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            New rows; with another ``affinity`` their similarities or distances to the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            A label for every row, or ``unlabeled``.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.predict([[4.0]]).tolist()
        [1]
        """
        if hasattr(X, "__dask_graph__"):
            return self._predict_on_dask(X, "predict")
        if (model := self.gathered()) is not self:
            return model.predict(X)
        if self.abstain_below is None:
            return super().predict(X)
        odds = self.predict_proba(X)
        arm = np.where(odds.max(axis=1) < self.abstain_below, -1, odds.argmax(axis=1))
        return decode(arm, self.classes_, self.unlabeled)

    def _shares(self, X: Any, plain: bool = False) -> NDArray[np.float64]:
        """Probabilities of every new row: what its neighbours and the models of the rows say together."""
        if self._believed is None or self.affinity != "nearest_neighbors":
            return super()._shares(X, plain)
        neighbors, weights = self._near(X)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        logits = np.zeros((X.shape[0], len(self.classes_)))
        for j in range(weights.shape[1]):  # one neighbour at a time: little memory, and sums in a fixed order
            logits += weights[:, j : j + 1] * self._believed.graph_logits[neighbors.indices[:, j]]
        odds = self._believed.of_rows(X, logits)
        # The vote of a vertex at the hub: what its neighbours say, and what is believed of it.
        votes = self._believed.voice * odds / (2 * FlowSettings(self.epsilon).last_epsilon)
        heights = weights * self.solution_.height[neighbors.indices]
        rows = np.arange(len(odds))[:, None]
        np.add.at(votes, (rows, self.solution_.arm[neighbors.indices]), heights)
        arm = votes.argmax(axis=1)
        sure = self._doubted(odds[np.arange(len(odds)), arm], self._votes(neighbors, weights))
        shares = as_distributions(odds, arm, sure)
        seen = neighbors.distances[:, 0] == 0
        same = neighbors.indices[seen, 0]
        shares[seen] = self._distributions(same, self.confidence_[same])
        return shares

    def _distributions(
        self, rows: NDArray[np.integer[Any]], confidence: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if self._believed is None:
            return super()._distributions(rows, confidence)
        believed = self._believed.confidence[rows].astype(np.float64)
        return as_distributions(believed, self.solution_.arm[rows], confidence)

    def _as_probabilities(self, shares: NDArray[np.float64], votes: sparse.csr_array) -> NDArray[np.float64]:
        """Calibrated probabilities of new rows from the shares in the vote on them."""
        arm = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
        k = shares.shape[1]
        own = np.maximum(self.calibration_(shares.max(axis=1)), 1 / k) if k > 1 else np.ones(len(shares))
        return as_distributions(shares, arm, self._doubted(own, votes))

    def _doubted(self, sure: NDArray[np.float64], votes: sparse.csr_array) -> NDArray[np.float64]:
        """The confidence in new rows, lower where most of the vote is of rows far from every label."""
        if self.novel_ is None or not self.novel_.any():
            return sure
        far = votes @ self.novel_.astype(np.float64) > 0.5 * votes.sum(axis=1)
        return doubted(sure, far, len(self.classes_))
