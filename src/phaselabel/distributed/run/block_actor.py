"""The rows of one block in, their state sweep by sweep out: the actor that runs on a worker."""

from collections.abc import Iterator
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from phaselabel.distributed.build.block_files import block_file
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.run.opinion_files import PROBABILITIES
from phaselabel.distributed.run.peer_actor import PeerActor
from phaselabel.distributed.tasks import use_threads
from phaselabel.evidence.opinion import start_from
from phaselabel.evidence.propagation import with_doubt
from phaselabel.flow.block import Block
from phaselabel.flow.star import LEAF, State
from phaselabel.flow.vote_shares import LARGEST_TABLE, vote_shares
from phaselabel.graph.graph import FITS_CACHE, in_walking_order

#: Changed boundary vertices of one block: their places in the receiver's boundary, and their new states.
BoundaryUpdate = tuple[NDArray[np.int32], NDArray[np.int64]]


class BlockActor(PeerActor):
    """The rows of one block and the state of its boundary; a Dask actor.

    The caller makes all blocks take the same steps and waits for all of them in between. A step may end by
    publishing what changed at the boundary; the next step begins by fetching that from the other workers.
    """

    def __init__(self, folder: Folder, number: int, n_classes: int, size: int) -> None:
        super().__init__(folder, number, n_classes)
        names = ("indptr", "indices", "weights", "row_sums", "owners")
        indptr, indices, weights, row_sums, owners = (folder.load(block_file(number, n)) for n in names)
        # Rows are renumbered for the cache; positions outside this class are not.
        h = len(owners)
        order, csr = np.arange(len(row_sums)), (indptr, indices, weights)
        if len(order) > FITS_CACHE:
            order, csr = in_walking_order(csr, fixed=h)
        self._order = order[h:] - h
        self._rank = np.empty(len(self._order), np.int64)
        self._rank[self._order] = np.arange(len(self._order))
        self._block = Block(csr, row_sums[order], n_classes, boundary=h, size=size)
        self._held: dict[int, NDArray[np.void]] = {}
        self._find_peers(owners, indptr, indices)
        self._read_by = {peer: h + self._rank[rows] for peer, rows in self._read_by.items()}
        self._published = self._fetched = 0
        self._updates: dict[int, dict[int, BoundaryUpdate]] = {}
        self._sent: dict[int, NDArray[np.void]] = {}
        self._reset_exchange()

    # -- other blocks

    async def boundary_update(self, peer: int, number: int) -> BoundaryUpdate:
        """What changed for another block in publication ``number``."""
        return self._updates[number][peer]

    # -- states

    def start(
        self,
        rows: NDArray[np.int64],
        labels: NDArray[np.int32],
        fidelity: NDArray[Any],
        voice: float | None = None,
    ) -> None:
        """Begin at the hub, or where the opinion in the files is, rows with a known label at its leaf."""
        block = self._block
        known = np.full(len(block.front), -1, np.int32)
        mu = np.zeros(len(block.front))
        here = block.boundary + self._rank[rows]
        known[here], mu[here] = labels, fidelity
        state = self._at_hub(len(block.front))
        if voice is not None:
            b, q = block.boundary, self._folder.load(PROBABILITIES.format(self.number))[self._order]
            state[b:] = start_from(q).packed(state["height"].dtype)
            block.listen(np.pad(q, ((b, 0), (0, 0))), np.full(len(state), voice))
        trusted = mu > 0
        state["arm"][trusted], state["height"][trusted] = known[trusted], LEAF
        block.start(state, known, mu)
        self._held.clear()
        self._set_state(state[block.boundary :][self._rank])

    def save_checkpoint(self, flow: str, sweep: int) -> None:
        """Write the state, and the states of earlier sweeps that are held."""
        earlier = sorted(s for s in self._held if s < sweep)
        for kept in earlier:
            self._folder.save(self._checkpoint(flow, sweep, f"{kept:08d}.npy"), self._held[kept])
        self._folder.save_facts(self._checkpoint(flow, sweep, "held.json"), earlier)
        self._folder.save(self._checkpoint(flow, sweep, f"{sweep:08d}.npy"), self._own[self._rank])

    def load_checkpoint(self, flow: str, sweep: int) -> None:
        """Return to a checkpoint."""
        kept = [*self._folder.load_facts(self._checkpoint(flow, sweep, "held.json")), sweep]
        self._held = {s: self._folder.load(self._checkpoint(flow, sweep, f"{s:08d}.npy")) for s in kept}
        self._set_state(self._held[sweep])

    def remove_checkpoint(self, flow: str, sweep: int) -> None:
        """Remove the files of a checkpoint."""
        self._folder.remove(self._checkpoint(flow, sweep, "*"))

    def _checkpoint(self, flow: str, sweep: int, what: str) -> str:
        """A file of the block in a checkpoint; flows of several names may be in one folder."""
        return f"checkpoints/{flow}-{self.number:05d}-{sweep:08d}-{what}"

    def hold(self, sweep: int) -> NDArray[np.int64]:
        """Keep a copy of the state, and of the last one of an earlier sweep; return the classes' sizes.

        A flow that ends is held twice at its last sweep, and may still be taken back to the one before.
        """
        earlier = [s for s in sorted(self._held) if s < sweep]
        self._held = {s: self._held[s] for s in earlier[-1:]}
        self._held[sweep] = self._own[self._rank]
        return State.from_packed(self._own).sizes(self._n_classes)

    def write_held(self, sweep: int, pattern: str) -> None:
        """Write a state that is held."""
        self._folder.save(pattern.format(self.number), self._held[sweep])

    def load_state(self, pattern: str) -> None:
        """Return to a state that was written."""
        self._set_state(self._folder.load(pattern.format(self.number)))

    # -- steps

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every row."""
        return self._block.set_epsilon(epsilon, step)

    def watched_sweep(self, climb: float, publish: bool) -> dict[str, float]:
        """Move every row once; return the block's part of the tally."""
        start = self._receive()
        tally = self._block.watched_sweep(climb)
        return tally | self._finish(start, publish)

    def sweep(self, times: int, publish: bool) -> dict[str, float]:
        """Move every row ``times`` times."""
        start = self._receive()
        for _ in range(times):
            self._block.sweep()
        return self._finish(start, publish)

    def wake(self) -> int:
        """Count the rows that moved in the last sweep and those beside them."""
        self._receive()
        return self._block.wake()

    def sweep_awake(self, times: int, publish: bool) -> dict[str, float]:
        """Move the rows that are awake ``times`` times."""
        start = self._receive()
        for _ in range(times):
            self._block.sweep_awake()
        return {"awake": self._block.n_awake} | self._finish(start, publish)

    def wake_around_boundary(self) -> int:
        """Receive the boundary's update and wake the rows beside what moved there; count the awake rows."""
        before = self._block.front[: self._block.boundary].copy()
        self._receive()
        return self._block.wake_around_boundary(before)

    def publish(self) -> int:
        """Make available what changed at the boundary since the last time; return its bytes."""
        updates, n_bytes = {}, 0
        for peer, rows in self._read_by.items():
            now = self._block.front[rows]
            changed = np.flatnonzero((_bits(now) != _bits(self._sent[peer])).any(axis=1)).astype(np.int32)
            updates[peer] = changed, _bits(now[changed])
            n_bytes += sum(part.nbytes for part in updates[peer])
            self._sent[peer] = now
        self._published += 1
        self._updates.pop(self._published - 2, None)  # a slow neighbour may still fetch the last one
        self._updates[self._published] = updates
        return n_bytes

    def undo(self) -> None:
        """Take the last sweep back, and what it published."""
        self._block.undo()
        self._fetched = self._published
        self._sent = {peer: self._block.front[rows] for peer, rows in self._read_by.items()}

    def write_own_shares(self, pattern: str) -> None:
        """Write the share of every row's own class in the vote of its neighbours."""
        arm, out = self._own["arm"].astype(np.int32), np.zeros(len(self._own))
        for rows, votes in self._votes():
            out[rows] = votes[np.arange(len(votes)), arm[rows]]
        self._folder.save(pattern.format(self.number), np.where(arm >= 0, out, 0.0)[self._rank])

    def write_votes(self, positions: NDArray[np.int64], pattern: str) -> NDArray[np.float32]:
        """Write the votes of the neighbours of every row, as log-probabilities; return those on some rows."""
        out = np.empty((len(self._own), self._n_classes), np.float32)
        for rows, votes in self._votes():
            out[rows] = with_doubt(votes)
        out = out[self._rank]
        self._folder.save(pattern.format(self.number), out)
        return out[positions]

    # -- inside

    def _votes(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """The votes of the neighbours, some rows at a time."""
        self._receive()
        indptr, indices, weights = self._block.csr
        for rows in gen_batches(len(self._own), max(1, LARGEST_TABLE // self._n_classes)):
            ends = indptr[self._block.boundary + rows.start : self._block.boundary + rows.stop + 1]
            yield rows, vote_shares(ends, indices, weights, self._block.front, self._n_classes)

    @property
    def _own(self) -> NDArray[np.void]:
        return self._block.front[self._block.boundary :]

    def _at_hub(self, n: int) -> NDArray[np.void]:
        state = np.zeros(n, self._block.front.dtype)
        state["arm"] = -1
        return state

    def _reset_exchange(self) -> None:
        self._published = self._fetched = 0
        self._interrupted = False
        self._updates.clear()
        self._sent = {peer: self._at_hub(len(rows)) for peer, rows in self._read_by.items()}

    def _set_state(self, state: NDArray[np.void]) -> None:
        """Set the rows' state; until the first update all blocks assume each other's rows at the hub."""
        self._reset_exchange()
        self._block.front[: self._block.boundary] = self._at_hub(self._block.boundary)
        self._own[:] = state[self._order]
        self.publish()

    def _receive(self) -> float:
        """Use the threads of this worker, fetch updates of the boundary, and return the time."""
        use_threads()
        if self._fetched < self._published:
            updates = self._fetch_from_peers("boundary_update", self._published)
            for peer, (changed, states) in updates.items():
                boundary = self._block.front[self._boundary[peer]]
                boundary[changed] = states.view(boundary.dtype).ravel()
            self._fetched = self._published
        return perf_counter()

    def _finish(self, start: float, publish: bool) -> dict[str, float]:
        seconds = perf_counter() - start
        return {"seconds": seconds, "bytes": self.publish() if publish else 0}


def _bits(states: NDArray[np.void]) -> NDArray[np.int64]:
    """States as integers, which are equal only if all their bits are."""
    return np.ascontiguousarray(states).view(np.int64).reshape(len(states), states.dtype.itemsize // 8)
