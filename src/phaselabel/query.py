"""A graph and its present labelling in, the rows whose labels would help most out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel import _few_label_kernels as kernels
from phaselabel.graph import Graph
from phaselabel.spread import fading

#: Steps over which the votes of a region are averaged.
REGION = 10

#: A label is heard over at most so many steps, and a row speaks for a region of so many.
FAR, AROUND = 500, 50


def choose_queries(
    graph: Graph,
    labels: NDArray[np.int32],
    arm: NDArray[np.integer],
    n_classes: int,
    n: int,
) -> NDArray[np.intp]:
    """``n`` unlabelled rows: one per unreached component first, then where most is left open.

    What is open at a row is the chance that its region's vote is wrong, where the known labels count as much
    as they are heard there, and one more vote is spread over all classes and one that nobody has seen yet. A
    row gains what is open around it, so it is typical of its region; each choice is heard in its turn,
    so the choices are diverse.
    """
    votes = _region_votes(graph, arm, n_classes)
    known = np.flatnonzero(labels >= 0)
    heard = _heard(graph, known, len(known))
    chosen: list[int] = _unreached(graph, labels)[:n]
    for row in chosen:
        heard += _heard(graph, np.array([row]), len(known))
    while len(chosen) < min(n, int((labels < 0).sum())):
        open_ = 1 - (heard * votes + 1 / (n_classes + 1)) / (heard + 1)
        source = (graph.degrees * open_).astype(np.float32)[:, None]
        gain = fading(graph, source, 1 / AROUND, tol=1e-2)[:, 0]
        gain[labels >= 0] = -1
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
        if len(chosen) < n:
            heard += _heard(graph, np.array(chosen[-1:]), len(known))
    return np.array(chosen, np.intp)


def _region_votes(graph: Graph, arm: NDArray[np.integer], n_classes: int) -> NDArray[np.float32]:
    """The share of the strongest class in the region of every row."""
    indptr, indices, _ = graph.csr
    degrees = np.repeat(np.maximum(graph.degrees, 1e-30), np.diff(graph.weights.indptr))
    walk = (graph.weights.data / degrees).astype(np.float32)
    table = np.zeros((graph.n_vertices, n_classes), np.float32)
    table[arm >= 0, arm[arm >= 0]] = 1
    other = np.empty_like(table)
    for _ in range(REGION):
        kernels.multiply(indptr, indices, walk, table, other)
        table, other = other, table
    return np.asarray(table.max(axis=1))


def _heard(graph: Graph, rows: NDArray[np.intp], n_known: int) -> NDArray[np.float32]:
    """How loud some labelled rows are heard everywhere; 1 on average if they are all that are known."""
    damping = max(n_known / graph.n_vertices, 1 / FAR)
    source = np.zeros((graph.n_vertices, 1), np.float32)
    source[rows, 0] = graph.degrees[rows]
    share = damping * graph.n_vertices / max(n_known, 1)
    return share * fading(graph, source, damping, tol=1e-2)[:, 0]


def _unreached(graph: Graph, labels: NDArray[np.int32]) -> list[int]:
    """The best connected row of every component without a label, large components first."""
    lost = ~graph.reached(labels >= 0)
    if not lost.any():
        return []
    rows = np.flatnonzero(lost)
    rows = rows[np.lexsort((-graph.degrees[rows], graph.components[rows]))]
    first = rows[np.unique(graph.components[rows], return_index=True)[1]]
    size = np.bincount(graph.components)
    return [int(row) for row in first[np.argsort(-size[graph.components[first]], kind="stable")]]
