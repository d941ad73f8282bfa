"""A solver and known labels in, what it finds for labels that are hidden from it out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.calibration import TRUSTED_VOTES, Calibration, calibrate
from phaselabel.assess.suspects import Suspects, find_suspects
from phaselabel.evidence.interval import interval_of
from phaselabel.flow.minimize import Solution
from phaselabel.flow.vote_shares import own_shares
from phaselabel.graph import Graph

#: The share of the labels that is hidden to calibrate.
CALIBRATION_SHARE = 0.2

#: The deviation of the size of one of K classes from that of its labels, in shares of 1/K, before it is known
#: what was found.
SIZE_DEVIATION = 0.6

#: Finds the classes of all vertices from some labels (-1 where not known).
Solver = Callable[[NDArray[np.int32]], Solution]


@dataclass(frozen=True, eq=False, repr=False)
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
        The proportions of the classes among all rows, as far as they are known. The hidden labels of a class
        count together as it does, however many there are; without sizes all hidden labels count alike. A
        class of which no label could be hidden widens the interval by its share.
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
        shares: NDArray[np.float64],
    ) -> "HeldOut":
        """From what was believed of labelled rows while their labels were hidden.

        The labels of the other rows were found with these beliefs times the ``correction``; ``shares`` are
        the proportions of the classes among them.
        """
        known = int((labels >= 0).sum())
        if not len(rows):
            return cls(rows, labels[rows], np.zeros(0, np.int32), np.zeros(0), folds, known, believed)
        odds = believed * correction
        odds /= odds.sum(axis=1, keepdims=True)
        given, found = labels[rows], odds.argmax(axis=1).astype(np.int32)
        confusion = np.zeros((len(shares), len(shares)), np.int64)
        np.add.at(confusion, (given, found), 1)
        sizes = likely_sizes(confusion, np.bincount(labels[labels >= 0], minlength=len(shares)), shares)
        return cls(rows, given, found, odds.max(axis=1), folds, known - len(rows), believed, sizes)

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
        hidden, unknown = len(self.rows), self.unknown
        if not hidden:
            return 0.0, 1.0
        shown = hidden + self.skipped - hidden / max(self.folds, 1)
        alike = 1 / float(np.square(self.weights).sum())  # as many labels of one weight say as much
        low, high = interval_of(self.accuracy, alike, shown * alike / hidden, z)
        return (1 - unknown) * low, (1 - unknown) * high + unknown

    @property
    def unknown(self) -> float:
        """The share of the rows that may belong to classes of which no label could be hidden."""
        if self.sizes is None:
            return 0.0
        untested = self.sizes[np.bincount(self.given, minlength=len(self.sizes)) == 0]
        return float(min((untested + SIZE_DEVIATION / len(self.sizes)).sum(), 1.0))

    def facts(self) -> dict[str, Any] | None:
        """Accuracy and interval for a machine, or None where nothing could be hidden."""
        return {"accuracy": self.accuracy, "interval": list(self.interval())} if len(self.rows) else None

    def __repr__(self) -> str:
        return f"<HeldOut: {self}>"

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


def likely_sizes(
    confusion: NDArray[np.int64], counts: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The class sizes that explain which classes were found, as far as hidden labels tell classes apart.

    With sizes π and the probability C_kj that a row of class k is found as j, the shares of the classes found
    are Cᵀπ. Where nearly all rows are found in one class, those of the other classes included, any sizes
    explain it; the sizes are then those of the labels. So π minimises
    ``Σ_j (shares_j - (Cᵀπ)_j)² / v_j + K² |π - counts|² / SIZE_DEVIATION²`` with the variances v of Cᵀπ.

    Parameters
    ----------
    confusion : ndarray of shape (K, K)
        How often a hidden label of a class (row) was found as each class (column).
    counts : ndarray of shape (K,)
        The number of labels of every class.
    shares : ndarray of shape (K,)
        The proportions of the classes among all rows, as found.

    Returns
    -------
    ndarray of shape (K,)
        Proportions, none negative.

    Examples
    --------
    >>> likely_sizes(np.array([[20, 0], [0, 20]]), np.array([20, 20]), np.array([0.9, 0.1])).round(2).tolist()
    [0.92, 0.08]
    >>> likely_sizes(np.array([[3, 0], [3, 0]]), np.array([3, 3]), np.array([0.95, 0.05])).round(2).tolist()
    [0.5, 0.5]
    """
    from scipy.optimize import nnls

    k, hidden = len(shares), confusion.sum(axis=1, keepdims=True)
    chances = (confusion + 1 / k) / (hidden + 1)
    expected = counts / max(counts.sum(), 1)
    variance = ((expected + 1 / k) / 2) ** 2 @ (chances * (1 - chances) / (hidden + 1))
    weights = 1 / np.sqrt(np.maximum(variance, 1e-6))
    system = np.vstack([weights[:, None] * chances.T, np.eye(k) * k / SIZE_DEVIATION])
    goal = np.concatenate([weights * shares, expected * k / SIZE_DEVIATION])
    sizes, _ = nnls(system, goal)
    return np.asarray(sizes / max(sizes.sum(), 1e-12))


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
    judged = share, found, labels[rows], turn, folds, n_classes
    confidence = _calibrated(*judged, calibrate)
    believed = _spread_evenly(found, _calibrated(*judged, _trusting), n_classes)
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


def _trusting(share: NDArray[np.float64], right: NDArray[np.bool_]) -> Calibration:
    """A calibration that a few wrong labels, which count as errors of the flow, make little less sure."""
    return calibrate(share, right, TRUSTED_VOTES, 1.0)


def _calibrated(
    share: NDArray[np.float64],
    found: NDArray[np.int32],
    given: NDArray[np.int32],
    turn: NDArray[np.int64],
    folds: int,
    n_classes: int,
    calibrate: Callable[[NDArray[np.float64], NDArray[np.bool_]], Calibration],
) -> NDArray[np.float64]:
    """The confidence in each hidden label, calibrated on the labels of the other turns."""
    confidence = np.zeros(len(share))
    for fold in range(folds):
        others = (turn != fold) & (found >= 0)
        mine = (turn == fold) & (found >= 0)
        certain = calibrate(share[others], found[others] == given[others])
        confidence[mine] = np.maximum(certain(share[mine]), 1 / n_classes)
    return confidence
