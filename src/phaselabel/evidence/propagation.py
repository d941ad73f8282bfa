"""A graph and the labels that are shown in, log-probabilities by what walks from the labels reach out."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import gen_batches

from phaselabel._kernels import spread as kernels
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.few_labels.conjugate_gradients import (
    DampedSystem,
    conjugate_gradients,
    padded,
    product_with,
    squares,
)
from phaselabel.few_labels.poisson import bounded
from phaselabel.few_labels.policy import FIT, HUB
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import State, checked_fidelity
from phaselabel.flow.vote_shares import vote_shares
from phaselabel.graph import Graph

#: The probability that a walk on the graph is wrong altogether.
DOUBT = 0.05

#: How much a harmonic value is damped at every step, so that the equation has one solution everywhere.
DAMPING = 1e-3

#: Iterations for harmonic values at the most.
HARMONIC_STEPS = 100

#: Vertices by which the size of a Poisson solution is judged, or up to twice as many.
ROWS_FOR_MEDIAN = 20_000

#: How steep the Poisson solution is read: log-odds between two classes far apart.
STEEPNESS = 2.0

#: A walk that carries the rows' opinion goes on with this probability.
PERSISTENCE = 0.9

#: Steps of such a walk.
CARRY_STEPS = 15

#: Entries of a table of votes, in double precision, at a time.
ENTRIES_AT_ONCE = 1_000_000

#: Trust μ in the labels that are shown, in the graph's own solution.
FIDELITY = 30.0


def harmonic(
    graph: Graph, labels: NDArray[np.int32], n_classes: int, damping: float = DAMPING
) -> NDArray[np.float32]:
    """Every row the mean of its neighbours, labelled rows fixed: where a walk first meets a label."""
    return with_doubt(harmonic_shares(graph, labels, n_classes, damping))


def harmonic_shares(
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    damping: float = DAMPING,
    *,
    start: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """The share of the walks from every row that meet each class first.

    Solved by conjugate gradients in the symmetric variables D^½ u, one column per class.

    Parameters
    ----------
    graph : Graph
        The graph.
    labels : ndarray of int32, shape (n,)
        The labels that are shown, -1 elsewhere.
    n_classes : int
        K.
    damping : float
        A walk ends at every step with about this probability.
    start : ndarray of shape (n, K), optional
        The shares for nearly the same labels.

    Returns
    -------
    ndarray of float32, shape (n, K)
        The shares; they add up to less than 1 where walks are damped before they meet a label.
    """
    order, csr = graph.layout
    labels = labels[order]
    n, shown = len(labels), np.flatnonzero(labels >= 0)
    root = np.sqrt(graph.degrees[order]).astype(np.float32)[:, None]
    known = padded(np.zeros((n, n_classes), np.float32))
    known[shown, labels[shown]] = root[shown, 0]
    free, residual = np.ones((n, 1), np.float32), np.empty_like(known)
    free[shown] = 0
    multiply = product_with(csr)
    multiply(known, residual)
    residual *= free
    goal = goal_of(damping) * squares(residual, residual)
    solution = known  # the same table: 0 at the labelled rows while the others are sought
    solution[shown, labels[shown]] = 0
    if start is not None:
        solution[:, :n_classes] = start[order] * root * free
        image = np.empty_like(solution)
        multiply(solution, image)
        residual += free * (image - np.float32(1 + damping) * solution)
        del image
    system = DampedSystem(multiply, damping, solution, residual, free=free)
    conjugate_gradients(system, system.square(), goal, HARMONIC_STEPS)
    found = system.solution
    found[shown, labels[shown]] = root[shown, 0]
    found /= np.where(root > 0, root, 1)
    del system, residual
    shares = np.empty((n, n_classes), np.float32)
    shares[order] = found[:, :n_classes]
    return shares


def goal_of(damping: float) -> float:
    """The squared residual at the end, of that at the start: the error grows by 1/damping, to at most 1."""
    return damping**2


def poisson_odds(u: NDArray[np.float32]) -> NDArray[np.float32]:
    """A damped Poisson solution, read as log-odds."""
    typical = float(np.median(np.abs(u[:: max(1, len(u) // ROWS_FOR_MEDIAN)])))
    return np.asarray(log_softmax(STEEPNESS * bounded(u, typical), axis=1), np.float32)


def spread_votes(
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    sizes: ClassSizes,
    made: list[Graph],
    shares: Callable[[Problem], NDArray[np.float32]] = Problem.poisson,
) -> NDArray[np.float32]:
    """The votes of the graph's own solution: labels spread, classes competing under their sizes."""
    fidelity = checked_fidelity(FIDELITY, labels)
    problem = Problem(graph, labels, n_classes, fidelity, sizes, FlowSettings(), None, made)
    solution = solve(problem, FIT, shares=shares)
    return votes_of(graph, solution.state, n_classes)


def flow_votes(
    graph: Graph, labels: NDArray[np.int32], n_classes: int, sizes: ClassSizes
) -> NDArray[np.float32]:
    """The votes of the flow from the hub."""
    problem = Problem(graph, labels, n_classes, checked_fidelity(FIDELITY, labels), sizes, FlowSettings())
    return votes_of(graph, solve(problem, HUB).state, n_classes)


def votes_of(graph: Graph, state: State, n_classes: int) -> NDArray[np.float32]:
    """The neighbours' votes on every row, as log-probabilities."""
    votes, packed = np.empty((graph.n_vertices, n_classes), np.float32), state.packed()
    edges = graph.normalized
    for some in gen_batches(graph.n_vertices, max(1, ENTRIES_AT_ONCE // n_classes)):
        ends = edges.indptr[some.start : some.stop + 1]
        votes[some] = with_doubt(vote_shares(ends, edges.indices, edges.data, packed, n_classes))
    return votes


def carried(graph: Graph, labels: NDArray[np.int32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the rows say, carried along a graph that is not made from them; labelled rows are fixed."""
    shown = labels >= 0
    base = np.exp(log_softmax(rows, axis=1)).astype(np.float32)
    base[shown] = np.eye(base.shape[1], dtype=np.float32)[labels[shown]]
    indptr, indices, _ = graph.csr
    table, other = base.copy(), np.empty_like(base)
    for _ in range(CARRY_STEPS):
        kernels.multiply(indptr, indices, graph.walk, table, other)
        table = np.float32(PERSISTENCE) * other + np.float32(1 - PERSISTENCE) * base
        table[shown] = base[shown]
    return np.log(table + DOUBT / base.shape[1])


def with_doubt(shares: NDArray[np.floating]) -> NDArray[np.float32]:
    """log of a row's shares with some doubt; even where there are none."""
    mixed = np.maximum(shares, 0.0)
    mixed += DOUBT / shares.shape[1]
    mixed /= shares.sum(axis=1, keepdims=True) + DOUBT
    return np.log(mixed, out=mixed).astype(np.float32, copy=False)
