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
#: The methods of the few-labels benchmark as pages name them; of several solvers the better one counts.
FEW_LABELS = {
    "phaselabel": ("phaselabel",),
    "phaselabel, true sizes": ("phaselabel, true sizes",),
    "Poisson": ("graphlearning poisson", "graphlearning poisson, gradient descent"),
    "PoissonMBO, true sizes": ("graphlearning poisson_mbo, true sizes",),
}
#: The table of what answers teach in the studio, between its marks.
CURVES = re.compile(r"(?<=<!-- curves -->\n).*?(?=<!-- /curves -->)", re.DOTALL)
#: The table of the means over all pictures, between its marks.
PICTURES = re.compile(r"(?<=<!-- pictures -->\n).*?(?=<!-- /pictures -->)", re.DOTALL)
#: A set is in the first of these tables if the best of the others leads by more points than this with some
#: number of labels.
SMALLEST_LOSS = 1.0
#: Numbers of answers in the table of the studio.
COUNTS = ("10", "20", "50", "100")


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
    text = CURVES.sub(lambda found: curves(), text)
    text = PICTURES.sub(lambda found: pictures(), text)
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
    """``digits, 2, Poisson``: the mean; ``worst digits, 2, Poisson``, ``draws MNIST, 1``."""
    found = re.fullmatch(r"(?:(worst|draws) )?(\w+), (\d)(?:, (.+))?", what)
    if not found:
        raise KeyError(what)
    word, name, labels, method = found.groups()
    names = FEW_LABELS[method or "phaselabel"]
    rows = [
        row for row in _loaded(RESULTS / "few-labels.json")["results"]["accuracy"]
        if (row["set"], row["labels per class"]) == (name.lower(), int(labels)) and row["method"] in names
    ]  # fmt: skip
    best = max(rows, key=lambda row: float(row["mean %"]))
    return str(best[{None: "mean %", "worst": "worst %", "draws": "draws"}[word]])


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


def curves() -> str:
    """A table of the labels that are right after some answers in the studio, without evidence and with it."""
    rows = [["set", "`--evidence none`", "`--evidence auto`", "estimate off by, none / auto"], ["---"] * 4]
    lines = {(line["set"], line["evidence"]): line for line in _studio_lines()}
    for name in dict.fromkeys(line["set"] for line in _studio_lines()):
        both = [lines[name, evidence] for evidence in ("none", "auto")]
        shown = [" · ".join(f"{100 * line['right'][k]:.1f}" for k in COUNTS) for line in both]
        off = " / ".join(f"{100 * line['off']:.1f}" for line in both)
        rows.append([name.replace("_", " "), *shown, off])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def pictures() -> str:
    """A table of the pixels that every method gets right, the mean over all pictures, the best in bold."""
    lines = [row for row in _loaded(RESULTS / "images-contest.json")["results"] if row["picture"] == "mean"]
    markings = [key for key in lines[0] if key not in ("picture", "method")]
    right = {(row["method"], key): row[key].split(" / ")[0] for row in lines for key in markings}
    best = {key: max((right[row["method"], key] for row in lines), key=float) for key in markings}
    rows = [["mean of all pictures", *markings], ["---"] * (len(markings) + 1)]
    for row in lines:
        found = [(right[row["method"], key], best[key]) for key in markings]
        rows.append([row["method"], *(f"**{value}**" if value == most else value for value, most in found)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _studio_lines() -> list[dict[str, Any]]:
    """The runs of 100 answers."""
    lines = _loaded(RESULTS / "studio-curves.json")["results"]
    return [line for line in lines if COUNTS[-1] in line["right"]]


def _studio(what: str) -> str:
    """``held auto``, ``off auto``: means over all sets, in %; ``off vowel auto``, ``webkb auto 60``."""
    words = what.split()
    if len(words) == 2:
        values = [line[words[0]] for line in _studio_lines() if line["evidence"] == words[1]]
        return f"{_mean(values):.{1 if words[0] == 'off' else 0}f}"
    name, evidence = words[1:] if words[0] == "off" else words[:2]
    every = _loaded(RESULTS / "studio-curves.json")["results"]
    (line,) = [one for one in every if (one["set"], one["evidence"]) == (name, evidence)]
    return f"{100 * (line['off'] if words[0] == 'off' else line['right'][words[2]]):.1f}"


def _lead(line: dict[str, Any] | None) -> str:
    if line is None:
        return "–"
    points = f"{abs(line['lead']):.1f}"
    return f"**−{points}** {line['which']}" if line["lead"] < 0 and points != "0.0" else f"+{points}"


def _mean(values: list[float]) -> float:
    return 100 * sum(values) / len(values)


def _cells(what: str) -> str:
    """``5, kNN``: the mean of all draws; ``missing kind, found``, ``missing kind, Dendritic``, ``draws``."""
    measured = _loaded(RESULTS / "cells.json")
    if what == "draws":
        return str(measured["draws"])
    task, name = what.split(", ", 1)
    if task == "missing kind":
        kinds, mean = (measured["results"][task][key] for key in ("kinds", "mean"))
        return f"{100 * (mean[name] if name in mean else kinds[name]['found']):.1f}"
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
    "studio": _studio,
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
