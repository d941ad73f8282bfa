"""Functions and arguments in, named tasks on a cluster and their answers out."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from distributed import Client, as_completed, get_worker

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
        """One call whose answer, which may be large, stays on the cluster: a future."""
        return self.client.submit(function, *arguments, key=f"phaselabel-{stage}-{self.token}", pure=False)

    def _gathered(self, stage: str, futures: list[Any]) -> list[Any]:
        place = {future.key: i for i, future in enumerate(futures)}
        found: list[Any] = [None] * len(futures)
        self._progress(stage, 0, len(futures))
        try:
            for done, (future, answer) in enumerate(as_completed(futures, with_results=True), 1):
                found[place[future.key]] = answer
                self._progress(stage, done, len(futures))
        finally:
            # After an error or Ctrl-C the others are not wanted any more; nobody else's tasks are touched.
            self.client.cancel([future for future in futures if not future.done()])
        return found

    def workers(self) -> dict[str, dict[str, Any]]:
        """What the scheduler knows of every worker; waits for the first one."""
        self.client.wait_for_workers(1, timeout=60)
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])


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
