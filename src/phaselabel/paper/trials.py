"""A bench and a number of runs in, one record per run and method out."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from phaselabel import __version__
from phaselabel.flow import Solution
from phaselabel.paper.methods import Method, planned
from phaselabel.paper.problem import Bench, Problem, threads_for

Key = tuple[int, str, int | None]


@dataclass(frozen=True)
class Record:
    """What one method did in one run; accuracies in per cent, of the unlabelled rows and of all."""

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
    plan = planned(bench.recipe, runs)
    head = {"experiment": bench.recipe.name, "seed": bench.seed, "version": __version__}
    done = _read(keep, head) if keep and resume else {}
    if keep:
        _rewrite(keep, head, list(done.values()))
    problem, prepared = None, -1
    for run, method in plan:
        if (run, *method.key) not in done:
            if problem is None or prepared != run:
                problem, prepared = bench.problem(run), run
            record = attempt(method, problem, run)
            done[record.key] = record
            if keep:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(record)) + "\n")
        tick(method.title)
    return [done[run, *method.key] for run, method in plan]


def attempt(method: Method, problem: Problem, run: int) -> Record:
    """Run one method on one problem."""
    with threads_for(len(problem.y)):
        started = perf_counter()
        answer = method.solve(problem)
        seconds = perf_counter() - started
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
    part = path.with_suffix(".part")
    lines = [json.dumps(head), *(json.dumps(asdict(record)) for record in records)]
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    part.replace(path)
