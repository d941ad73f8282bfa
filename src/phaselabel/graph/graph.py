"""A symmetric matrix of similarities in, a frozen graph with everything the flow asks of it out."""

import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _graph_kernels as kernels

#: So many vertices' states (8 bytes each) stay in a core's own cache; larger graphs are renumbered.
FITS_CACHE = 150_000

#: Row ends, columns, weights.
Csr = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected, weighted graph: ``w_ij = w_ji ≥ 0`` and no loops.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        The similarities. Take :meth:`from_weights` for a matrix that has not been checked.

    Examples
    --------
    >>> graph = Graph.from_weights([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> graph.degrees.tolist(), graph.n_components
    ([1.0, 1.0, 0.0], 2)
    """

    weights: sparse.csr_array

    @classmethod
    def from_weights(cls, weights: Any, dtype: Any = None) -> "Graph":
        """Check a similarity matrix, sparse or dense, and take it as a graph.

        Loops are dropped: they take part in no difference, only in the degrees. ``dtype`` is the type the
        weights are kept in; float32 unless the matrix is float64.
        """
        given = weights if sparse.issparse(weights) else sparse.coo_array(weights)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise ValueError(
                f"A precomputed graph must be square, one row and one column per vertex; got {given.shape}."
            )
        if given.dtype.kind not in "biuf":
            raise ValueError(f"A precomputed graph must hold real numbers; got {given.dtype}.")
        if dtype is None:
            dtype = np.float64 if given.dtype == np.float64 else np.float32
        if not np.isfinite(given.data).all():
            raise ValueError("The precomputed graph contains NaN or infinity; remove those entries.")
        matrix = sparse.csr_array(given, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(
                f"The precomputed graph has a negative weight ({matrix.data.min():.3g}); weights are "
                "similarities, so clip them at 0 or turn distances into similarities first."
            )
        if matrix.nnz and matrix.data.max() > 1e30:
            raise ValueError(
                f"The precomputed graph has a weight of {matrix.data.max():.3g}; divide all weights by "
                "the largest: only their ratios count."
            )
        matrix.data[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) == matrix.indices] = 0
        matrix.eliminate_zeros()
        gap = abs(matrix - matrix.T)
        if gap.nnz and (gap - 1e-5 * matrix.maximum(matrix.T)).max() > 0:
            raise ValueError(
                f"The precomputed graph is not symmetric (entries differ by up to {gap.max():.3g}); "
                "pass W.maximum(W.T) or (W + W.T) / 2."
            )
        matrix = (0.5 * (matrix + matrix.T)).tocsr().astype(dtype)
        return cls.from_symmetric(matrix)

    @classmethod
    def from_symmetric(cls, matrix: sparse.csr_array) -> "Graph":
        """Take a matrix that is known to be symmetric and non-negative; it becomes the graph's own.

        Weights that underflowed to zero carry nothing and are dropped. Indices take four bytes wherever
        they suffice: the flow is bound by memory traffic.
        """
        matrix.eliminate_zeros()
        matrix.sort_indices()
        if max(matrix.shape[0], matrix.nnz) < np.iinfo(np.int32).max:
            matrix.indices = matrix.indices.astype(np.int32, copy=False)
            matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
        return cls(matrix)

    @classmethod
    def from_edges(cls, edges: Any, weights: Any = None, n_vertices: int | None = None) -> "Graph":
        """Take a list of edges: two rows of vertex numbers, as in PyG's ``edge_index``, or pairs.

        A pair that is given more than once, or in both directions, counts with its largest weight. Without
        ``weights`` every edge has weight 1; without ``n_vertices`` the largest number is the last vertex.

        Examples
        --------
        >>> Graph.from_edges([[0, 1, 1], [1, 0, 2]])
        Graph(3 vertices, 2 edges, 1 component)
        """
        pairs = np.asarray(edges)
        if pairs.size == 0:
            pairs = np.empty((2, 0), np.int64)
        if pairs.ndim != 2 or 2 not in pairs.shape or not np.issubdtype(pairs.dtype, np.integer):
            raise ValueError(
                f"edges must be two rows of vertex numbers, or pairs; got {pairs.dtype} {pairs.shape}."
            )
        heads, tails = pairs if len(pairs) == 2 else pairs.T
        n = int(pairs.max(initial=-1)) + 1 if n_vertices is None else n_vertices
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < n):
            raise ValueError(f"edges must lie between 0 and {n - 1}; found {pairs.min()} to {pairs.max()}.")
        values = np.ones(len(heads), np.float32) if weights is None else np.asarray(weights).ravel()
        if len(values) != len(heads):
            raise ValueError(f"weights must be one per edge, {len(heads)}; got {len(values)}.")
        # The largest weight of each pair: sorted by pair and weight, the last of its kind stays.
        low, high = np.minimum(heads, tails), np.maximum(heads, tails)
        order = np.lexsort((values, high, low))
        low, high, values = low[order], high[order], values[order]
        last = np.ones(len(low), bool)
        last[:-1] = (np.diff(low) != 0) | (np.diff(high) != 0)
        half = sparse.coo_array((values[last], (low[last], high[last])), shape=(n, n))
        return cls.from_weights(half + half.T)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str = "weight") -> "Graph":
        """Take a networkx graph, its vertices in the order of ``graph.nodes``."""
        number = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(number[a], number[b]) for a, b in graph.edges()]
        values = [value for _, _, value in graph.edges(data=weight, default=1.0)]
        return cls.from_edges(np.array(edges, np.int64).reshape(-1, 2).T, values, len(number))

    @classmethod
    def from_igraph(cls, graph: Any, weight: str = "weight") -> "Graph":
        """Take an igraph graph."""
        values = graph.es[weight] if weight in graph.es.attributes() else None
        return cls.from_edges(
            np.array(graph.get_edgelist(), np.int64).reshape(-1, 2).T, values, graph.vcount()
        )

    @classmethod
    def from_pyg(cls, data: Any) -> "Graph":
        """Take a PyG ``Data`` object: its ``edge_index`` and, if there is one, its ``edge_weight``."""
        return cls.from_edges(data.edge_index, getattr(data, "edge_weight", None), data.num_nodes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Graph":
        """Read a graph that :meth:`save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                parts = [file[name] for name in ("data", "indices", "indptr")]
            n = len(parts[2]) - 1
            matrix = sparse.csr_array(tuple(parts), shape=(n, n))
            matrix.check_format(full_check=True)
        except (KeyError, ValueError, EOFError, BadZipFile) as error:
            raise ValueError(f"{os.fspath(path)} is not a graph written by Graph.save: {error}") from None
        return cls.from_weights(matrix, matrix.dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a ``.npz`` file, all of it or nothing."""
        target = Path(path)
        w = self.weights
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, data=w.data, indices=w.indices, indptr=w.indptr)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink()
            raise

    @property
    def n_vertices(self) -> int:
        """How many vertices there are."""
        return int(self.weights.shape[0])

    @property
    def n_edges(self) -> int:
        """How many undirected edges there are."""
        return int(self.weights.nnz // 2)

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """``d_i = Σ_j w_ij``."""
        return row_totals(self.weights)

    @cached_property
    def normalized(self) -> sparse.csr_array:
        """``ŵ_ij = w_ij / √(d_i d_j)``, on the same pattern as ``weights``."""
        return normalized_rows(self.weights, self.degrees, self.degrees)

    @property
    def csr(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """``normalized`` as the kernels take it: row ends and columns unsigned, and weights."""
        w = self.normalized
        return _unsigned(w.indptr), _unsigned(w.indices), w.data

    @cached_property
    def layout(self) -> tuple[NDArray[Any], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """An order of the vertices that is kind to the cache, and ``csr`` renumbered by it.

        Breadth first, where the states of all vertices outgrow a core's own cache; the order as it is
        otherwise. Within a row the edges keep their order, so that sums don't change by a bit.
        """
        indptr, indices, weights = self.csr
        if self.n_vertices <= FITS_CACHE:
            return np.arange(self.n_vertices, dtype=indices.dtype), self.csr
        return in_walking_order((indptr, indices, weights))

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """Row sums of ``normalized``: the stiffness of a vertex."""
        return row_totals(self.normalized)

    @cached_property
    def walk(self) -> NDArray[np.float32]:
        """The probability w_ij / d_i of a step along every edge, in the order of ``csr``."""
        degrees = np.repeat(np.maximum(self.degrees, 1e-30), np.diff(self.weights.indptr))
        return np.asarray(self.weights.data / degrees, np.float32)

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The number of the connected component of every vertex."""
        from scipy.sparse.csgraph import connected_components  # a tenth of the time to import this module

        labels: NDArray[np.int32] = connected_components(self.weights, directed=False)[1]
        return labels

    @cached_property
    def n_components(self) -> int:
        """How many connected components there are."""
        return int(self.components.max(initial=-1)) + 1

    def reached(self, labeled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which vertices share a connected component with one of the ``labeled`` ones."""
        lit = np.zeros(self.n_components, bool)
        lit[self.components[labeled]] = True
        return lit[self.components]

    def __repr__(self) -> str:
        return (
            f"Graph({self.n_vertices} vertices, {self.n_edges} edges, "
            f"{self.n_components} component{'s' if self.n_components != 1 else ''})"
        )


def in_walking_order(csr: Csr, fixed: int = 0) -> tuple[NDArray[Any], Csr]:
    """Rows in the order of a breadth-first walk, the first ``fixed`` left in place; and the matrix."""
    indptr, indices, weights = csr
    walk = kernels.breadth_first_order(indptr, indices)
    order = np.concatenate([np.arange(fixed, dtype=walk.dtype), walk[walk >= fixed]]) if fixed else walk
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    ends = np.concatenate([[0], np.cumsum(np.diff(indptr)[order], dtype=np.int64)]).astype(indptr.dtype)
    renumbered = ends, np.empty_like(indices), np.empty_like(weights)
    kernels.renumber(indptr, indices, weights, order, rank, *renumbered)
    return order, renumbered


def row_totals(matrix: sparse.csr_array) -> NDArray[np.float64]:
    """Row sums of a matrix, or of some rows of one: each depends on its own row alone."""
    return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()


def normalized_rows(
    weights: sparse.csr_array, degrees: NDArray[np.float64], degrees_of_columns: NDArray[np.float64]
) -> sparse.csr_array:
    """``w_ij / √(d_i d_j)`` for all or some rows of a graph."""
    own, others = _inverse_root(degrees), _inverse_root(degrees_of_columns)
    rows = np.repeat(own, np.diff(weights.indptr))
    data = (weights.data * rows * others[weights.indices]).astype(weights.dtype)
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _inverse_root(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    root = np.sqrt(degrees)
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)


def _unsigned(indices: NDArray[Any]) -> NDArray[Any]:
    return indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)
