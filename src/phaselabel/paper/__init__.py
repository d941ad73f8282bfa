"""The paper's experiments: names in, tables, figures and one report out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from phaselabel.paper import report, results
from phaselabel.paper.figures import Figure, figures
from phaselabel.paper.methods import planned
from phaselabel.paper.problem import Bench, threads_for
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
    resume: bool = False,
    command: str = "",
    note: str = "",
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
    resume : bool, default=False
        Don't make again what an interrupted call with the same seed left in ``out``.
    command : str
        What to name as the command in the report.
    note : str
        A sentence about the circumstances of the runs, for the report.
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
    for name, bench in benches.items():
        count = bench.recipe.runs if runs is None else runs
        tick = watch(name, len(planned(bench.recipe, count)))
        kept = out / "paper" / f"{name}.jsonl"
        records = trials(bench, count, keep=kept, resume=resume, tick=tick)
        summary = results.summarize(bench, records, note)
        with threads_for(summary["points"]):
            for figure in figures(bench, summary):
                _write_figure(out, summary, figure)
        doc = _merged(out / "paper.json", summary, absent, command)
        _write_pages(out, doc)
    if not benches:
        raise FileNotFoundError(" ".join(absent.values()))
    return results.load(out / "paper.json")


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
    part = path.with_suffix(".part")
    part.write_bytes(figure.png)
    part.replace(path)
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
