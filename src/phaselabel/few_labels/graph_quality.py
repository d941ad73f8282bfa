"""A graph and known labels in, how well the graph separates the classes, and sentences about it, out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow.minimize import Solution
from phaselabel.graph import Graph

#: A row with more than this many times the usual number of neighbours is crowded.
CROWDED_RATIO = 10

#: Purity is computed from at least this many edges between known labels.
LEAST_EDGES = 15

#: Below this purity a remark says that the graph separates the classes badly.
LEAST_PURITY = 0.75


def purity(graph: Graph, labels: NDArray[np.int32], least_edges: int = LEAST_EDGES) -> float | None:
    """The share of the edges between known labels that join one class; None if they are too few."""
    known = np.flatnonzero(labels >= 0)
    edges = graph.weights[known]
    here, there = np.repeat(labels[known], np.diff(edges.indptr)), labels[edges.indices]
    between = there >= 0
    if between.sum() < 2 * least_edges:
        return None
    return float(np.mean(here[between] == there[between]))


def remarks(graph: Graph, labels: NDArray[np.int32], solution: Solution) -> list[str]:
    """What is wrong with the graph, in sentences; nothing if it separates the classes well."""
    share = purity(graph, labels)
    impure = share is not None and share < LEAST_PURITY
    if not (impure or solution.reason == "collapse"):
        return []
    said = []
    if impure:
        said.append(
            f"The graph separates the classes badly: only {share:.0%} of the edges between known labels join "
            "rows of one class, so labels and confidence are weak. Better features or another metric help "
            "more than more sweeps."
        )
    if solution.reason == "collapse":
        said.append(solution.status)
    edges = np.diff(graph.weights.indptr)
    usual = float(np.median(edges))
    crowded = int((edges > CROWDED_RATIO * max(usual, 1)).sum())
    if crowded:
        said.append(
            f"It has {crowded} crowded row{'s' if crowded > 1 else ''} with up to {edges.max()} neighbours, "
            f"where {usual:.0f} are usual: such rows are neighbours of many others and tie classes together."
        )
    return said
