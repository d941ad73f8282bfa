"""A bench and a number of runs in, one record per run and method out."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from phaselabel import __version__
from phaselabel.flow import Solution
from phaselabel.paper.methods import Method, methods
from phaselabel.paper.problem import Bench, Problem, threads_for


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
        A file to which the records of each run are added as it ends.
    resume : bool, default=False
        Take the runs that ``keep`` already holds for the same experiment, seed and version as made.
    tick : callable, optional
        Told what was done, after every method.

    Returns
    -------
    list of Record
        In the order of runs.
    """
    listed = methods(bench.recipe)
    head = {"experiment": bench.recipe.name, "seed": bench.seed, "version": __version__}
    done = _read(keep, head, {(m.variant, m.n_neighbors) for m in listed}) if keep and resume else []
    if keep:
        _rewrite(keep, head, done)
    made = {record.run for record in done}
    for _ in range(len(listed) * len([run for run in made if run < runs])):
        tick("kept")
    for run in sorted(set(range(runs)) - made):
        records = list(_one_run(bench, run, listed, tick))
        done += records
        if keep:
            with keep.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(record)) + "\n" for record in records)
    return sorted((record for record in done if record.run < runs), key=lambda record: record.run)


def _one_run(bench: Bench, run: int, listed: list[Method], tick: Callable[[str], None]) -> Iterator[Record]:
    problem = bench.problem(run)
    with threads_for(len(problem.y)):
        for method in listed:
            yield attempt(method, problem, run)
            tick(method.title)


def attempt(method: Method, problem: Problem, run: int) -> Record:
    """Run one method on one problem."""
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


def _read(path: Path, head: dict[str, Any], wanted: set[tuple[str, int | None]]) -> list[Record]:
    """The complete runs of a kept file, if it is of the same experiment, seed and version."""
    if not path.is_file():
        return []
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if not lines or lines[0] != head:
        return []
    by_run: dict[int, list[Record]] = {}
    for line in lines[1:]:
        record = Record(**line)
        by_run.setdefault(record.run, []).append(record)
    complete = [
        records for records in by_run.values() if {(r.variant, r.n_neighbors) for r in records} == wanted
    ]
    return [record for records in complete for record in records]


def _rewrite(path: Path, head: dict[str, Any], records: list[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    lines = [json.dumps(head), *(json.dumps(asdict(record)) for record in records)]
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    part.replace(path)
