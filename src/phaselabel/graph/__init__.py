"""Data in, similarity graph out."""

from phaselabel.graph.graph import Graph
from phaselabel.graph.neighbors import Neighbors, nearest_neighbors
from phaselabel.graph.weights import similarity_graph

__all__ = ["Graph", "Neighbors", "nearest_neighbors", "similarity_graph"]
