"""A symmetric matrix of similarities in, a frozen graph with everything that the flow needs out."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from phaselabel._kernels import graph as kernels
from phaselabel.graph.table_checks import checked_csr
from phaselabel.io.atomic import replacing
from phaselabel.io.npy import read_npz

#: Most vertices whose states (8 bytes each) stay in a core's own cache; larger graphs are renumbered.
FITS_CACHE = 150_000
#: Largest weight of a graph; degrees and their products then stay far from overflow.
MAX_WEIGHT = 1e30
#: Largest relative difference between w_ij and w_ji in a matrix that counts as symmetric.
SYMMETRY_TOLERANCE = 1e-5
#: Largest number of vertices: kernels count them with 32 bits.
MOST_VERTICES = 2**31 - 2
#: An edge list whose largest vertex number is far beyond this and beyond its length is not numbered from 0.
SPARE_VERTICES = 10**7
#: Smallest degree that a weight is divided by.
MIN_DEGREE = 1e-30

#: A CSR matrix as kernels take it: row pointers and columns (unsigned), and weights.
Csr = tuple[NDArray[np.unsignedinteger], NDArray[np.unsignedinteger], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected, weighted graph: ``w_ij = w_ji ≥ 0`` and no loops.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        The similarities. Use :meth:`from_weights` for a matrix that has not been checked.

    Attributes
    ----------
    weights : csr_array of shape (n, n)
        The similarities.

    See Also
    --------
    similarity_graph : Make a graph from nearest neighbours.

    Examples
    --------
    >>> graph = Graph.from_weights([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> graph.degrees.tolist(), graph.n_components
    ([1.0, 1.0, 0.0], 2)
    """

    weights: sparse.csr_array

    @classmethod
    def from_weights(cls, weights: Any, dtype: DTypeLike | None = None) -> "Graph":
        """Check a similarity matrix, sparse or dense, and make a graph of it.

        Loops (entries of the diagonal) are dropped: they change only the degrees, never a difference.

        Parameters
        ----------
        weights : array-like or sparse matrix of shape (n, n)
            The similarities: finite, not negative, symmetric up to a relative difference of 1e-5.
        dtype : dtype, optional
            The type of the weights; float32 by default, float64 if the matrix is float64.

        Returns
        -------
        Graph
            The graph, with a copy of the matrix.

        Examples
        --------
        >>> Graph.from_weights([[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]])
        Graph(3 vertices, 2 edges, 1 component)
        """
        given = checked_csr(weights, "The graph") if sparse.issparse(weights) else sparse.coo_array(weights)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise ValueError(
                f"A precomputed graph must be square, one row and one column per vertex; got {given.shape}."
            )
        if given.dtype.kind not in "biuf":
            raise ValueError(f"A precomputed graph must hold real numbers; got {given.dtype}.")
        if dtype is None:
            dtype = np.float64 if given.dtype == np.float64 else np.float32
        check_weight_dtype(dtype)
        if not np.isfinite(given.data).all():
            raise ValueError("The precomputed graph contains NaN or infinity; remove those entries.")
        matrix = sparse.csr_array(given, dtype=np.float64)
        matrix.sum_duplicates()
        if matrix.nnz and matrix.data.min() < 0:
            raise ValueError(
                f"The precomputed graph has a negative weight ({matrix.data.min():.3g}); weights are "
                "similarities, so clip them at 0 or turn distances into similarities first."
            )
        if matrix.nnz and matrix.data.max() > MAX_WEIGHT:
            raise ValueError(
                f"The precomputed graph has a weight of {matrix.data.max():.3g}; divide all weights by "
                "the largest: only their ratios count."
            )
        matrix.data[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) == matrix.indices] = 0
        matrix.eliminate_zeros()
        gap = abs(matrix - matrix.T)
        if gap.nnz and (gap - SYMMETRY_TOLERANCE * matrix.maximum(matrix.T)).max() > 0:
            raise ValueError(
                f"The precomputed graph is not symmetric (entries differ by up to {gap.max():.3g}); "
                "pass W.maximum(W.T) or (W + W.T) / 2."
            )
        matrix = (0.5 * (matrix + matrix.T)).tocsr().astype(dtype)
        return cls.from_symmetric(matrix)

    @classmethod
    def from_symmetric(cls, matrix: sparse.csr_array) -> "Graph":
        """Make a graph of a matrix that is known to be symmetric and not negative, without a check.

        Weights of zero are dropped. Indices are stored in four bytes where these suffice: the flow is bound
        by memory traffic.

        Parameters
        ----------
        matrix : csr_array of shape (n, n)
            The similarities. The graph keeps this matrix and changes it in place.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> Graph.from_symmetric(sparse.csr_array([[0.0, 1, 2], [1, 0, 0], [2, 0, 0]]))
        Graph(3 vertices, 2 edges, 1 component)
        """
        matrix.eliminate_zeros()
        matrix.sort_indices()
        if max(matrix.shape[0], matrix.nnz) < np.iinfo(np.int32).max:
            matrix.indices = matrix.indices.astype(np.int32, copy=False)
            matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
        return cls(matrix)

    @classmethod
    def from_edges(cls, edges: Any, weights: Any = None, n_vertices: int | None = None) -> "Graph":
        """Make a graph of a list of edges.

        A pair that is given more than once, or in both directions, gets its largest weight.

        Parameters
        ----------
        edges : array-like of shape (2, n_edges) or (n_edges, 2)
            Two rows of vertex numbers, as in PyG's ``edge_index``, or pairs. An array of shape (2, 2) is two
            rows, as is a list of two lists; a list of two tuples is two pairs.
        weights : array-like of shape (n_edges,), optional
            The weight of every edge; 1 by default.
        n_vertices : int, optional
            The number of vertices; by default the largest vertex number is the last vertex.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> Graph.from_edges([[0, 0, 1], [1, 2, 3]])
        Graph(4 vertices, 3 edges, 1 component)
        >>> Graph.from_edges([(0, 1), (2, 3)]).components.tolist()
        [0, 0, 1, 1]
        """
        pairs = np.asarray(edges)
        if pairs.size == 0:
            pairs = np.empty((2, 0), np.int64)
        if pairs.ndim != 2 or 2 not in pairs.shape or not np.issubdtype(pairs.dtype, np.integer):
            raise ValueError(
                f"edges must be two rows of vertex numbers, or pairs; got {pairs.dtype} {pairs.shape}."
            )
        tuples = isinstance(edges, list | tuple) and all(isinstance(edge, tuple) for edge in edges)
        rows = len(pairs) == 2 and not (tuples and pairs.shape == (2, 2))
        heads, tails = pairs if rows else pairs.T
        n = _number_of_vertices(pairs, n_vertices)
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < n):
            raise ValueError(f"edges must lie between 0 and {n - 1}; found {pairs.min()} to {pairs.max()}.")
        values = np.ones(len(heads), np.float32) if weights is None else np.asarray(weights).ravel()
        if len(values) != len(heads):
            raise ValueError(f"weights must be one per edge, {len(heads)}; got {len(values)}.")
        if values.dtype.kind not in "biuf":
            raise ValueError(f"weights must be real numbers; got {values.dtype}.")
        # Sorted by pair and weight, the last entry of a pair has its largest weight.
        low, high = np.minimum(heads, tails), np.maximum(heads, tails)
        order = np.lexsort((values, high, low))
        low, high, values = low[order], high[order], values[order]
        last = np.ones(len(low), bool)
        last[:-1] = (np.diff(low) != 0) | (np.diff(high) != 0)
        half = sparse.coo_array((values[last], (low[last], high[last])), shape=(n, n))
        return cls.from_weights(half + half.T)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str = "weight") -> "Graph":
        """Make a graph of a networkx graph; the vertices keep the order of ``graph.nodes``.

        Parameters
        ----------
        graph : networkx.Graph
            An undirected or directed graph.
        weight : str, default="weight"
            The edge attribute with the weights; an edge without it has weight 1.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> import networkx
        >>> Graph.from_networkx(networkx.path_graph(4))
        Graph(4 vertices, 3 edges, 1 component)
        """
        number = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(number[a], number[b]) for a, b in graph.edges()]
        values = [value for _, _, value in graph.edges(data=weight, default=1.0)]
        return cls.from_edges(np.array(edges, np.int64).reshape(-1, 2).T, values, len(number))

    @classmethod
    def from_igraph(cls, graph: Any, weight: str = "weight") -> "Graph":
        """Make a graph of an igraph graph.

        Parameters
        ----------
        graph : igraph.Graph
            An undirected or directed graph.
        weight : str, default="weight"
            The edge attribute with the weights; without it every edge has weight 1.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> import igraph
        >>> Graph.from_igraph(igraph.Graph.Ring(5))
        Graph(5 vertices, 5 edges, 1 component)
        """
        values = graph.es[weight] if weight in graph.es.attributes() else None
        return cls.from_edges(
            np.array(graph.get_edgelist(), np.int64).reshape(-1, 2).T, values, graph.vcount()
        )

    @classmethod
    def from_pyg(cls, data: Any) -> "Graph":
        """Make a graph of a PyTorch Geometric ``Data`` object.

        Parameters
        ----------
        data : torch_geometric.data.Data
            An object with ``edge_index``, ``num_nodes`` and, if there are weights, ``edge_weight``.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]), num_nodes=4)
        >>> Graph.from_pyg(data)
        Graph(4 vertices, 2 edges, 2 components)
        """
        return cls.from_edges(data.edge_index, getattr(data, "edge_weight", None), data.num_nodes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Graph":
        """Read a graph that :meth:`save` wrote.

        Parameters
        ----------
        path : path-like
            The ``.npz`` file.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "graph.npz")
        >>> Graph.from_edges([(0, 1), (1, 2)]).save(path)
        >>> Graph.load(path)
        Graph(3 vertices, 2 edges, 1 component)
        """
        try:
            matrix = _read_matrix(Path(path))
        except (KeyError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} is not a graph written by Graph.save: {error}") from None
        return cls.from_weights(matrix, matrix.dtype)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a ``.npz`` file, all of it or nothing.

        Parameters
        ----------
        path : path-like
            Where to write it. An existing file is replaced.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "graph.npz")
        >>> Graph.from_edges([(0, 1), (1, 2)]).save(path)
        """
        if Path(path).is_dir():
            raise IsADirectoryError(f"{path} is a folder and a graph is one file; choose another name.")
        w = self.weights
        with replacing(path, overwrite=True) as part, part.open("wb") as file:
            np.savez(file, data=w.data, indices=w.indices, indptr=w.indptr)

    @property
    def n_vertices(self) -> int:
        """The number of vertices.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).n_vertices
        3
        """
        return int(self.weights.shape[0])

    @property
    def n_edges(self) -> int:
        """The number of undirected edges.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).n_edges
        1
        """
        return int(self.weights.nnz // 2)

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """The degree of every vertex, ``d_i = Σ_j w_ij``.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).degrees.tolist()
        [4.0, 4.0, 0.0]
        """
        return row_totals(self.weights)

    @cached_property
    def normalized(self) -> sparse.csr_array:
        """The normalised weights ``ŵ_ij = w_ij / √(d_i d_j)``, with the sparsity pattern of ``weights``.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).normalized.toarray().tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        return normalized_rows(self.weights, self.degrees, self.degrees)

    @property
    def csr(self) -> Csr:
        """``normalized`` as three arrays for kernels: row pointers and columns (unsigned), and weights.

        Examples
        --------
        >>> [part.tolist() for part in Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).csr]
        [[0, 1, 2, 2], [1, 0], [1.0, 1.0]]
        """
        w = self.normalized
        return _unsigned(w.indptr), _unsigned(w.indices), w.data

    @cached_property
    def layout(self) -> tuple[NDArray[Any], Csr]:
        """An order of the vertices that suits the processor's cache, and ``csr`` renumbered by it.

        The order is that of a breadth-first walk where the states of all vertices exceed a core's own cache,
        and the given order otherwise. The edges of a row keep their order, so that sums stay the same to the
        last bit.

        Examples
        --------
        >>> order, (indptr, indices, weights) = Graph.from_edges([(0, 2), (2, 1)]).layout
        >>> order.tolist(), indices.tolist()
        ([0, 1, 2], [2, 2, 0, 1])
        """
        indptr, indices, weights = self.csr
        if self.n_vertices <= FITS_CACHE:
            return np.arange(self.n_vertices, dtype=indices.dtype), self.csr
        return in_walking_order((indptr, indices, weights))

    @cached_property
    def row_sums(self) -> NDArray[np.float64]:
        """The row sums of ``normalized``: the stiffness of every vertex.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).row_sums.tolist()
        [1.0, 1.0, 0.0]
        """
        return row_totals(self.normalized)

    @cached_property
    def walk(self) -> NDArray[np.float32]:
        """The probability ``w_ij / d_i`` of a random walk's step along every edge, in the order of ``csr``.

        Examples
        --------
        >>> Graph.from_edges([(0, 1), (1, 2)]).walk.tolist()
        [1.0, 0.5, 0.5, 1.0]
        """
        degrees = np.repeat(np.maximum(self.degrees, MIN_DEGREE), np.diff(self.weights.indptr))
        return np.asarray(self.weights.data / degrees, np.float32)

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The number of the connected component of every vertex.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).components.tolist()
        [0, 0, 1]
        """
        from scipy.sparse.csgraph import connected_components  # a tenth of the time to import this module

        components: NDArray[np.int32] = connected_components(self.weights, directed=False)[1]
        return components

    @cached_property
    def n_components(self) -> int:
        """The number of connected components.

        Examples
        --------
        >>> Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]]).n_components
        2
        """
        return int(self.components.max(initial=-1)) + 1

    def reached(self, labeled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Find the vertices that share a connected component with a labelled vertex.

        Parameters
        ----------
        labeled : ndarray of bool of shape (n_vertices,)
            Which vertices have a label.

        Returns
        -------
        ndarray of bool of shape (n_vertices,)
            Which vertices a label can reach.

        Examples
        --------
        >>> graph = Graph.from_weights([[0, 4, 0], [4, 0, 0], [0, 0, 0]])
        >>> graph.reached(np.array([True, False, False])).tolist()
        [True, True, False]
        """
        has_label = np.zeros(self.n_components, bool)
        has_label[self.components[labeled]] = True
        return has_label[self.components]

    def _repr_html_(self) -> str:
        """The graph in a notebook: its size, and what may be wrong with it."""
        sizes = np.bincount(self.components)
        parts = "in one piece" if len(sizes) == 1 else f"in {len(sizes):,} pieces"
        words = f"The largest piece has {sizes.max(initial=0) / max(self.n_vertices, 1):.1%} of the vertices."
        if len(sizes) > 1:
            words += (
                " No label reaches a piece without a known one along the edges: label a row in each, or join "
                "more neighbours."
            )
        return (
            f"<div><b>Graph</b><p style='margin:.3em 0'>{self.n_vertices:,} vertices, {self.n_edges:,} edges "
            f"{parts}. {words}</p></div>"
        )

    def __repr__(self) -> str:
        return (
            f"Graph({self.n_vertices} vertices, {self.n_edges} edges, "
            f"{self.n_components} component{'s' if self.n_components != 1 else ''})"
        )


def check_weight_dtype(dtype: DTypeLike) -> None:
    """Refuse a type that cannot hold weights between 0 and 1, or that the flow has no kernels for."""
    try:
        sound = np.dtype(dtype) in (np.float32, np.float64)
    except (TypeError, ValueError, SyntaxError):  # NumPy parses a text as Python
        sound = False
    if not sound:
        raise ValueError(f"dtype must be float32 or float64; got {dtype!r:.60}.")


def _number_of_vertices(pairs: NDArray[np.integer], n_vertices: int | None) -> int:
    if n_vertices is None:
        n = int(pairs.max(initial=-1)) + 1
        if n > SPARE_VERTICES + 100 * pairs.size:
            raise ValueError(
                f"An edge names the vertex {n - 1}, and there are only {pairs.size // 2} edges; number the "
                "vertices from 0 (np.unique(edges, return_inverse=True) does), or pass n_vertices."
            )
        return n
    whole = isinstance(n_vertices, int | np.integer) and not isinstance(n_vertices, bool)
    if not whole or not 0 <= n_vertices <= MOST_VERTICES:
        raise ValueError(
            f"n_vertices must be a whole number between 0 and {MOST_VERTICES}; got {n_vertices!r}."
        )
    return int(n_vertices)


def _read_matrix(path: Path) -> sparse.csr_array:
    """The matrix of a file, whose arrays may be anything."""
    with path.open("rb") as file:
        if file.read(6) == b"\x93NUMPY":
            raise ValueError("it holds a single array")
    arrays = read_npz(path, packed=False)
    data, indices, indptr = (arrays[name] for name in ("data", "indices", "indptr"))
    kinds = [array.dtype.kind for array in (data, indices, indptr)]
    if {data.ndim, indices.ndim, indptr.ndim} != {1} or kinds != ["f", "i", "i"] or not len(indptr):
        raise ValueError("its arrays are not those of a matrix")
    n = len(indptr) - 1
    return checked_csr(sparse.csr_array((data, indices, indptr), shape=(n, n)), "its matrix")


def in_walking_order(csr: Csr, fixed: int = 0) -> tuple[NDArray[Any], Csr]:
    """A breadth-first order of the rows, the first ``fixed`` left in place, and the matrix renumbered."""
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
    """Row sums of a matrix or of some of its rows: the bits of a sum depend on its own row alone."""
    return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()


def normalized_rows(
    weights: sparse.csr_array, degrees: NDArray[np.float64], degrees_of_columns: NDArray[np.float64]
) -> sparse.csr_array:
    """``w_ij / √(d_i d_j)`` for all or some rows of a graph."""
    row_factors, column_factors = _inverse_root(degrees), _inverse_root(degrees_of_columns)
    factors = np.repeat(row_factors, np.diff(weights.indptr))
    data = (weights.data * factors * column_factors[weights.indices]).astype(weights.dtype)
    return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _inverse_root(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    root = np.sqrt(degrees)
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)


def _unsigned(indices: NDArray[np.signedinteger]) -> NDArray[np.unsignedinteger]:
    # Kernels index faster by unsigned numbers: numba then needs no test for negative ones.
    return indices.view(np.uint32 if indices.dtype.itemsize == 4 else np.uint64)
