"""The paper's experiments: names in, tables, figures and one report out."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from phaselabel.atomic import replacing
from phaselabel.paper import report, results
from phaselabel.paper.figures import Figure, figures
from phaselabel.paper.methods import methods
from phaselabel.paper.problem import Bench, one_thread
from phaselabel.paper.recipes import RECIPES
from phaselabel.paper.trials import trials

__all__ = ["RECIPES", "reproduce"]

#: Called with (experiment, steps to expect); answers what to call after each step.
Watch = Callable[[str, int], Callable[[str], None]]


def reproduce(
    names: Sequence[str],
    out: Path,
    *,
    runs: int | None = None,
    seed: int = 0,
    data_home: Any = None,
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
        How many runs of each; the recipe's number by default.
    seed : int, default=0
        Where all randomness comes from.
    data_home : path, optional
        The folder of the real data sets.
    jobs : int, default=1
        How many processes make runs side by side, each on one thread.
    resume : bool, default=False
        Don't make again what an interrupted call with the same seed left in ``out``.
    command : str
        What to name as the command in the report.
    watch : callable, optional
        Told of every experiment and every step.

    Returns
    -------
    dict
        The document that ``paper.json`` holds.
    """
    # Neither a foreign file nor a missing data set must come to light after an hour's work.
    results.load(out / "paper.json")
    benches, absent = _benches(names, seed, data_home, out / "paper", resume)
    with _processes(jobs) as pool:
        for name, bench in benches.items():
            count = bench.recipe.runs if runs is None else runs
            tick = watch(name, count * len(methods(bench.recipe)))
            kept = out / "paper" / f"{name}.jsonl"
            records = trials(bench, count, pool=pool, keep=kept, resume=resume, tick=tick)
            summary = results.summarize(bench, records, jobs)
            with one_thread():
                for figure in figures(bench, summary):
                    _write_figure(out, summary, figure)
            doc = _merged(out / "paper.json", summary, absent, command)
            _write_pages(out, doc)
    if not benches:
        raise FileNotFoundError(" ".join(absent.values()))
    return results.load(out / "paper.json")


@contextmanager
def _processes(jobs: int) -> Iterator[Executor | None]:
    """Processes to hand runs to, or none; whatever happens, nothing goes on working afterwards."""
    if jobs == 1:
        yield None
        return
    # Not forked: the kernels' threads would not survive it.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Let no process survive the one that started it, however that one ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch(parent: Any = parent) -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _benches(
    names: Sequence[str], seed: int, data_home: Any, folder: Path, resume: bool
) -> tuple[dict[str, Bench], dict[str, str]]:
    benches, absent = {}, {}
    for name in names:
        try:
            keep = folder / f"{name}-neighbors.npz"
            benches[name] = Bench(RECIPES[name], seed, data_home, keep=keep, resume=resume)
        except FileNotFoundError as error:
            absent[name] = str(error)
    return benches, absent


def _merged(path: Path, summary: dict[str, Any], absent: dict[str, str], command: str) -> dict[str, Any]:
    """The document in ``path`` with one experiment put in, in the order of the recipes."""
    old = results.load(path)
    found = {e["experiment"]: e for e in old["experiments"]} | {summary["experiment"]: summary}
    ordered = [found[name] for name in RECIPES if name in found]
    missing = {name: why for name, why in (old["absent"] | absent).items() if name not in found}
    doc = results.document(ordered, missing, command)
    results.write(path, results.dump(doc))
    return doc


def _write_figure(out: Path, summary: dict[str, Any], figure: Figure) -> None:
    path = out / "paper" / f"{figure.name}.png"
    with replacing(path, overwrite=True) as part:
        part.write_bytes(figure.png)
    entry = {"name": figure.name, "caption": figure.caption, "shareable": figure.shareable}
    summary.setdefault("figures", []).append(entry)


def _write_pages(out: Path, doc: dict[str, Any]) -> None:
    pictures: dict[str, Sequence[Figure]] = {
        experiment["experiment"]: [
            Figure(f["name"], f["caption"], (out / "paper" / f"{f['name']}.png").read_bytes(), f["shareable"])
            for f in experiment["figures"]
        ]
        for experiment in doc["experiments"]
    }
    results.write(out / "paper.md", report.markdown(doc, pictures))
    results.write(out / "paper.html", report.web_page(doc, pictures))
