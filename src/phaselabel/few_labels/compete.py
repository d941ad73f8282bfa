"""Poisson's solution and class sizes in, a class and a height for every vertex to start the flow from out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import spread as kernels
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.few_labels.conjugate_gradients import padded
from phaselabel.few_labels.poisson import bounded
from phaselabel.flow.star import LEAF, State
from phaselabel.graph import Graph

#: A walk in the competition goes on with at most this probability at every step: 50 steps on average.
MOST_PERSISTENCE = 0.98

#: The competition ends when a smaller share of the vertices than this changes class in a round.
QUIET = 2e-4

#: Up to this fraction of the rounds given sizes are held softly.
SOFT_ROUNDS = 0.7


def compete(
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    sizes: ClassSizes,
    fidelity: NDArray[np.float64],
    shares: NDArray[np.float32],
    rounds: int,
    steps: int,
) -> State:
    """Let classes compete for the vertices, each under the pressure of its size.

    In every round shares relax towards the mean of their neighbours, then every vertex takes the class of
    highest share plus pressure. The pressure acts from the first choice on: in a cluster without labels
    the Poisson solution is flat, so the cluster changes class as a whole; later, when shares are sharp,
    pressure would cut it in two.

    A walk ends on average when it leaves its class: it goes on with the probability that a step stays in the
    class with the highest Poisson solution. Longer walks tell nothing of the class they began in; where
    classes are no clusters they would let one half of a class take another's. With shorter walks there are
    fewer rounds, except that sizes which are given need all of them.

    Parameters
    ----------
    graph : Graph
        The sharpened graph.
    labels : ndarray of int
        The known classes; -1 where not known.
    n_classes : int
        K.
    sizes : ClassSizes
        What is known of the classes' sizes.
    fidelity : ndarray
        Trust in each known label, 0 elsewhere.
    shares : ndarray of shape (n, K)
        The Poisson solution.
    rounds, steps : int
        Rounds of the competition, and steps of the walk in each.

    Returns
    -------
    State
        A class for every vertex in a component with a known label, and a height by its margin.
    """
    reached = graph.reached(labels >= 0)
    share = bounded(shares[reached], float(np.median(np.abs(shares[reached]))))
    arm, margin = np.full(len(labels), -1, np.int32), np.zeros(len(labels), np.float32)
    arm[reached] = share.argmax(axis=1)
    persistence = min(MOST_PERSISTENCE, _stays(graph, arm))
    if not sizes.are_given:
        rounds = max(1, round(rounds * (1 - MOST_PERSISTENCE) / (1 - persistence)))
    arm[reached] = sizes.firm().choose(share, np.zeros(n_classes), 100)[0]
    indptr, indices, _ = graph.csr
    trust = (fidelity / (1 + fidelity)).astype(np.float32)
    table = padded(np.zeros((len(labels), n_classes), np.float32))
    table[reached, arm[reached]] = 1
    other, offsets = np.empty_like(table), np.zeros(n_classes)
    for number in range(rounds):
        for _ in range(steps):
            kernels.multiply(indptr, indices, graph.walk, table, other)
            kernels.anchor(np.float32(persistence), arm, labels, trust, other)
            table, other = other, table
        chosen, lead, offsets = sizes.softened(number / (SOFT_ROUNDS * rounds)).choose(
            table[reached, :n_classes], offsets
        )
        changed = np.count_nonzero(chosen != arm[reached])
        arm[reached], margin[reached] = chosen, lead
        if changed <= QUIET * len(chosen) and (not sizes.are_given or number >= SOFT_ROUNDS * rounds):
            break
    height = LEAF * np.clip(margin / max(float(np.quantile(margin[reached], 0.9)), 1e-6), 0.04, 1)
    return State(arm, np.where(reached, height, 0.0))


def _stays(graph: Graph, arm: NDArray[np.int32]) -> float:
    """The probability that a step of a walk from a vertex with a class leads to a vertex of that class."""
    weights = graph.weights
    here, there = np.repeat(arm, np.diff(weights.indptr)), arm[weights.indices]
    between = (here >= 0) & (there >= 0)
    inside = weights.data[between & (here == there)].sum(dtype=np.float64)
    return float(inside / max(weights.data[between].sum(dtype=np.float64), 1e-30))
