"""A graph and labels in, a value of every class at every vertex out: a damped Poisson equation."""

import numpy as np
from numpy.typing import NDArray

from phaselabel.few_labels.conjugate_gradients import (
    DampedSystem,
    conjugate_gradients,
    padded,
    product_with,
    squares,
)
from phaselabel.graph import Graph

#: The residual at the end, of that of the sources, and the iterations at the most.
POISSON_TOLERANCE, POISSON_STEPS = 1e-3, 200


def solve_damped(
    graph: Graph,
    source: NDArray[np.float32],
    damping: float,
    *,
    tol: float = POISSON_TOLERANCE,
    max_iter: int = POISSON_STEPS,
) -> NDArray[np.float32]:
    """Solve (L + damping D) u = source by conjugate gradients, one column per right-hand side.

    u counts the visits of random walks that start at the sources and end with probability ``damping`` at
    every step. The mean of u in every component follows from its sources; the iteration starts there, since
    it would take longest to find.
    """
    n_columns, source = source.shape[1], padded(source)
    order, csr = graph.layout
    root = np.sqrt(graph.degrees[order])
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0).astype(np.float32)[:, None]
    mean = _component_means(graph, source, damping)[order] * root.astype(np.float32)[:, None]
    source = source[order] * inverse
    system = DampedSystem(product_with(csr), damping, mean, source - np.float32(damping) * mean)
    conjugate_gradients(system, system.square(), tol**2 * squares(source, source), max_iter)
    solution = np.empty((len(source), n_columns), np.float32)
    solution[order] = system.solution[:, :n_columns] * inverse
    return solution


def _component_means(graph: Graph, source: NDArray[np.float32], damping: float) -> NDArray[np.float32]:
    """The mean of the solution in the component of every vertex: what flows in equals what is damped."""
    part, n = graph.components, graph.n_components
    volume = np.bincount(part, graph.degrees, n)
    inflow = np.stack([np.bincount(part, column, n) for column in source.T], axis=1)
    means = np.divide(inflow, damping * volume[:, None], out=np.zeros_like(inflow), where=volume[:, None] > 0)
    return np.asarray(means[part], np.float32)


def poisson(graph: Graph, labels: NDArray[np.int32], n_classes: int) -> NDArray[np.float32]:
    """Solve (L + damping D) u = Σ_labels (e_label - mean) δ: every label a source, its rivals sinks.

    Calder, Cook, Thorpe, Slepčev: *Poisson learning* (2020), which has no damping. Without it the majority
    among the labels of a cluster decides all of the cluster: good where a cluster has one class, bad where it
    has several. So a walk from a label ends after as many steps, on average, as there are vertices per label.
    """
    known, values = sources(labels, n_classes)
    source = np.zeros((len(labels), n_classes), np.float32)
    source[known] = values
    return solve_damped(graph, source, len(known) / len(labels))


def sources(labels: NDArray[np.int32], n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The labelled vertices, and the source at each: its class, less the mean of all."""
    known = np.flatnonzero(labels >= 0)
    hot = np.eye(n_classes, dtype=np.float32)[labels[known]]
    # Every class has the same total, however many labels it has.
    scale = (1 / np.bincount(labels[known], minlength=n_classes).clip(1))[labels[known]]
    scale *= len(known) / scale.sum()
    return known, ((hot - np.average(hot, axis=0, weights=scale)) * scale[:, None]).astype(np.float32)


def bounded(solution: NDArray[np.float32], typical: float) -> NDArray[np.float32]:
    """A Poisson solution brought between -1 and 1, given the median of its absolute values."""
    with np.errstate(over="ignore"):  # where most of the solution is 0; tanh(∞) = 1
        return np.tanh(solution / max(2 * typical, 1e-30))  # type: ignore[no-any-return]
