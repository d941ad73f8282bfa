"""A fitted model in, everything that the report says about it out."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.hidden import HeldOut
from phaselabel.assess.suspects import Suspects
from phaselabel.assess.verdict import verdict
from phaselabel.few_labels.graph_quality import purity
from phaselabel.graph import nearest_neighbors
from phaselabel.graph.rungs import asked_neighbors
from phaselabel.report.picture import Picture, class_colors, draw_rows

if TYPE_CHECKING:
    from phaselabel.estimators.classifier import GinzburgLandauClassifier
    from phaselabel.io.tables import Table

#: Doubtful rows in the report at most.
MOST_ROWS = 12
#: Columns of a table that are shown beside a row at most.
MOST_FIELDS = 6
#: Letters of a field that are shown at most.
MOST_LETTERS = 160
#: A table of mistakes has at most this many classes.
MOST_CONFUSED = 12
#: Bars of the histogram of the confidence.
BINS = 20
#: Rows whose true neighbours are sought to measure the recall of the graph.
RECALL_SAMPLE = 100

#: Ranges of the confidence in which rows are counted.
SHARES = (("0.9 or more", 0.9, 2.0), ("0.7 to 0.9", 0.7, 0.9), ("below 0.7", 0.0, 0.7))
#: Ranges of the confidence in which hidden labels are counted.
BANDS = (
    ("below 0.50", 0.0, 0.5),
    ("0.50 to 0.70", 0.5, 0.7),
    ("0.70 to 0.90", 0.7, 0.9),
    ("0.90 to 0.99", 0.9, 0.99),
    ("0.99 and more", 0.99, 1.01),
)


class ClassRow(TypedDict):
    """One class: labels given, rows found, and how many of its hidden labels were found again."""

    name: str
    color: str
    given: int
    found: int
    width: float
    confidence: float | None
    recovered: float | None


class Band(TypedDict):
    """Hidden labels of one range of confidence, and the share of them that was found."""

    band: str
    labels: int
    right: float


class DoubtfulRow(TypedDict):
    """An unlabelled row near a boundary, and the class on the other side of it."""

    row: int
    found: str
    confidence: float
    next: str
    shown: NotRequired[str]


class SuspectRow(TypedDict):
    """A given label that the other labels contradict."""

    row: int
    given: str
    found: str
    confidence: float
    shown: NotRequired[str]


class QueryRow(TypedDict):
    """A row to label next, with the present guess."""

    row: int
    found: str
    confidence: float
    shown: NotRequired[str]


class Side(TypedDict):
    """What finds which share of the hidden labels."""

    name: str
    share: float
    both: bool


class Confusion(TypedDict):
    """Hidden labels by true class and class found; ``most`` is the largest count of a mistake."""

    names: list[str]
    rows: list[tuple[str, list[int]]]
    most: int


@dataclass(frozen=True, eq=False)
class Counts:
    """What is counted over all rows; counts of several parts of a table add up.

    Attributes
    ----------
    n_rows : int
        The number of rows.
    given, found, sought : ndarray of shape (K,)
        The rows of every class that had a label, those that have one now, and those of them that had none.
    sure : ndarray of shape (K,)
        The confidence of the rows sought, added up.
    histogram, shares : ndarray
        The rows sought, by their confidence: in ``BINS`` bars, and in the ranges of ``SHARES``.
    """

    n_rows: int
    given: NDArray[np.int64]
    found: NDArray[np.int64]
    sought: NDArray[np.int64]
    sure: NDArray[np.float64]
    histogram: NDArray[np.int64]
    shares: NDArray[np.int64]

    @classmethod
    def of(
        cls, labels: NDArray[np.int32], arm: NDArray[np.int32], confidence: NDArray[np.float64], k: int
    ) -> "Counts":
        """Count labels, classes (-1 where there is none) and confidence."""
        sought = (arm >= 0) & (labels < 0)  # a given label is nearly sure, and says nothing of the rest
        own, sure = arm[sought], confidence[sought]
        return cls(
            len(arm),
            np.bincount(labels[labels >= 0], minlength=k),
            np.bincount(arm[arm >= 0], minlength=k),
            np.bincount(own, minlength=k),
            np.bincount(own, sure, k).astype(np.float64),
            np.histogram(sure, BINS, (0.0, 1.0))[0],
            np.array([((sure >= low) & (sure < high)).sum() for _, low, high in SHARES]),
        )

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass
class Findings:
    """What the report says; plain values, collected by :func:`gather`.

    ``query`` are the rows to label next by the graph, or the least sure ones where ``by_graph`` is false.
    """

    title: str
    label: str
    classes: list[ClassRow]
    n_rows: int
    n_given: int
    unreached: int
    status: str
    converged: bool
    energy: NDArray[np.void]
    histogram: NDArray[np.int64]
    shares: list[tuple[str, int]]
    mean_confidence: float
    held: HeldOut
    bands: list[Band]
    suspects: list[SuspectRow]
    graph: list[tuple[str, str]]
    doubtful: list[DoubtfulRow] = field(default_factory=list)
    picture: Picture | None = None
    verdict: str = ""
    accused: Suspects | None = None
    n_novel: int = 0
    abstain_below: float | None = None
    n_abstained: int = 0
    sides: list[Side] = field(default_factory=list)
    confusion: Confusion | None = None
    mistakes: list[tuple[str, str, int]] = field(default_factory=list)
    query: list[QueryRow] = field(default_factory=list)
    by_graph: bool = True
    columns: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def unsure(self) -> int:
        """The number of rows that were found with a confidence below 0.9."""
        return sum(count for _, count in self.shares[1:])

    @property
    def n_found(self) -> int:
        """The number of rows without a given label for which one was found."""
        return sum(count for _, count in self.shares)

    def show_rows(self, table: "Table", first: Sequence[str] = ()) -> None:
        """Put fields of doubtful and suspected rows beside them, as they stand in a table."""
        entries = [*self.doubtful, *self.suspects, *self.query]
        wanted = {entry["row"] for entry in entries}
        names = [name for name in table.names if not name.startswith(f"{self.label}_") and name != self.label]
        names = list(dict.fromkeys((*first, *names)))[:MOST_FIELDS]
        if not names or not wanted:
            return
        shown: dict[int, str] = {}
        for start, batch in table.batches_with(wanted, names):
            for row in wanted:
                if start <= row < start + batch.num_rows:
                    values = batch.slice(row - start, 1).to_pylist()[0]
                    shown[row] = " · ".join(f"{name} {_brief(value)}" for name, value in values.items())
        for entry in entries:
            entry["shown"] = shown.get(entry["row"], "")


def gather(
    model: "GinzburgLandauClassifier",
    X: Any = None,
    *,
    title: str = "",
    label: str = "label",
    picture: bool = True,
) -> Findings:
    """Collect what the report says.

    Parameters
    ----------
    model : GinzburgLandauClassifier
        A fitted classifier.
    X : array-like, optional
        The features, for the picture; by default those that the model kept.
    title, label : str
        The names of the data and of the label.
    picture : bool, default=True
        Whether to draw the rows in a plane, which takes seconds.

    Returns
    -------
    Findings
        The content of the page.
    """
    points = getattr(model, "_fit_X", None) if X is None else X
    arm, labels = np.asarray(model.solution_.arm), np.asarray(model._labels)
    names = [str(name) for name in model.classes_]
    if not picture or points is None:
        return _gathered(model, names, title, label, (lambda: None), query=picture)
    with ThreadPoolExecutor(1) as beside:  # the picture needs one processor, and no other result
        drawn = beside.submit(draw_rows, points, arm, labels, names)
        return _gathered(model, names, title, label, drawn.result, query=True)


def _gathered(
    model: "GinzburgLandauClassifier",
    names: list[str],
    title: str,
    label: str,
    picture: Callable[[], Picture | None],
    *,
    query: bool,
) -> Findings:
    """The same; the picture is waited for at the end."""
    labels, arm = np.asarray(model._labels), np.asarray(model.solution_.arm)
    confidence = np.asarray(model.confidence_)
    found = assemble(
        model,
        Counts.of(labels, arm, confidence, len(names)),
        model.hold_out(),
        title=title,
        label=label,
        graph=_graph_facts(model, labels),
        n_novel=0 if model.novel_ is None else int(model.novel_.sum()),
    )
    found.n_abstained = int(((arm >= 0) & (confidence < (model.abstain_below or 0))).sum())
    found.doubtful = _doubtful(model, names, labels, arm, confidence)
    found.query = _query(model, names, arm, confidence) if query else []
    found.picture = picture()
    return found


def assemble(
    model: "GinzburgLandauClassifier",
    counts: Counts,
    held: HeldOut,
    *,
    title: str,
    label: str,
    graph: list[tuple[str, str]],
    n_novel: int,
) -> Findings:
    """What the report says by counts and by hidden labels; single rows and the picture are not in it.

    Parameters
    ----------
    model : GinzburgLandauClassifier
        A fitted classifier.
    counts : Counts
        What was counted over its rows.
    held : HeldOut
        What was found for hidden labels.
    title, label : str
        The names of the data and of the label.
    graph : list of (str, str)
        What is to be said of the graph.
    n_novel : int
        The number of rows that look like none of the labelled ones.

    Returns
    -------
    Findings
        The content of the page.
    """
    names, solution, accused = [str(name) for name in model.classes_], model.solution_, held.suspects()
    return Findings(
        title=title,
        label=label,
        classes=_classes(names, counts, held),
        n_rows=counts.n_rows,
        n_given=int(counts.given.sum()),
        unreached=counts.n_rows - int(counts.found.sum()),
        status=solution.status,
        converged=bool(solution.converged),
        energy=np.asarray(solution.energy),
        histogram=counts.histogram,
        shares=[(words, int(count)) for (words, *_), count in zip(SHARES, counts.shares)],
        mean_confidence=float(counts.sure.sum() / max(counts.sought.sum(), 1)),
        held=held,
        bands=_bands(held),
        suspects=_suspects(names, held, accused),
        graph=graph,
        verdict=verdict(held),
        accused=accused,
        n_novel=n_novel,
        abstain_below=model.abstain_below,
        sides=_sides(model),
        confusion=_confusion(names, held),
        mistakes=_mistakes(names, held),
        notes=list(model.remarks_),
    )


def _sides(model: "GinzburgLandauClassifier") -> list[Side]:
    """Hidden labels found by guessing, by the columns alone, by the graph alone, and together."""
    choice = model.choice_
    if choice is None or choice.figures.together is None:
        return []
    figures = choice.figures
    named = (
        ("guessing", 1 / len(model.classes_), False),
        ("columns alone", figures.rows, False),
        ("graph alone", figures.graph, False),
        ("together", figures.together, True),
    )
    return [{"name": name, "share": share, "both": both} for name, share, both in named if share is not None]


def _confusion(names: list[str], held: HeldOut) -> Confusion | None:
    """The table of hidden labels, where it is not too wide to read."""
    table = held.confusion()
    if not len(table) or len(names) > MOST_CONFUSED:
        return None
    wrong = table - np.diag(np.diag(table))
    rows = [(name, [int(count) for count in counts]) for name, counts in zip(names, table)]
    return {"names": names, "rows": rows, "most": max(int(wrong.max(initial=0)), 1)}


def _mistakes(names: list[str], held: HeldOut) -> list[tuple[str, str, int]]:
    """The most frequent mistakes, where the table is too wide."""
    table = held.confusion()
    if len(names) <= MOST_CONFUSED or not len(table):
        return []
    wrong = table - np.diag(np.diag(table))
    places = np.argsort(-wrong, axis=None, kind="stable")[:MOST_ROWS]
    pairs = [np.unravel_index(place, wrong.shape) for place in places]
    return [(names[i], names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]]


def _query(
    model: "GinzburgLandauClassifier",
    names: list[str],
    arm: NDArray[np.int32],
    confidence: NDArray[np.float64],
) -> list[QueryRow]:
    """The rows whose labels would help most."""
    if (model._labels >= 0).all():
        return []
    return [
        {
            "row": int(row),
            "found": names[arm[row]] if arm[row] >= 0 else "none",
            "confidence": float(confidence[row]),
        }
        for row in model.query(MOST_ROWS)
    ]


def _classes(names: list[str], counts: Counts, held: HeldOut) -> list[ClassRow]:
    """The classes, the largest first."""
    found, colors, rows = counts.found, class_colors(counts.found), list[ClassRow]()
    for k in np.argsort(-found, kind="stable"):
        hidden = held.given == k
        rows.append(
            {
                "name": names[k],
                "color": colors[k],
                "given": int(counts.given[k]),
                "found": int(found[k]),
                "width": 100 * found[k] / max(found.max(), 1),
                "confidence": float(counts.sure[k] / counts.sought[k]) if counts.sought[k] else None,
                "recovered": float(np.mean(held.found[hidden] == k)) if hidden.any() else None,
            }
        )
    return rows


def _bands(held: HeldOut) -> list[Band]:
    """How often hidden labels were found, by the confidence."""
    bands = list[Band]()
    for words, low, high in BANDS:
        inside = (held.confidence >= low) & (held.confidence < high)
        if inside.any():
            right = float(np.mean(held.found[inside] == held.given[inside]))
            bands.append({"band": words, "labels": int(inside.sum()), "right": right})
    return bands


def _doubtful(
    model: "GinzburgLandauClassifier",
    names: list[str],
    labels: NDArray[np.int32],
    arm: NDArray[np.int32],
    confidence: NDArray[np.float64],
) -> list[DoubtfulRow]:
    """The unlabelled rows that are nearest to a boundary, and the class on the other side of it."""
    candidates = np.flatnonzero((labels < 0) & (arm >= 0))
    rows = candidates[np.argsort(confidence[candidates], kind="stable")][:MOST_ROWS]
    shares = model._distributions(rows, confidence[rows])
    shares[np.arange(len(rows)), arm[rows]] = -1
    return [
        {
            "row": int(row),
            "found": names[arm[row]],
            "confidence": float(confidence[row]),
            "next": names[int(others.argmax())] if len(names) > 1 else "",
        }
        for row, others in zip(rows, shares)
    ]


def _suspects(names: list[str], held: HeldOut, accused: Suspects) -> list[SuspectRow]:
    place = {int(row): i for i, row in enumerate(held.rows)}
    return [
        {
            "row": int(row),
            "given": names[held.given[place[int(row)]]],
            "found": names[likely],
            "confidence": float(probability),
        }
        for row, probability, likely in zip(accused.rows, accused.probability, accused.likely)
    ]


def _graph_facts(model: "GinzburgLandauClassifier", labels: NDArray[np.int32]) -> list[tuple[str, str]]:
    graph = model.graph_
    edges = np.diff(graph.weights.indptr)
    sizes = np.bincount(graph.components)
    labelled = len(np.unique(graph.components[labels >= 0]))
    recall = _recall(model)
    facts = [
        ("vertices", f"{graph.n_vertices:,}"),
        ("edges", f"{graph.n_edges:,}"),
        ("neighbours of a row", f"{edges.min():,} to {edges.max():,}, median {np.median(edges):.0f}"),
        (
            "true neighbours that are joined",
            "not measured" if recall is None else f"{recall:.1%} of a sample",
        ),
        (
            "connected parts",
            f"{len(sizes):,}, the largest with {sizes.max() / max(graph.n_vertices, 1):.1%} of the rows",
        ),
        ("parts with a label", f"{labelled:,} of {len(sizes):,}"),
    ]
    share = purity(graph, labels, least_edges=1)
    if share is not None:
        facts.append(("edges between known labels that join one class", f"{share:.1%}"))
    return facts


def _recall(model: "GinzburgLandauClassifier") -> float | None:
    """The share of true nearest neighbours that the graph joins, for a sample of rows."""
    points = getattr(model, "_fit_X", None)
    if not isinstance(points, np.ndarray):
        return None
    k = model.n_neighbors_ or asked_neighbors(model.n_neighbors, len(points))
    rows = np.random.default_rng(0).choice(len(points), min(RECALL_SAMPLE, len(points)), replace=False)
    true = nearest_neighbors(points, k + 1, queries=points[rows], metric=model.metric, method="exact").indices
    joined = total = 0
    for row, near in zip(rows, true):
        others = near[near != row][:k]
        joined += int((model.graph_.weights[[row]][:, others].data > 0).sum())
        total += len(others)
    return joined / total


def _brief(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "[…]" if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 3] + "…"
