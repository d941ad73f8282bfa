"""A labelling from few labels in; the same, with similar classes parted where they hang together least, out.

From a label or two per class, two similar classes often come out cut crosswise: each gets a half of both. No
small move mends that, though the cut is far longer than the one between the classes. The slowest modes of a
walk on the two together know better places to cut.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph import Graph

#: How many modes are tried; how much cheaper a new cut must be; unions of fewer rows are left alone, and
#: such that less than this share of them hangs together: classes in pieces are no clusters.
MODES, CHEAPER, FEWEST, WHOLE = 4, 0.98, 20, 0.9

#: By how much of itself the smaller of two classes may shrink, and grow if sizes are not given.
SHRINK, GROW = 0.05, 0.5


def recut(
    graph: Graph,
    labels: NDArray[np.int32],
    arm: NDArray[np.integer[Any]],
    n_classes: int,
    fidelity: NDArray[np.float64],
    *,
    sizes_given: bool = False,
) -> NDArray[np.integer[Any]]:
    """Part every class anew from the one it has the longest interface with, if that is cheaper.

    The price of a cut is the weight of its edges, and μ for every label on the wrong side, over 4 s (1 - s)
    for a side of share s: without that the shortest cuts would lie around a few rows.

    Examples
    --------
    >>> two = np.kron(np.eye(2), np.ones((15, 15)))  # two groups, joined by one edge
    >>> two[0, 15] = two[15, 0] = 1
    >>> labels = np.full(30, -1, np.int32)
    >>> labels[[3, 20]] = 0, 1
    >>> crosswise = np.repeat([0, 1, 0, 1], [9, 6, 6, 9]).astype(np.int32)
    >>> found = recut(Graph.from_weights(two), labels, crosswise, 2, np.full(30, 30.0))
    >>> np.flatnonzero(np.diff(found)).tolist()  # where one class ends and the other begins
    [14]
    """
    arm = arm.copy()
    for p, q in _partners(graph, arm, n_classes):
        rows = np.flatnonzero((arm == p) | (arm == q))
        edges = graph.normalized[rows][:, rows]
        inside = _shared_part(edges, labels[rows], p, q)
        if inside.sum() < max(FEWEST, WHOLE * len(rows)):
            continue
        rows, edges = rows[inside], edges[inside][:, inside]
        known = (labels[rows] == p) * 1.0 - (labels[rows] == q)
        ours = _parted(edges, arm[rows] == p, known * fidelity[rows], sizes_given)
        arm[rows] = np.where(ours, p, q)
    return arm


def _partners(graph: Graph, arm: NDArray[np.integer[Any]], n_classes: int) -> list[tuple[int, int]]:
    """Every class with the one it has the longest interface with for its size; the longest first."""
    edges = graph.normalized.tocoo()
    here, there = arm[edges.row], arm[edges.col]
    between = (here != there) & (here >= 0) & (there >= 0)
    place = here[between].astype(np.int64) * n_classes + there[between]
    length = np.bincount(place, edges.data[between], n_classes**2).reshape(n_classes, n_classes)
    size = np.bincount(arm[arm >= 0], minlength=n_classes).clip(1)
    length = length / np.minimum.outer(size, size)
    pairs = {(min(p, q), max(p, q)) for p, q in enumerate(length.argmax(axis=1).tolist()) if length[p, q] > 0}
    return sorted(pairs, key=lambda pair: (-length[pair], pair))


def _shared_part(edges: Any, labels: NDArray[np.int32], p: int, q: int) -> NDArray[np.bool_]:
    """The largest connected part that has labels of both classes; nothing if there is none."""
    from scipy.sparse.csgraph import connected_components

    n_parts, part = connected_components(edges, directed=False)
    both = [np.bincount(part[labels == k], minlength=n_parts) > 0 for k in (p, q)]
    size = np.bincount(part, minlength=n_parts) * (both[0] & both[1])
    return np.asarray((part == size.argmax()) & (size.max(initial=0) > 0))


def _parted(
    edges: Any, ours: NDArray[np.bool_], pull: NDArray[np.float64], sizes_given: bool
) -> NDArray[np.bool_]:
    """Who belongs to the first class after the cheapest cut; ``pull`` is μ for its labels, -μ for others'."""
    n, share = len(ours), ours.mean()
    smaller = min(share, 1 - share)
    least, most = (1 - SHRINK) * smaller, (1 + (SHRINK if sizes_given else GROW)) * smaller
    once = sparse.triu(edges, 1).tocoo()
    now = once.data[ours[once.row] != ours[once.col]].sum() + np.abs(pull[(pull > 0) != ours]).sum()
    lowest, best = CHEAPER * now / (4 * share * (1 - share)), ours
    for mode in _slow_modes(edges).T:
        order = np.argsort(mode, kind="stable")
        # Our class takes the side on which most of it is already.
        order = order if ours[order][: n // 2].sum() >= ours.sum() / 2 else order[::-1]
        rank = np.empty(n, np.intp)
        rank[order] = np.arange(n)
        ends = rank[once.row], rank[once.col]
        opened, closed = (np.bincount(f(*ends), once.data, n) for f in (np.minimum, np.maximum))
        cut = np.cumsum(opened - closed)[:-1]
        wrong = np.maximum(pull, 0).sum() - np.cumsum(pull[order])[:-1]
        side = np.arange(1, n) / n
        little = side if share <= 0.5 else 1 - side
        price = np.where(
            (little >= least) & (little <= most), (cut + wrong) / (4 * side * (1 - side)), np.inf
        )
        place = int(price.argmin())
        if price[place] < lowest:
            lowest, best = price[place], rank <= place
    return best


def _slow_modes(edges: Any) -> NDArray[np.float64]:
    """The slowest modes of the walk along these edges, but for the constant one, in columns."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh
    from threadpoolctl import threadpool_limits

    root = np.sqrt(np.maximum(edges.sum(axis=1, dtype=np.float64), 1e-30))
    step = edges.astype(np.float64)
    step.data /= np.repeat(root, np.diff(step.indptr)) * root[step.indices]
    start = root * (1 + 0.1 * np.cos(np.arange(len(root))))
    # The products are too small for several threads, which would only wait for each other.
    with threadpool_limits(1):
        try:
            values, vectors = eigsh(step, MODES + 1, which="LA", tol=1e-2, v0=start, maxiter=300)
        except ArpackNoConvergence as slow:
            values, vectors = slow.eigenvalues, slow.eigenvectors
    return np.asarray(vectors[:, np.argsort(-values)[1:]] / root[:, None])
