"""The blocks that share edges with one block in, what they publish for it out: calls from actor to actor."""

import asyncio
from typing import Any

import numpy as np
from distributed import get_worker
from distributed.protocol import to_serialize
from distributed.utils import sync
from numpy.typing import NDArray

from phaselabel.distributed.folder import Folder

#: The address of a block's worker, and the key of its actor there.
Address = tuple[str, str]


class PeerLost(OSError):
    """The worker of a neighbouring block does not answer any more."""


class PeerActor:
    """A Dask actor that fetches from the actors of neighbouring blocks, on whatever workers they are.

    Parameters
    ----------
    folder : Folder
        The files of the blocks.
    number : int
        The block.
    n_classes : int
        K.
    """

    def __init__(self, folder: Folder, number: int, n_classes: int) -> None:
        self._folder, self.number, self._n_classes = folder, number, n_classes
        self._addresses: dict[int, Address] = {}
        self._interrupted = False

    def _find_peers(
        self, owners: NDArray[np.int32], indptr: NDArray[np.uint32], indices: NDArray[np.uint32]
    ) -> None:
        """Find the part of every other block in the boundary, and the rows here that the block reads."""
        peers = np.unique(owners)
        cuts = np.searchsorted(owners, np.append(peers, np.iinfo(np.int64).max))
        self._boundary = {int(p): slice(a, b) for p, a, b in zip(peers, cuts, cuts[1:])}
        # The graph is symmetric, so another block reads those rows that have an edge to it.
        self._read_by = {
            p: np.unique(indices[indptr[part.start] : indptr[part.stop]]).astype(np.int64) - len(owners)
            for p, part in self._boundary.items()
        }

    async def ping(self) -> int:
        """Answer, to show that the worker is alive."""
        return self.number

    def connect(self, addresses: dict[int, Address]) -> None:
        """Set the addresses of the other blocks."""
        self._addresses = {peer: addresses[peer] for peer in self._boundary}
        self._interrupted = False

    async def interrupt(self) -> None:
        """Stop waiting for other blocks: a worker was lost."""
        self._interrupted = True

    def _fetch_from_peers(self, method: str, number: int) -> dict[int, Any]:
        """Call a method of every neighbouring block with this block's number and ``number``."""
        worker = get_worker()
        return sync(worker.loop, self._fetch_all, worker, method, number) if self._boundary else {}

    async def _fetch_all(self, worker: Any, method: str, number: int) -> dict[int, Any]:
        calls = {
            peer: asyncio.ensure_future(self._fetch(worker, peer, method, number)) for peer in self._boundary
        }
        waiting = set(calls.values())
        while waiting and not self._interrupted:
            done, waiting = await asyncio.wait(waiting, timeout=0.5, return_when=asyncio.FIRST_EXCEPTION)
            if any(call.exception() for call in done):
                break
        for call in waiting:
            call.cancel()
        if waiting or any(call.exception() for call in calls.values()):
            raise PeerLost("A block beside this one was lost.")
        return {peer: call.result() for peer, call in calls.items()}

    async def _fetch(self, worker: Any, peer: int, method: str, number: int) -> Any:
        address, key = self._addresses[peer]
        if address == worker.address:
            return await getattr(worker.state.actors[key], method)(self.number, number)
        # The handler that distributed.Actor calls; that class would make every worker a client that keeps the
        # actors of its neighbours alive.
        arguments = [to_serialize(self.number), to_serialize(number)]
        answer = await worker.rpc(address).actor_execute(
            function=method, actor=key, args=arguments, kwargs={}
        )
        if answer["status"] != "OK":
            raise PeerLost(str(answer["exception"]))
        return answer["result"]
