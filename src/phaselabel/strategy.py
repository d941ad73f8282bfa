"""A graph and labels in; the flow from the start that suits them, and what to think of the graph, out."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow import Solution
from phaselabel.graph import Graph
from phaselabel.guard import guarded
from phaselabel.recut import recut
from phaselabel.sizes import ClassSizes
from phaselabel.spread import is_faint, poisson, sharpened, spread
from phaselabel.star import State, checked_fidelity

#: Up to so many labels per class the flow starts from a spread; and tables hold at most so many numbers.
FEW, LARGEST = 50, 60_000_000

#: From so many edges between known labels the graph is judged; this share of them should be within a class.
ENOUGH, PURE = 15, 0.75

#: How much class sizes may drift (total variation) before the flow is held, and from a spread; how many
#: sweeps a spread settles: further on, large classes only swallow small ones.
DRIFT, DRIFT_OF_FEW, SETTLING = 0.05, 0.01, 30

#: How strictly sizes are held, at least, where the graph pins no interface: nothing else does there.
UNPINNED = 0.3

#: A vertex with so many times the usual number of neighbours is a hub.
HUB = 10


def solve(
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    sizes: ClassSizes,
    *,
    fidelity: Any,
    max_iter: int,
    **settings: Any,
) -> Solution:
    """Start from a spread where labels are few, sizes given or the graph bad; from the hub elsewhere.

    And from the hub where the spread would hardly be heard: in long, thin clusters with labels far apart.
    """
    settings["fidelity"] = fidelity

    def from_hub() -> Solution:
        return guarded(graph, labels, n_classes, DRIFT, init="hub", max_iter=max_iter, **settings)

    bad = separates_badly(graph, labels)
    if n_classes == 1 or not (is_few(labels, n_classes) or sizes.exact or bad):
        return from_hub()
    sharp, trust = sharpened(graph), checked_fidelity(fidelity, labels)
    known = np.where(trust > 0, labels, -1).astype(np.int32)
    shares = poisson(sharp, known, n_classes)
    if not (sizes.exact or bad) and is_faint(sharp, known, shares):
        return from_hub()
    sizes = sizes.firm(UNPINNED) if bad else sizes

    def settled(start: State) -> Solution:
        sweeps = min(max_iter, SETTLING)
        return guarded(sharp, labels, n_classes, DRIFT_OF_FEW, init=start, max_iter=sweeps, **settings)

    solution = settled(spread(sharp, known, n_classes, sizes, trust, shares))
    if not bad and solution.reason != "callback":
        arm = recut(sharp, labels, solution.arm, n_classes, trust, sizes_given=sizes.exact)
        if (arm != solution.arm).any():
            solution = settled(State(arm, solution.height))
    if solution.reason != "limit" or max_iter < SETTLING:
        return solution
    status = f"Spread from few labels, then settled for {solution.n_iter} sweeps."
    return replace(solution, status=status, reason="settled")


def is_few(labels: NDArray[np.int32], n_classes: int) -> bool:
    """Whether the labels are too few to start from the hub."""
    known = int((labels >= 0).sum())
    return n_classes > 1 and known <= FEW * n_classes and len(labels) * n_classes <= LARGEST


def purity(graph: Graph, labels: NDArray[np.int32], enough: int = ENOUGH) -> float | None:
    """The share of the edges between known labels that join one class; None if they are not ``enough``."""
    known = np.flatnonzero(labels >= 0)
    edges = graph.weights[known]
    here, there = np.repeat(labels[known], np.diff(edges.indptr)), labels[edges.indices]
    between = there >= 0
    if between.sum() < 2 * enough:
        return None
    return float(np.mean(here[between] == there[between]))


def separates_badly(graph: Graph, labels: NDArray[np.int32]) -> bool:
    """Whether the edges between known labels, if there are enough to tell, often join different classes.

    On such a graph nothing pins the interface of a long flow, and one class swallows the others.
    """
    share = purity(graph, labels)
    return share is not None and share < PURE


def remarks(graph: Graph, labels: NDArray[np.int32], solution: Solution) -> list[str]:
    """What is wrong with the graph, in sentences; nothing if it separates the classes well."""
    share = purity(graph, labels)
    impure = share is not None and share < PURE
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
    hubs = int((edges > HUB * max(usual, 1)).sum())
    if hubs:
        said.append(
            f"It has {hubs} hub{'s' if hubs > 1 else ''} with up to {edges.max()} neighbours, where "
            f"{usual:.0f} are usual: such rows are everybody's neighbour and tie classes together."
        )
    return said
