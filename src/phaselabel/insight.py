"""A fitted flow in; how sure it is, which labels it doubts, what decided a row, what to label next out."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from phaselabel import _kernels
from phaselabel.confidence import Calibration, as_distributions, calibrate, held_back, influences
from phaselabel.flow import Solution
from phaselabel.graph import Graph
from phaselabel.query import choose_queries
from phaselabel.spread import sharpened


class Insight:
    """What can be asked of a fitted classifier besides its labels."""

    graph_: Graph
    solution_: Solution
    classes_: NDArray[Any]
    _labels: NDArray[np.int32]
    _calibrated: list[Calibration]

    @abstractmethod
    def _solve(self, graph: Graph, labels: NDArray[np.int32], classes: NDArray[Any]) -> Solution:
        """Find the state of every vertex."""

    @property
    def calibration_(self) -> Calibration:
        """How votes turn into probabilities, from a second flow without some labels; made when asked for."""
        check_is_fitted(self, "solution_")
        if not self._calibrated:
            rows = held_back(self._labels)
            share, right = np.zeros(0), np.zeros(0, bool)
            if len(rows) and len(self.classes_) > 1:
                labels = self._labels.copy()
                labels[rows] = -1
                found = self._solve(self.graph_, labels, self.classes_)
                rows = rows[found.arm[rows] >= 0]
                share = votes_on(self.graph_, found, rows, len(self.classes_))[
                    np.arange(len(rows)), found.arm[rows]
                ]
                right = found.arm[rows] == self._labels[rows]
            self._calibrated.append(calibrate(share, right))
        return self._calibrated[0]

    @property
    def confidence_(self) -> NDArray[np.float64]:
        """The probability that each row's label is right; 0 for whom no label reaches."""
        calibration, arm, k = self.calibration_, self.solution_.arm, len(self.classes_)
        share = np.empty(len(arm))
        # Some rows at a time: with many classes the table of votes is large.
        for some in gen_batches(len(arm), max(1, 10_000_000 // k)):
            rows = np.arange(some.start, some.stop)
            share[rows] = votes_on(self.graph_, self.solution_, rows, k)[np.arange(len(rows)), arm[rows]]
        confidence = np.maximum(calibration(share), 1 / k) if k > 1 else np.ones(len(arm))
        return np.where(arm >= 0, np.where(arm == self._labels, np.maximum(confidence, 0.97), confidence), 0)

    @property
    def class_sizes_(self) -> NDArray[np.float64]:
        """The proportion of every class among the rows that a label reaches, as the flow found it."""
        check_is_fitted(self, "solution_")
        arm = self.solution_.arm
        return np.bincount(arm[arm >= 0], minlength=len(self.classes_)) / max(int((arm >= 0).sum()), 1)

    @property
    def class_size_intervals_(self) -> NDArray[np.float64]:
        """Lowest and highest plausible proportion of every class: without its unsure rows, with others'."""
        arm = self.solution_.arm
        reached = np.flatnonzero(arm >= 0)
        odds = self.label_distributions_[reached]  # type: ignore[attr-defined]
        own = arm[reached][:, None] == np.arange(odds.shape[1])
        low = np.where(own, odds, 0).sum(axis=0)
        high = np.where(own, 1, odds).sum(axis=0)
        return np.column_stack([low, high]) / max(len(reached), 1)

    @property
    def suspect_labels_(self) -> NDArray[np.intp]:
        """Rows whose given label the surroundings speak against, the strongest evidence first."""
        check_is_fitted(self, "solution_")
        rows = np.flatnonzero(self._labels >= 0)
        evidence = self._evidence(rows)
        order = np.argsort(-evidence, kind="stable")
        return rows[order][evidence[order] > 0]

    def _evidence(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The best rival's share in the vote on a labelled row, minus its own label's."""
        votes = votes_on(self.graph_, self.solution_, rows, len(self.classes_))
        given = self._labels[rows]
        own = votes[np.arange(len(rows)), given]
        votes[np.arange(len(rows)), given] = 0
        return np.asarray(votes.max(axis=1) - own)

    def explain(self, row: int, n: int = 5) -> list[tuple[int, Any, float]]:
        """The labelled rows that decided a fitted row, each with its label and its share of the influence.

        A random walk on the graph starts at ``row`` and ends at the first labelled row it meets; a labelled
        row's influence is how often it is the one.
        """
        check_is_fitted(self, "solution_")
        if not 0 <= row < len(self._labels):
            raise ValueError(f"row must be between 0 and {len(self._labels) - 1}; got {row}.")
        degrees = np.maximum(self.graph_.degrees, 1e-30)
        walk = sparse.csr_array(sparse.diags_array(1 / degrees) @ self.graph_.weights)
        weight = influences(walk, self._labels >= 0, row)
        first = np.argsort(-weight, kind="stable")[:n]
        total = max(float(weight.sum()), 1e-30)
        return [
            (int(i), self.classes_[self._labels[i]], float(weight[i] / total)) for i in first if weight[i] > 0
        ]

    def query(self, n: int = 1) -> NDArray[np.intp]:
        """The ``n`` rows to label next: unsure, typical of their region, far from each other.

        Every part of the graph without a label comes first.
        """
        check_is_fitted(self, "solution_")
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
        sharp = sharpened(self.graph_)
        return choose_queries(sharp, self._labels, self.solution_.arm, len(self.classes_), int(n))

    def _as_probabilities(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Calibrated probabilities of new rows from the shares in the vote on them."""
        heard = shares.any(axis=1)
        arm = np.where(heard, shares.argmax(axis=1), -1)
        k = shares.shape[1]
        own = np.maximum(self.calibration_(shares.max(axis=1)), 1 / k) if k > 1 else np.ones(len(shares))
        return as_distributions(shares, arm, own)


def votes_on(
    graph: Graph, solution: Solution, rows: NDArray[np.integer[Any]], n_classes: int
) -> NDArray[np.float64]:
    """The share of every class in the neighbours' vote on each of the rows."""
    edges = graph.normalized if len(rows) == graph.n_vertices else graph.normalized[rows]
    shares = np.zeros((len(rows), n_classes))
    _kernels.vote_shares(edges.indptr, edges.indices, edges.data, solution.state.packed(), shares)
    return shares
