"""A fitted model in, one self-contained page of HTML out."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel import __version__
from phaselabel.atomic import replacing
from phaselabel.graph import nearest_neighbors
from phaselabel.holdout import HeldOut, hold_out
from phaselabel.strategy import purity

#: Okabe-Ito, distinct for colour-blind readers too; classes beyond these share a grey.
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8A6D3B",
    "#6A4C93",
    "#4D5560",
    "#9BC53D",
)
GREY = "#9AA0A6"
MOST_POINTS = 1200
MOST_ROWS = 12
BINS = 20


@dataclass
class Report:
    """Everything that the page shows; plain values, found by :func:`gather`."""

    title: str
    label: str
    classes: list[dict[str, Any]]
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
    bands: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]
    suspects: list[dict[str, Any]]
    picture: dict[str, Any]
    graph: list[tuple[str, str]]
    columns: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def unsure(self) -> int:
        """Rows that have a label of less than 0.9."""
        return sum(count for _, count in self.shares[1:])

    def show_rows(self, table: Any, most: int = 6) -> None:
        """Put the fields of doubtful and suspected rows beside them, as they stand in a table."""
        wanted = {entry["row"] for entry in (*self.doubtful, *self.suspects)}
        names = [name for name in table.names if not name.startswith(f"{self.label}_") and name != self.label]
        names, start = names[:most], 0
        if not names or not wanted:
            return
        found: dict[int, str] = {}
        for batch in table.batches(names):
            for row in wanted:
                if start <= row < start + batch.num_rows:
                    values = batch.slice(row - start, 1).to_pylist()[0]
                    found[row] = " · ".join(f"{name} {_brief(value)}" for name, value in values.items())
            start += batch.num_rows
        for entry in (*self.doubtful, *self.suspects):
            entry["shown"] = found.get(entry["row"], "")


def gather(
    model: Any,
    X: Any = None,
    *,
    title: str = "",
    label: str = "label",
    picture: bool = True,
) -> Report:
    """Collect what the page shows.

    Parameters
    ----------
    model : GinzburgLandauClassifier
        A fitted classifier.
    X : array-like, optional
        The features, for the picture; without them, those that the model kept.
    title, label : str
        What to call the data and the label.
    picture : bool, default=True
        Whether to draw the rows in a plane, which takes seconds.
    """
    points = getattr(model, "_fit_X", None) if X is None else X
    solution, names = model.solution_, [str(name) for name in model.classes_]
    labels, held = np.asarray(model._labels), hold_out(model)
    arm, confidence = np.asarray(solution.arm), np.asarray(model.confidence_)
    reached = arm >= 0
    histogram = np.histogram(confidence[reached], BINS, (0.0, 1.0))[0]
    return Report(
        title=title,
        label=label,
        classes=_classes(names, labels, arm, confidence, held),
        n_rows=len(arm),
        n_given=int((labels >= 0).sum()),
        unreached=int((~reached).sum()),
        status=solution.status,
        converged=bool(solution.converged),
        energy=np.asarray(solution.energy),
        histogram=histogram,
        shares=_shares(confidence[reached]),
        mean_confidence=float(confidence[reached].mean()) if reached.any() else 0.0,
        held=held,
        bands=_bands(held),
        doubtful=_doubtful(model, names, labels, arm, confidence),
        suspects=_suspects(names, held),
        picture=_picture(points, arm, labels, names) if picture and points is not None else {},
        graph=_graph_facts(model, labels),
    )


def _classes(names: list[str], labels: Any, arm: Any, confidence: Any, held: HeldOut) -> list[dict[str, Any]]:
    given = np.bincount(labels[labels >= 0], minlength=len(names))
    found = np.bincount(arm[arm >= 0], minlength=len(names))
    rows = []
    for k in np.argsort(-found, kind="stable"):
        mine = held.given == k
        rows.append(
            {
                "name": names[k],
                "color": _color(found, k),
                "given": int(given[k]),
                "found": int(found[k]),
                "width": 100 * found[k] / max(found.max(), 1),
                "confidence": float(confidence[arm == k].mean()) if found[k] else None,
                "recovered": float(np.mean(held.found[mine] == k)) if mine.any() else None,
            }
        )
    return rows


def _shares(confidence: NDArray[np.float64]) -> list[tuple[str, int]]:
    """How many rows are how sure."""
    edges = (("0.9 or more", 0.9, 2.0), ("0.7 to 0.9", 0.7, 0.9), ("below 0.7", 0.0, 0.7))
    return [(words, int(((confidence >= low) & (confidence < high)).sum())) for words, low, high in edges]


def _color(found: NDArray[np.int64], k: int) -> str:
    """The largest classes get the colours."""
    place = int((np.argsort(-found, kind="stable") == k).argmax())
    return COLORS[place] if place < len(COLORS) else GREY


def _bands(held: HeldOut) -> list[dict[str, Any]]:
    """How often the flow was right about hidden labels, by how sure it was."""
    edges = [(0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 0.99), (0.99, 1.01)]
    words = ["below 0.50", "0.50 to 0.70", "0.70 to 0.90", "0.90 to 0.99", "0.99 and more"]
    bands = []
    for (low, high), word in zip(edges, words):
        inside = (held.confidence >= low) & (held.confidence < high)
        if inside.any():
            right = float(np.mean(held.found[inside] == held.given[inside]))
            bands.append({"band": word, "labels": int(inside.sum()), "right": right})
    return bands


def _doubtful(model: Any, names: list[str], labels: Any, arm: Any, confidence: Any) -> list[dict[str, Any]]:
    """The unlabelled rows that stand nearest to a boundary, and the class on its other side."""
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


def _suspects(names: list[str], held: HeldOut) -> list[dict[str, Any]]:
    place = {int(row): i for i, row in enumerate(held.rows)}
    return [
        {
            "row": int(row),
            "given": names[held.given[place[int(row)]]],
            "found": names[held.found[place[int(row)]]],
            "confidence": float(held.confidence[place[int(row)]]),
        }
        for row in held.suspects()
    ]


def _graph_facts(model: Any, labels: Any) -> list[tuple[str, str]]:
    graph = model.graph_
    edges = np.diff(graph.weights.indptr)
    sizes = np.bincount(graph.components)
    lit = len(np.unique(graph.components[labels >= 0]))
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
        ("parts with a label", f"{lit:,} of {len(sizes):,}"),
    ]
    share = purity(graph, labels, enough=1)
    if share is not None:
        facts.append(("edges between known labels that join one class", f"{share:.1%}"))
    return facts


def _recall(model: Any, sample: int = 100) -> float | None:
    """The share of true nearest neighbours that the graph joins, for a sample of rows."""
    points = getattr(model, "_fit_X", None)
    if not isinstance(points, np.ndarray):
        return None
    k = model._n_neighbors(len(points))
    rows = np.random.default_rng(0).choice(len(points), min(sample, len(points)), replace=False)
    true = nearest_neighbors(points, k + 1, queries=points[rows], metric=model.metric, method="exact").indices
    joined = total = 0
    for row, near in zip(rows, true):
        others = near[near != row][:k]
        joined += int((model.graph_.weights[[row]][:, others].data > 0).sum())
        total += len(others)
    return joined / total


def _picture(X: Any, arm: Any, labels: Any, names: list[str]) -> dict[str, Any]:
    """A plane view of a sample: principal components if they show most of it, else t-SNE."""
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(0)
    known = np.flatnonzero(labels >= 0)
    known = rng.permutation(known)[: MOST_POINTS // 4]
    rest = np.setdiff1d(np.arange(len(arm)), known)
    rows = np.concatenate([rng.permutation(rest)[: MOST_POINTS - len(known)], known])
    sample = np.asarray(X[np.sort(rows)], np.float64)
    rows = np.sort(rows)
    axes = min(50, *sample.shape)
    if axes < 2:
        sample, axes = np.c_[sample[:, :1], np.zeros(len(sample))], 2
    pca = PCA(axes, random_state=0).fit(sample)
    plane, how = pca.transform(sample), "principal components"
    shown = float(np.nan_to_num(pca.explained_variance_ratio_[:2].sum(), nan=1.0))
    if shown < 0.6 and len(rows) > 50:
        from sklearn.manifold import TSNE

        # One thread: a sample is so small that more of them spend five times the work on waiting.
        with threadpool_limits(1):
            plane = TSNE(
                2, init="pca", random_state=0, perplexity=min(30, len(rows) // 4), max_iter=500
            ).fit_transform(plane)
        how = "t-SNE"
    elif shown < 1:
        how = f"the first two principal components, {shown:.0%} of the variance"
    plane = plane[:, :2] - np.quantile(plane[:, :2], 0.005, axis=0)
    plane = plane / np.maximum(np.quantile(plane, 0.995, axis=0), 1e-12)
    plane = np.clip(plane, -0.03, 1.03)
    found = np.bincount(arm[arm >= 0], minlength=len(names))
    points = [
        {
            "x": round(600 * float(x), 1),
            "y": round(400 * (1 - float(y)), 1),
            "color": _color(found, arm[row]) if arm[row] >= 0 else "none",
            "known": bool(labels[row] >= 0),
            "title": f"row {row}: {names[arm[row]] if arm[row] >= 0 else 'no label reaches it'}",
        }
        for row, (x, y) in zip(rows, plane)
    ]
    points.sort(key=lambda point: bool(point["known"]))
    return {"points": points, "how": how, "sampled": len(rows) < len(arm), "n": len(rows)}


def _curves(energy: NDArray[np.void]) -> dict[str, Any]:
    """The energy and its parts as lines in a box of 600 × 200."""
    sweeps, top = energy["sweep"], float(energy["total"].max()) or 1.0
    last = max(int(sweeps[-1]), 1)
    parts = (
        ("total", "#3C4043"),
        ("smoothing", COLORS[0]),
        ("potential", COLORS[1]),
        ("fidelity", COLORS[2]),
    )
    lines = [
        {
            "name": name,
            "color": color,
            "points": " ".join(
                f"{600 * s / last:.1f},{200 * (1 - max(float(v), 0) / top):.1f}"
                for s, v in zip(sweeps, energy[name])
            ),
            "last": float(energy[name][-1]),
        }
        for name, color in parts
    ]
    return {"lines": lines, "last": last, "top": top}


def render(report: Report) -> str:
    """The page; every word that came from a file is escaped."""
    try:
        import jinja2
    except ImportError:
        raise ImportError("A report needs jinja2; install it with: pip install 'phaselabel[files]'") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    low, high = report.held.interval()
    return environment.get_template("report.html").render(
        report=report,
        curves=_curves(report.energy) if len(report.energy) else None,
        tallest=max(int(report.histogram.max(initial=0)), 1),
        low=low,
        high=high,
        now=datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0"),
        version=__version__,
    )


def write(report: Report, path: str | Path, *, overwrite: bool = False) -> None:
    """Render the page into a file."""
    page = render(report)
    with replacing(path, overwrite) as part:
        part.write_text(page, encoding="utf-8")


def _brief(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "[…]" if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "…"
