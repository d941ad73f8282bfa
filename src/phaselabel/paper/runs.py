"""An experiment and a number of runs in, one record per run and method out."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

from phaselabel import __version__
from phaselabel.flow.minimize import Solution
from phaselabel.io.atomic import replacing
from phaselabel.paper.methods import Method, methods
from phaselabel.paper.problem import Experiment, Problem, one_thread
from phaselabel.paper.provenance import source_digest
from phaselabel.paper.recipes import RECIPES

#: The number of the run, the variant of the method and its number of neighbours.
Key = tuple[int, str, int | None]

#: What another process needs to make the same experiment: recipe, seed, data_home and file of neighbours.
Address = tuple[str, int, str | Path | None, Path | None]


@dataclass(frozen=True)
class Record:
    """The result of one method in one run.

    Accuracies are in per cent, of the unlabelled rows and of all rows; seconds are those of the processor,
    so that they don't depend on other programs.
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
        """Run, variant and number of neighbours."""
        return self.run, self.variant, self.n_neighbors


def make_runs(
    experiment: Experiment,
    runs: int,
    *,
    pool: Executor | None = None,
    keep: Path | None = None,
    resume: bool = False,
    after_step: Callable[[str], None] = lambda step: None,
) -> list[Record]:
    """Make the runs 0 … runs - 1 and record every method.

    Parameters
    ----------
    experiment : Experiment
        Makes the problems.
    runs : int
        Number of runs.
    pool : Executor, optional
        Processes that make runs in parallel; by default they are made here, one after the other.
    keep : Path, optional
        A file to which every record is appended.
    resume : bool, default=False
        Don't make again what ``keep`` holds for the same experiment, seed, version and source.
    after_step : callable, optional
        Called with the title of the method after every method of every run.

    Returns
    -------
    list of Record
        In the order of runs.
    """
    listed = methods(experiment.recipe)
    keys = [(run, *method.key) for run in range(runs) for method in listed]
    titles = {method.key: method.title for method in listed}
    head = {
        "experiment": experiment.recipe.name,
        "seed": experiment.seed,
        "version": __version__,
        "source": source_digest(),
    }
    done = _read(keep, head) if keep and resume else {}
    if keep:
        _rewrite(keep, head, list(done.values()))
    for key in done.keys() & set(keys):
        after_step(titles[key[1:]])
    for record in _made(experiment, _tasks(experiment, [key for key in keys if key not in done]), pool):
        done[record.key] = record
        if keep:
            with keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record)) + "\n")
        after_step(titles[record.key[1:]])
    return [done[key] for key in keys]


def _tasks(experiment: Experiment, keys: Sequence[Key]) -> list[list[Key]]:
    """The units of work: one method of one run, or a whole run where its points must be made."""
    if experiment.recipe.fixed:
        return [[key] for key in keys]
    return [[key for key in keys if key[0] == run] for run in sorted({key[0] for key in keys})]


def _made(experiment: Experiment, tasks: list[list[Key]], pool: Executor | None) -> Iterator[Record]:
    if pool is None or not tasks:
        for task in tasks:
            yield from _run_task(experiment, task)
        return
    if experiment.recipe.fixed:
        experiment.problem(0)  # the search is made once, not by every process
    address: Address = (experiment.recipe.name, experiment.seed, experiment.data_home, experiment.keep)
    for future in as_completed([pool.submit(_run_task_at, address, task) for task in tasks]):
        yield from future.result()


@lru_cache(maxsize=1)
def _experiment_at(address: Address) -> Experiment:
    """The experiment of this process; only the last one is kept in memory."""
    name, seed, data_home, keep = address
    return Experiment(RECIPES[name], seed, data_home, keep=keep, resume=True)


def _run_task_at(address: Address, task: list[Key]) -> list[Record]:
    return _run_task(_experiment_at(address), task)


def _run_task(experiment: Experiment, task: list[Key]) -> list[Record]:
    by_key = {method.key: method for method in methods(experiment.recipe)}
    problem = experiment.problem(task[0][0])
    return [run_method(by_key[key[1:]], problem, key[0]) for key in task]


def run_method(method: Method, problem: Problem, run: int) -> Record:
    """Run one method on one problem and record the result."""
    with one_thread():
        started = process_time()
        answer = method.solve(problem)
        seconds = process_time() - started
    classes = answer.arm if isinstance(answer, Solution) else answer
    accuracy, accuracy_all = problem.score(classes)
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
    """The records of a kept file, if its first line is ``head``."""
    if not path.is_file():
        return {}
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != json.dumps(head):
        return {}
    # The last line is incomplete if the command was stopped while it was written.
    records = [Record(**json.loads(line)) for line in lines if line.endswith("}")]
    return {record.key: record for record in records}


def _rewrite(path: Path, head: dict[str, Any], records: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(head), *(json.dumps(asdict(record)) for record in records)]
    with replacing(path, overwrite=True) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
