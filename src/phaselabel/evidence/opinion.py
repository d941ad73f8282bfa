"""Rows, graphs and a few labels in; what experts together believe of every row, and what was chosen, out."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.utils import gen_batches

from phaselabel.evidence.class_sizes import found_offsets, offsets_for_sizes
from phaselabel.evidence.experts import Expert, RowExperts, affordable_turns, graph_experts
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.pool import (
    MOST_VOICE,
    Figures,
    tempering,
)
from phaselabel.evidence.row_models import THREAD_TABLE, Scale, Shares
from phaselabel.evidence.trial import Trial
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.flow.star import LEAF, State
from phaselabel.graph import Graph

#: The name of a graph that is given, not made from neighbours.
GIVEN = "given"

#: The least height at which a vertex starts, on the arm that the evidence prefers.
LEAST_HEIGHT = 0.02


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, from what, and by which figures.

    Attributes
    ----------
    weights : dict of str to float
        The weight of every expert in the pool.
    graph : str
        The graph that the flow runs on: a number of neighbours, or "given".
    figures : Figures
        How many hidden labels the rows, the graph, and both together found.
    class_sizes : ndarray of shape (K,)
        The proportions that the probabilities were corrected by.
    size_trust : float
        How far the unlabelled rows were trusted on these, from 0 to 1.
    """

    weights: dict[str, float]
    graph: str
    figures: Figures
    class_sizes: NDArray[np.float64]
    size_trust: float

    def __str__(self) -> str:
        strongest = sorted(self.weights.items(), key=lambda item: -item[1])[:3]
        listed = ", ".join(f"{name} {weight:.2f}" for name, weight in strongest if weight > 0)
        graph = "given graph" if self.graph == GIVEN else f"graph of {self.graph} neighbours"
        return f"flow on the {graph}; strongest experts: {listed}"


@dataclass(frozen=True, eq=False)
class Opinion:
    """What experts together believe of the fitted rows, and what is needed for new ones.

    Attributes
    ----------
    probabilities : ndarray of shape (n, K)
        q, the evidence of the flow.
    confidence : ndarray of shape (n, K)
        The same, tempered by how many labels could be hidden: the probability of being right.
    voice : float
        θ, the weight of the evidence: 1 if all of it comes from graphs, which is as much as all neighbours
        together have; more, the more of it the rows say.
    choice : Choice
        How it came about.
    graph_logits : ndarray of shape (n, K)
        The part of the graphs' experts in the pool, before biases and class sizes.
    models : list
        The models of the rows, fitted to all labels, with their weights in ``model_weights``.
    scale : Scale or None
        How rows are scaled for the models.
    offsets : ndarray of shape (K,)
        What biases and class sizes add.
    hidden_rows, hidden_probabilities : ndarray of shape (m,) and (m, K)
        The labelled rows that were hidden in turn, and what was believed of them then.
    n_folds : int
        The number of turns.
    """

    probabilities: NDArray[np.float32]
    confidence: NDArray[np.float32]
    voice: float
    choice: Choice
    graph_logits: NDArray[np.float32] = field(repr=False)
    models: list[Any] = field(repr=False)
    model_weights: list[float] = field(repr=False)
    scale: Scale | None = field(repr=False)
    offsets: NDArray[np.float64]
    hidden_rows: NDArray[np.intp]
    hidden_probabilities: NDArray[np.float64]
    n_folds: int

    def start(self) -> State:
        """The arm of the largest probability, at a height by its margin over the next."""
        return start_from(self.probabilities)

    def say_of_rows(self, X: Any) -> NDArray[np.float32]:
        """The part of the rows' models in the pool, as :func:`pool_opinion` adds it up."""
        total = np.zeros((X.shape[0], self.probabilities.shape[1]), np.float32)
        for weight, said in self._said_of(X):
            total += np.float32(weight) * np.asarray(said, np.float32)
        return total

    def _said_of(self, X: Any) -> Iterator[tuple[float, NDArray[np.floating[Any]]]]:
        """The weight of every model of the rows, and what it says."""
        if self.models and self.scale is not None:
            scaled = self.scale(X)
            for model, weight in zip(self.models, self.model_weights):
                yield weight, model.log_probabilities(X if isinstance(model, Shares) else scaled)

    def of_rows(self, X: Any, graph_logits: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Confidences in new rows, given the mean graph logits of their neighbours."""
        logits = graph_logits + self.offsets
        for weight, said in self._said_of(X):
            logits = logits + weight * said
        return np.exp(log_softmax(tempering(len(self.hidden_rows)) * logits, axis=1))


def start_from(q: NDArray[np.floating[Any]]) -> State:
    """The arm of every row's largest probability, at a height by its margin over the next.

    Examples
    --------
    >>> state = start_from(np.array([[0.75, 0.25], [0.5, 0.5]]))
    >>> state.arm.tolist(), state.height.tolist()
    ([0, 0], [0.25, 0.02])
    """
    if q.shape[1] < 2:
        return State(np.zeros(len(q), np.int32), np.full(len(q), LEAF))
    two = np.partition(q, -2, axis=1)[:, -2:]
    height = np.clip(LEAF * (two[:, 1] - two[:, 0]).astype(np.float64), LEAST_HEIGHT, LEAF)
    return State(q.argmax(axis=1).astype(np.int32), height)


def softmax(logits: NDArray[np.float32], factor: float = 1.0) -> NDArray[np.float32]:
    """Probabilities of rows from their logits times a factor, some rows after the other."""
    out = np.empty_like(logits)
    for some in gen_batches(len(out), max(1, THREAD_TABLE // max(out.shape[1], 1))):
        out[some] = np.exp(log_softmax(np.float32(factor) * logits[some], axis=1))
    return out


def form_opinion(
    X: Any | None,
    graphs: Mapping[str, Graph],
    labels: NDArray[np.int32],
    n_classes: int,
    sizes: ClassSizes,
    *,
    usual: str,
    own: bool = False,
    model: Any = None,
    columns: NDArray[np.intp] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> Opinion:
    """Ask every expert there is, and pool what they say.

    Parameters
    ----------
    X : array-like or sparse matrix, optional
        The rows; without them only the graphs are asked.
    graphs : mapping of str to Graph
        Graphs of several numbers of neighbours, by name.
    labels : ndarray of int32
        The known classes; -1 where not known.
    n_classes : int
        K.
    sizes : ClassSizes
        What is known of the classes' sizes.
    usual : str
        The graph that few labels are spread on.
    own : bool, default=False
        Whether that graph is not made from the rows, so that it carries their opinion further.
    model : scikit-learn classifier, or ndarray of shape (n, K), optional
        The model of the rows, or its probabilities, instead of the built-in ones. A row of NaN is no opinion.
    columns : ndarray of int, optional
        The columns that the built-in models see; all by default.
    pause : callable
        Called between two experts. A program with a user in front of it does there what can't wait.

    Returns
    -------
    Opinion
        Probabilities of all rows, and how they came about.
    """
    folds = Folds.of(labels, n_classes, affordable_turns(len(labels), n_classes))
    rows = RowExperts(X, folds, model, columns=columns)
    walks = graph_experts(graphs, folds, rows, sizes, usual=usual, own=own)
    return pool_opinion(rows, walks, folds, sizes, list(graphs), usual=usual, own=own, pause=pause)


def pool_opinion(
    rows: RowExperts,
    walks: list[Expert],
    folds: Folds,
    sizes: ClassSizes,
    names: list[str],
    *,
    usual: str,
    own: bool = False,
    pause: Callable[[], None] = lambda: None,
) -> Opinion:
    """Weigh experts by labels held back; pool what they say.

    On a cluster the rows are the labelled ones and a sample of the others, of all rows that the graphs have:
    the weights, the biases and the sizes depend on no other row.

    Parameters
    ----------
    rows : RowExperts
        The models of the rows.
    walks : list of Expert
        The experts that ask graphs.
    folds : Folds
        The known labels, and which are hidden when.
    sizes : ClassSizes
        What is known of the classes' sizes.
    names : list of str
        The names of the graphs.
    usual : str
        The graph that few labels are spread on.
    own : bool, default=False
        Whether that graph is not made from the rows.
    pause : callable
        Called between two experts.

    Returns
    -------
    Opinion
        Probabilities of these rows, and how they came about.
    """
    experts = [*rows.experts, *walks]
    trial = Trial.of(experts, folds, pause)
    weights, bias = trial.weights()
    by_rows, by_graph, parts = _added_up(experts, weights, trial, pause)
    of_hidden, of_sample = trial.judged()
    of_sample.append(trial.of_sample(folds.n_hidden, weights, bias))
    # In place, because tables of rows by classes are most of the memory.
    logits, doubt = by_rows, tempering(len(folds.judged))
    logits += by_graph
    logits += bias.astype(np.float32)
    figures = Figures.of(trial.held, trial.kinds, folds, of_hidden)
    by_sizes, trust = _size_offsets(logits, of_sample, doubt, trial, sizes, figures.together or 0.0)
    logits += by_sizes.astype(np.float32)
    q, sure = softmax(logits), softmax(logits, doubt)

    named = {expert.name: float(weight) for expert, weight in zip(experts, weights)}
    pull = {name: sum(w for e, w in named.items() if e.endswith(f" {name}")) for name in names}
    chosen = usual if own else max(pull, key=lambda name: pull[name])
    choice = Choice(named, chosen, figures, np.exp(by_sizes) / np.exp(by_sizes).sum(), trust)
    used = [name for name in rows.models if named[name] > 0]
    models, model_weights = [rows.models[name] for name in used], [named[name] for name in used]
    return Opinion(
        q, sure, _voice(parts, trial.kinds), choice, by_graph, models, model_weights, rows.scale,
        by_sizes + bias, folds.judged, of_hidden, folds.n_hidden,
    )  # fmt: skip


def _added_up(
    experts: list[Expert], weights: NDArray[np.float64], trial: Trial, pause: Callable[[], None]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float64]]:
    """What the models of the rows say, what the graphs say, and how much each expert says.

    Experts are asked with all labels; those without a weight need not be.
    """
    folds = trial.folds
    shape = len(folds.labels), folds.n_classes
    by_rows, by_graph = (np.zeros(shape, np.float32) for _ in range(2))  # each is freed by itself
    parts = np.zeros(len(experts))
    for e, (expert, weight) in enumerate(zip(experts, weights)):
        if weight > 0:
            pause()
            table = expert.ask(folds.n_hidden, None)
            target = by_rows if expert.kind == "rows" else by_graph
            target += np.float32(weight) * table
            some = table[trial.sample]
            parts[e] = weight * float(some.std(axis=1).mean()) if len(some) else weight
            trial.keep_sampled(folds.n_hidden, e, some)
            del table  # or it would stand beside those of the next expert
    return by_rows, by_graph, parts


def _size_offsets(
    logits: NDArray[np.float32],
    of_sample: list[NDArray[np.float64]],
    doubt: float,
    trial: Trial,
    sizes: ClassSizes,
    found: float,
) -> tuple[NDArray[np.float64], float]:
    """What given or found class sizes add to the logits, and how far the rows were trusted on it."""
    sampled, folds = logits[trial.sample], trial.folds
    if sizes.are_given:
        return offsets_for_sizes(sampled if len(sampled) else logits, sizes), 1.0
    counts = np.bincount(folds.labels[folds.known], minlength=folds.n_classes)
    # The EM takes probabilities at their word, so it gets the tempered ones.
    tempered: list[Any] = [doubt * turn for turn in of_sample]
    offsets, trust = found_offsets(doubt * sampled, tempered, counts, folds.n_dealt, found)
    return offsets / doubt, trust


def _voice(parts: NDArray[np.float64], kinds: list[str]) -> float:
    """θ: the more of the evidence the rows say, the more it counts beside the graph."""
    from_graphs = parts[[kind != "rows" for kind in kinds]].sum() / max(parts.sum(), 1e-30)
    return float(min(MOST_VOICE, 1 / max(from_graphs, 1e-30)))
