"""Marked figures in README and handbook in, the same pages with the figures of their measurements out.

``87.6<!-- contest: ours 20 -->`` is a figure and, for programs, where it was measured. ``python
docs/figures.py`` writes every marked figure anew; a test fails where a page and its source disagree.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "benchmarks" / "results"
#: A figure, the name of its source, and what is quoted from there.
MARK = re.compile(r"(\d[\d,.]*)<!-- ([a-z-]+): ([^>]+?) -->")
#: The table of the sets on which others are better, between its marks.
LOSSES = re.compile(r"(?<=<!-- losses -->\n).*?(?=<!-- /losses -->)", re.DOTALL)
#: A set is in that table if the best of the others leads by more points than this with some number of labels.
SMALLEST_LOSS = 1.0


def pages() -> list[Path]:
    """The pages that may quote figures."""
    return [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]


def filled(text: str) -> str:
    """A page with every marked figure as it was measured.

    Examples
    --------
    >>> filled("a page without marks: 3.1 %")
    'a page without marks: 3.1 %'
    """
    text = LOSSES.sub(lambda found: losses(), text)
    return MARK.sub(lambda found: f"{figure(found[2], found[3])}<!-- {found[2]}: {found[3]} -->", text)


def figure(source: str, what: str) -> str:
    """One figure from its source; a mark that names nothing there is an error."""
    if source not in SOURCES:
        raise KeyError(f"There is no source {source!r} for figures; there are {', '.join(SOURCES)}.")
    try:
        return SOURCES[source](what)
    except (KeyError, ValueError, ZeroDivisionError, OSError) as error:
        raise KeyError(f"The mark '{source}: {what}' names no figure ({error}).") from None


@lru_cache
def _loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _paper(what: str) -> str:
    """``three-moons defaults``: the mean accuracy of a variant, with its first number of neighbours."""
    experiment, variant = what.split()
    for entry in _loaded(DOCS / "paper.json")["experiments"]:
        for row in entry["results"]:
            if (entry["experiment"], row["variant"]) == (experiment, variant):
                return f"{row['accuracy']['mean']:.1f}"
    raise KeyError(variant)


def _few_labels(what: str) -> str:
    """``digits, 2`` or ``digits, 2: Poisson``: the mean in the table of docs/few-labels.md."""
    row, _, column = what.partition(": ")
    lines = (DOCS / "few-labels.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (names,) = [line for line in cells if line[0] == "set, labels per class"]
    (values,) = [line for line in cells if line[0] == row]
    return values[names.index(column or "phaselabel")].split()[0]


def _contest(what: str) -> str:
    """``ours 20``, ``best 20``: means over all sets; ``ahead 20``, ``behind 5``, ``worst 5``: points."""
    if what in ("sets", "others"):
        lines = _loaded(RESULTS / "contest.json")["results"]
        return str(len({line["set"] for line in lines}) if what == "sets" else len(lines[0]["peers"]))
    word, labels = what.split()
    lines = [line for line in _loaded(RESULTS / "contest.json")["results"] if line["labels"] == int(labels)]
    if word in ("ours", "best"):
        return f"{sum(line[word] for line in lines) / len(lines):.1f}"
    leads = [line["lead"] for line in lines]
    points = {
        "ahead": sum(leads) / len(leads), "behind": -sum(leads) / len(leads), "worst": -min(leads),
    }[word]  # fmt: skip
    if points < 0:
        raise ValueError(f"it is {points:.1f}, so the sentence around it is no longer true")
    return f"{points:.1f}"


def losses() -> str:
    """A table of the sets on which the best other method is clearly better, the worst first."""
    by_set: dict[str, dict[int, Any]] = {}
    for line in _loaded(RESULTS / "contest.json")["results"]:
        by_set.setdefault(line["set"], {})[line["labels"]] = line
    worst = {name: min(line["lead"] for line in lines.values()) for name, lines in by_set.items()}
    numbers = sorted({labels for lines in by_set.values() for labels in lines})
    rows = [["set", *(f"{labels} per class" for labels in numbers)], ["---"] * (len(numbers) + 1)]
    for name in sorted(worst, key=worst.__getitem__):
        if worst[name] < -SMALLEST_LOSS:
            rows.append([name, *(_lead(by_set[name].get(labels)) for labels in numbers)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _lead(line: dict[str, Any] | None) -> str:
    if line is None:
        return "–"
    points = f"{abs(line['lead']):.1f}"
    return f"**−{points}** {line['which']}" if line["lead"] < 0 and points != "0.0" else f"+{points}"


def _mean(values: list[float]) -> float:
    return 100 * sum(values) / len(values)


def _cells(what: str) -> str:
    """``5, kNN``: the mean share over all draws; ``missing kind, found``, ``draws``."""
    measured = _loaded(RESULTS / "cells.json")
    if what == "draws":
        return str(measured["draws"])
    task, name = what.split(", ", 1)
    if task == "missing kind":
        return f"{100 * measured['results'][task]['mean'][name]:.1f}"
    if task == "none missing":
        return f"{100 * measured['results']['missing kind']['false, none missing']:.1f}"
    return f"{_mean(measured['results'][task][name]):.1f}"


def _texts(what: str) -> str:
    """``news, 5, TF-IDF, phaselabel``: the mean share over all draws; ``draws``."""
    measured = _loaded(RESULTS / "texts.json")
    if what == "draws":
        return str(measured["draws"])
    name, labels, features, method = what.split(", ")
    return f"{_mean(measured['results'][name][labels][features][method]):.1f}"


SOURCES: dict[str, Callable[[str], str]] = {
    "paper": _paper, "few-labels": _few_labels, "contest": _contest, "cells": _cells, "texts": _texts,
}  # fmt: skip


def main() -> None:
    """Fill every page."""
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"filled {page.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
