"""A labelling from few labels in; the same, with similar classes split where they are connected least, out.

From a label or two per class, two similar classes often come out cut crosswise: each gets a half of both. No
small move mends that, though the cut is far longer than the one between the classes. The slowest modes of a
random walk on the two together show better places to cut.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph import Graph

#: The number of slow modes that are tried as cuts.
N_MODES = 4

#: A new cut is taken if its price is below this fraction of the present one's.
CHEAPER = 0.98

#: Pairs of classes with fewer rows than this are left alone.
LEAST_ROWS = 20

#: Pairs of which less than this share is connected are left alone: classes in pieces are no clusters.
LEAST_CONNECTED = 0.9

#: A walk leaves either side of a new cut with at most this probability per step: no earlier, on average, than
#: after the 30 sweeps in which the flow settles. Where walks leave sooner there is no boundary to be found.
MOST_ESCAPE = 1 / 30

#: The smaller of two classes may shrink by at most this fraction.
MOST_SHRINKING = 0.05

#: The smaller of two classes may grow by at most this fraction if sizes are not given.
MOST_GROWTH = 0.5


def split_pairs(
    graph: Graph,
    labels: NDArray[np.int32],
    arm: NDArray[np.integer[Any]],
    n_classes: int,
    fidelity: NDArray[np.float64],
    *,
    sizes_given: bool = False,
) -> NDArray[np.integer[Any]]:
    """Split every class anew from the one it has the longest interface with, if that is cheaper.

    The price of a cut is the weight of its edges, and μ for every label on the wrong side, over 4 s (1 - s)
    for a side of share s: without that the shortest cuts would lie around a few rows. A cut counts only if it
    is the cheapest along its mode, whatever the sizes, and if walks seldom cross it.

    Examples
    --------
    >>> two = np.kron(np.eye(2), np.ones((15, 15)))  # two groups, joined by one edge
    >>> two[0, 15] = two[15, 0] = 1
    >>> labels = np.full(30, -1, np.int32)
    >>> labels[[3, 20]] = 0, 1
    >>> crosswise = np.repeat([0, 1, 0, 1], [9, 6, 6, 9]).astype(np.int32)
    >>> split = split_pairs(Graph.from_weights(two), labels, crosswise, 2, np.full(30, 30.0))
    >>> np.flatnonzero(np.diff(split)).tolist()  # where one class ends and the other begins
    [14]
    """
    from threadpoolctl import threadpool_limits

    arm = arm.copy()
    with threadpool_limits(1, "blas"):  # several threads would wait for each other: the products are small
        for p, q in _partners(graph, arm, n_classes):
            rows = np.flatnonzero((arm == p) | (arm == q))
            edges = graph.normalized[rows][:, rows]
            inside = _shared_part(edges, labels[rows], p, q)
            if inside.sum() < max(LEAST_ROWS, LEAST_CONNECTED * len(rows)):
                continue
            rows, edges = rows[inside], edges[inside][:, inside]
            known = (labels[rows] == p) * 1.0 - (labels[rows] == q)
            first = _cut(edges, arm[rows] == p, known * fidelity[rows], sizes_given)
            arm[rows] = np.where(first, p, q)
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


def _cut(
    edges: Any, first: NDArray[np.bool_], pull: NDArray[np.float64], sizes_given: bool
) -> NDArray[np.bool_]:
    """Which rows are in the first class after the cheapest cut; ``pull`` is ±μ for labels of either."""
    n, share = len(first), first.mean()
    smaller = min(share, 1 - share)
    least, most = (
        (1 - MOST_SHRINKING) * smaller,
        (1 + (MOST_SHRINKING if sizes_given else MOST_GROWTH)) * smaller,
    )
    once = sparse.triu(edges, 1).tocoo()
    now = once.data[first[once.row] != first[once.col]].sum() + np.abs(pull[(pull > 0) != first]).sum()
    volume = np.asarray(edges.sum(axis=1, dtype=np.float64))
    lowest, best = CHEAPER * now / (4 * share * (1 - share)), first
    for mode in _slow_modes(edges).T:
        order = np.argsort(mode, kind="stable")
        # The first class takes the side that holds most of it already.
        order = order if first[order][: n // 2].sum() >= first.sum() / 2 else order[::-1]
        rank = np.empty(n, np.intp)
        rank[order] = np.arange(n)
        ends = rank[once.row], rank[once.col]
        opened, closed = (np.bincount(f(*ends), once.data, n) for f in (np.minimum, np.maximum))
        cut = np.cumsum(opened - closed)[:-1]
        wrong = np.maximum(pull, 0).sum() - np.cumsum(pull[order])[:-1]
        side = np.arange(1, n) / n
        little = side if share <= 0.5 else 1 - side
        price = (cut + wrong) / (4 * side * (1 - side))
        allowed = (little >= least) & (little <= most)
        # Sizes that are given are a constraint. Sizes that are not are a check: if the cheapest place of all
        # gives other sizes, the mode separates something else than these two classes.
        if sizes_given:
            price[~allowed] = np.inf
        place = int(price.argmin())
        if allowed[place] and price[place] < lowest:
            inner = np.cumsum(volume[order])[place]
            if cut[place] <= MOST_ESCAPE * min(inner, volume.sum() - inner):
                lowest, best = price[place], rank <= place
    return best


def _slow_modes(edges: Any) -> NDArray[np.float64]:
    """The slowest modes of the walk along these edges, without the constant one, in columns."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    root = np.sqrt(np.maximum(edges.sum(axis=1, dtype=np.float64), 1e-30))
    step = edges.astype(np.float64)
    step.data /= np.repeat(root, np.diff(step.indptr)) * root[step.indices]
    start = root * (1 + 0.1 * np.cos(np.arange(len(root))))
    try:
        values, vectors = eigsh(step, N_MODES + 1, which="LA", tol=1e-2, v0=start, maxiter=300)
    except ArpackNoConvergence as slow:
        values, vectors = slow.eigenvalues, slow.eigenvectors
    return np.asarray(vectors[:, np.argsort(-values)[1:]] / root[:, None])
