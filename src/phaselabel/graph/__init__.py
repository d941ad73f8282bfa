"""Data in, similarity graph out."""

from phaselabel.graph.graph import Graph
from phaselabel.graph.neighbors import Neighbors, nearest_neighbors
from phaselabel.graph.weights import extend_graph, similarity_graph

__all__ = ["Graph", "Neighbors", "extend_graph", "nearest_neighbors", "similarity_graph"]
