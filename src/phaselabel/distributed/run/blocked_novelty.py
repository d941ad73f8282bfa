"""A graph in blocks and known labels in; the rows that look like none of the labelled ones, in files, out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.novelty import TURNS, fewest_visits, is_group, missed_by_chance, says_something, turns
from phaselabel.assess.query import WALK_STEPS, WALK_TOLERANCE, walk_settings
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.blocked_system import BlockedSystem


def far_rows_in_blocks(
    actors: ActorGroup, partition: Partition, blocks: NDArray[np.int64], positions: NDArray[np.int64]
) -> tuple[int, int]:
    """Find far rows as a local fit does; write them, if there are any; return their number, and the first.

    ``blocks`` and ``positions`` are those of the labelled rows.
    """
    n_known, n_rows = len(blocks), partition.n_rows
    if not says_something(n_known, n_rows):
        return 0, -1
    walks = _Visits(actors, partition.n_blocks, n_rows, blocks, positions)
    turn, hidden = turns(n_known), np.empty(n_known, np.float32)
    for t in range(TURNS):
        hidden[turn == t] = walks.from_labels(turn != t)[turn == t]
    walks.from_labels(np.ones(n_known, bool))
    n_far, first = walks.far(fewest_visits(hidden))
    if not is_group(n_far, n_rows):
        return 0, -1
    actors.call("write_far")
    return n_far, first


class _Visits(BlockedSystem):
    """Walks that begin at labelled rows."""

    def __init__(
        self,
        actors: ActorGroup,
        n_blocks: int,
        n_rows: int,
        blocks: NDArray[np.int64],
        positions: NDArray[np.int64],
    ) -> None:
        super().__init__(actors, ("",))
        self._n_rows, self._positions = n_rows, positions
        self._here = [np.flatnonzero(blocks == block) for block in range(n_blocks)]

    def from_labels(self, shown: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Walk from the labels that are shown; return how often all labelled rows are visited."""
        damping, share = walk_settings(int(shown.sum()), self._n_rows)
        each = [(self._positions[here[shown[here]]],) for here in self._here]
        inflow = np.sum(self._actors.call("visit_inflow", self.n_components, each=each), axis=0)
        self._solve("begin_visits", each, "", inflow, damping, WALK_TOLERANCE**2, WALK_STEPS)
        out = np.empty(len(self._positions), np.float32)
        known = [(share, self._positions[here]) for here in self._here]
        for here, part in zip(self._here, self._actors.call("end_visits", each=known)):
            out[here] = part
        return out

    def far(self, limit: np.float64) -> tuple[int, int]:
        """The number of rows that the last walks visit less than ``limit`` times, and the first of them."""
        known = [(self._positions[here],) for here in self._here]
        sizes, of_known = zip(*self._actors.call("components", self.n_components, each=known))
        small = missed_by_chance(np.sum(sizes, axis=0), np.concatenate(of_known))
        found = self._actors.call("find_far", limit, small, each=known)
        return sum(count for count, _ in found), min(first for _, first in found)
