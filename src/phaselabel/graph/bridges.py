"""Points and their neighbours in, the shortest edges that join the separate parts of the graph out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True, eq=False)
class Bridges:
    """Edges besides the neighbours: ``heads[b]`` and ``tails[b]`` are ``distances[b]`` apart."""

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    distances: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.heads)


def parts(indices: NDArray[np.integer[Any]], bridges: Bridges | None = None) -> NDArray[np.int32]:
    """The number of the connected part of every row, when every row is joined to its neighbours."""
    n, k = indices.shape
    indptr = np.arange(0, n * k + 1, k)
    joined = sparse.csr_array((np.ones(n * k, np.int8), indices.ravel(), indptr), shape=(n, n))
    if bridges is not None and len(bridges):
        ends = bridges.heads, bridges.tails
        joined = joined + sparse.csr_array((np.ones(len(bridges), np.int8), ends), shape=(n, n))
    labels: NDArray[np.int32] = connected_components(joined, directed=False)[1]
    return labels


def bridge(indices: NDArray[np.integer[Any]], nearest_outside: Any) -> Bridges:
    """Join every part to the nearest row outside it, again and again until there is one part (Borůvka).

    ``nearest_outside(rows, labels)`` finds, for each of ``rows``, the nearest row of another part and its
    distance. The largest part waits to be joined: it need not look around itself.
    """
    labels = parts(indices)
    heads, tails, distances = [], [], []
    while labels.max(initial=0) > 0:
        largest = np.bincount(labels).argmax()
        rows = np.flatnonzero(labels != largest)
        nearest, gaps = nearest_outside(rows, labels)
        order = np.lexsort((rows, gaps, labels[rows]))
        first = order[np.r_[True, np.diff(labels[rows][order]) != 0]]
        heads.append(rows[first])
        tails.append(nearest[first])
        distances.append(gaps[first])
        n_parts = int(labels.max()) + 1
        merged = sparse.coo_array(
            (np.ones(len(first)), (labels[heads[-1]], labels[tails[-1]])), shape=(n_parts, n_parts)
        )
        labels = connected_components(merged, directed=False)[1][labels]
    return _without_repetition(heads, tails, distances)


def _without_repetition(heads: list[Any], tails: list[Any], distances: list[Any]) -> Bridges:
    """Two parts may have chosen the same bridge from both ends."""
    if not heads:
        return Bridges(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
    a, b, gaps = np.concatenate(heads), np.concatenate(tails), np.concatenate(distances)
    pairs = np.stack([np.minimum(a, b), np.maximum(a, b)])
    _, first = np.unique(pairs, axis=1, return_index=True)
    return Bridges(pairs[0, first].astype(np.int32), pairs[1, first].astype(np.int32), gaps[first])
