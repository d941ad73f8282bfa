"""The looks and places of cells in, the graph of like and of touching cells out."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph import Graph, nearest_neighbors, similarity_graph
from phaselabel.segmentation.features import distinct_rows
from phaselabel.segmentation.frames import texture_columns
from phaselabel.segmentation.grid import joined
from phaselabel.segmentation.images import Images

#: The share of true neighbours that the search must find; more of them changes the result very little.
RECALL = 0.9

#: Neighbours of a vertex in the graph of like textures.
TEXTURE_NEIGHBORS = 10

#: The weight of touching cells in the graph, beside that of like cells.
TOUCHING_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class CellGraph:
    """The graph of the cells of all images, for one weight of the place.

    Cells that look exactly alike are one vertex.

    Attributes
    ----------
    position : float
        The weight of the place.
    vertices : ndarray of int, shape (n_cells,)
        The vertex of every cell.
    graph : Graph
        The graph that the flow runs on.
    looks, grid : Graph
        The graphs of like vertices and of touching vertices.
    scales, places : ndarray of float32
        The mean row and the mean place of the cells of every vertex.
    """

    position: float
    vertices: NDArray[np.int64]
    graph: Graph
    looks: Graph
    grid: Graph
    scales: NDArray[np.float32]
    places: NDArray[np.float32]
    _made: list[Graph] = field(default_factory=list, repr=False)

    @classmethod
    def of(
        cls,
        images: Images,
        position: float,
        n_neighbors: int,
        scale_neighbor: int | None,
        *,
        with_grid: bool,
    ) -> "CellGraph":
        """Join every cell to the cells most like it and, ``with_grid``, to those that it touches."""
        rows, scales, places = images.rows, images.scales, images.places
        if position > 0:
            rows = np.concatenate([rows, np.float32(position) * places], axis=1)
        unique, vertices = distinct_rows(rows)
        if len(unique) == 1:
            raise ValueError("All pixels look the same; give position a weight, or features that differ.")
        looks = _like(unique, n_neighbors, scale_neighbor)
        grid = images.touching.graph(vertices, len(unique))
        graph = joined(looks, grid, TOUCHING_SHARE) if with_grid else looks
        _ = graph.normalized  # computed once, before the first update
        if len(unique) < len(rows):
            scales, places = _means(scales, vertices), _means(places, vertices)
        return cls(position, vertices, graph, looks, grid, scales, places)

    def texture_graph(self) -> Graph:
        """Every vertex joined to those with the most similar textures; made when it is first needed."""
        if not self._made:
            rows = self.scales[:, texture_columns(self.scales.shape[1])]
            deviation = rows.std(axis=0)
            rows = (rows - rows.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
            self._made.append(_like(rows, TEXTURE_NEIGHBORS, None))
        return self._made[0]


def _like(rows: NDArray[np.float32], n_neighbors: int, scale_neighbor: int | None) -> Graph:
    """Every row joined to the rows most like it, and all of them connected: marks reach every row."""
    if isinstance(n_neighbors, int | np.integer) and n_neighbors >= len(rows):
        n_neighbors, scale_neighbor = len(rows) - 1, None
    return similarity_graph(nearest_neighbors(rows, n_neighbors, recall=RECALL, connect=True), scale_neighbor)


def _means(rows: NDArray[np.float32], vertices: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean row of every vertex."""
    n = len(rows)
    members = sparse.csr_array((np.ones(n, np.float32), (vertices, np.arange(n))))
    return np.asarray((members @ rows) / np.bincount(vertices)[:, None], np.float32)
