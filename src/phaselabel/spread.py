"""A graph and very few labels in, a class and a height for every vertex to start the flow from out.

Three steps, each made of sparse products with a table of one column per class: sharpen the graph by shared
neighbours, spread the labels by a Poisson equation, let classes compete for vertices under the pressure of
their sizes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _few_label_kernels as kernels
from phaselabel.graph import Graph
from phaselabel.sizes import ClassSizes
from phaselabel.star import LEAF, State

#: A graph of so many vertices is sharpened twice: its neighbourhoods are small beside its classes.
LARGE = 10_000

#: How far a share travels in the competition (mean steps 1 / (1 - REACH)), steps a round, rounds.
REACH, STEPS, ROUNDS = 0.98, 10, 20

#: Below this part of what is heard at a label is the solver's noise; so many vertices may hear no more.
NOISE, DEAF = 5e-4, 0.25


def sharpened(graph: Graph, power: int | None = None) -> Graph:
    """Weigh every edge by how many neighbours its ends share (Jaccard), to a power: 1, or 2 in large graphs.

    Bridges between classes share few neighbours; edges inside a class share many.

    Examples
    --------
    >>> bridge = [[0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 1, 0]]
    >>> sharpened(Graph.from_weights(np.array(bridge, float))).weights.toarray()[2].tolist()
    [0.5, 0.5, 0.0, 0.2, 0.0]
    """
    power = (1 if graph.n_vertices < LARGE else 2) if power is None else power
    if power == 0:
        return graph
    w = graph.weights
    overlap = np.empty(w.nnz)
    indptr, indices, _ = graph.csr
    kernels.shared_neighbors(indptr, indices, overlap)
    data = (w.data * overlap**power).astype(w.dtype)
    return Graph.from_symmetric(sparse.csr_array((data, w.indices.copy(), w.indptr.copy()), shape=w.shape))


def fading(
    graph: Graph, source: NDArray[np.float32], damping: float, *, tol: float = 1e-3, max_iter: int = 200
) -> NDArray[np.float32]:
    """Solve (L + damping D) u = source by conjugate gradients, one column per right-hand side.

    u is what walks from the sources leave behind, if they are given up with probability ``damping`` a step.
    The mean of u in every component follows from its sources; the iteration starts there, for it is what
    would take it longest to find.
    """
    indptr, indices, weights = graph.csr
    weights = weights.astype(np.float32, copy=False)
    n_columns, source = source.shape[1], padded(source)
    root = np.sqrt(graph.degrees)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0).astype(np.float32)[:, None]
    mean = _component_means(graph, source, damping) * root.astype(np.float32)[:, None]
    residual = source * inverse - np.float32(damping) * mean
    solution, product = mean, np.empty_like(residual)
    direction = residual.copy()
    norm = np.einsum("ik,ik->k", residual, residual)
    goal = tol**2 * np.einsum("ik,ik->k", source * inverse, source * inverse)
    for _ in range(max_iter):
        kernels.multiply(indptr, indices, weights, direction, product)
        np.subtract((1 + damping) * direction, product, out=product)
        rate = norm / np.maximum(np.einsum("ik,ik->k", direction, product), 1e-30)
        solution += rate * direction
        residual -= rate * product
        before, norm = norm, np.einsum("ik,ik->k", residual, residual)
        if (norm <= goal).all():
            break
        direction *= norm / np.maximum(before, 1e-30)
        direction += residual
    return np.asarray(solution[:, :n_columns] * inverse, np.float32)


def padded(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """With columns of zeros up to a multiple of four, for which products are up to three times as fast."""
    extra = -table.shape[1] % 4 if table.shape[1] > 1 else 0
    return np.pad(table, ((0, 0), (0, extra))) if extra else table


def _component_means(graph: Graph, source: NDArray[np.float32], damping: float) -> NDArray[np.float32]:
    """What the solution is on average in each vertex's component: what flows in is what is given up."""
    part, n = graph.components, graph.n_components
    volume = np.bincount(part, graph.degrees, n)
    inflow = np.stack([np.bincount(part, column, n) for column in source.T], axis=1)
    means = np.divide(inflow, damping * volume[:, None], out=np.zeros_like(inflow), where=volume[:, None] > 0)
    return np.asarray(means[part], np.float32)


def poisson(
    graph: Graph, labels: NDArray[np.int32], n_classes: int, *, damping: float | None = None, **settings: Any
) -> NDArray[np.float32]:
    """Solve (L + damping D) u = Σ_labels (e_label - mean) δ: every label a source, its rivals sinks.

    Calder, Cook, Thorpe, Slepčev: *Poisson learning* (2020), which has no damping. Without it the majority
    among the labels of a cluster outshouts the others anywhere in it: good where a cluster has one label, bad
    where it has several. So a walk from a label fades after as many steps as there are vertices per label.
    """
    known, voices = sources(labels, n_classes)
    source = np.zeros((len(labels), n_classes), np.float32)
    source[known] = voices
    return fading(graph, source, len(known) / len(labels) if damping is None else damping, **settings)


def sources(labels: NDArray[np.int32], n_classes: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The labelled vertices, and what each is the source of: its class, less the mean of all."""
    known = np.flatnonzero(labels >= 0)
    hot = np.eye(n_classes, dtype=np.float32)[labels[known]]
    # Every class speaks equally loud, however many labels it has.
    loud = (1 / np.bincount(labels[known], minlength=n_classes).clip(1))[labels[known]]
    loud *= len(known) / loud.sum()
    return known, ((hot - np.average(hot, axis=0, weights=loud)) * loud[:, None]).astype(np.float32)


def is_faint(graph: Graph, labels: NDArray[np.int32], shares: NDArray[np.float32]) -> bool:
    """Whether many of the vertices that labels reach hear no more of them than the solver's noise."""
    loudness = np.abs(shares).max(axis=1, initial=0)
    known = labels >= 0
    noise = NOISE * float(np.median(loudness[known])) if known.any() else 0.0
    return bool(np.mean(loudness[graph.reached(known)] < noise) > DEAF) if noise else False


def spread(
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    sizes: ClassSizes,
    fidelity: NDArray[np.float64],
    shares: NDArray[np.float32] | None = None,
    rounds: int = ROUNDS,
    steps: int = STEPS,
) -> State:
    """Where to start the flow on a (sharpened) graph: a class for every vertex a label reaches, and a height.

    Classes compete in rounds: shares relax towards their neighbours' mean, then every vertex takes the class
    of highest share plus the pressure of the class's size. The pressure is there from the first choice on:
    in a cluster without labels the Poisson solution is flat, so it changes hands as a whole; later, when
    shares are sharp, the pressure would cut it in two. ``shares`` are the Poisson solution, if it is known.
    """
    labels = np.where(fidelity > 0, labels, -1).astype(np.int32)
    reached = graph.reached(labels >= 0)
    voice = (poisson(graph, labels, n_classes) if shares is None else shares)[reached]
    voice = np.tanh(voice / max(2 * float(np.median(np.abs(voice))), 1e-30))
    arm, margin = np.full(len(labels), -1, np.int32), np.zeros(len(labels), np.float32)
    arm[reached] = sizes.firm().choose(voice, np.zeros(n_classes), 100)[0]
    indptr, indices, _ = graph.csr
    trust = (fidelity / (1 + fidelity)).astype(np.float32)
    table = padded(np.zeros((len(labels), n_classes), np.float32))
    table[reached, arm[reached]] = 1
    other, offsets = np.empty_like(table), np.zeros(n_classes)
    for round_ in range(rounds):
        for _ in range(steps):
            kernels.multiply(indptr, indices, graph.walk, table, other)
            kernels.anchor(np.float32(REACH), arm, labels, trust, other)
            table, other = other, table
        chosen, lead, offsets = sizes.softened(round_ / (0.7 * rounds)).choose(
            table[reached, :n_classes], offsets
        )
        changed = np.count_nonzero(chosen != arm[reached])
        arm[reached], margin[reached] = chosen, lead
        if changed <= 2e-4 * len(chosen) and (not sizes.exact or round_ >= 0.7 * rounds):
            break
    height = LEAF * np.clip(margin / max(float(np.quantile(margin[reached], 0.9)), 1e-6), 0.04, 1)
    return State(arm, np.where(reached, height, 0.0))
