"""Nearest neighbours in, symmetric similarities by local scaling out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _kernels
from phaselabel.graph.graph import Graph
from phaselabel.graph.neighbors import Neighbors


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
    # Far below e^-80 single precision ends, and an outlier would fall out of the graph.
    values = np.exp(-np.minimum(scaled_squares(found, tau, tau), 80.0)).astype(dtype)
    indices = found.indices
    indptr = np.concatenate([[0], np.cumsum(found.n_neighbors + _kernels.one_sided(indices))])
    columns = np.empty(indptr[-1], np.int32)
    data = np.empty(indptr[-1], dtype)
    _kernels.symmetrize(indices, values, indptr, columns, data)
    matrix = sparse.csr_array((data, columns, indptr), shape=(len(indices),) * 2)
    return Graph.from_symmetric(matrix)


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
    mine = np.broadcast_to(tau[:, None], distances.shape)
    theirs = tau_of_points[neighbors.indices]
    # Ratios first: a product of scales may over- or underflow where the quotient is harmless.
    near = np.divide(
        distances, np.where(mine > 0, mine, theirs), out=np.zeros_like(distances), where=distances > 0
    )
    far = np.divide(
        distances, np.where(theirs > 0, theirs, mine), out=np.zeros_like(distances), where=distances > 0
    )
    return near * far


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
    return Neighbors(np.ascontiguousarray(indices, np.int32), distances)
