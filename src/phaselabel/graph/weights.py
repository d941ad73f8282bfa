"""Nearest neighbours in, symmetric similarities by local scaling out."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _graph_kernels as kernels
from phaselabel.graph.graph import Graph
from phaselabel.graph.neighbors import Neighbors, nearest_neighbors

log = logging.getLogger(__name__)

#: Parts of the graph that are made symmetric side by side, whatever the number of threads.
N_BLOCKS = 16


def similarity_graph(
    neighbors: Neighbors | tuple[Any, Any],
    scale_neighbor: int | None = None,
    *,
    dtype: Any = np.float32,
) -> Graph:
    r"""Weigh the neighbours of every point by local scaling and make the result symmetric.

    .. math:: w_{ij} = \exp\bigl(-|x_i - x_j|^2 / (\tau_i \tau_j)\bigr)

    for every pair of which one is among the other's neighbours, with τ the distance to the M-th neighbour
    (Zelnik-Manor & Perona). No weight is taken smaller than e^-80, so that an outlier still hears its
    neighbours.

    Parameters
    ----------
    neighbors : Neighbors or (indices, distances)
        The neighbours of every point, the point itself not counted.
    scale_neighbor : int, optional
        Which neighbour sets the scale, M; the last one by default.
    dtype : dtype, default=float32
        The type of the weights.

    Returns
    -------
    Graph
        The similarity graph.

    Examples
    --------
    >>> from phaselabel import nearest_neighbors
    >>> similarity_graph(nearest_neighbors([[0.0], [1.0], [3.0]], 1))
    Graph(3 vertices, 2 edges, 1 component)
    """
    found = _checked(neighbors)
    tau = local_scales(found, scale_neighbor)
    values = similarities(found, tau, tau).astype(dtype)
    matrix = symmetric(found.indices, values)
    if found.bridges is not None and len(found.bridges):
        matrix = matrix.maximum(_bridging(found, tau, dtype, matrix.data))
    graph = Graph.from_symmetric(matrix)
    if graph.n_components > 1:
        log.info("The graph falls into %d components.", graph.n_components)
    return graph


def similarities(
    neighbors: Neighbors, tau: NDArray[np.float64], tau_of_points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``exp(-|x_i - x_j|² / (τ_i τ_j))`` for every row and its neighbours among the points."""
    # Far below e^-80 single precision ends, and an outlier would fall out of the graph.
    squares = scaled_squares(neighbors, tau, tau_of_points)
    return np.asarray(np.exp(-np.minimum(squares, 80.0, out=squares), out=squares))


def symmetric(
    indices: NDArray[np.integer[Any]], values: NDArray[Any], n_columns: int | None = None
) -> sparse.csr_array:
    """The matrix of all pairs of which one is among the other's neighbours.

    Neighbours beyond the last row belong to others: they have columns here, but no rows.
    """
    n, k = indices.shape
    blocks = np.linspace(0, n, N_BLOCKS + 1).astype(np.int64)
    extra = np.zeros(n, np.int64)
    kernels.one_sided(indices, blocks, extra)
    indptr = np.concatenate([[0], np.cumsum(k + extra)])
    columns, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], values.dtype)
    kernels.symmetrize(indices, values, indptr, blocks, extra, columns, data)
    return sparse.csr_array((data, columns, indptr), shape=(n, n_columns or n))


def _bridging(found: Neighbors, tau: NDArray[np.float64], dtype: Any, weights: Any) -> sparse.csr_array:
    """The bridges' weights; one that is very long gets the weight of the weakest neighbours, not none."""
    assert found.bridges is not None
    ends = found.bridges.heads, found.bridges.tails
    single = Neighbors(ends[1][:, None], found.bridges.distances[:, None])
    values = np.exp(-scaled_squares(single, tau[ends[0]], tau)).astype(dtype).ravel()
    values = np.maximum(values, weights[weights > 0].min(initial=1))
    half = sparse.coo_array((values, ends), shape=(len(tau),) * 2)
    return (half + half.T).tocsr()


def extend_graph(
    graph: Graph,
    neighbors: Neighbors,
    X: Any,
    new: Any,
    *,
    scale_neighbor: int | None = None,
    metric: str = "euclidean",
) -> tuple[Graph, Neighbors]:
    """Add new points to a graph without building it anew.

    Each new point is joined to its nearest among the old and the new ones. Old edges, and the scales of the
    old points, stay as they are.

    Parameters
    ----------
    graph : Graph
        The graph of the old points.
    neighbors : Neighbors
        The neighbours it was made from.
    X : array-like of shape (n, d)
        The old points.
    new : array-like of shape (m, d)
        The new points; they become the last m vertices.
    scale_neighbor, metric
        As they were for the old points.

    Returns
    -------
    graph, neighbors
        Of all points; both can be extended again.

    Examples
    --------
    >>> from phaselabel import nearest_neighbors
    >>> X = [[0.0], [1.0], [3.0]]
    >>> near = nearest_neighbors(X, 1)
    >>> extend_graph(similarity_graph(near), near, X, [[3.5]])[0]
    Graph(4 vertices, 3 edges, 1 component)
    """
    n, k = neighbors.indices.shape
    ids, gaps = _joint_neighbors(X, new, k, metric)
    added = Neighbors(ids, gaps)
    tau_new = local_scales(added, scale_neighbor)
    tau = np.concatenate([local_scales(neighbors, scale_neighbor), tau_new])
    values = np.exp(-scaled_squares(added, tau_new, tau)).astype(graph.weights.dtype)
    total = n + len(ids)
    rows = np.repeat(np.arange(n, total), k)
    fresh = sparse.coo_array((values.ravel(), (rows, ids.ravel())), shape=(total, total)).tocsr()
    old = sparse.csr_array(
        (
            graph.weights.data,
            graph.weights.indices,
            np.concatenate([graph.weights.indptr, np.full(len(ids), graph.weights.nnz)]),
        ),
        shape=(total, total),
    )
    both = Neighbors(
        np.concatenate([neighbors.indices, ids.astype(neighbors.indices.dtype)]),
        np.concatenate([neighbors.distances, gaps]),
        f"{neighbors.method}, then {len(ids)} rows added",
        neighbors.recall,
        neighbors.bridges,
    )
    return Graph.from_symmetric(old.maximum(fresh.maximum(fresh.T.tocsr())).tocsr()), both


def _joint_neighbors(X: Any, new: Any, k: int, metric: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """The nearest k of every new point among the old and the other new ones."""
    old = nearest_neighbors(X, k, queries=new, metric=metric)
    n, m = np.shape(X)[0], len(old.indices)
    if m == 1:
        return old.indices.astype(np.int32), old.distances
    among = nearest_neighbors(new, min(k, m - 1), metric=metric)
    ids = np.concatenate([old.indices, among.indices + n], axis=1)
    gaps = np.concatenate([old.distances, among.distances], axis=1)
    order = np.lexsort((ids, gaps), axis=1)[:, :k]
    return np.take_along_axis(ids, order, 1).astype(np.int32), np.take_along_axis(gaps, order, 1)


def local_scales(neighbors: Neighbors, scale_neighbor: int | None = None) -> NDArray[np.float64]:
    """τ_i: the distance to the M-th neighbour, or the first that isn't zero when M or more coincide.

    It is 0 where every known neighbour coincides with the point.
    """
    m = check_scale_neighbor(scale_neighbor, neighbors.n_neighbors)
    distances = np.asarray(neighbors.distances, np.float64)
    tau = distances[:, m - 1].copy()
    flat = np.flatnonzero(tau == 0)
    beyond = np.where(distances[flat] > 0, distances[flat], np.inf).min(axis=1)
    tau[flat] = np.where(np.isfinite(beyond), beyond, 0.0)
    return tau


def check_scale_neighbor(scale_neighbor: int | None, n_neighbors: int) -> int:
    """M, or an error if there is no such neighbour; the last one if not given."""
    m = n_neighbors if scale_neighbor is None else scale_neighbor
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or not 1 <= m <= n_neighbors:
        raise ValueError(
            f"scale_neighbor must be between 1 and the number of neighbours, {n_neighbors}; "
            f"got {scale_neighbor!r}."
        )
    return int(m)


def scaled_squares(
    neighbors: Neighbors, tau: NDArray[np.float64], tau_of_points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``|x_i - x_j|² / (τ_i τ_j)``; where one scale is 0 the other stands in for it."""
    distances = np.asarray(neighbors.distances, np.float64)
    out = np.empty_like(distances)
    kernels.scaled_squares(neighbors.indices, distances, tau, tau_of_points, out)
    return out


def _checked(neighbors: Neighbors | tuple[Any, Any]) -> Neighbors:
    """Refuse lists of neighbours that cannot be right."""
    if not isinstance(neighbors, Neighbors):
        indices, distances = neighbors
        neighbors = Neighbors(np.asarray(indices), np.asarray(distances))
    indices, distances = neighbors.indices, neighbors.distances
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            f"indices and distances must be two arrays of one shape (n, k); got {indices.shape} and "
            f"{distances.shape}."
        )
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"indices must be whole numbers; got {indices.dtype}.")
    n = len(indices)
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        raise ValueError(
            f"indices must lie between 0 and {n - 1}; found {indices.min()} to {indices.max()}. "
            "An approximate search that came up short marks it with -1: ask it for fewer neighbours."
        )
    if (indices == np.arange(n)[:, None]).any():
        raise ValueError("A point must not be in its own list of neighbours; drop it from indices.")
    if indices.shape[1] > 1 and (np.diff(np.sort(indices, axis=1), axis=1) == 0).any():
        raise ValueError("A neighbour is listed twice for the same point; drop the repetition.")
    if not np.isfinite(distances).all() or (distances.size and distances.min() < 0):
        raise ValueError("distances must be finite and not negative.")
    return replace(neighbors, indices=np.ascontiguousarray(indices, np.int32))
