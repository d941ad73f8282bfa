"""Blocks on disk and a Dask client in, actors on its workers that answer together out."""

import logging
import uuid
from collections import Counter
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

from distributed import Client, KilledWorker

from phaselabel.distributed.blocks import Block
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.tasks import NO_WORKER, Patience

log = logging.getLogger(__name__)

#: Seconds until a silent block is asked whether it is alive, and to wait for a worker to come back.
SILENCE, PATIENCE = 2.0, 60.0


#: Losses of workers at one step before giving up, and what is said then.
MOST_LOSSES = 8
LOST_TOO_OFTEN = (
    f"Workers were lost {MOST_LOSSES} times in a row, most likely because they took more than their "
    "memory_limit; see their logs, give each more memory or add workers, and go on from the checkpoint "
    "folder (resume=True, or --resume)."
)


class WorkerLost(Exception):
    """A worker with some of the blocks is gone; the crew can be made complete again."""


class Crew:
    """One actor per block, spread evenly over the workers."""

    def __init__(
        self,
        client: Client,
        folder: Folder,
        n_blocks: int,
        n_classes: int,
        size: int,
        workers: Sequence[str] | None = None,
    ) -> None:
        self._client, self._allowed = client, workers
        self._name = f"phaselabel-block-{uuid.uuid4().hex[:8]}"
        self._arguments = folder, n_classes, size
        self._hires = 0
        self._futures: dict[int, Any] = {}
        self._actors: dict[int, Any] = {}
        self._where: dict[int, str] = {}
        self._dead: set[str] = set()
        self.losses = 0
        try:
            self._hire(range(n_blocks))
        except WorkerLost:
            self.complete()

    def __len__(self) -> int:
        return len(self._actors)

    def everyone(self, method: str, *shared: Any, each: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """Call a method of every block, with arguments of its own and some that all share; wait for all."""
        calls: dict[int, Any] = {}
        try:
            for number, actor in sorted(self._actors.items()):
                calls[number] = getattr(actor, method)(*(each[number] if each else ()), *shared)
            while True:
                unfinished = [call for call in calls.values() if not _answered(call)]
                if not unfinished:
                    return [call.result() for _, call in sorted(calls.items())]
        except (OSError, RuntimeError, KeyError) as error:
            if not self._lost():
                raise
            self._release(calls)
            raise WorkerLost(str(error)) from error

    def complete(self) -> None:
        """Make blocks anew whose workers are gone, on those that are left."""
        for _ in range(MOST_LOSSES):
            silent, missing = set(self._lost()), set(self._where) - set(self._actors)
            gone = {self._where[number] for number in missing} - self._present()
            gone |= {self._where[number] for number in silent}
            lost = sorted(silent | missing)
            self.losses += len(gone - self._dead)
            self._dead |= gone
            log.warning(
                "A worker was lost with %d of %d blocks; they go on elsewhere.", len(lost), len(self._where)
            )
            self._client.cancel([self._futures.pop(number) for number in lost])
            for number in lost:
                self._actors.pop(number, None)
                del self._where[number]
            try:
                return self._hire(lost)
            except WorkerLost:
                continue
        raise RuntimeError(LOST_TOO_OFTEN)

    def dismiss(self) -> None:
        """Let all blocks go."""
        self._client.cancel(list(self._futures.values()))
        self._futures.clear()
        self._actors.clear()

    def _hire(self, numbers: Sequence[int]) -> None:
        folder, n_classes, size = self._arguments
        self._hires += 1
        loads = Counter({address: 0 for address in self._workers()})
        loads.update(self._where.values())
        for number in numbers:
            address = min(loads, key=lambda a: (loads[a], a))
            loads[address] += 1
            self._where[number] = address
            self._futures[number] = self._client.submit(
                Block, folder, number, n_classes, size, actor=True, workers=[address], pure=False,
                key=f"{self._name}-{self._hires}-{number}",
            )  # fmt: skip
        for number in numbers:
            self._actors[number] = self._arrived(number)
        addresses = {number: (self._where[number], self._futures[number].key) for number in self._actors}
        self.everyone("meet", addresses)

    def _arrived(self, number: int) -> Any:
        """A block, once it has loaded what it needs; its worker may be lost before."""
        patience = Patience(self._client, PATIENCE)
        while True:
            try:
                return self._futures[number].result(timeout=SILENCE)
            except TimeoutError:
                if self._where[number] not in self._present():
                    raise WorkerLost(f"{self._where[number]} is gone.") from None
                patience.wait([self._where[number]])
            except (RuntimeError, OSError, KilledWorker) as error:
                if self._where[number] in self._present():
                    raise
                raise WorkerLost(str(error)) from error

    def _present(self) -> set[str]:
        found = set(self._client.scheduler_info(n_workers=-1)["workers"]) - self._dead
        # Where all that were named are gone, whoever is there must do.
        return found & set(self._allowed) or found if self._allowed else found

    def _workers(self) -> set[str]:
        end = monotonic() + PATIENCE
        while monotonic() < end:
            if found := self._present():
                return found
            sleep(0.2)
        raise RuntimeError(NO_WORKER.format(PATIENCE))

    def _lost(self) -> list[int]:
        """Who does not answer any more."""
        lost = []
        for number, actor in sorted(self._actors.items()):
            try:
                actor.ping().result(timeout=10)
            except Exception:  # of whatever kind: who doesn't answer is lost
                lost.append(number)
        return lost

    def _release(self, calls: dict[int, Any]) -> None:
        """Make those who are left stop waiting for the lost ones, and wait until they have."""
        for actor in self._actors.values():
            try:
                actor.abandon().result(timeout=10)
            except Exception:  # a lost one; who is lost is asked next
                continue
        lost = set(self._lost())
        for number, call in calls.items():
            if number not in lost:
                try:
                    call.result(timeout=60)
                except Exception:  # the call was abandoned: it is over, and that is all that is waited for
                    continue


def _answered(call: Any) -> bool:
    """Wait a little; raises what the call raised."""
    try:
        call.result(timeout=SILENCE)
    except TimeoutError:
        return bool(call.done())
    return True
