"""All rows of a job on one worker in; the neighbours of some of them, as a local search finds them, out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.build.gather import gather_points
from phaselabel.distributed.build.partition import Partition
from phaselabel.graph import Neighbors
from phaselabel.graph.neighbor_search import NeighborSearch

#: The index of the job that this worker searches for, by the token of its folder.
_kept: dict[str, "WholeSearch"] = {}


@dataclass(frozen=True, eq=False)
class WholeSearch:
    """An index of all rows, and the id of every row."""

    search: NeighborSearch
    ids: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Partition, k: int, metric: str, recall: float, budget: float) -> "WholeSearch":
        """The index of a job, made by the first task of a worker that needs it."""
        name = partition.folder.token
        if name not in _kept:
            _kept.clear()  # a job that ended by an error left its own
            cells = np.flatnonzero(partition.counts.sum(axis=0))
            ids = np.empty(partition.n_rows, np.int64)
            # Ids are consecutive from cell to cell.
            ids[np.concatenate([partition.rows_of(int(cell)) for cell in cells])] = np.arange(len(ids))
            search = NeighborSearch(gather_points(partition), k, metric, recall, budget / 4 / 2**20)
            _kept[name] = cls(search, ids)
        return _kept[name]

    def neighbors_in(self, partition: Partition, cell: int) -> tuple[Neighbors, NDArray[np.int64]]:
        """The neighbours of a cell's rows, and their ids."""
        neighbors = self.search.neighbors_of(partition.rows_of(cell))
        return neighbors, self.ids[neighbors.indices]


def forget_index() -> None:
    """Let the index go; run on every worker when all cells are searched."""
    _kept.clear()
