"""A graph of any library in, a graph of ours out."""

from typing import Any

import numpy as np

from phaselabel.graph.graph import Graph


def as_graph(value: Any, dtype: Any = np.float32) -> Graph:
    """Turn a graph into a :class:`Graph`.

    Parameters
    ----------
    value : Graph, sparse matrix, or a graph of PyG, DGL, networkx or igraph
        The graph. PyG's has ``edge_index``; DGL's has ``edges()`` and ``num_nodes()``.
    dtype : dtype, default=float32
        The type of the weights of a matrix: float32 or float64.

    Returns
    -------
    Graph
        The same graph, undirected.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> as_graph(SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]), num_nodes=3))
    Graph(3 vertices, 2 edges, 1 component)
    """
    if isinstance(value, Graph):
        return value
    library = type(value).__module__.split(".")[0]
    if hasattr(value, "edge_index"):
        return Graph.from_pyg(value)
    if library == "networkx":
        return Graph.from_networkx(value)
    if library == "igraph":
        return Graph.from_igraph(value)
    if callable(getattr(value, "edges", None)) and callable(getattr(value, "num_nodes", None)):
        heads, tails = (np.asarray(ends) for ends in value.edges())
        return Graph.from_edges(np.stack([heads, tails]), None, int(value.num_nodes()))
    return Graph.from_weights(value, dtype)
