"""What was chosen and what came of it in, sentences for the user out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel.evidence.interval import interval_of
from phaselabel.evidence.pool import Figures

#: A gain of both together over the better one counts if it exceeds this many standard errors.
STANDARD_ERRORS = 1.0

#: A remark is made if one side finds this much less than the other.
FAR_WORSE = 0.1

#: A gain smaller than this does not show in whole percents, and is called nothing.
VISIBLE = 0.005

#: A remark is made of a class with more than this share of the rows.
NEARLY_ALL = 0.95

#: Shares are quoted from this number of hidden labels.
ENOUGH_LABELS = 20

#: A remark is made unless the lower end of the interval is above this.
MOSTLY_RIGHT = 0.75

#: A remark is made of a class if more than this share of all rows is probably put into it by mistake.
MUCH_MISTAKEN = 0.15


def advice(figures: Figures, *, sizes_known: bool = False) -> list[str]:
    """Sentences about how many labels may be wrong, and about the graph or columns that add nothing.

    Where labels are few, the true class sizes are worth several labels per class (decision 52), so they are
    asked for unless a user has given them.

    Examples
    --------
    >>> advice(Figures(0.94, 0.61, 0.94, 100, 80))[0][:28]
    'The graph adds nothing here:'
    >>> advice(Figures(0.57, 0.71, 0.76, 21, 18))[1][:45]
    "Whether the columns add anything can't be tol"
    >>> advice(Figures(0.9, 0.9, 0.9, 10, 8))[0][:40]
    "Of a class's labels 90% were found on av"
    >>> advice(Figures(None, None, None, 0))[0][:29]
    'No class has two known labels'
    """
    if not figures.n_hidden:
        unknown = (
            "the accuracy is not" if sizes_known else "neither the accuracy nor the sizes of the classes are"
        )
        return [
            "No class has two known labels, so none could be hidden to see how good these labels are: "
            f"{unknown} known; label a second row of each class{_or_sizes(sizes_known)}."
        ]
    return _uncertain(figures, sizes_known) + superfluous(figures)


def _or_sizes(known: bool) -> str:
    return "" if known else ", or give class_sizes if you know them"


def _uncertain(figures: Figures, sizes_known: bool) -> list[str]:
    """A sentence where hidden labels leave it open whether most labels are right."""
    n, share = figures.n_hidden, figures.together or 0.0
    low, high = interval_of(share, n, figures.n_shown)
    if low >= MOSTLY_RIGHT:
        return []
    return [
        f"Of a class's labels {share:.0%} were found on average ({n} labels were hidden in turn), so between "
        f"{low:.0%} and {high:.0%} of the rows of a class may be right"
        f"{'' if sizes_known else ', and class sizes are as uncertain'}; "
        f"label more rows{_or_sizes(sizes_known)}."
    ]


def superfluous(figures: Figures) -> list[str]:
    """A sentence about the graph or the columns, if one of them adds nothing that hidden labels show.

    Examples
    --------
    >>> superfluous(Figures(0.94, 0.61, 0.94, 100, 80))[0][:28]
    'The graph adds nothing here:'
    """
    rows, graph, together = figures.rows, figures.graph, figures.together
    if rows is None or graph is None or together is None or figures.n_hidden < ENOUGH_LABELS:
        return []
    found = f"a plain model of the columns finds {rows:.0%} of hidden labels, the graph {graph:.0%}, "
    found += f"together {together:.0%}."
    chance = STANDARD_ERRORS * np.sqrt(max(together * (1 - together), 1e-4) / figures.n_hidden)
    sides = ((rows, graph, "the graph adds"), (graph, rows, "the columns add"))
    for better, worse, adds in sides:
        if together > better + chance or worse >= better - FAR_WORSE:
            continue
        if together < better + VISIBLE:
            return [f"{adds.capitalize()} nothing here: {found}"]
        return [f"Whether {adds} anything can't be told from {figures.n_hidden} hidden labels: {found}"]
    return []


def untested(counts: NDArray[np.int64], names: list[str]) -> list[str]:
    """A sentence about classes with a single label, which can't be hidden, beside others with more.

    Examples
    --------
    >>> untested(np.array([1, 20]), ["a", "b"])[0][:39]
    "No label of 'a' could be hidden: nothin"
    >>> untested(np.array([2, 20]), ["a", "b"])
    []
    """
    alone = [repr(name) for name, count in zip(names, counts) if count == 1]
    if not alone:
        return []
    more = f" and {len(alone) - 5} others" if len(alone) > 5 else ""
    return [
        f"No label of {', '.join(alone[:5])}{more} could be hidden: nothing is known of how many rows of "
        "these classes are right, or were put into another class; label a second row of each."
    ]


def doubts(sizes: NDArray[np.float64], least: NDArray[np.float64], names: list[str]) -> list[str]:
    """Sentences about classes that are probably too large, by the confidence in their rows.

    Examples
    --------
    >>> doubts(np.array([0.7, 0.3]), np.array([0.4, 0.25]), ["a", "b"])[0][:40]
    "70% of the rows come out as 'a', but 30%"
    """
    return [
        f"{size:.0%} of the rows come out as {name!r}, but {size - low:.0%} of all rows are among them by "
        "mistake, as far as confidence goes; label more rows, or give class_sizes."
        for name, size, low in zip(names, sizes, least)
        if size - low > MUCH_MISTAKEN
    ]


def alarms(sizes: NDArray[np.float64], names: list[str]) -> list[str]:
    """Sentences about a class that takes nearly all rows, or is the only one, and about classes without rows.

    Examples
    --------
    >>> alarms(np.array([0.99, 0.01]), ["a", "b"])[0][:33]
    "99% of the rows come out as 'a'; "
    """
    if len(sizes) == 1:
        return [
            f"All known labels are {names[0]!r}, so there is nothing to tell apart and every row that they "
            "reach gets this label, whatever it is; label rows of a second class."
        ]
    said = []
    if sizes.max() > NEARLY_ALL:
        said.append(
            f"{sizes.max():.0%} of the rows come out as {names[int(sizes.argmax())]!r}; if that is not what "
            "you expect, label more rows of the other classes, or give class_sizes."
        )
    empty = [name for name, size in zip(names, sizes) if size == 0]
    if empty:
        said.append(
            f"No row comes out as {', '.join(map(repr, empty[:5]))}; label more rows of "
            f"{'it' if len(empty) == 1 else 'them'}, or give class_sizes."
        )
    return said
