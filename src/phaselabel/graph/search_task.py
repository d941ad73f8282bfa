"""Points and queries in, one task that every dense search can work on out."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from phaselabel._kernels import graph as kernels
from phaselabel.graph.scaled_rows import ScaledRows

#: Indices and squared distances of the nearest points of every query, the nearest first.
Nearest = tuple[NDArray[np.int32], NDArray[np.float64]]
#: Called with the number of queries that were answered since the last call.
Tick = Callable[[int], None]

#: Fewest rows of a block, however small the working memory.
MIN_BLOCK_ROWS = 256


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Which queries look for how many neighbours among which points, with how much memory.

    Attributes
    ----------
    itself : bool
        Whether the queries are the points; then a point is not its own neighbour.
    working_memory : int
        Bytes that blocks of intermediate results may take.
    """

    points: ScaledRows
    queries: ScaledRows
    n_neighbors: int
    itself: bool
    working_memory: int
    tick: Tick

    @property
    def n_candidates(self) -> int:
        """Neighbours to request from an index that does not leave out the query itself."""
        return self.n_neighbors + self.itself

    def block_rows(self, bytes_per_row: float) -> int:
        """The number of rows of a block."""
        return int(max(MIN_BLOCK_ROWS, self.working_memory // max(1, int(bytes_per_row))))

    def empty(self) -> Nearest:
        """Arrays for the result."""
        shape = len(self.queries), self.n_neighbors
        return np.empty(shape, np.int32), np.empty(shape, np.float64)

    def rerank(
        self,
        rows: NDArray[np.int64],
        shortlist: NDArray[np.integer],
        nearest: Nearest,
        dtype: DTypeLike = np.float64,
    ) -> None:
        """Sort the shortlists of some queries by their distances in the full dimension."""
        kernels.rerank(
            self.points.values,
            self.points.scale.astype(dtype, copy=False),
            self.queries.values,
            self.queries.scale.astype(dtype, copy=False),
            rows,
            np.ascontiguousarray(shortlist, np.int32),
            self.itself,
            *nearest,
        )

    def scan(self, rows: NDArray[np.int64], nearest: Nearest) -> None:
        """Compare some queries with all points in double precision."""
        kernels.scan(
            self.points.values,
            self.points.scale,
            self.queries.values,
            self.queries.scale,
            rows,
            self.itself,
            *nearest,
        )
