"""Functions and arguments in, named tasks on a cluster and their answers out."""

import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic, sleep
from typing import Any

from distributed import Client, KilledWorker, as_completed, get_worker

#: What is said where nobody is left to work.
NO_WORKER = (
    "The cluster has had no worker for {:.0f} seconds; start some, and go on from the checkpoint folder "
    "(resume=True, or --resume)."
)

#: Called with (stage, done, total).
Progress = Callable[[str, int, int], None]

#: What uses all threads of a worker, and much of its memory, runs alone there.
_alone = Lock()


class Tasks:
    """The tasks of one job; the dashboard shows them as ``phaselabel-STAGE``."""

    def __init__(self, client: Client, progress: Progress | None = None) -> None:
        self.client = client
        self.token = uuid.uuid4().hex[:8]
        self._progress = progress or (lambda stage, done, total: None)

    def run(
        self, stage: str, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """The answers to one call per tuple of arguments, in order; they are small and come here."""
        import dask

        call = dask.delayed(function, pure=False, traverse=False)
        graph = [
            call(*given, dask_key_name=f"phaselabel-{stage}-{self.token}-{i}")
            for i, given in enumerate(arguments)
        ]
        return self._gathered(stage, self.client.compute(graph))

    def single(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """The answer to one call, whose arguments may be futures."""
        key = f"phaselabel-{stage}-{self.token}"
        return self._gathered(stage, [self.client.submit(function, *arguments, key=key, pure=False)])[0]

    def _gathered(self, stage: str, futures: list[Any]) -> list[Any]:
        place = {future.key: i for i, future in enumerate(futures)}
        found: list[Any] = [None] * len(futures)
        self._progress(stage, 0, len(futures))
        coming, done, patience = as_completed(futures, with_results=True), 0, Patience(self.client)
        try:
            while done < len(futures):
                if not coming.has_ready():
                    patience.wait()
                    continue
                future, answer = next(coming)
                found[place[future.key]] = answer
                done += 1
                self._progress(stage, done, len(futures))
        except KilledWorker as error:
            raise RuntimeError(
                f"Workers died again and again at one task of the stage {stage!r}, most likely because it "
                "took more than their memory_limit; give each worker more memory, or fewer threads."
            ) from error
        finally:
            # After an error or Ctrl-C the others are not wanted any more; nobody else's tasks are touched.
            self.client.cancel([future for future in futures if not future.done()])
        return found

    def workers(self) -> dict[str, dict[str, Any]]:
        """What the scheduler knows of every worker, and the memory taken there; waits for the first one."""
        self.client.wait_for_workers(1, timeout=60)
        taken = self.client.run(_taken, on_error="ignore")
        known = self.client.scheduler_info(n_workers=-1)["workers"]
        return {address: {**worker, "taken": taken.get(address, 0)} for address, worker in known.items()}


class Patience:
    """Waits for a cluster, but not for one that has come to a standstill.

    A worker whose memory is nearly full starts nothing new; if nothing runs there either, it will stay full.
    """

    def __init__(self, client: Client, seconds: float = 60.0) -> None:
        self._client, self._seconds = client, seconds
        self._asked = self._moved = monotonic()

    def wait(self, workers: Collection[str] = ()) -> None:
        """Wait a moment; raise if none of these workers, or of all, has been able to work for too long."""
        sleep(0.01)
        now = monotonic()
        if now < self._asked + 2:
            return
        self._asked = now
        present = self._client.scheduler_info(n_workers=-1)["workers"]
        asked = {address: present[address] for address in workers or present if address in present}
        if any(_works(worker) for worker in asked.values()):
            self._moved = now
        if now < self._moved + self._seconds:
            return
        if not present:
            raise RuntimeError(NO_WORKER.format(self._seconds))
        raise RuntimeError(
            f"No worker has started anything for {self._seconds:.0f} seconds: their memory is full, and "
            "nothing runs that would free it; give them a larger memory_limit or restart them, and go on "
            "from the checkpoint folder (resume=True, or --resume)."
        )


def _works(worker: dict[str, Any]) -> bool:
    """Whether a worker takes tasks, or is at one."""
    return worker["status"] == "running" or bool(worker["metrics"].get("task_counts", {}).get("executing"))


def _taken(dask_worker: Any) -> int:
    """Memory of a worker's process that is not data which could be spilled."""
    return int(dask_worker.monitor.get_process_memory() - dask_worker.state.nbytes)


@contextmanager
def whole_worker() -> Iterator[int]:
    """Run alone on this worker, on as many threads as it has."""
    import faiss
    from threadpoolctl import threadpool_limits

    with _alone:
        threads = use_threads()
        faiss.omp_set_num_threads(threads)
        with threadpool_limits(threads):
            yield threads


def use_threads() -> int:
    """Let kernels run on as many threads as this worker has."""
    import numba

    threads = max(1, min(get_worker().state.nthreads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    numba.set_num_threads(threads)
    return threads
