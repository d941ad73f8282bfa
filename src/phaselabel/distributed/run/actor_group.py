"""Blocks on disk and a Dask client in, one actor per block, called together, out."""

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from time import monotonic, sleep
from typing import Any, TypeVar

from distributed import Client, Future, KilledWorker, fire_and_forget

from phaselabel.distributed.folder import Folder
from phaselabel.distributed.run.block_actor import BlockActor
from phaselabel.distributed.run.peer_actor import PeerActor
from phaselabel.distributed.tasks import NO_WORKER, StallTimeout

log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Seconds without an answer after which the worker of a block is looked at.
ANSWER_SECONDS = 2.0

#: Seconds without an answer after which the log names a block as slow.
SLOW_SECONDS = 30.0

#: Seconds to wait for the answer to a ping, or to an interrupt.
PING_SECONDS = 10.0

#: Seconds to wait for a call that was interrupted.
INTERRUPT_SECONDS = 60.0

#: Seconds to wait for a worker to come back.
WORKER_SECONDS = 60.0

#: Losses of workers in a row, at one step, after which the run ends with an error.
MAX_LOSSES_IN_A_ROW = 8

#: The error after that many losses.
TOO_MANY_LOSSES = (
    f"Workers were lost {MAX_LOSSES_IN_A_ROW} times in a row, most likely because they took more than their "
    "memory_limit; see their logs, give each more memory or add workers, and go on from the checkpoint "
    "folder (resume=True, or --resume)."
)


class WorkerLost(Exception):
    """A worker with some of the blocks is gone; :meth:`ActorGroup.replace_lost` makes them again."""


class ActorGroup:
    """One actor per block, spread evenly over the workers.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    folder : Folder
        The files of the job.
    n_blocks, n_classes, size : int
        The blocks, the classes, and the size of the largest array of the whole graph.
    workers : sequence of str, optional
        Addresses of the workers that may be used; all by default.
    kind : class, optional
        The class of the actors; by default the one that flows.
    """

    def __init__(
        self,
        client: Client,
        folder: Folder,
        n_blocks: int,
        n_classes: int,
        size: int,
        workers: Sequence[str] | None = None,
        kind: type[PeerActor] = BlockActor,
    ) -> None:
        self.client, self._allowed, self._kind = client, workers, kind
        token = uuid.uuid4().hex[:8]
        self._name, self._mark_name = f"phaselabel-block-{token}", f"phaselabel-sweep-{token}"
        self._arguments = folder, n_classes, size
        self._submissions = 0
        self._futures: dict[int, Future[Any]] = {}
        self._actors: dict[int, Any] = {}
        self._addresses: dict[int, str] = {}
        self.lost: set[str] = set()  # addresses of workers
        try:
            self._submit(range(n_blocks))
        except WorkerLost:
            self.replace_lost()

    def __len__(self) -> int:
        return len(self._actors)

    def call(self, method: str, *shared: Any, each: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """Call a method of every block and wait for all; return the results in the order of the blocks.

        ``each`` holds the arguments of every block; ``shared`` come after them.
        """
        calls: dict[int, Any] = {}
        tell_at = monotonic() + SLOW_SECONDS
        try:
            for number, actor in sorted(self._actors.items()):
                calls[number] = getattr(actor, method)(*(each[number] if each else ()), *shared)
            while True:
                unfinished = [number for number, call in calls.items() if not _is_answered(call)]
                if not unfinished:
                    return [call.result() for _, call in sorted(calls.items())]
                if monotonic() > tell_at:
                    tell_at += SLOW_SECONDS
                    log.info("Waiting for %r of %s.", method, self._named(unfinished))
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            if not self._unresponsive():
                raise
            self._interrupt(calls)
            raise WorkerLost(str(error)) from error

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Do some work, from its beginning again whenever a worker is lost."""
        for _ in range(MAX_LOSSES_IN_A_ROW):
            try:
                return work()
            except WorkerLost:
                self.replace_lost()
        raise RuntimeError(TOO_MANY_LOSSES)

    def call_in_turn(self, *calls: tuple[Any, ...]) -> None:
        """Make several calls, from the first one again whenever a worker is lost."""
        self.repeated(lambda: [self.call(method, *shared) for method, *shared in calls])

    def replace_lost(self) -> None:
        """Make the blocks of lost workers again, on the workers that are left."""
        for _ in range(MAX_LOSSES_IN_A_ROW):
            silent, missing = set(self._unresponsive()), set(self._addresses) - set(self._actors)
            gone = {self._addresses[number] for number in missing} - self._live_workers()
            gone |= {self._addresses[number] for number in silent}
            lost = sorted(silent | missing)
            self.lost |= gone
            log.warning(
                "Lost %s with blocks %s of %d; they are made again on other workers.",
                ", ".join(sorted(gone)) or "a worker", ", ".join(map(str, lost)), len(self._addresses),
            )  # fmt: skip
            self.client.cancel([self._futures.pop(number) for number in lost])
            for number in lost:
                self._actors.pop(number, None)
                del self._addresses[number]
            try:
                return self._submit(lost)
            except WorkerLost:
                continue
        raise RuntimeError(TOO_MANY_LOSSES)

    def mark(self, name: str) -> None:
        """Leave a task in the task stream, where calls of actors are not shown."""
        # A task whose future is let go before it has run would not be there.
        fire_and_forget(self.client.submit(str, name, key=f"{self._mark_name}-{name}", pure=False))

    def release(self) -> None:
        """Let all actors go."""
        self.client.cancel(list(self._futures.values()))
        self._futures.clear()
        self._actors.clear()

    def _submit(self, numbers: Collection[int]) -> None:
        folder, n_classes, size = self._arguments
        self._submissions += 1
        loads = Counter({address: 0 for address in self._wait_for_workers()})
        loads.update(self._addresses.values())
        for number in numbers:
            address = min(loads, key=lambda a: (loads[a], a))
            loads[address] += 1
            self._addresses[number] = address
            self._futures[number] = self.client.submit(
                self._kind, folder, number, n_classes, size, actor=True, workers=[address], pure=False,
                key=f"{self._name}-{self._submissions}-{number}",
            )  # fmt: skip
        for number in numbers:
            self._actors[number] = self._wait_for_block(number)
        log.info("%s of %d: %s.", self._kind.__name__, len(self._actors), self._named(numbers))
        addresses = {number: (self._addresses[number], self._futures[number].key) for number in self._actors}
        self.call("connect", addresses)

    def _named(self, numbers: Collection[int]) -> str:
        """Some blocks, each with the address of its worker."""
        return ", ".join(f"block {number} on {self._addresses[number]}" for number in numbers)

    def _wait_for_block(self, number: int) -> Any:
        """The actor of a block, once it has loaded its arrays; its worker may be lost before."""
        stall = StallTimeout(self.client, WORKER_SECONDS)
        while True:
            try:
                return self._futures[number].result(timeout=ANSWER_SECONDS)
            except TimeoutError:
                if self._addresses[number] not in self._live_workers():
                    raise WorkerLost(f"{self._addresses[number]} is gone.") from None
                stall.wait([self._addresses[number]])
            except (RuntimeError, OSError, ValueError, KilledWorker) as error:
                if self._addresses[number] in self._live_workers():
                    raise
                raise WorkerLost(str(error)) from error

    def _live_workers(self) -> set[str]:
        live = set(self.client.scheduler_info(n_workers=-1)["workers"]) - self.lost
        # Where all allowed workers are gone, the others are used.
        return live & set(self._allowed) or live if self._allowed else live

    def _wait_for_workers(self) -> set[str]:
        end = monotonic() + WORKER_SECONDS
        while monotonic() < end:
            if live := self._live_workers():
                return live
            sleep(0.2)
        raise RuntimeError(NO_WORKER.format(WORKER_SECONDS))

    def _unresponsive(self) -> list[int]:
        """The blocks that do not answer any more."""
        silent = []
        for number, actor in sorted(self._actors.items()):
            try:
                actor.ping().result(timeout=PING_SECONDS)
            except Exception:  # whatever the error: a block that does not answer is lost
                silent.append(number)
        return silent

    def _interrupt(self, calls: dict[int, Any]) -> None:
        """Make the remaining blocks stop waiting for lost ones, and wait until they have."""
        for actor in self._actors.values():
            try:
                actor.interrupt().result(timeout=PING_SECONDS)
            except Exception:  # a lost block; the next lines find out which
                continue
        lost = set(self._unresponsive())
        for number, call in calls.items():
            if number not in lost:
                try:
                    call.result(timeout=INTERRUPT_SECONDS)
                except Exception:  # the call was interrupted; only its end matters here
                    continue


def _is_answered(call: Any) -> bool:
    """Wait a moment for a call; raise what it raised."""
    try:
        call.result(timeout=ANSWER_SECONDS)
    except TimeoutError:
        return bool(call.done())
    return True
