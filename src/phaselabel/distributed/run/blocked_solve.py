"""Blocks on a cluster and known labels in, the flow's solution out, also as an expert's opinion."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.checkpointed_rows import CheckpointedRows, remove_flow, state_pattern
from phaselabel.distributed.run.known_labels import KnownLabels
from phaselabel.distributed.run.opinion_files import FLOW
from phaselabel.distributed.run.remote_rows import RemoteRows
from phaselabel.evidence.experts import Expert
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.propagation import FIDELITY
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.few_labels.policy import HUB, Policy
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.descent import Descent
from phaselabel.flow.minimize import Solution
from phaselabel.flow.schedule import FlowSettings

Table = NDArray[np.float32]


class _BlockedProblem(Problem):
    """A problem whose ``graph`` is its rows on the workers, from the hub."""

    def descent(self, graph: Any, init: Any, random_state: Any = None) -> Descent:
        """The descent of the blocks."""
        return Descent(graph, graph.n_vertices)


def solve_in_blocks(
    blocks: RemoteRows,
    partition: Partition,
    known: KnownLabels,
    n_classes: int,
    sizes: ClassSizes,
    flow: FlowSettings,
    policy: Policy,
    name: str,
    *,
    resume: bool = False,
    callbacks: Sequence[Any] = (),
) -> tuple[Solution, NDArray[np.int64]]:
    """The solution of the blocks, whose states are in files of that name, and the classes' sizes.

    Few labels are not spread in blocks: they flow from the hub.
    """
    policy = HUB if policy.spread_up_to else policy
    rows = CheckpointedRows(blocks, partition, known, name=name, resume=resume)
    graph: Any = rows
    problem = _BlockedProblem(graph, known.arms, n_classes, known.fidelity, sizes, flow)
    solution = solve(problem, policy, callbacks=callbacks)
    return solution, rows.sizes(solution.n_iter)


class FlowInBlocks:
    """The flow of the graph alone as an expert, from the hub, on actors of its own.

    Parameters
    ----------
    actors : callable
        Opens the blocks' actors for the flow; they go when it ends.
    partition : Partition
        The graph's blocks.
    folds : Folds
        The labels of some rows, and which are hidden when.
    blocks, positions : ndarray of int
        Where these rows are.
    sizes : ClassSizes
        What is known of the classes' sizes.
    """

    def __init__(
        self,
        actors: Callable[[], AbstractContextManager[ActorGroup]],
        partition: Partition,
        folds: Folds,
        blocks: NDArray[np.int64],
        positions: NDArray[np.int64],
        sizes: ClassSizes,
    ) -> None:
        self._actors, self._partition, self._folds = actors, partition, folds
        self._blocks, self._positions, self._sizes = blocks, positions, sizes
        self._here = [np.flatnonzero(blocks == block) for block in range(partition.n_blocks)]
        self._said: dict[int, Table] = {}

    def expert(self, graph: str) -> Expert:
        """The expert; what it says of all rows in the last turn is in the files of the blocks."""
        return Expert(f"flow {graph}", "graph", self._ask)

    def _ask(self, turn: int, rows: NDArray[np.intp] | None) -> Table:
        if turn not in self._said:
            self._said[turn] = self._flow(turn)
        return self._said[turn] if rows is None else self._said[turn][rows]

    def _flow(self, turn: int) -> Table:
        """Let the labels of a turn flow; write all votes, and return those on the rows known here."""
        shown, partition, k = self._folds.shown_rows(turn), self._partition, self._folds.n_classes
        known = KnownLabels(
            self._blocks[shown], self._positions[shown], self._folds.labels[shown],
            np.full(len(shown), FIDELITY), partition.n_blocks,
        )  # fmt: skip
        name = f"asked-{turn}"
        with self._actors() as actors:
            blocks = RemoteRows(actors, 1)  # weights of experts should not depend on what an exchange takes
            solution, _ = solve_in_blocks(blocks, partition, known, k, self._sizes, FlowSettings(), HUB, name)
            states = state_pattern(name, solution.n_iter)
            parts = actors.repeated(lambda: self._votes(actors, states))
        out = np.empty((len(self._blocks), k), np.float32)
        for here, part in zip(self._here, parts):
            out[here] = part
        remove_flow(partition.folder, name)
        return out

    def _votes(self, actors: ActorGroup, states: str) -> list[Table]:
        """Write the votes on all rows; return those on the rows known here, block by block."""
        actors.call("load_state", states)
        return actors.call("write_votes", FLOW, each=[(self._positions[here],) for here in self._here])
