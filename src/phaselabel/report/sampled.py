"""A model whose rows stay on a cluster in; what the report says of it, by counts and a sample, out."""

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.report.findings import MOST_ROWS, Counts, Findings, assemble
from phaselabel.report.picture import MOST_POINTS, Picture, draw_sample

if TYPE_CHECKING:
    from phaselabel.estimators.classifier import GinzburgLandauClassifier

#: Numbers, confidences and classes of rows.
Rows = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]


def gather_sample(model: "GinzburgLandauClassifier", *, title: str = "", label: str = "label") -> Findings:
    """Collect what the report says of a model that was fitted on Dask, without bringing its rows here.

    Counts are of all rows and made by the workers. What arrives here are ``MOST_POINTS`` rows at most, for
    the picture, and the numbers of those that it is least sure of.

    Parameters
    ----------
    model : GinzburgLandauClassifier
        A classifier that was fitted on a Dask array, with evidence.
    title, label : str
        The names of the data and of the label.

    Returns
    -------
    Findings
        The content of the page.
    """
    if model.choice_ is None:
        raise ValueError(
            "A report on a model that is too large for this process is made by labels that evidence held "
            "back; use evidence."
        )
    fitted, graph = model._fitted, model._fitted.outcome.graph
    counts, (rows, sure, arm) = _seen(model)
    found = assemble(
        model,
        counts,
        model.hold_out(),
        title=title,
        label=label,
        graph=[
            ("vertices", f"{fitted.n_rows:,}"),
            ("edges between the neighbours found", f"{graph.n_edges:,}"),
            ("true neighbours that were found", f"{graph.recall:.1%} of a sample"),
            ("blocks", f"{graph.partition.n_blocks}, with {graph.n_cut:,} edges between them"),
        ],
        n_novel=fitted.outcome.far[0],
    )
    names = [str(name) for name in model.classes_]
    found.query = [
        {"row": int(row), "found": names[own], "confidence": float(c)} for row, c, own in zip(rows, sure, arm)
    ]
    if model.abstain_below is not None:
        decided = fitted.decided_sizes(model.abstain_below, model._client)
        found.n_abstained = int(counts.found.sum() - decided.sum())
    found.by_graph = False
    found.picture = _picture(model, names, counts.found)
    return found


def _seen(model: "GinzburgLandauClassifier") -> tuple[Counts, Rows]:
    """The counts of all rows, and the rows without a given label that it is least sure of."""
    import dask

    from phaselabel.distributed.cluster import connected

    arm: Any = model.solution_.arm
    rows, arms = model._fitted.labelled
    ends = np.cumsum([0, *arm.chunks[0]])
    cuts = np.searchsorted(rows, ends)
    look = dask.delayed(_look, pure=False)
    with connected(model._client) as client:
        chunks = zip(arm.to_delayed().ravel(), model.confidence_.to_delayed().ravel())
        calls = [
            look(
                int(ends[i]),
                rows[cuts[i] : cuts[i + 1]],
                arms[cuts[i] : cuts[i + 1]],
                *chunk,
                len(model.classes_),
            )
            for i, chunk in enumerate(chunks)
        ]
        parts = client.gather(client.compute(calls))
    least = [np.concatenate(of_all) for of_all in zip(*(some for _, some in parts))]
    first = np.argsort(least[1], kind="stable")[:MOST_ROWS]
    numbers, sure, own = (of_all[first] for of_all in least)
    return reduce(add, (counts for counts, _ in parts)), (numbers, sure, own)


def _look(
    first: int,
    rows: NDArray[np.int64],
    arms: NDArray[np.int32],
    arm: NDArray[np.int32],
    confidence: NDArray[np.float64],
    n_classes: int,
) -> tuple[Counts, Rows]:
    """The counts of one chunk, and its least sure rows."""
    labels = np.full(len(arm), -1, np.int32)
    labels[rows - first] = arms
    sought = np.flatnonzero((arm >= 0) & (labels < 0))
    least = sought[np.argsort(confidence[sought], kind="stable")][:MOST_ROWS]
    return Counts.of(labels, arm, confidence, n_classes), (first + least, confidence[least], arm[least])


def _picture(model: "GinzburgLandauClassifier", names: list[str], sizes: NDArray[np.int64]) -> Picture:
    """Some rows in a plane; at most a quarter of them have a given label."""
    fitted, rng = model._fitted, np.random.default_rng(0)
    known, arms = fitted.labelled
    shown = rng.permutation(known)[: MOST_POINTS // 4]
    # Drawn without a list of all rows, which may be more than this process holds.
    others = np.setdiff1d(rng.integers(fitted.n_rows, size=2 * MOST_POINTS), known)
    rows = np.sort(np.concatenate([shown, rng.permutation(others)[: MOST_POINTS - len(shown)]]))
    points, arm = fitted.sample(rows, model._client)
    place = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    labels = np.where(known[place] == rows, arms[place], -1)
    return draw_sample(points, rows, arm, labels, names, sizes, fitted.n_rows)
