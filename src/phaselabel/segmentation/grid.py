"""Cells of images in, the graph of cells that touch out: the weight of an edge falls with its contrast."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph import Graph

#: A difference as large as the usual one (root mean square) makes an edge weaker by exp(-4).
CONTRAST = 4.0

#: No edge is weaker than this, so that marks reach every pixel.
LEAST_WEIGHT = 1e-6

#: Differences above this percentile count as equal to it in the usual one: hot pixels and outlines.
OUTLIERS = 99.0


@dataclass(frozen=True, eq=False)
class Touching:
    """Pairs of touching cells, and how much they differ.

    Attributes
    ----------
    first, second : ndarray of int
        The numbers of the two cells.
    squares : ndarray of float32
        The squared difference of their bands.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    squares: NDArray[np.float32]

    @classmethod
    def of(cls, frames: Sequence[NDArray[np.float32]]) -> "Touching":
        """Pairs of cells of several images, numbered one image after the other.

        Examples
        --------
        >>> Touching.of([np.zeros((2, 3, 1), np.float32)]).first.tolist()
        [0, 1, 2, 0, 1, 3, 4]
        """
        first, second, squares, start = [], [], [], 0
        for bands in frames:
            numbers = np.arange(start, start + bands[..., 0].size).reshape(bands.shape[:-1])
            for axis in range(numbers.ndim):
                here = (slice(None),) * axis + (slice(None, -1),)
                there = (slice(None),) * axis + (slice(1, None),)
                first.append(numbers[here].ravel())
                second.append(numbers[there].ravel())
                squares.append(((bands[here] - bands[there]) ** 2).sum(axis=-1).ravel())
            start += numbers.size
        return cls(np.concatenate(first), np.concatenate(second), np.concatenate(squares))

    def graph(self, vertices: NDArray[np.int64], n_vertices: int) -> Graph:
        """The graph of the cells' vertices.

        Parameters
        ----------
        vertices : ndarray of int, shape (n_cells,)
            The vertex of every cell; edges between the same two vertices are added up.
        n_vertices : int
            The number of vertices.

        Returns
        -------
        Graph
            With weights from ``LEAST_WEIGHT`` to 1 for every pair of cells.
        """
        usual = 0.0
        if len(self.squares):  # images of a single cell have no pair that touches
            usual = float(np.minimum(self.squares, np.percentile(self.squares, OUTLIERS)).mean())
        weights = np.exp(-CONTRAST * self.squares / usual) if usual > 0 else np.ones_like(self.squares)
        i, j = vertices[self.first], vertices[self.second]
        apart = i != j
        entries = (weights + LEAST_WEIGHT)[apart].astype(np.float64), (i[apart], j[apart])
        half = sparse.coo_array(entries, shape=(n_vertices, n_vertices)).tocsr()
        return Graph.from_symmetric(sparse.csr_array(half + half.T))


def joined(looks: Graph, grid: Graph, share: float) -> Graph:
    """One graph of two on the same vertices, each with its mean degree as the unit.

    Parameters
    ----------
    looks, grid : Graph
        The graphs.
    share : float
        The weight of ``grid``; ``looks`` has the weight 1.

    Returns
    -------
    Graph
        Their sum.
    """
    means = [max(float(graph.degrees.mean()), 1e-30) for graph in (looks, grid)]
    total = looks.weights * (1 / means[0]) + grid.weights * (share / means[1])
    return Graph.from_symmetric(sparse.csr_array(total))
