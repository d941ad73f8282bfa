"""Rows of cells, graphs and marks in; what experts together believe of every cell out.

Models of the looks and walks on the graphs are pooled. Strokes held back choose the weights: whole strokes,
because the pixels of one stroke resemble each other more than they resemble the rest of the image.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from phaselabel.evidence.folds import MOST_FOLDS, Folds
from phaselabel.evidence.forest import Forest
from phaselabel.evidence.opinion import start_from
from phaselabel.evidence.pool import fitted_weights, prior_precision
from phaselabel.evidence.propagation import harmonic_shares, with_doubt
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

#: The deviation of all weights of a kind together: what looks and nearness are worth differs much between
#: pictures, and a stroke held back shows it.
KIND_DEVIATION = 1.0

#: The number of trees in a forest, all together, and in one with marks held back.
N_TREES, N_HIDDEN_TREES = 50, 15

#: The number of trees in a forest that is grown after a stroke.
N_LIVE_TREES = 15

#: Weights serve until the marked cells are this many times as many, or as few, as those they were chosen by.
GROWTH = 2.0

#: Folds are hidden one after the other until this many strokes have been hidden.
ENOUGH_STROKES = 150

#: A model is fitted to at most this many marked cells of a class.
MOST_ROWS = 2000

#: At most this many marked cells of a stroke that is held back count in the choice of the weights.
MOST_JUDGED = 10

Table = NDArray[np.float32]


class Asked(Protocol):
    """Who gives log-probabilities of vertices from the labels of some."""

    def __call__(self, labels: NDArray[np.int32], wanted: NDArray[np.intp] | None) -> Table:
        """Those of the wanted vertices, from labels of which some are hidden; of all, from all labels."""

    def again(self, labels: NDArray[np.int32]) -> Table:
        """Those of all vertices after a few more labels: sooner, and nearly the same."""


@dataclass(frozen=True, eq=False)
class Expert:
    """A name, a kind, a prior weight, and who is asked."""

    name: str
    kind: str
    prior: float
    ask: Asked


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
        Expert("forest", "looks", LOOKS_WEIGHT / 2, Trees(scales, n_classes, extra=False, n_columns=n_near)),
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
    """A forest of the first columns of some rows; trees grown with marks held back join the last ones."""

    def __init__(
        self, rows: NDArray[np.float32], n_classes: int, *, extra: bool, n_columns: int | None = None
    ) -> None:
        self._rows, self._n_classes, self._extra, self._n_columns = rows, n_classes, extra, n_columns
        self._grown: list[Forest] = []

    def __call__(self, labels: NDArray[np.int32], wanted: NDArray[np.intp] | None) -> Table:
        """Log-probabilities of the wanted rows, or of all."""
        turn = len(self._grown)
        if wanted is not None:
            self._grown.append(self._fitted(labels, N_HIDDEN_TREES, turn))
            return self._grown[-1].log_probabilities(self._rows[wanted])
        last = self._fitted(labels, max(N_TREES - turn * N_HIDDEN_TREES, N_HIDDEN_TREES), turn)
        forest, self._grown = Forest.joined([*self._grown, last]), []
        return forest.log_probabilities(self._rows)

    def again(self, labels: NDArray[np.int32]) -> Table:
        """A few new trees: old ones would hold on to what a new stroke corrects."""
        return self._fitted(labels, N_LIVE_TREES, 0).log_probabilities(self._rows)

    def _fitted(self, labels: NDArray[np.int32], n_trees: int, seed: int) -> Forest:
        some = fitting_rows(labels)
        rows = self._rows[some][:, : self._n_columns]
        return Forest.fit(rows, labels[some], self._n_classes, n_trees, extra=self._extra, seed=seed)


class Walk:
    """The harmonic solution on a graph; that of all labels is kept."""

    def __init__(self, graph: Graph, n_classes: int) -> None:
        self._graph, self._n_classes = graph, n_classes
        self._labels: NDArray[np.int32] | None = None
        self._shares: Table | None = None

    def __call__(self, labels: NDArray[np.int32], wanted: NDArray[np.intp] | None) -> Table:
        """Log-probabilities of the wanted rows, or of all."""
        if wanted is not None:
            return with_doubt(harmonic_shares(self._graph, labels, self._n_classes)[wanted])
        if self._labels is not labels:
            self._labels, self._shares = labels, harmonic_shares(self._graph, labels, self._n_classes)
        assert self._shares is not None
        return with_doubt(self._shares)

    def again(self, labels: NDArray[np.int32]) -> Table:
        """Solved from the last solution: only near the new labels it is far from the new one."""
        self._shares = harmonic_shares(self._graph, labels, self._n_classes, start=self._shares)
        self._labels = labels
        return with_doubt(self._shares)


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


@dataclass(frozen=True, eq=False)
class Panel:
    """Experts, and what each of them counts.

    Attributes
    ----------
    experts : list of Expert
        The experts.
    weights : ndarray of float64
        The weight of each.
    bias : ndarray of float32, shape (K,)
        What is added to the log-probabilities.
    found : float or None
        The share of the marks held back that were found; None where none could be.
    n_known : int
        The number of marked vertices that the weights were chosen by.
    """

    experts: list[Expert]
    weights: NDArray[np.float64]
    bias: NDArray[np.float32]
    found: float | None
    n_known: int

    @classmethod
    def weighed(
        cls,
        experts: list[Expert],
        labels: NDArray[np.int32],
        groups: NDArray[np.int64],
        n_classes: int,
        pause: Callable[[], object] = lambda: None,
    ) -> "Panel":
        """Ask every expert with marks held back, and choose the weights.

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
        pause : callable
            Called before every question. What it raises ends the choice.

        Returns
        -------
        Panel
            The experts with their weights.
        """
        folds = stroke_folds(labels, groups, n_classes)
        prior = np.array([expert.prior for expert in experts])
        judged = _thinned(folds.judged, groups)
        held = np.zeros((len(judged), len(experts), n_classes), np.float32)
        for turn in range(folds.n_hidden):
            mine = np.flatnonzero(np.isin(judged, folds.hidden(turn)))
            for e, expert in enumerate(experts):
                pause()
                held[mine, e] = expert.ask(folds.shown(turn), judged[mine])
        precision = prior_precision([expert.kind for expert in experts], prior, KIND_DEVIATION)
        weights, bias = fitted_weights(
            held, labels[judged], prior, precision, _shares_of_strokes(groups[judged])
        )
        found = None
        if len(judged):
            pooled = np.einsum("rek,e->rk", held, weights) + bias
            found = float(np.mean(pooled.argmax(axis=1) == labels[judged]))
        return cls(experts, weights, bias.astype(np.float32), found, len(folds.known))

    def serves(self, labels: NDArray[np.int32]) -> bool:
        """Whether the weights may be kept for these labels."""
        return 1 / GROWTH < int((labels >= 0).sum()) / self.n_known < GROWTH

    def opinion(
        self, labels: NDArray[np.int32], *, again: bool = False, pause: Callable[[], object] = lambda: None
    ) -> PixelOpinion:
        """Ask all experts with all marks, and pool what they say.

        Parameters
        ----------
        labels : ndarray of int32, shape (n,)
            The classes of the marked vertices, -1 elsewhere.
        again : bool, default=False
            Whether the experts have been asked before and may go on from there.
        pause : callable
            Called before every question.
        """
        logits = np.zeros((len(labels), len(self.bias)), np.float32) + self.bias
        for expert, weight in zip(self.experts, self.weights):
            if weight > 0:  # the others need not be asked again
                pause()
                said = expert.ask.again(labels) if again else expert.ask(labels, None)
                logits += np.float32(weight) * said
        q = np.exp(log_softmax(logits, axis=1)).astype(np.float32)
        named = {expert.name: float(weight) for expert, weight in zip(self.experts, self.weights)}
        return PixelOpinion(q, named, self.found)


def _thinned(rows: NDArray[np.intp], groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """At most ``MOST_JUDGED`` rows of every stroke: the pixels of one stroke say nearly the same."""
    shuffled = np.random.default_rng(0).permutation(rows)
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    _, first, counts = np.unique(groups[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(first, counts)
    return np.sort(order[rank < MOST_JUDGED])


def _shares_of_strokes(groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """What every judged row is of its stroke: however many pixels it has, a stroke counts as one label.

    Examples
    --------
    >>> _shares_of_strokes(np.array([3, 3, 5])).tolist()
    [0.5, 0.5, 1.0]
    """
    _, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(1 / counts[inverse])


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
