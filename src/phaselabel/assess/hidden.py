"""A solver and known labels in, what it finds for labels that are hidden from it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.calibration import Calibration, calibrate
from phaselabel.assess.suspects import Suspects, find_suspects
from phaselabel.evidence.interval import interval_of
from phaselabel.flow.minimize import Solution
from phaselabel.flow.vote_shares import own_shares
from phaselabel.graph import Graph

#: The share of the labels that is hidden to calibrate.
CALIBRATION_SHARE = 0.2

#: Finds the classes of all vertices from some labels (-1 where not known).
Solver = Callable[[NDArray[np.int32]], Solution]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Every known label beside what was found for it without it.

    Attributes
    ----------
    rows : ndarray of int
        The labelled vertices that took part.
    given, found : ndarray of int
        Their labels, and the classes found with those labels hidden; -1 where there is none.
    confidence : ndarray
        The confidence in the class found; 0 where no other label is in the component.
    folds : int
        The number of turns in which the labels were hidden.
    skipped : int
        The number of labels that were not hidden: those alone in their class, and those beyond the first few
        hundred.
    probabilities : ndarray of shape (m, K)
        What was believed of each of them while it was hidden, were all classes of one size.
    sizes : ndarray of shape (K,), optional
        The proportions of the classes among all rows, as the method found them. The hidden labels of a class
        count together as it does, however many there are; without sizes all hidden labels count alike.
    """

    rows: NDArray[np.int64]
    given: NDArray[np.int32]
    found: NDArray[np.int32]
    confidence: NDArray[np.float64]
    folds: int
    skipped: int
    probabilities: NDArray[np.float64]
    sizes: NDArray[np.float64] | None = None

    @classmethod
    def of_probabilities(
        cls,
        rows: NDArray[np.int64],
        labels: NDArray[np.int32],
        believed: NDArray[np.float64],
        folds: int,
        correction: NDArray[np.float64],
        sizes: NDArray[np.float64],
    ) -> "HeldOut":
        """From what was believed of labelled rows while their labels were hidden.

        The labels of the other rows were found with these beliefs times the ``correction``.
        """
        known = int((labels >= 0).sum())
        if not len(rows):
            return cls(rows, labels[rows], np.zeros(0, np.int32), np.zeros(0), folds, known, believed, sizes)
        odds = believed * correction
        odds /= odds.sum(axis=1, keepdims=True)
        found = odds.argmax(axis=1).astype(np.int32)
        return cls(rows, labels[rows], found, odds.max(axis=1), folds, known - len(rows), believed, sizes)

    @property
    def weights(self) -> NDArray[np.float64]:
        """What every hidden label counts in the accuracy; 1 in all."""
        if self.sizes is None:
            return np.full(len(self.rows), 1 / max(len(self.rows), 1))
        counts = np.bincount(self.given, minlength=len(self.sizes))
        weights = self.sizes[self.given] / counts[self.given]
        return np.asarray(weights / weights.sum())

    @property
    def n_found(self) -> int:
        """The number of hidden labels that were found."""
        return int((self.given == self.found).sum())

    @property
    def accuracy(self) -> float:
        """The share of all labels expected to be right: that of the hidden ones found, by their weights."""
        if not len(self.rows):
            return float("nan")
        if self.n_found == len(self.rows):
            return 1.0  # weights add up to nearly 1
        return float(self.weights @ (self.given == self.found))

    def interval(self, z: float = 1.96) -> tuple[float, float]:
        """The interval of the accuracy, 95 % by default; it allows for turns that share labels.

        Examples
        --------
        >>> zeros = np.zeros(50, np.int32)
        >>> held = HeldOut(np.arange(50), zeros, zeros, np.ones(50), 5, 0, np.ones((50, 2)))
        >>> [round(end, 2) for end in held.interval()]
        [0.85, 1.0]
        """
        hidden = len(self.rows)
        if not hidden:
            return 0.0, 1.0
        shown = hidden + self.skipped - hidden / max(self.folds, 1)
        alike = 1 / float(np.square(self.weights).sum())  # as many labels of one weight say as much
        return interval_of(self.accuracy, alike, shown * alike / hidden, z)

    def facts(self) -> dict[str, Any] | None:
        """Accuracy and interval for a machine, or None where nothing could be hidden."""
        return {"accuracy": self.accuracy, "interval": list(self.interval())} if len(self.rows) else None

    def __str__(self) -> str:
        if not len(self.rows):
            return "not known: every class has a single label, so none can be hidden"
        low, high = self.interval()
        return (
            f"{self.accuracy:.1%} of the labels expected to be right ({low:.1%} to {high:.1%}): "
            f"{self.n_found:,} of {len(self.rows):,} hidden known labels found"
        )

    def suspects(self) -> Suspects:
        """Find the given labels that are probably wrong, by what was believed of them while hidden."""
        reached = self.found >= 0
        return find_suspects(self.rows[reached], self.given[reached], self.probabilities[reached])

    def confusion(self) -> NDArray[np.int64]:
        """How often a hidden label of a class (row) was found as each class (column)."""
        k = self.probabilities.shape[1] if len(self.rows) else 0
        table = np.zeros((k, k), np.int64)
        reached = self.found >= 0
        np.add.at(table, (self.given[reached], self.found[reached]), 1)
        return table


def find_hidden(
    solve: Solver, graph: Graph, labels: NDArray[np.int32], rows: NDArray[np.integer[Any]], n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Hide the labels of some rows and solve again.

    Returns
    -------
    arm : ndarray of int
        The classes found for these rows; -1 where no other label is in their component.
    share : ndarray
        The share of that class in the vote of each row's neighbours.
    """
    shown = labels.copy()
    shown[rows] = -1
    solution = solve(shown)
    share = own_shares(graph, solution.state, n_classes, rows)
    return np.asarray(solution.arm[rows], np.int32), share


def rows_to_calibrate_on(labels: NDArray[np.int32]) -> NDArray[np.intp]:
    """Which labelled rows to hide: about a fifth of each class, but never the last label of a class."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == k)
        hidden = min(int(np.ceil(CALIBRATION_SHARE * len(members))), len(members) - 1)
        if hidden > 0:
            rows.append(rng.permutation(members)[:hidden])
    return np.sort(np.concatenate(rows)) if rows else np.zeros(0, np.intp)


def calibration_from_hidden(
    solve: Solver, graph: Graph, labels: NDArray[np.int32], n_classes: int
) -> Calibration:
    """How votes turn into probabilities, by a second solution that does not see some of the labels."""
    rows = rows_to_calibrate_on(labels)
    if not len(rows) or n_classes < 2:
        return calibrate(np.zeros(0), np.zeros(0, bool))
    arm, share = find_hidden(solve, graph, labels, rows, n_classes)
    reached = arm >= 0
    return calibrate(share[reached], (arm == labels[rows])[reached])


def hold_out(
    solve: Solver,
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    *,
    folds: int = 10,
    random_state: Any = 0,
) -> HeldOut:
    """Hide the known labels in turns and look at what is found for them.

    The confidence in a hidden label is calibrated on the labels of the other turns.

    Parameters
    ----------
    solve : callable
        Finds the classes of all vertices from some labels.
    graph : Graph
        The similarity graph.
    labels : ndarray of int
        The known classes; -1 where not known.
    n_classes : int
        K.
    folds : int, default=10
        The number of turns; fewer where the largest class has fewer labels.
    random_state : int, Generator or None
        How the labels are dealt out.

    Returns
    -------
    HeldOut
        Each label and what was found for it.

    Examples
    --------
    >>> from phaselabel import minimize
    >>> two = Graph.from_weights(np.kron(np.eye(2), np.ones((3, 3))))
    >>> labels = np.array([0, 0, -1, 1, 1, -1], np.int32)
    >>> hold_out(lambda shown: minimize(two, shown, n_classes=2), two, labels, 2).accuracy
    1.0
    """
    known = np.flatnonzero(labels >= 0)
    counts = np.bincount(labels[known], minlength=n_classes)
    rows = known[counts[labels[known]] > 1]
    folds = int(min(folds, counts.max(initial=0))) if len(rows) else 0
    turn = _dealt(rows, labels, folds, np.random.default_rng(random_state))
    found, share = np.full(len(rows), -1, np.int32), np.zeros(len(rows))
    for fold in range(folds):
        mine = np.flatnonzero(turn == fold)
        found[mine], share[mine] = find_hidden(solve, graph, labels, rows[mine], n_classes)
    confidence = _calibrated(share, found, labels[rows], turn, folds, n_classes)
    believed = _spread_evenly(found, confidence, n_classes)
    return HeldOut(rows, labels[rows], found, confidence, folds, len(known) - len(rows), believed)


def _spread_evenly(
    found: NDArray[np.int32], confidence: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Probabilities in which the class found has its confidence and the others share the rest."""
    rest = (1 - confidence) / max(n_classes - 1, 1)
    out = np.tile(rest[:, None], (1, n_classes))
    reached = np.flatnonzero(found >= 0)
    out[reached, found[reached]] = confidence[reached]
    out[found < 0] = 1 / n_classes
    return out


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
    """The confidence in each hidden label, calibrated on the labels of the other turns."""
    confidence = np.zeros(len(share))
    for fold in range(folds):
        others = (turn != fold) & (found >= 0)
        mine = (turn == fold) & (found >= 0)
        certain = calibrate(share[others], found[others] == given[others])
        confidence[mine] = np.maximum(certain(share[mine]), 1 / n_classes)
    return confidence
