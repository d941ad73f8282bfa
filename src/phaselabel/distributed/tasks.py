"""Functions and arguments in, named tasks on a cluster and their results out."""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic, sleep
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed, get_worker

#: The error where no worker is left.
NO_WORKER = (
    "The cluster has had no worker for {:.0f} seconds; start some, and go on from the checkpoint folder "
    "(resume=True, or --resume)."
)

#: The error where tasks were cancelled while they were waited for.
CUT_OFF = (
    "The tasks of the stage {!r} were cancelled: the scheduler has ended, the connection to it broke, or "
    "somebody cancelled them; go on from the checkpoint folder (resume=True, or --resume)."
)

#: Seconds between two requests for the state of the workers.
POLL_SECONDS = 2.0

#: Called with (stage, done, total).
Progress = Callable[[str, int, int], None]

#: Held by the one task of this worker that uses all its threads and much of its memory.
_exclusive = Lock()


class Tasks:
    """The tasks of one job; the dashboard shows them as ``phaselabel-STAGE``."""

    def __init__(self, client: Client, progress: Progress | None = None) -> None:
        self.client = client
        self.token = uuid.uuid4().hex[:8]
        self._n_single = 0
        self._progress = progress or (lambda stage, done, total: None)

    def run(
        self, stage: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """Call a function once per tuple of arguments; return the results, which must be small, in order."""
        import dask

        call = dask.delayed(function, pure=False, traverse=False)
        # A key that the cluster still knows would bring the answers of an earlier call.
        token = uuid.uuid4().hex[:8]
        graph = [
            call(*given, dask_key_name=f"phaselabel-{stage}-{token}-{i}") for i, given in enumerate(arguments)
        ]
        return self._gather(stage, self.client.compute(graph))

    def run_once(
        self,
        stage: str,
        function: Callable[..., Any],
        *arguments: Any,
        workers: Sequence[str] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Any:
        """Call a function once, on one of ``workers`` if possible; its arguments may be futures.

        ``meanwhile`` is called again and again until the result is there.
        """
        self._n_single += 1
        future = self.client.submit(
            function, *arguments, key=f"phaselabel-{stage}-{self.token}-{self._n_single}", pure=False,
            workers=workers, allow_other_workers=workers is not None,
        )  # fmt: skip
        return self._gather(stage, [future], meanwhile)[0]

    def _gather(
        self, stage: str, futures: list["Future[Any]"], meanwhile: Callable[[], None] | None = None
    ) -> list[Any]:
        index = {future.key: i for i, future in enumerate(futures)}
        results: list[Any] = [None] * len(futures)
        self._progress(stage, 0, len(futures))
        completed, done, stall = as_completed(futures, with_results=True), 0, StallTimeout(self.client)
        try:
            while done < len(futures):
                if not completed.has_ready():
                    if meanwhile is not None:
                        meanwhile()
                    stall.wait()
                    continue
                future, result = next(completed)
                if future.cancelled():  # its result is the error
                    raise RuntimeError(CUT_OFF.format(stage))
                results[index[future.key]] = result
                done += 1
                self._progress(stage, done, len(futures))
        except KilledWorker as error:
            raise RuntimeError(
                f"Workers died again and again at one task of the stage {stage!r}, most likely because it "
                "took more than their memory_limit; give each worker more memory, or fewer threads."
            ) from error
        finally:
            # After an error or Ctrl-C the remaining tasks are cancelled, and no tasks of other jobs.
            self.client.cancel([future for future in futures if not future.done()])
        return results

    def workers(self) -> dict[str, dict[str, Any]]:
        """Describe every worker as the scheduler does, and its memory in use; wait for the first worker."""
        workers: dict[str, dict[str, Any]] = {}
        while not workers:  # a client that finds its scheduler again knows no worker for a moment
            self.client.wait_for_workers(1, timeout=60)
            in_use = self.client.run(_unspillable_bytes, on_error="ignore")
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return {address: {**worker, "in_use": in_use.get(address, 0)} for address, worker in workers.items()}


class StallTimeout:
    """Wait for a cluster, and raise an error once it has made no progress for ``seconds``.

    A worker whose memory is nearly full starts no task. If it runs none either, its memory stays full.
    """

    def __init__(self, client: Client, seconds: float = 60.0) -> None:
        self._client, self._seconds = client, seconds
        self._last_poll = self._last_progress = monotonic()

    def wait(self, workers: Collection[str] = ()) -> None:
        """Wait a moment; raise if none of ``workers``, or of all, has been able to work for too long."""
        sleep(0.01)
        now = monotonic()
        if now < self._last_poll + POLL_SECONDS:
            return
        self._last_poll = now
        present = self._client.scheduler_info(n_workers=-1)["workers"]
        if any(_can_work(present[address]) for address in workers or present if address in present):
            self._last_progress = now
        if now < self._last_progress + self._seconds:
            return
        if not present:
            raise RuntimeError(NO_WORKER.format(self._seconds))
        raise RuntimeError(
            f"No worker has started anything for {self._seconds:.0f} seconds: their memory is full, and "
            "nothing runs that would free it; give them a larger memory_limit or restart them, and go on "
            "from the checkpoint folder (resume=True, or --resume)."
        )


def _can_work(worker: dict[str, Any]) -> bool:
    """Whether a worker accepts tasks, or runs one."""
    return worker["status"] == "running" or bool(worker["metrics"].get("task_counts", {}).get("executing"))


def _unspillable_bytes(dask_worker: Any) -> int:
    """Memory of a worker's process that is not data which Dask could spill."""
    return int(dask_worker.monitor.get_process_memory() - dask_worker.state.nbytes)


@contextmanager
def exclusive_worker() -> Iterator[int]:
    """Run no other task of this kind on this worker; use as many threads as the worker has."""
    import faiss
    from threadpoolctl import threadpool_limits

    with _exclusive:
        threads = use_threads()
        faiss.omp_set_num_threads(threads)
        with threadpool_limits(threads):
            yield threads


def is_cancelled() -> bool:
    """Whether no client waits for the task that calls this any more: its client cancelled it, or is gone."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def use_threads() -> int:
    """Let kernels run on as many threads as this worker has; return their number."""
    import numba

    threads: int = max(1, min(get_worker().state.nthreads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    numba.set_num_threads(threads)
    return threads
