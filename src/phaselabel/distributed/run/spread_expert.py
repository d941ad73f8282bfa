"""A graph in blocks that fits one worker and few labels in; what a spread from the labels says out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.build.gather import gather_graph, scatter_rows
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.run.opinion_files import SPREAD
from phaselabel.distributed.tasks import Tasks, exclusive_worker
from phaselabel.evidence.experts import Expert
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.propagation import spread_votes
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.graph import Graph

Table = NDArray[np.float32]


class SpreadOnOneWorker:
    """The spread of a local fit on the whole graph, by one worker; rows are not needed for it.

    Parameters
    ----------
    tasks : Tasks
        The cluster.
    partition : Partition
        The graph's blocks.
    folds : Folds
        The labels of ``some`` rows, and which are hidden when.
    some : ndarray of int
        The rows for which the answer is sent here; that for all rows is in the files of the blocks.
    sizes : ClassSizes
        What is known of the classes' sizes.
    worker : str
        Where the graph fits.
    """

    def __init__(
        self,
        tasks: Tasks,
        partition: Partition,
        folds: Folds,
        some: NDArray[np.int64],
        sizes: ClassSizes,
        worker: str,
    ) -> None:
        self._tasks, self._worker, self._folds = tasks, worker, folds
        self._arguments = partition, folds, some, sizes
        self._said: list[Table] = []

    def expert(self, graph: str) -> Expert:
        """The expert; its weight falls with the square of the number of labels."""
        return Expert(f"spread {graph}", "spread", self._ask)

    def _ask(self, turn: int, rows: NDArray[np.intp] | None) -> Table:
        if not self._said:
            self._said = self._tasks.run_once("spread", _spread, *self._arguments, workers=[self._worker])
        return self._said[turn] if rows is None else self._said[turn][rows]


def _spread(partition: Partition, folds: Folds, some: NDArray[np.int64], sizes: ClassSizes) -> list[Table]:
    """Spread the labels of every turn; write what the last turn says of all rows."""
    with exclusive_worker():
        graph, said = gather_graph(partition), []
        made: list[Graph] = []
        for turn in folds.turns:
            labels = np.full(partition.n_rows, -1, np.int32)
            labels[some] = folds.shown(turn)
            table: Any = spread_votes(graph, labels, folds.n_classes, sizes, made)
            said.append(table[some])
        scatter_rows(partition, SPREAD, table)
        return said
