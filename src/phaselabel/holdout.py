"""A fitted classifier in, what it says of each known label when that label is hidden out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.confidence import calibrate
from phaselabel.insight import votes_on


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Every known label beside what was found for it without it.

    Attributes
    ----------
    rows : ndarray of int
        The labelled vertices that took part.
    given, found : ndarray of int
        Their labels, and the classes found with those labels hidden; -1 where no other label reaches.
    confidence : ndarray
        How sure the classifier was of what it found; 0 where no other label reaches.
    folds : int
        In how many turns the labels were hidden.
    skipped : int
        Labels that are alone in their class: hidden, their class would not exist.
    """

    rows: NDArray[np.int64]
    given: NDArray[np.int32]
    found: NDArray[np.int32]
    confidence: NDArray[np.float64]
    folds: int
    skipped: int

    @property
    def accuracy(self) -> float:
        """The share of hidden labels that were found."""
        return float(np.mean(self.given == self.found)) if len(self.rows) else float("nan")

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """Wilson's interval for the accuracy, 95 % by default."""
        n, p = len(self.rows), self.accuracy
        if n == 0:
            return 0.0, 1.0
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))

    def facts(self) -> dict[str, Any] | None:
        """Accuracy and interval for a machine, or None where nothing could be hidden."""
        return {"accuracy": self.accuracy, "interval": list(self.interval())} if len(self.rows) else None

    def __str__(self) -> str:
        if not len(self.rows):
            return "not known: every class has a single label, so none can be hidden"
        low, high = self.interval()
        return f"{self.accuracy:.1%} of hidden known labels found ({low:.1%} to {high:.1%})"

    def suspects(self, threshold: float = 0.9) -> NDArray[np.int64]:
        """Rows whose label the others contradict with at least this confidence, the surest first."""
        doubtful = (self.found >= 0) & (self.found != self.given) & (self.confidence >= threshold)
        order = np.argsort(-self.confidence, kind="stable")
        return self.rows[order[doubtful[order]]]


def hold_out(model: Any, *, folds: int = 10, random_state: Any = 0) -> HeldOut:
    """Hide the known labels of a fitted classifier in turns and look what it finds for them.

    Each turn is solved as the fit was, few labels or many; only the graph is built once for all. A hidden
    label's confidence is calibrated on the labels of the other turns.

    Parameters
    ----------
    model : GinzburgLandauClassifier
        A fitted classifier.
    folds : int, default=10
        In how many turns; fewer where the largest class has fewer labels.
    random_state : int, Generator or None
        How the labels are dealt out.

    Returns
    -------
    HeldOut
        Each label and what was found for it.

    Examples
    --------
    >>> from phaselabel import GinzburgLandauClassifier
    >>> model = GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1])
    >>> hold_out(model).accuracy
    1.0
    """
    labels, classes = np.asarray(model._labels), model.classes_
    known = np.flatnonzero(labels >= 0)
    counts = np.bincount(labels[known], minlength=len(classes))
    rows = known[counts[labels[known]] > 1]
    folds = int(min(folds, counts.max(initial=0))) if len(rows) else 0
    turn = _dealt(rows, labels, folds, np.random.default_rng(random_state))
    found, share = np.full(len(rows), -1, np.int32), np.zeros(len(rows))
    for fold in range(folds):
        mine = np.flatnonzero(turn == fold)
        kept = labels.copy()
        kept[rows[mine]] = -1
        solution = model._solve(model.graph_, kept, classes)
        found[mine] = solution.arm[rows[mine]]
        votes = votes_on(model.graph_, solution, rows[mine], len(classes))
        share[mine] = votes[np.arange(len(mine)), found[mine]]
    confidence = _calibrated(share, found, labels[rows], turn, folds, len(classes))
    return HeldOut(rows, labels[rows], found, confidence, folds, len(known) - len(rows))


def _dealt(
    rows: NDArray[np.int64], labels: NDArray[np.int32], folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The turn of every row: each class is dealt out as cards are, so each turn keeps some of each class."""
    order = rng.permutation(len(rows))
    order = order[np.argsort(labels[rows[order]], kind="stable")]
    turn = np.empty(len(rows), np.int64)
    turn[order] = np.arange(len(rows)) % max(folds, 1)
    return turn


def _calibrated(
    share: NDArray[np.float64],
    found: NDArray[np.int32],
    given: NDArray[np.int32],
    turn: NDArray[np.int64],
    folds: int,
    n_classes: int,
) -> NDArray[np.float64]:
    """How sure the classifier is of each hidden label; what it learns that from are the other turns."""
    confidence = np.zeros(len(share))
    for fold in range(folds):
        others = (turn != fold) & (found >= 0)
        mine = (turn == fold) & (found >= 0)
        certain = calibrate(share[others], found[others] == given[others])
        confidence[mine] = np.maximum(certain(share[mine]), 1 / n_classes)
    return confidence
