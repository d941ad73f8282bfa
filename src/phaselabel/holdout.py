"""A graph and known labels in, what the flow says of each label when it is hidden out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow import minimize
from phaselabel.graph import Graph


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
        How sure the flow was of what it found.
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

    def suspects(self, threshold: float = 0.9) -> NDArray[np.int64]:
        """Rows whose label the others contradict with at least this confidence, the surest first."""
        doubtful = (self.found >= 0) & (self.found != self.given) & (self.confidence >= threshold)
        order = np.argsort(-self.confidence, kind="stable")
        return self.rows[order[doubtful[order]]]


def hold_out(graph: Graph, labels: Any, *, folds: int = 10, random_state: Any = 0, **options: Any) -> HeldOut:
    """Hide the known labels in turns and look what the flow finds for them; the graph is built once.

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    labels : array-like of int, shape (n,)
        The known classes; -1 where not known.
    folds : int, default=10
        In how many turns; fewer where the largest class has fewer labels.
    random_state : int, Generator or None
        How the labels are dealt out.
    **options
        For :func:`phaselabel.minimize`.

    Returns
    -------
    HeldOut
        Each label and what was found for it.

    Examples
    --------
    >>> path = Graph.from_weights([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> hold_out(path, [0, 0, 1, 1]).accuracy
    1.0
    """
    labels = np.asarray(labels, np.int32)
    known = np.flatnonzero(labels >= 0)
    counts = np.bincount(labels[known], minlength=1)
    sharing = known[counts[labels[known]] > 1]
    folds = int(min(folds, counts.max(initial=0)))
    # Deal every class out over the turns, as a card player would: each turn keeps some of each class.
    rng = np.random.default_rng(random_state)
    shuffled = rng.permutation(sharing)
    shuffled = shuffled[np.argsort(labels[shuffled], kind="stable")]
    turn = np.empty(len(labels), np.int64)
    turn[shuffled] = np.arange(len(shuffled)) % max(folds, 1)
    found, confidence = np.full(len(labels), -1, np.int32), np.zeros(len(labels))
    for fold in range(folds if len(sharing) else 0):
        hidden = sharing[turn[sharing] == fold]
        kept = labels.copy()
        kept[hidden] = -1
        if not (kept >= 0).any():
            continue
        solution = minimize(graph, kept, n_classes=len(counts), **options)
        found[hidden] = solution.arm[hidden]
        confidence[hidden] = solution.state.confidence(len(counts))[hidden]
    return HeldOut(
        sharing, labels[sharing], found[sharing], confidence[sharing], folds, len(known) - len(sharing)
    )
