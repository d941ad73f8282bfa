"""Neighbours of every row in, the shortest edges that join the components of their graph out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

#: Finds, for each of some rows, the nearest row of another component and its distance.
NearestOutside = Callable[
    [NDArray[np.int64], NDArray[np.int32]], tuple[NDArray[np.int32], NDArray[np.float64]]
]


@dataclass(frozen=True, eq=False)
class Bridges:
    """Edges that join the components of a graph of nearest neighbours.

    Parameters
    ----------
    heads, tails : ndarray of shape (n_bridges,)
        The rows at the two ends of every edge.
    distances : ndarray of shape (n_bridges,)
        The distance between them.

    Examples
    --------
    >>> from phaselabel import nearest_neighbors
    >>> bridges = nearest_neighbors([[0.0], [1.0], [5.0], [6.0]], 1, connect=True).bridges
    >>> bridges.heads.tolist(), bridges.tails.tolist(), bridges.distances.tolist()
    ([1], [2], [4.0])
    """

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    distances: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.heads)


def components_of(indices: NDArray[np.integer], bridges: Bridges | None = None) -> NDArray[np.int32]:
    """The number of the connected component of every row, when every row is joined to its neighbours."""
    n, k = indices.shape
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        raise ValueError(
            f"Components need the neighbours of all rows, with indices between 0 and {n - 1}; found "
            f"{indices.min()} to {indices.max()}. The neighbours of queries have no components."
        )
    indptr = np.arange(0, n * k + 1, k)
    joined = sparse.csr_array((np.ones(n * k, np.int8), indices.ravel(), indptr), shape=(n, n))
    if bridges is not None and len(bridges):
        ends = bridges.heads, bridges.tails
        joined = joined + sparse.csr_array((np.ones(len(bridges), np.int8), ends), shape=(n, n))
    components: NDArray[np.int32] = connected_components(joined, directed=False)[1]
    return components


def join_components(indices: NDArray[np.integer], nearest_outside: NearestOutside) -> Bridges:
    """Join every component to the nearest row outside it until one component is left (Borůvka).

    The largest component starts no search of its own, since the others find it: its rows are the most.
    """
    components = components_of(indices)
    heads, tails, distances = [], [], []
    while components.max(initial=0) > 0:
        largest = np.bincount(components).argmax()
        rows = np.flatnonzero(components != largest)
        nearest, gaps = nearest_outside(rows, components)
        order = np.lexsort((rows, gaps, components[rows]))
        first = order[np.r_[True, np.diff(components[rows][order]) != 0]]
        heads.append(rows[first])
        tails.append(nearest[first])
        distances.append(gaps[first])
        count = int(components.max()) + 1
        merged = sparse.coo_array(
            (np.ones(len(first)), (components[heads[-1]], components[tails[-1]])), shape=(count, count)
        )
        components = connected_components(merged, directed=False)[1][components]
    if not heads:
        return Bridges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
    return _without_repetition(np.concatenate(heads), np.concatenate(tails), np.concatenate(distances))


def _without_repetition(
    heads: NDArray[np.int64], tails: NDArray[np.int32], distances: NDArray[np.float64]
) -> Bridges:
    """Each pair once: two components may have chosen the same edge from both ends."""
    pairs = np.stack([np.minimum(heads, tails), np.maximum(heads, tails)])
    _, first = np.unique(pairs, axis=1, return_index=True)
    return Bridges(pairs[0, first].astype(np.int32), pairs[1, first].astype(np.int32), distances[first])
