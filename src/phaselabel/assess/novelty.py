"""A graph and known labels in, the rows that are far from every label out: a class may be missing there."""

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.query import labels_near
from phaselabel.graph import Graph

#: Labels are hidden in this many turns, to learn how far from the others a labelled row is.
TURNS = 5

#: With fewer labels nothing is said.
FEWEST_LABELS = 10

#: A far row is visited at least this much less (in e-folds) than the remotest of the hidden labels.
MARGIN = 0.5

#: A component without a label is far if this many of the labels would be in it on average, were they random
#: rows: then none of them is there with the probability e⁻³, about 5 %.
EXPECTED_LABELS = 3.0

#: A group of far rows is worth a word from this share of the rows on, and from this number.
LEAST_SHARE, LEAST_ROWS = 0.02, 5

#: The factor of the confidence in a far row: as likely as not it is of a class without a label.
DOUBT = 0.5


def far_rows(graph: Graph, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows random walks from the labels visit far less than any label that is hidden from the others.

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    labels : ndarray of int
        The known classes; -1 where not known.

    Returns
    -------
    ndarray of bool
        The far rows; none where they are too few to be a class, or where there are fewer than ten labels.

    Examples
    --------
    >>> two = Graph.from_weights(np.kron(np.eye(2), np.ones((20, 20))))
    >>> labels = np.where(np.arange(40) < 12, 0, -1)
    >>> far_rows(two, labels).nonzero()[0].tolist() == list(range(20, 40))
    True
    """
    known = np.flatnonzero(labels >= 0)
    nowhere = np.zeros(len(labels), bool)
    if len(known) < FEWEST_LABELS or len(known) == len(labels):
        return nowhere
    turn = np.random.default_rng(0).permutation(len(known)) % TURNS
    hidden = np.empty(len(known))
    for t in range(TURNS):
        shown = known[turn != t]
        hidden[turn == t] = labels_near(graph, shown, len(shown))[known[turn == t]]
    remotest = max(float(hidden.min()), 1e-6)
    far = labels_near(graph, known, len(known)) < remotest * np.exp(-MARGIN)
    far &= (labels < 0) & ~_missed_by_chance(graph, known)
    return far if far.sum() >= max(LEAST_ROWS, LEAST_SHARE * len(labels)) else nowhere


def _missed_by_chance(graph: Graph, known: NDArray[np.integer]) -> NDArray[np.bool_]:
    """The rows of components that have no label, and are so small that chance explains it."""
    component = np.asarray(graph.components)
    sizes = np.bincount(component)
    small = sizes * len(known) <= EXPECTED_LABELS * len(component)
    small[component[known]] = False
    return np.asarray(small[component])


def novelty_remark(far: NDArray[np.bool_] | None) -> list[str]:
    """A sentence about far rows, where there are any."""
    if far is None or not far.any():
        return []
    first = int(np.flatnonzero(far)[0])
    return [
        f"Some {int(far.sum()):,} rows look like none of the labelled ones (row {first} is the first): a "
        "class may have no label yet. Their confidence is lowered; label a few of them (query names some)."
    ]
