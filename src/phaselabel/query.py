"""A graph and its present labelling in, the rows whose labels would help most out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel import _few_label_kernels as kernels
from phaselabel.graph import Graph

#: Steps over which doubt is averaged, and over which a chosen row silences its surroundings.
REGION = 10


def choose_queries(
    graph: Graph,
    labels: NDArray[np.int32],
    arm: NDArray[np.integer],
    n_classes: int,
    n: int,
) -> NDArray[np.intp]:
    """``n`` unlabelled rows: one per unreached component first, then where doubt about a region is largest.

    Doubt is what the vote of a row's region, not only of its neighbours, leaves undecided, and how little of
    the known labels is heard there. Each choice silences its own region, so the choices are diverse.
    """
    indptr, indices, _ = graph.csr
    degrees = np.repeat(np.maximum(graph.degrees, 1e-30), np.diff(graph.weights.indptr))
    walk = (graph.weights.data / degrees).astype(np.float32)
    table = np.zeros((graph.n_vertices, n_classes + 1), np.float32)
    table[arm >= 0, arm[arm >= 0]] = 1
    table[labels >= 0, n_classes] = 1
    other = np.empty_like(table)
    for _ in range(REGION):
        kernels.multiply(indptr, indices, walk, table, other)
        table, other = other, table
    votes, heard = np.sort(table[:, :n_classes], axis=1), table[:, n_classes]
    doubt = 1 - (votes[:, -1] - (votes[:, -2] if n_classes > 1 else 0))
    scale = max(float(np.quantile(heard, 0.9)), 1e-12)
    score = doubt / (1 + heard / scale)
    region = np.column_stack([score, score]).astype(np.float32)
    smooth = np.empty_like(region)
    kernels.multiply(indptr, indices, walk, region, smooth)
    score = smooth[:, 0].astype(np.float64)
    score[labels >= 0] = -1

    chosen: list[int] = _unreached(graph, labels)[:n]
    silence = np.zeros((graph.n_vertices, 1), np.float32)
    while len(chosen) < min(n, int((labels < 0).sum())):
        if chosen:
            silence[:] = 0
            silence[chosen] = 1
            for _ in range(REGION):
                near = np.empty_like(silence)
                kernels.multiply(indptr, indices, walk, silence, near)
                silence = near
            loudest = max(float(silence.max()), 1e-12)
            present = score * (1 - np.minimum(silence[:, 0] / loudest, 1))
            present[chosen] = -1
        else:
            present = score
        present = np.where(labels >= 0, -1, present)
        chosen.append(int(present.argmax()))
    return np.array(chosen, np.intp)


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
