"""Rows or graphs and the labels that are shown in, experts that give log-probabilities of any row out."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.evidence.folds import Folds
from phaselabel.evidence.forest import Forest, affordable_trees
from phaselabel.evidence.pool import ROWS_WEIGHT
from phaselabel.evidence.propagation import (
    DAMPING,
    carried,
    flow_votes,
    harmonic,
    poisson_odds,
    spread_votes,
    with_doubt,
)
from phaselabel.evidence.row_models import (
    ROWS_FOR_DIRECTIONS,
    Curve,
    Linear,
    Scale,
    Shares,
    landmarks_for,
    leading_directions,
)
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.few_labels.poisson import poisson
from phaselabel.few_labels.policy import FIT
from phaselabel.few_labels.sharpen import sharpened
from phaselabel.graph import Graph

#: Entries of the tables (rows by classes) of all propagations on graphs; one propagation is always used.
MOST_ENTRIES = 2_000_000

#: Entries of the tables of one propagation in all turns; one turn is always used.
MOST_TURN_ENTRIES = 20_000_000

#: Where one propagation alone costs more than all may, its walks are damped more, but not more than this.
MOST_DAMPING = 0.03

Table = NDArray[np.float32]
Fit = Callable[[Any, NDArray[np.integer[Any]], int], Any]  # rows, classes and K to a model


@dataclass(frozen=True, eq=False)
class Expert:
    """A name, a kind, and log-probabilities of some rows (all by default) in a turn of the folds."""

    name: str
    kind: str
    ask: Callable[[int, NDArray[np.intp] | None], Table]


@dataclass(frozen=True, eq=False)
class Survey:
    """What the models of the rows must know of all rows, where they are fitted on some.

    Attributes
    ----------
    scale : Scale
        How rows are scaled.
    directions : ndarray
        The leading directions of scaled rows.
    n_rows : int
        The number of rows.
    """

    scale: Scale
    directions: NDArray[np.float32]
    n_rows: int


def affordable_walks(n_rows: int, n_classes: int) -> int:
    """How many propagations on graphs are used; those on the usual graph come first.

    Examples
    --------
    >>> affordable_walks(1000, 10), affordable_walks(70_000, 10), affordable_walks(1_000_000, 20)
    (200, 2, 1)
    """
    return max(1, MOST_ENTRIES // (n_rows * n_classes))


def is_spread(n_rows: int, n_labels: int, n_classes: int) -> bool:
    """Whether labels are so few that they are spread: where a fit to the graph alone spreads them."""
    return FIT.spreads(n_rows, n_labels, n_classes, sizes_given=False)


def asks_flow(folds: Folds) -> bool:
    """Whether the flow of the graph alone is an expert where labels are not spread: it must be judged."""
    return folds.n_hidden > 0 and folds.n_classes > 1


def affordable_graphs(n_rows: int, n_classes: int) -> int:
    """How many graphs are asked: two propagations on each, as many as can be afforded.

    Examples
    --------
    >>> affordable_graphs(1000, 10), affordable_graphs(70_000, 10), affordable_graphs(1_000_000, 20)
    (100, 1, 1)
    """
    return -(-affordable_walks(n_rows, n_classes) // 2)


def affordable_damping(n_rows: int, n_classes: int) -> float:
    """How much the walks to the labels are damped: with more rows they are shorter, and sooner followed.

    Examples
    --------
    >>> affordable_damping(70_000, 10), affordable_damping(1_000_000, 20)
    (0.001, 0.02)
    """
    return min(MOST_DAMPING, DAMPING * max(1.0, 2 * n_rows * n_classes / MOST_ENTRIES))


def affordable_turns(n_rows: int, n_classes: int) -> int:
    """How many times labels are hidden at most.

    Examples
    --------
    >>> affordable_turns(70_000, 10), affordable_turns(1_000_000, 20)
    (28, 1)
    """
    return max(1, MOST_TURN_ENTRIES // (n_rows * n_classes))


class RowExperts:
    """The models of the rows, each fitted anew in every turn; those of the last turn are kept.

    Parameters
    ----------
    X : array-like or sparse matrix, optional
        The rows, or some of them that have all labels.
    folds : Folds
        The labels of these rows.
    model : classifier or ndarray, optional
        What a user gives instead of the built-in models.
    survey : Survey, optional
        What is to be known of all rows, where ``X`` holds some.
    columns : ndarray of int, optional
        The columns that the built-in models see; all by default.
    """

    def __init__(
        self,
        X: Any | None,
        folds: Folds,
        model: Any,
        survey: Survey | None = None,
        columns: NDArray[np.intp] | None = None,
    ) -> None:
        self._folds = folds
        self.scale: Scale | None = None
        self._fitted: dict[tuple[str, int], Any] = {}
        self._fits: dict[str, Fit] = {}
        self._given = model if isinstance(model, np.ndarray) else None
        if self._given is not None or X is None:
            return
        self.scale = Scale.of(X, columns) if survey is None else survey.scale
        self._X, self._as_given = X, model is not None
        self._fits = {"model": partial(_given, model)}
        if model is None:
            n_rows = X.shape[0] if survey is None else survey.n_rows
            if survey is None:
                some = slice(None, None, max(1, n_rows // ROWS_FOR_DIRECTIONS))
                directions = leading_directions(self._rows(some))
            else:
                directions = survey.directions
            landmarks = landmarks_for(n_rows)
            n_trees = affordable_trees(n_rows, len(folds.known), len(folds.turns))
            self._fits = {
                "linear": Linear.fit,
                "curve": partial(Curve.fit, directions=directions, most=landmarks),
                "forest": partial(Forest.fit, n_trees=n_trees),
                "extra trees": partial(Forest.fit, n_trees=n_trees, extra=True),
            }

    @property
    def experts(self) -> list[Expert]:
        """One expert for every model. (Made when asked for: kept, they would keep the rows in a cycle.)"""
        if self._given is not None:
            return [Expert("given", "rows", partial(ask_given, self._given))]
        return [Expert(name, "rows", partial(self._ask, name, fit)) for name, fit in self._fits.items()]

    @property
    def models(self) -> dict[str, Any]:
        """The models of the last turn, fitted to all labels, by name."""
        return {name: model for (name, turn), model in self._fitted.items() if turn == self._folds.n_hidden}

    def _ask(self, name: str, fit: Fit, turn: int, rows: NDArray[np.intp] | None) -> Table:
        if (name, turn) not in self._fitted:
            self._fitted[name, turn] = self._fit(fit, turn)
        said = self._fitted[name, turn].log_probabilities(self._rows(slice(None) if rows is None else rows))
        return np.asarray(said, np.float32)

    def _rows(self, some: Any) -> Any:
        """Some rows as the models see them. (Scaled anew each time: a copy of all rows is not kept.)"""
        rows = self._X[some]
        return rows if self._as_given or self.scale is None else self.scale(rows)

    def _fit(self, fit: Fit, turn: int) -> Any:
        known, labels = self._folds.shown_rows(turn), self._folds.labels
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few labels, few iterations: hidden labels judge the model
            return fit(self._rows(known), labels[known], self._folds.n_classes)


def ask_given(probabilities: NDArray[np.floating[Any]], turn: int, rows: NDArray[np.intp] | None) -> Table:
    """What a user's probabilities say; nothing where they are NaN."""
    return with_doubt(np.nan_to_num(_some(probabilities, rows)))


def _given(model: Any, X: Any, y: NDArray[np.integer[Any]], n_classes: int) -> Shares:
    """A user's classifier, fitted to the rows whose labels are shown."""
    from sklearn.base import clone

    fitted = clone(model).fit(X, y)
    return Shares(fitted, np.asarray(fitted.classes_, np.intp), n_classes)


def graph_experts(
    graphs: Mapping[str, Graph],
    folds: Folds,
    rows: RowExperts,
    sizes: ClassSizes,
    *,
    usual: str,
    own: bool = False,
) -> list[Expert]:
    """The experts that ask graphs, as many as can be afforded.

    Two kinds of propagation on every graph, one of them on weights sharpened by shared neighbours; the flow
    of the graph alone, with few labels after a spread; on a graph that is not made from the rows, their
    opinion carried on it.

    Parameters
    ----------
    graphs : mapping of str to Graph
        Graphs of several numbers of neighbours, by name; those that come first are preferred.
    folds : Folds
        The known labels, and which are hidden when.
    rows : RowExperts
        The models of the rows.
    sizes : ClassSizes
        What is known of the classes' sizes.
    usual : str
        The graph that few labels are spread on.
    own : bool, default=False
        Whether that graph is not made from the rows.

    Returns
    -------
    list of Expert
        At least one.
    """
    n, k = len(folds.labels), folds.n_classes
    sharp = {name: _Sharpened(graph, folds) for name, graph in graphs.items()}
    experts: list[Expert] = []
    for name, graph in graphs.items():
        experts.append(Expert(f"harmonic {name}", "graph", partial(_ask_harmonic, graph, folds)))
        experts.append(Expert(f"poisson {name}", "graph", partial(_ask_poisson, sharp[name])))
    experts = experts[: affordable_walks(n, k)]
    if is_spread(n, len(folds.known), k):
        sharp[usual].kept = any(expert.name == f"poisson {usual}" for expert in experts)
        spread = partial(_ask_spread, graphs[usual], folds, sizes, sharp[usual])
        experts.append(Expert(f"spread {usual}", "spread", spread))
    elif asks_flow(folds):
        flow = partial(_ask_flow, graphs[usual], folds, sizes)
        experts.append(Expert(f"flow {usual}", "graph", flow))
    if own and rows.experts:
        experts.append(
            Expert(f"carried {usual}", "carried", partial(_ask_carried, graphs[usual], folds, rows))
        )
    return experts


def _ask_harmonic(graph: Graph, folds: Folds, turn: int, rows: NDArray[np.intp] | None) -> Table:
    k = folds.n_classes
    damping = affordable_damping(len(folds.labels), k)
    return _some(harmonic(graph, folds.shown(turn), k, damping), rows)


def _ask_flow(
    graph: Graph, folds: Folds, sizes: ClassSizes, turn: int, rows: NDArray[np.intp] | None
) -> Table:
    return _some(flow_votes(graph, folds.shown(turn), folds.n_classes, sizes), rows)


class _Sharpened:
    """A graph sharpened by shared neighbours, made when first needed, and Poisson solutions on it.

    The graph's own solution begins with the equation that the Poisson expert solves: where both are asked,
    a solution is ``kept`` for the second one.
    """

    def __init__(self, graph: Graph, folds: Folds) -> None:
        self._graph, self._folds, self.kept = graph, folds, False
        self._solutions: dict[int, Table] = {}
        self.made: list[Graph] = []

    def poisson(self, turn: int) -> Table:
        """The damped Poisson solution with the labels of a turn; kept until it is asked for again."""
        if turn in self._solutions:
            return self._solutions.pop(turn)
        if not self.made:
            self.made.append(sharpened(self._graph))
        solution = poisson(self.made[0], self._folds.shown(turn), self._folds.n_classes)
        if self.kept:
            self._solutions[turn] = solution
        return solution


def _ask_poisson(sharp: _Sharpened, turn: int, rows: NDArray[np.intp] | None) -> Table:
    return _some(poisson_odds(sharp.poisson(turn)), rows)


def _ask_spread(
    graph: Graph,
    folds: Folds,
    sizes: ClassSizes,
    sharp: _Sharpened,
    turn: int,
    rows: NDArray[np.intp] | None,
) -> Table:
    votes = spread_votes(
        graph, folds.shown(turn), folds.n_classes, sizes, sharp.made, lambda problem: sharp.poisson(turn)
    )
    return _some(votes, rows)


def _ask_carried(
    graph: Graph, folds: Folds, experts: RowExperts, turn: int, rows: NDArray[np.intp] | None
) -> Table:
    """The prior pool of the rows' models, carried along the graph."""
    said = [expert.ask(turn, None) for expert in experts.experts]
    pooled = np.float32(ROWS_WEIGHT / len(said)) * np.sum(said, axis=0)
    return _some(carried(graph, folds.shown(turn), pooled), rows)


def _some(table: Any, rows: NDArray[np.intp] | None) -> Any:
    return table if rows is None else table[rows]
