"""Rows of cells, graphs and marks in; what experts together believe of every cell out.

Models of the looks and walks on the graphs are pooled. Strokes held back choose the weights: whole strokes,
because the pixels of one stroke resemble each other more than they resemble the rest of the image.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from phaselabel.evidence.folds import MOST_FOLDS, Folds
from phaselabel.evidence.opinion import start_from
from phaselabel.evidence.pool import fitted_weights
from phaselabel.evidence.propagation import harmonic
from phaselabel.evidence.row_models import Forest
from phaselabel.flow.star import State
from phaselabel.graph import Graph

#: The prior weight of the models of the looks together.
LOOKS_WEIGHT = 0.6

#: The prior weight of the walk on the graph of like cells.
GRAPH_WEIGHT = 0.4

#: The prior weight of the walk from cell to touching cell, and of the trees that know the place.
WALK_WEIGHT, PLACE_WEIGHT = 0.5, 0.2

#: The prior weight of the walk on the graph of like textures, where patches are grainy.
TEXTURE_WEIGHT = 0.8

#: The grain from which textures count, and that from which they have their full weight.
GRAINS = (0.02, 0.05)

#: Cells that a walk hardly reaches have no grain: two classes differ by less than this.
LEAST_MARGIN = 0.02

#: Marks at a mean distance of more than this, in longer sides, say nothing about places.
NEAR = 0.08

#: The number of trees in a forest, all together, and in one with marks held back.
N_TREES, N_HIDDEN_TREES = 50, 15

#: Folds are hidden one after the other until this many strokes have been hidden.
ENOUGH_STROKES = 150

#: A model is fitted to at most this many marked cells of a class.
MOST_ROWS = 2000

#: At most this many marked cells of a stroke that is held back count in the choice of the weights.
MOST_JUDGED = 10

Table = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Expert:
    """A name, a kind, a prior weight; log-probabilities of some rows (all by default) from labels of some."""

    name: str
    kind: str
    prior: float
    ask: Callable[[NDArray[np.int32], NDArray[np.intp] | None], Table]


@dataclass(frozen=True, eq=False)
class PixelOpinion:
    """What experts together believe of every vertex.

    Attributes
    ----------
    probabilities : ndarray of float32, shape (n, K)
        q, the evidence of the flow.
    weights : dict of str to float
        The weight of every expert.
    found : float or None
        The share of the marks held back that were found; None where none could be.
    """

    probabilities: NDArray[np.float32] = field(repr=False)
    weights: dict[str, float]
    found: float | None

    def start(self) -> State:
        """The arm of the largest probability, at a height by its margin over the next."""
        return start_from(self.probabilities)


def experts_of(
    scales: NDArray[np.float32],
    places: NDArray[np.float32],
    looks: Graph,
    grid: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    *,
    n_near: int,
    near: bool,
    texture: Callable[[], Graph] | None = None,
) -> list[Expert]:
    """The experts of an image, or of several.

    Parameters
    ----------
    scales : ndarray of shape (n, d)
        The looks of every vertex at several scales.
    places : ndarray of shape (n, 2 or 3)
        Where every vertex is.
    looks, grid : Graph
        The graph of like vertices, and that of touching ones.
    labels : ndarray of int32, shape (n,)
        The classes of the marked vertices, -1 elsewhere.
    n_classes : int
        K.
    n_near : int
        How many of the first columns of ``scales`` describe the near surroundings.
    near : bool
        Whether marks are so near everywhere that the place of a vertex says something.
    texture : callable, optional
        Makes the graph of vertices with like textures, if it is needed.

    Returns
    -------
    list of Expert
        Models of the looks, a walk on the graph of like vertices; where that is grainy also a walk on the
        graph of like textures; with ``near`` also a walk on the grid and trees that know the place.
    """

    likeness = Walk(looks, n_classes)
    experts = [
        Expert("forest", "looks", LOOKS_WEIGHT / 2, Trees(scales[:, :n_near], n_classes, extra=False)),
        Expert("extra trees", "looks", LOOKS_WEIGHT / 2, Trees(scales, n_classes, extra=True)),
        Expert("likeness", "graph", GRAPH_WEIGHT, likeness),
    ]
    if texture is not None:
        weight = texture_weight(grain(grid, likeness(labels, None)))
        if weight > 0:
            experts.append(Expert("texture", "texture", weight, Walk(texture(), n_classes)))
    if near:
        placed = np.concatenate([scales, places], axis=1)
        experts.append(Expert("touching", "grid", WALK_WEIGHT, Walk(grid, n_classes)))
        experts.append(Expert("placed trees", "place", PLACE_WEIGHT, Trees(placed, n_classes, extra=True)))
    return experts


class Trees:
    """A forest of some rows; the trees that were grown with marks held back join the last ones."""

    def __init__(self, rows: NDArray[np.float32], n_classes: int, *, extra: bool) -> None:
        self._rows, self._n_classes, self._extra = rows, n_classes, extra
        self._grown: list[Forest] = []

    def __call__(self, labels: NDArray[np.int32], wanted: NDArray[np.intp] | None) -> Table:
        """Log-probabilities of the wanted rows, or of all."""
        some, turn = fitting_rows(labels), len(self._grown)
        n_trees = (
            N_HIDDEN_TREES if wanted is not None else max(N_TREES - turn * N_HIDDEN_TREES, N_HIDDEN_TREES)
        )
        model = Forest.fit(
            self._rows[some], labels[some], self._n_classes, n_trees, extra=self._extra, seed=turn
        )
        if wanted is not None:
            self._grown.append(model)
            return np.asarray(model.log_probabilities(self._rows[wanted]), np.float32)
        return np.asarray(Forest.joined([*self._grown, model]).log_probabilities(self._rows), np.float32)


class Walk:
    """The harmonic solution on a graph; the answer to the last labels is kept."""

    def __init__(self, graph: Graph, n_classes: int) -> None:
        self._graph, self._n_classes = graph, n_classes
        self._labels: NDArray[np.int32] | None = None

    def __call__(self, labels: NDArray[np.int32], wanted: NDArray[np.intp] | None) -> Table:
        """Log-probabilities of the wanted rows, or of all."""
        if self._labels is not labels:
            self._labels, self._table = labels, harmonic(self._graph, labels, self._n_classes)
        return self._table if wanted is None else self._table[wanted]


def grain(grid: Graph, table: Table) -> float:
    """The share of touching pairs that differ in class: large where patches do not tell classes apart."""
    indptr, indices, _ = grid.csr
    ranked = np.sort(np.exp(table), axis=1)
    # Class -1: the walk has not reached the vertex.
    decided = ranked[:, -1] - ranked[:, -2] >= LEAST_MARGIN
    classes = np.where(decided, table.argmax(axis=1), -1)
    first, second = np.repeat(classes, np.diff(indptr)), classes[indices]
    both = (first >= 0) & (second >= 0)
    return float(np.mean((first != second)[both])) if both.any() else 0.0


def texture_weight(share: float) -> float:
    """The prior weight of textures where so large a share of the touching pairs differ.

    Examples
    --------
    >>> texture_weight(0.02), texture_weight(0.2)
    (0.0, 0.8)
    """
    low, high = GRAINS
    return TEXTURE_WEIGHT * min(max((share - low) / (high - low), 0.0), 1.0)


def form_opinion(
    experts: list[Expert], labels: NDArray[np.int32], groups: NDArray[np.int64], n_classes: int
) -> PixelOpinion:
    """Ask every expert with marks held back, choose the weights, and ask again with all marks.

    Parameters
    ----------
    experts : list of Expert
        The experts.
    labels : ndarray of int32, shape (n,)
        The classes of the marked vertices, -1 elsewhere.
    groups : ndarray of int, shape (n,)
        The stroke of every marked vertex.
    n_classes : int
        K.

    Returns
    -------
    PixelOpinion
        Probabilities, and how they came about.
    """
    folds = stroke_folds(labels, groups, n_classes)
    prior = np.array([expert.prior for expert in experts])
    judged = _thinned(folds.judged, groups)
    held = np.zeros((len(judged), len(experts), n_classes), np.float32)
    for turn in range(folds.n_hidden):
        mine = np.flatnonzero(np.isin(judged, folds.hidden(turn)))
        for e, expert in enumerate(experts):
            held[mine, e] = expert.ask(folds.shown(turn), judged[mine])
    weights, bias = fitted_weights(held, labels[judged], prior, [expert.kind for expert in experts])
    logits = np.zeros((len(labels), n_classes), np.float32) + bias.astype(np.float32)
    for expert, weight in zip(experts, weights):
        if weight > 0:  # the others need not be asked again
            logits += np.float32(weight) * expert.ask(labels, None)
    found = None
    if len(judged):
        pooled = np.einsum("rek,e->rk", held, weights) + bias
        found = float(np.mean(pooled.argmax(axis=1) == labels[judged]))
    q = np.exp(log_softmax(logits, axis=1)).astype(np.float32)
    return PixelOpinion(q, {e.name: float(w) for e, w in zip(experts, weights)}, found)


def _thinned(rows: NDArray[np.intp], groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """At most ``MOST_JUDGED`` rows of every stroke: the pixels of one stroke say nearly the same."""
    shuffled = np.random.default_rng(0).permutation(rows)
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    _, first, counts = np.unique(groups[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(first, counts)
    return np.sort(order[rank < MOST_JUDGED])


def stroke_folds(labels: NDArray[np.int32], groups: NDArray[np.int64], n_classes: int) -> Folds:
    """Deal whole strokes into folds; the only stroke of a class is never hidden.

    Examples
    --------
    >>> labels, groups = np.array([0, 0, 1, 1, 0, 1], np.int32), np.array([0, 0, 1, 1, 2, 3])
    >>> folds = stroke_folds(labels, groups, 2)
    >>> folds.n_hidden, folds.fold.tolist()[0] == folds.fold.tolist()[1]
    (2, True)
    """
    known = np.flatnonzero(labels >= 0)
    y, stroke = labels[known], groups[known]
    rng = np.random.default_rng(0)
    strokes = [np.unique(stroke[y == k]) for k in range(n_classes)]
    n = min(MOST_FOLDS, max((len(some) for some in strokes), default=0))
    fold = np.full(len(known), -1)
    if n > 1:
        for k, some in enumerate(strokes):
            if len(some) > 1:
                turn = (np.arange(len(some)) + rng.integers(n)) % n
                dealt = dict(zip(rng.permutation(some).tolist(), turn.tolist()))
                mine = np.flatnonzero(y == k)
                fold[mine] = [dealt[s] for s in stroke[mine].tolist()]
    size = np.bincount(fold[fold >= 0], minlength=n) if n > 1 else np.zeros(0, int)
    # Pixels of one stroke say the same thing: strokes are counted, not pixels.
    n_strokes = sum(map(len, strokes))
    enough = min(ENOUGH_STROKES, n_strokes)
    per_fold = n_strokes / max(n, 1)
    used = min(n, int(np.ceil(enough / max(per_fold, 1)))) if size.sum() else 0
    return Folds(labels, n_classes, known, np.where(fold < used, fold, -1), n if used else 0, used)


def fitting_rows(labels: NDArray[np.int32]) -> NDArray[np.intp]:
    """The marked rows that models are fitted to: at most ``MOST_ROWS`` of every class."""
    known = np.flatnonzero(labels >= 0)
    counts = np.bincount(labels[known])
    if counts.max(initial=0) <= MOST_ROWS:
        return known
    order = np.random.default_rng(0).permutation(known)
    kept = [order[labels[order] == k][:MOST_ROWS] for k in np.flatnonzero(counts)]
    return np.sort(np.concatenate(kept))
