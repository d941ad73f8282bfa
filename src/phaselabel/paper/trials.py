"""A bench and a number of runs in, one record per run and method out."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

from phaselabel import __version__
from phaselabel.atomic import replacing
from phaselabel.flow import Solution
from phaselabel.paper.methods import Method, methods
from phaselabel.paper.problem import Bench, Problem, one_thread
from phaselabel.paper.recipes import RECIPES

Key = tuple[int, str, int | None]

#: Where another process finds the same bench: recipe, seed, data_home and file of neighbours.
Address = tuple[str, int, Any, Path | None]


@dataclass(frozen=True)
class Record:
    """What one method did in one run.

    Accuracies in per cent, of the unlabelled rows and of all; seconds of the processor, whatever else the
    machine had to do.
    """

    run: int
    variant: str
    n_neighbors: int | None
    accuracy: float
    accuracy_all: float
    sweeps: int | None
    graph_seconds: float | None
    seconds: float

    @property
    def key(self) -> Key:
        """Which run of which method this is."""
        return self.run, self.variant, self.n_neighbors


def trials(
    bench: Bench,
    runs: int,
    *,
    pool: Executor | None = None,
    keep: Path | None = None,
    resume: bool = False,
    tick: Callable[[str], None] = lambda step: None,
) -> list[Record]:
    """Make the runs 0 … runs - 1 and record every method.

    Parameters
    ----------
    bench : Bench
        Makes the problems.
    runs : int
        How many runs to make.
    pool : Executor, optional
        Processes that make runs side by side; by default they are made here, one after the other.
    keep : Path, optional
        A file to which every record is added as it is made.
    resume : bool, default=False
        Don't make again what ``keep`` already holds for the same experiment, seed and version.
    tick : callable, optional
        Told what was done, after every method.

    Returns
    -------
    list of Record
        In the order of runs.
    """
    listed = methods(bench.recipe)
    keys = [(run, *method.key) for run in range(runs) for method in listed]
    titles = {method.key: method.title for method in listed}
    head = {"experiment": bench.recipe.name, "seed": bench.seed, "version": __version__}
    done = _read(keep, head) if keep and resume else {}
    if keep:
        _rewrite(keep, head, list(done.values()))
    for key in done.keys() & set(keys):
        tick(titles[key[1:]])
    for record in _made(bench, _tasks(bench, [key for key in keys if key not in done]), pool):
        done[record.key] = record
        if keep:
            with keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")
        tick(titles[record.key[1:]])
    return [done[key] for key in keys]


def _tasks(bench: Bench, keys: Sequence[Key]) -> list[list[Key]]:
    """What is handed out at a time: one method of one run, or a whole run where its points must be made."""
    if bench.recipe.fixed:
        return [[key] for key in keys]
    return [[key for key in keys if key[0] == run] for run in sorted({key[0] for key in keys})]


def _made(bench: Bench, tasks: list[list[Key]], pool: Executor | None) -> Iterator[Record]:
    if pool is None or not tasks:
        for task in tasks:
            yield from _attempts(bench, task)
        return
    if bench.recipe.fixed:
        bench.problem(0)  # so that the search is made once, and not by every process
    address: Address = (bench.recipe.name, bench.seed, bench.data_home, bench.keep)
    for future in as_completed([pool.submit(_attempts_at, address, task) for task in tasks]):
        yield from future.result()


@lru_cache(maxsize=1)
def _bench_at(address: Address) -> Bench:
    """The bench of this process; the one before it may go."""
    name, seed, data_home, keep = address
    return Bench(RECIPES[name], seed, data_home, keep=keep, resume=True)


def _attempts_at(address: Address, task: list[Key]) -> list[Record]:
    return _attempts(_bench_at(address), task)


def _attempts(bench: Bench, task: list[Key]) -> list[Record]:
    by_key = {method.key: method for method in methods(bench.recipe)}
    problem = bench.problem(task[0][0])
    return [attempt(by_key[key[1:]], problem, key[0]) for key in task]


def attempt(method: Method, problem: Problem, run: int) -> Record:
    """Run one method on one problem."""
    with one_thread():
        started = process_time()
        answer = method.solve(problem)
        seconds = process_time() - started
    found = answer.arm if isinstance(answer, Solution) else answer
    accuracy, accuracy_all = problem.score(found)
    return Record(
        run,
        method.variant,
        method.n_neighbors,
        accuracy,
        accuracy_all,
        answer.n_iter if isinstance(answer, Solution) else None,
        problem.graph_seconds[method.n_neighbors] if method.n_neighbors else None,
        seconds,
    )


def _read(path: Path, head: dict[str, Any]) -> dict[Key, Record]:
    """The records of a kept file, if it is of the same experiment, seed and version."""
    if not path.is_file():
        return {}
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != json.dumps(head):
        return {}
    # A line that was being written when the command was stopped is no record.
    records = [Record(**json.loads(line)) for line in lines if line.endswith("}")]
    return {record.key: record for record in records}


def _rewrite(path: Path, head: dict[str, Any], records: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(head), *(json.dumps(asdict(record)) for record in records)]
    with replacing(path, overwrite=True) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
