"""Nearest neighbours in, symmetric similarities by local scaling out."""

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from phaselabel._kernels import graph as kernels
from phaselabel.graph.bridges import Bridges
from phaselabel.graph.graph import Graph, check_weight_dtype
from phaselabel.graph.neighbors import Neighbors, nearest_neighbors

log = logging.getLogger(__name__)

#: Blocks of vertices that are made symmetric side by side, whatever the number of threads.
N_BLOCKS = 16
#: Largest exponent of a weight: single precision ends soon after e^-80, and an outlier would lose its edges.
MAX_EXPONENT = 80.0
#: Smallest weight of a bridge between components. Across a weaker edge the first step of the flow is so small
#: that the flow comes to rest before the label has grown beyond it.
MIN_BRIDGE = 1e-3


def similarity_graph(
    neighbors: Neighbors | tuple[ArrayLike, ArrayLike],
    scale_neighbor: int | None = None,
    *,
    dtype: DTypeLike = np.float32,
) -> Graph:
    r"""Weight the neighbours of every point by local scaling and make the result symmetric.

    .. math:: w_{ij} = \exp\bigl(-|x_i - x_j|^2 / (\tau_i \tau_j)\bigr)

    for every pair of which one is among the other's neighbours, with τ the distance to the M-th neighbour
    (Zelnik-Manor & Perona). No weight is smaller than e^-80, so that an outlier stays connected to its
    neighbours. A bridge between components has at least the weight of the weakest other edge, and at least
    0.001, so that a label can cross it.

    Parameters
    ----------
    neighbors : Neighbors or (indices, distances)
        The neighbours of every point, the point itself not counted.
    scale_neighbor : int, optional
        M, the neighbour whose distance is the scale; the last one by default.
    dtype : dtype, default=float32
        The type of the weights.

    Returns
    -------
    Graph
        The similarity graph.

    See Also
    --------
    nearest_neighbors : Find the neighbours.
    extend_graph : Add points to a graph.

    Examples
    --------
    >>> from phaselabel import nearest_neighbors
    >>> similarity_graph(nearest_neighbors([[0.0], [1.0], [3.0]], 1))
    Graph(3 vertices, 2 edges, 1 component)
    """
    check_weight_dtype(dtype)
    neighbors = _checked(neighbors)
    tau = local_scales(neighbors, scale_neighbor)
    values = similarities(neighbors, tau, tau).astype(dtype)
    matrix = symmetric(neighbors.indices, values)
    # Lists from elsewhere may name two distances for one pair; the larger similarity counts.
    if neighbors.recall is None and (matrix != matrix.T).nnz:
        matrix = matrix.maximum(matrix.T).tocsr()
    if neighbors.bridges is not None and len(neighbors.bridges):
        matrix = matrix.maximum(_bridge_weights(neighbors.bridges, tau, dtype, matrix.data))
    graph = Graph.from_symmetric(matrix)
    if graph.n_components > 1:
        log.info("The graph falls into %d components.", graph.n_components)
    return graph


def similarities(
    neighbors: Neighbors, tau: NDArray[np.float64], tau_of_points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``exp(-|x_i - x_j|² / (τ_i τ_j))`` for every row and its neighbours among the points."""
    squares = scaled_squares(neighbors, tau, tau_of_points)
    return np.asarray(np.exp(-np.minimum(squares, MAX_EXPONENT, out=squares), out=squares))


def symmetric(
    indices: NDArray[np.integer], values: NDArray[np.floating], n_columns: int | None = None
) -> sparse.csr_array:
    """The matrix of all pairs of which one is among the other's neighbours.

    Neighbours with a number beyond the last row (vertices of another block) have columns, but no rows.
    """
    n, k = indices.shape
    blocks = np.linspace(0, n, N_BLOCKS + 1).astype(np.int64)
    extra = np.zeros(n, np.int64)
    kernels.one_sided(indices, blocks, extra)
    indptr = np.concatenate([[0], np.cumsum(k + extra)])
    columns, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], values.dtype)
    kernels.symmetrize(indices, values, indptr, blocks, extra, columns, data)
    return sparse.csr_array((data, columns, indptr), shape=(n, n_columns or n))


def _bridge_weights(
    bridges: Bridges, tau: NDArray[np.float64], dtype: DTypeLike, weights: NDArray[np.floating]
) -> sparse.csr_array:
    """The matrix of the bridges; none is weaker than all other edges, or than ``MIN_BRIDGE``."""
    ends = bridges.heads, bridges.tails
    pairs = Neighbors(bridges.tails[:, None], bridges.distances[:, None])
    values = np.exp(-scaled_squares(pairs, tau[bridges.heads], tau)).astype(dtype).ravel()
    values = np.maximum(values, max(weights[weights > 0].min(initial=1), MIN_BRIDGE)).astype(dtype)
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

    Each new point is joined to its nearest neighbours among the old and the new points, with weights as in
    :func:`similarity_graph`. The edges and the scales of the old points stay as they are.

    Parameters
    ----------
    graph : Graph
        The graph of the old points.
    neighbors : Neighbors
        The neighbours that it was made from.
    X : array-like of shape (n, d)
        The old points.
    new : array-like of shape (m, d)
        The new points; they become the last m vertices.
    scale_neighbor : int, optional
        The same value as for the old points.
    metric : str, default="euclidean"
        The same value as for the old points.

    Returns
    -------
    graph : Graph
        The graph of all points.
    neighbors : Neighbors
        The neighbours of all points, with which the graph can be extended again.

    See Also
    --------
    similarity_graph : Make the first graph.

    Examples
    --------
    >>> from phaselabel import nearest_neighbors
    >>> X = [[0.0], [1.0], [3.0]]
    >>> near = nearest_neighbors(X, 1)
    >>> extend_graph(similarity_graph(near), near, X, [[3.5]])[0]
    Graph(4 vertices, 3 edges, 1 component)
    """
    neighbors = _checked(neighbors)
    n, k = neighbors.indices.shape
    if not n == graph.n_vertices == np.shape(X)[0]:
        raise ValueError(
            f"graph, neighbors and X must be of the same points; got {graph.n_vertices} vertices, {n} lists "
            f"of neighbours and {np.shape(X)[0]} rows."
        )
    added = _joint_neighbors(X, new, k, metric)
    total = n + len(added.indices)
    tau_new = local_scales(added, scale_neighbor)
    tau = np.concatenate([local_scales(neighbors, scale_neighbor), tau_new])
    values = similarities(added, tau_new, tau).astype(graph.weights.dtype)
    rows = np.repeat(np.arange(n, total), k)
    new_edges = sparse.coo_array(
        (values.ravel(), (rows, added.indices.ravel())), shape=(total, total)
    ).tocsr()
    old_edges = sparse.csr_array(
        (
            graph.weights.data,
            graph.weights.indices,
            np.concatenate([graph.weights.indptr, np.full(total - n, graph.weights.nnz)]),
        ),
        shape=(total, total),
    )
    both = Neighbors(
        np.concatenate([neighbors.indices, added.indices.astype(neighbors.indices.dtype)]),
        np.concatenate([neighbors.distances, added.distances]),
        f"{neighbors.method}, then {total - n} rows added",
        neighbors.recall,
        neighbors.bridges,
    )
    weights = old_edges.maximum(new_edges.maximum(new_edges.T.tocsr())).tocsr()
    return Graph.from_symmetric(weights), both


def _joint_neighbors(X: Any, new: Any, k: int, metric: str) -> Neighbors:
    """The k nearest neighbours of every new point among the old and the other new points."""
    old = nearest_neighbors(X, k, queries=new, metric=metric)
    n, m = np.shape(X)[0], len(old.indices)
    if m == 1:
        return Neighbors(old.indices.astype(np.int32), old.distances)
    others = nearest_neighbors(new, min(k, m - 1), metric=metric)
    ids = np.concatenate([old.indices, others.indices + n], axis=1)
    distances = np.concatenate([old.distances, others.distances], axis=1)
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    return Neighbors(
        np.take_along_axis(ids, order, 1).astype(np.int32), np.take_along_axis(distances, order, 1)
    )


def local_scales(neighbors: Neighbors, scale_neighbor: int | None = None) -> NDArray[np.float64]:
    """τ_i: the distance to the M-th neighbour, or the first distance above zero if that one is zero.

    It is 0 where every listed neighbour coincides with the point.
    """
    m = check_scale_neighbor(scale_neighbor, neighbors.n_neighbors)
    distances = np.asarray(neighbors.distances, np.float64)
    tau = distances[:, m - 1].copy()
    zero = np.flatnonzero(tau == 0)
    first_above = np.where(distances[zero] > 0, distances[zero], np.inf).min(axis=1)
    tau[zero] = np.where(np.isfinite(first_above), first_above, 0.0)
    return tau


def check_scale_neighbor(scale_neighbor: int | None, n_neighbors: int) -> int:
    """M, by default the last neighbour; an error if there is no such neighbour."""
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
    """``|x_i - x_j|² / (τ_i τ_j)``; where one scale is 0 the other replaces it."""
    indices, distances = neighbors.indices, np.asarray(neighbors.distances, np.float64)
    n = len(tau_of_points)
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        raise ValueError(
            f"Neighbours must be among the {n} points, from 0 to {n - 1}; found {indices.min()} to "
            f"{indices.max()}. Search for them among the same points."
        )
    if indices.shape != distances.shape or len(indices) != len(tau):
        raise ValueError(
            f"indices and distances must have one shape, with {len(tau)} rows; got {indices.shape} and "
            f"{distances.shape}."
        )
    out = np.empty_like(distances)
    kernels.scaled_squares(indices, distances, tau, tau_of_points, out)
    return out


def _checked(neighbors: Neighbors | tuple[ArrayLike, ArrayLike]) -> Neighbors:
    """Refuse lists of neighbours that are not consistent."""
    if not isinstance(neighbors, Neighbors):
        if not isinstance(neighbors, tuple | list) or len(neighbors) != 2:
            raise ValueError(
                "neighbors must be what nearest_neighbors returns, or a pair (indices, distances); got "
                f"{type(neighbors).__name__}. For rows call similarity_graph(nearest_neighbors(X))."
            )
        indices, distances = neighbors
        neighbors = Neighbors(np.asarray(indices), np.asarray(distances))
    indices, distances = np.asarray(neighbors.indices), np.asarray(neighbors.distances)
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
    if distances.dtype.kind not in "biuf":
        raise ValueError(f"distances must be real numbers; got {distances.dtype}.")
    if not np.isfinite(distances).all() or (distances.size and distances.min() < 0):
        raise ValueError("distances must be finite and not negative.")
    return replace(neighbors, indices=np.ascontiguousarray(indices, np.int32), distances=distances)
