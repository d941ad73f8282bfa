"""One block's rows in, their state sweep by sweep out: what lives on a worker while the flow runs."""

import asyncio
from time import perf_counter
from typing import Any, Literal

import numpy as np
from distributed import get_worker
from distributed.protocol import to_serialize
from distributed.utils import sync
from numpy.typing import NDArray

from phaselabel import _kernels
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.pieces import piece_file
from phaselabel.distributed.tasks import use_threads
from phaselabel.graph.graph import FITS_CACHE, in_walking_order
from phaselabel.patch import Patch
from phaselabel.star import LEAF, State

#: Where to find a block: the address of its worker, and its name there.
Address = tuple[str, str]


class PeerLost(OSError):
    """The worker of a neighbouring block does not answer any more."""


class Block:
    """The rows of one block and the state of its boundary; a Dask actor.

    The caller makes all blocks take the same steps and waits for all of them in between. A step may end by
    publishing what changed at the boundary; the next one begins by fetching it from the other workers.
    """

    def __init__(self, folder: Folder, number: int, n_classes: int, size: int) -> None:
        names = ("indptr", "indices", "weights", "row_sums", "owners")
        indptr, indices, weights, row_sums, owners = (folder.load(piece_file(number, n)) for n in names)
        self._folder, self.number, self._n_classes = folder, number, n_classes
        # Rows are renumbered for the cache; nobody outside sees it.
        h = len(owners)
        order, csr = np.arange(len(row_sums)), (indptr, indices, weights)
        if len(order) > FITS_CACHE:
            order, csr = in_walking_order(csr, fixed=h)
        self._order = order[h:] - h
        self._rank = np.empty(len(self._order), np.int64)
        self._rank[self._order] = np.arange(len(self._order))
        self._patch = Patch(csr, row_sums[order], n_classes, boundary=h, size=size)
        self._held: dict[int, NDArray[np.void]] = {}
        peers = np.unique(owners)
        cuts = np.searchsorted(owners, np.append(peers, np.iinfo(np.int64).max))
        self._halo = {int(p): slice(a, b) for p, a, b in zip(peers, cuts, cuts[1:])}
        # Whom another block reads here is who has an edge to it: the graph is symmetric.
        self._read_by = {
            p: h + self._rank[np.unique(indices[indptr[part.start] : indptr[part.stop]]).astype(np.int64) - h]
            for p, part in self._halo.items()
        }
        self._addresses: dict[int, Address] = {}
        self._published = self._fetched = 0
        self._abandoned = False
        self._parcels: dict[int, dict[int, tuple[Any, Any]]] = {}
        self._sent: dict[int, NDArray[np.void]] = {}
        self._forget()

    # -- who is where, and what became of them

    async def ping(self) -> int:
        """Say that it is alive."""
        return self.number

    def meet(self, addresses: dict[int, Address]) -> None:
        """Learn where the other blocks are."""
        self._addresses = {peer: addresses[peer] for peer in self._halo}
        self._abandoned = False

    async def abandon(self) -> None:
        """Wait for nobody any more: a worker was lost."""
        self._abandoned = True

    async def parcel(self, peer: int, number: int) -> tuple[Any, Any]:
        """What changed for another block: where, in its order, and the new states."""
        return self._parcels[number][peer]

    # -- a start, a way back

    def start(self, rows: NDArray[np.int64], labels: NDArray[np.int32], fidelity: NDArray[Any]) -> None:
        """Begin at the hub, the known labels of some rows at their leaves."""
        patch = self._patch
        known = np.full(len(patch.front), -1, np.int32)
        mu = np.zeros(len(patch.front))
        here = patch.boundary + self._rank[rows]
        known[here], mu[here] = labels, fidelity
        state = self._at_hub(len(patch.front))
        trusted = mu > 0
        state["arm"][trusted], state["height"][trusted] = known[trusted], LEAF
        patch.start(state, known, mu)
        self._held.clear()
        self._begin(state[patch.boundary :][self._rank])

    def restore(self, sweep: int) -> None:
        """Go back to a checkpoint."""
        for kept in self._folder.facts(_held_file(self.number, sweep)):
            self._held[kept] = self._folder.load(_state_file(self.number, sweep, kept))
        self._begin(self._folder.load(_state_file(self.number, sweep, sweep)))

    def save(self, sweep: int) -> None:
        """Write a checkpoint."""
        others = sorted(s for s in self._held if s < sweep)
        for kept in others:
            self._folder.save(_state_file(self.number, sweep, kept), self._held[kept])
        self._folder.note(_held_file(self.number, sweep), others)
        self._folder.save(_state_file(self.number, sweep, sweep), self._own[self._rank])

    def forget(self, sweep: int) -> None:
        """Remove a checkpoint."""
        self._folder.remove(f"checkpoints/{self.number:05d}-{sweep:08d}-*")

    def hold(self, sweep: int) -> NDArray[np.int64]:
        """Keep a copy of the state, and of the one held before; answer the classes' sizes."""
        self._held = {s: self._held[s] for s in sorted(self._held)[-1:] if s < sweep}
        self._held[sweep] = self._own[self._rank]
        return State.from_packed(self._own).sizes(self._n_classes)

    def write(self, sweep: int, pattern: str) -> None:
        """Write a state that is held, for all to read."""
        self._folder.save(pattern.format(self.number), self._held[sweep])

    def take(self, pattern: str) -> None:
        """Go back to a state that was written."""
        self._begin(self._folder.load(pattern.format(self.number)))

    def settle(self, sweep: int) -> None:
        """Go back to a state that is held."""
        self._begin(self._held[sweep])

    # -- steps

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every row."""
        return self._patch.set_epsilon(epsilon, step)

    def look(self, climb: float, publish: bool) -> dict[str, float]:
        """One watched sweep."""
        start = self._ready()
        tally = self._patch.watched_sweep(climb)
        return tally | self._done(start, publish)

    def sweep(self, times: int, publish: bool) -> dict[str, float]:
        """Sweeps of all rows."""
        start = self._ready()
        for _ in range(times):
            self._patch.sweep()
        return self._done(start, publish)

    def wake(self) -> int:
        """Who moved in the last sweep, and whom they shift."""
        self._ready()
        return self._patch.wake()

    def sweep_awake(self, times: int, publish: bool) -> dict[str, float]:
        """Sweeps of those who are awake."""
        start = self._ready()
        for _ in range(times):
            self._patch.sweep_awake()
        return {"awake": self._patch.n_awake} | self._done(start, publish)

    def rouse(self) -> int:
        """Fetch the boundary's news and wake those beside who moved there."""
        before = self._patch.front[: self._patch.boundary].copy()
        self._ready()
        return self._patch.wake_around_boundary(before)

    def publish(self) -> int:
        """Lay out what changed at the boundary since the last time; the bytes of it."""
        parcels, n_bytes = {}, 0
        for peer, rows in self._read_by.items():
            now = self._patch.front[rows]
            changed = np.flatnonzero((_bits(now) != _bits(self._sent[peer])).any(axis=1)).astype(np.int32)
            parcels[peer] = changed, _bits(now[changed])
            n_bytes += sum(part.nbytes for part in parcels[peer])
            self._sent[peer] = now
        self._published += 1
        self._parcels.pop(self._published - 2, None)  # a slow neighbour may still ask for the last ones
        self._parcels[self._published] = parcels
        return n_bytes

    def undo(self) -> None:
        """Take the last sweep back, and its news."""
        self._patch.undo()
        self._fetched = self._published
        self._sent = {peer: self._patch.front[rows] for peer, rows in self._read_by.items()}

    def shares(self, pattern: str) -> None:
        """Write the share of every row's own class in its neighbours' vote."""
        self._ready()
        indptr, indices, weights = self._patch.csr
        arm, b = self._own["arm"].astype(np.int32), self._patch.boundary
        out = np.zeros(len(arm))
        step = max(1, 10_000_000 // self._n_classes)
        for start in range(0, len(arm), step):
            rows = slice(start, min(start + step, len(arm)))
            votes = np.zeros((rows.stop - rows.start, self._n_classes))
            ends = indptr[b + rows.start : b + rows.stop + 1]
            _kernels.vote_shares(ends, indices, weights, self._patch.front, votes)
            out[rows] = votes[np.arange(len(votes)), arm[rows]]
        self._folder.save(pattern.format(self.number), np.where(arm >= 0, out, 0.0)[self._rank])

    # -- inside

    @property
    def _own(self) -> NDArray[np.void]:
        return self._patch.front[self._patch.boundary :]

    def _at_hub(self, n: int) -> NDArray[np.void]:
        state = np.zeros(n, self._patch.front.dtype)
        state["arm"] = -1
        return state

    def _forget(self) -> None:
        self._published = self._fetched = 0
        self._abandoned = False
        self._parcels.clear()
        self._sent = {peer: self._at_hub(len(rows)) for peer, rows in self._read_by.items()}

    def _begin(self, state: NDArray[np.void]) -> None:
        """Take a state; until news comes others, and we to them, are thought to be at the hub."""
        self._forget()
        self._patch.front[: self._patch.boundary] = self._at_hub(self._patch.boundary)
        self._own[:] = state[self._order]
        self.publish()

    def _ready(self) -> float:
        """Use the threads of this worker, fetch what is new, and start the clock."""
        use_threads()
        worker = get_worker()
        if self._fetched < self._published:
            news = sync(worker.loop, self._fetch, worker, self._published) if self._halo else {}
            for peer, (where, states) in news.items():
                halo = self._patch.front[self._halo[peer]]
                halo[where] = states.view(halo.dtype).ravel()
            self._fetched = self._published
        return perf_counter()

    async def _fetch(self, worker: Any, number: int) -> dict[int, tuple[Any, Any]]:
        calls = {peer: asyncio.ensure_future(self._ask(worker, peer, number)) for peer in self._halo}
        waiting = set(calls.values())
        while waiting and not self._abandoned:
            done, waiting = await asyncio.wait(waiting, timeout=0.5, return_when=asyncio.FIRST_EXCEPTION)
            if any(call.exception() for call in done):
                break
        for call in waiting:
            call.cancel()
        if waiting or any(call.exception() for call in calls.values()):
            raise PeerLost("A block beside this one was lost.")
        return {peer: call.result() for peer, call in calls.items()}

    async def _ask(self, worker: Any, peer: int, number: int) -> tuple[Any, Any]:
        address, key = self._addresses[peer]
        if address == worker.address:
            neighbour: Block = worker.state.actors[key]
            return await neighbour.parcel(self.number, number)
        # As distributed.Actor does it; that one would make every worker a client that keeps its peers alive.
        asked = [to_serialize(self.number), to_serialize(number)]
        answer = await worker.rpc(address).actor_execute(function="parcel", actor=key, args=asked, kwargs={})
        if answer["status"] != "OK":
            raise PeerLost(str(answer["exception"]))
        return answer["result"]

    def _done(self, start: float, publish: bool) -> dict[str, float]:
        seconds = perf_counter() - start
        return {"seconds": seconds, "bytes": self.publish() if publish else 0}


def _bits(states: NDArray[np.void]) -> NDArray[Any]:
    """States as plain numbers: what is equal is equal to the last bit."""
    return np.ascontiguousarray(states).view(np.int64).reshape(len(states), states.dtype.itemsize // 8)


def _state_file(block: int, sweep: int, state: int) -> str:
    return f"checkpoints/{block:05d}-{sweep:08d}-{state:08d}.npy"


def _held_file(block: int, sweep: int) -> str:
    return f"checkpoints/{block:05d}-{sweep:08d}-held.json"
