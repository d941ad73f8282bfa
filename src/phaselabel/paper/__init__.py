"""The paper's experiments: names in, tables, figures and one report out."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from phaselabel.io.atomic import replacing
from phaselabel.paper import report, results
from phaselabel.paper.figures import Figure, figures
from phaselabel.paper.methods import methods
from phaselabel.paper.problem import Experiment, one_thread
from phaselabel.paper.recipes import RECIPES
from phaselabel.paper.runs import make_runs

__all__ = ["RECIPES", "reproduce"]

#: Called with an experiment and its number of steps; returns the function to call after each step.
Watch = Callable[[str, int], Callable[[str], None]]


def reproduce(
    names: Sequence[str],
    out: Path,
    *,
    runs: int | None = None,
    seed: int = 0,
    data_home: str | Path | None = None,
    jobs: int = 1,
    resume: bool = False,
    command: str = "",
    watch: Watch = lambda experiment, steps: lambda step: None,
) -> dict[str, Any]:
    """Run experiments and write paper.json, paper.md, paper.html and paper/*.png into ``out``.

    Experiments that an earlier call left in ``out`` and that are not run now stay in the report.

    Parameters
    ----------
    names : sequence of str
        Which experiments; keys of ``RECIPES``.
    out : Path
        The folder for everything that is written.
    runs : int, optional
        Number of runs of each experiment; that of the recipe by default.
    seed : int, default=0
        Seed of all random numbers.
    data_home : str or Path, optional
        The folder of the real data sets.
    jobs : int, default=1
        Number of processes that make runs in parallel, each on one thread.
    resume : bool, default=False
        Keep the runs that an interrupted call with the same seed left in ``out``.
    command : str, default=""
        The command that the report names.
    watch : callable, optional
        Called with the name and the number of steps of every experiment; returns a function that is called
        after every step.

    Returns
    -------
    dict
        The document that ``paper.json`` holds.
    """
    # Foreign files or a missing data set must be reported before the first run, not after an hour.
    results.load(out / "paper.json")
    for page in (out / "paper.md", out / "paper.html"):
        if page.exists() and not (out / "paper.json").exists():
            raise FileExistsError(
                f"{page} would be overwritten, and there is no paper.json that it belongs to; choose another "
                "folder with --out."
            )
    experiments, absent = _experiments(names, seed, data_home, out / "paper", resume)
    with _processes(jobs) as pool:
        for name, experiment in experiments.items():
            count = experiment.recipe.runs if runs is None else runs
            after_step = watch(name, count * len(methods(experiment.recipe)))
            kept = out / "paper" / f"{name}.jsonl"
            records = make_runs(experiment, count, pool=pool, keep=kept, resume=resume, after_step=after_step)
            summary = results.summarize(experiment, records, jobs)
            with one_thread():
                for figure in figures(experiment, summary):
                    _write_figure(out, summary, figure)
            doc = _merged(out / "paper.json", summary, absent, command)
            _write_pages(out, doc)
    if not experiments:
        raise FileNotFoundError(" ".join(absent.values()))
    return results.load(out / "paper.json")


@contextmanager
def _processes(jobs: int) -> Iterator[Executor | None]:
    """Processes that make runs, or None for one job; none of them outlives the block."""
    if jobs == 1:
        yield None
        return
    # Not forked: the threads of the kernels don't survive a fork.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process with the one that started it, however that one ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_after_parent(parent: Any = parent) -> None:
        parent.join()
        os._exit(1)

    Thread(target=exit_after_parent, daemon=True).start()


def _experiments(
    names: Sequence[str], seed: int, data_home: str | Path | None, folder: Path, resume: bool
) -> tuple[dict[str, Experiment], dict[str, str]]:
    """The experiments whose data are here, and for the others the reason why not."""
    experiments, absent = {}, {}
    for name in names:
        try:
            keep = folder / f"{name}-neighbors.npz"
            experiments[name] = Experiment(RECIPES[name], seed, data_home, keep=keep, resume=resume)
        except FileNotFoundError as error:
            absent[name] = str(error)
    return experiments, absent


def _merged(path: Path, summary: dict[str, Any], absent: dict[str, str], command: str) -> dict[str, Any]:
    """The document in ``path`` with one experiment added, in the order of the recipes."""
    old = results.load(path)
    summaries = {e["experiment"]: e for e in old["experiments"]} | {summary["experiment"]: summary}
    ordered = [summaries[name] for name in RECIPES if name in summaries]
    missing = {name: why for name, why in (old["absent"] | absent).items() if name not in summaries}
    doc = results.document(ordered, missing, command)
    results.write(path, results.dump(doc))
    return doc


def _write_figure(out: Path, summary: dict[str, Any], figure: Figure) -> None:
    path = out / "paper" / f"{figure.name}.png"
    with replacing(path, overwrite=True) as part:
        part.write_bytes(figure.png)
    entry = {"name": figure.name, "caption": figure.caption, "withheld": figure.withheld}
    summary.setdefault("figures", []).append(entry)


def _write_pages(out: Path, doc: dict[str, Any]) -> None:
    pictures: dict[str, Sequence[Figure]] = {
        experiment["experiment"]: [
            Figure(f["name"], f["caption"], (out / "paper" / f"{f['name']}.png").read_bytes(), f["withheld"])
            for f in experiment["figures"]
        ]
        for experiment in doc["experiments"]
    }
    results.write(out / "paper.md", report.markdown(doc, pictures))
    results.write(out / "paper.html", report.web_page(doc, pictures))
