"""A graph and known labels in, the rows that are far from every label out: a class may be missing there."""

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.query import labels_near
from phaselabel.graph import Graph

#: Labels are hidden in this many turns, to learn how far from the others a labelled row is.
TURNS = 5

#: With fewer labels nothing is said.
FEWEST_LABELS = 10

#: A far row has fewer visits than the least visited hidden label, by a factor of at least e to this power.
MARGIN = 0.5

#: A component without a label is far if as many random rows as there are labels would give it more than 3 of
#: them on average. That it has none is then no chance: its probability is e⁻³, about 5 %.
EXPECTED_LABELS = 3.0

#: A group of far rows is worth a word from this share of the rows on, and from this number.
LEAST_SHARE, LEAST_ROWS = 0.02, 5

#: The confidence of a far row is multiplied by this: one half, because its class may have no label.
DOUBT = 0.5


def far_rows(graph: Graph, labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows are much farther from the labels than any labelled row is from the other labels.

    Rows are far if random walks that start at the labels rarely visit them. How rare is too rare is learned
    from the labelled rows: each is hidden once, and its visits from the other labels are counted.

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
    if not says_something(len(known), len(labels)):
        return nowhere
    turn, hidden = turns(len(known)), np.empty(len(known))
    for t in range(TURNS):
        shown = known[turn != t]
        hidden[turn == t] = labels_near(graph, shown, len(shown))[known[turn == t]]
    far = labels_near(graph, known, len(known)) < fewest_visits(hidden)
    component = np.asarray(graph.components)
    small = missed_by_chance(np.bincount(component), component[known])
    far &= (labels < 0) & ~small[component]
    return far if is_group(int(far.sum()), len(labels)) else nowhere


def says_something(n_known: int, n_rows: int) -> bool:
    """Whether there are enough labels, and rows without one."""
    return FEWEST_LABELS <= n_known < n_rows


def turns(n_known: int) -> NDArray[np.int64]:
    """The turn in which each label is hidden."""
    return np.random.default_rng(0).permutation(n_known) % TURNS


def fewest_visits(hidden: NDArray[np.floating]) -> np.float64:
    """The number of visits below which a row is far, from the visits of the hidden labels."""
    return np.float64(max(float(hidden.min()), 1e-6) * np.exp(-MARGIN))


def missed_by_chance(sizes: NDArray[np.integer], known: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Which components are so small that they may have no label by chance.

    ``sizes`` are their numbers of rows, ``known`` is the component of every label.
    """
    small = sizes * len(known) <= EXPECTED_LABELS * sizes.sum()
    small[known] = False
    return np.asarray(small)


def is_group(n_far: int, n_rows: int) -> bool:
    """Whether so many far rows may be a class."""
    return n_far >= max(LEAST_ROWS, LEAST_SHARE * n_rows)


def doubted(sure: NDArray[np.float64], far: NDArray[np.bool_], n_classes: int) -> NDArray[np.float64]:
    """The confidence, lowered where rows are far; still at least 1/K where there is a class.

    Examples
    --------
    >>> doubted(np.array([0.9, 0.9, 0.3, 0.0]), np.array([False, True, True, True]), 4).tolist()
    [0.9, 0.45, 0.25, 0.0]
    """
    lowered = np.maximum(DOUBT * sure, np.minimum(sure, 1 / n_classes))
    return np.where(far, lowered, sure)


def novelty_remark(n_far: int, first: int, n_classes: int) -> list[str]:
    """A sentence about far rows, where there are any; ``first`` is the first of them."""
    if not n_far:
        return []
    lowered = "Their confidence is lowered; label" if n_classes > 1 else "Label"  # one class stays certain
    return [
        f"Some {n_far:,} rows look like none of the labelled ones (row {first} is the first): a "
        f"class may have no label yet. {lowered} a few of them (query names some)."
    ]
