"""Rows and a few known values in, a value and an uncertainty for every row out."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from phaselabel.estimators.harmonic import Held, harmonic
from phaselabel.estimators.notebook import InNotebook, shares
from phaselabel.graph import Graph, nearest_neighbors, similarity_graph
from phaselabel.graph.foreign import as_graph
from phaselabel.graph.rungs import asked_neighbors
from phaselabel.graph.table_checks import as_float
from phaselabel.graph.weights import local_scales, scaled_squares

#: Types of X that are kept; whole numbers are converted where rounding is noticed.
REAL = [np.float64, np.float32, np.int64, np.uint64]

#: With fewer known values models of the columns are not asked.
FEWEST_VALUES = 20

#: Known values are hidden in this many turns to weigh the experts.
TURNS = 5

#: A known value is held at most this many times as firmly as by its neighbours; more makes no difference.
FIRMEST = 1e10

#: Units of a column beyond which a row is no farther away for a model; trees compute in single precision.
FARTHEST = 1e30

#: The name of the graph's own values among the experts.
GRAPH = "graph"


def row_models() -> dict[str, Any]:
    """The models of the columns, by name."""
    return {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 15))),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(5, weights="distance")),
        "trees": ExtraTreesRegressor(60, min_samples_leaf=2, random_state=0),
        "boosting": HistGradientBoostingRegressor(random_state=0, max_iter=60, min_samples_leaf=5),
    }


@dataclass(frozen=True)
class ColumnUnits:
    """Columns of any magnitude in units in which models neither overflow nor round to zero."""

    middle: NDArray[np.float64]
    half: NDArray[np.float64]

    @classmethod
    def of(cls, X: NDArray[Any]) -> Self:
        """The units in which the rows lie between -1 and 1; powers of two round nothing."""
        low, high = X.min(axis=0) / 2.0, X.max(axis=0) / 2.0
        reach = high.astype(np.float64) - low
        return cls(np.asarray(low + high, np.float64), 2.0 ** np.frexp(np.where(reach > 0, reach, 1))[1])

    def apply(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Rows in these units; beyond ``FARTHEST`` of them all are equally far."""
        with np.errstate(over="ignore"):
            return np.clip((X - self.middle) / self.half, -FARTHEST, FARTHEST)


class GraphRegressor(InNotebook, RegressorMixin, BaseEstimator):
    """Give every row a value from a few known ones, by its neighbours and by models of the columns.

    .. math:: \\sum_j w_{ij} (u_i - u_j) + μ_i (u_i - y_i) = 0, \\qquad μ_i = 0 \\text{ where unknown}

    is what the graph says: each unknown value is its neighbours' weighted mean. Models of the columns say
    something too; known values that are hidden in turn weigh them all.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours of a row in the graph; "auto" is 10, or all others where there are fewer.
    scale_neighbor : int, optional
        Which neighbour sets the local scale; the last one by default.
    fidelity : float, default=1000.0
        Trust in the known values, beside a row's degree; small values smooth noise in them.
    affinity : {"nearest_neighbors", "precomputed"}
        What ``X`` is: rows of features, or a sparse symmetric matrix of similarities (or a :class:`Graph`).
    metric : str, default="euclidean"
        What near means for ``affinity="nearest_neighbors"``.
    evidence : {"auto", None}, default="auto"
        "auto" weighs models of the columns and the graph by known values held back, from 20 of them on; None
        is the graph alone.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        A value for every row; NaN where no known value reaches and no model speaks.
    uncertainty_ : ndarray of shape (n_samples,)
        The standard deviation of the error of each value, by values that were hidden; NaN if none could be.
    weights_ : dict of str to float
        What the graph and every model of the columns count.
    graph_ : Graph
        The similarity graph.
    n_features_in_ : int
        The number of columns of the fitted rows.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> y = [0.0, np.nan, np.nan, np.nan, 4.0]
    >>> GraphRegressor(n_neighbors=2).fit(X, y).transduction_.round(1).tolist()
    [0.0, 0.8, 2.0, 3.2, 4.0]
    """

    def __init__(
        self,
        n_neighbors: Any = "auto",
        *,
        scale_neighbor: int | None = None,
        fidelity: float = 1000.0,
        affinity: str = "nearest_neighbors",
        metric: str = "euclidean",
        evidence: str | None = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scale_neighbor = scale_neighbor
        self.fidelity = fidelity
        self.affinity = affinity
        self.metric = metric
        self.evidence = evidence

    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Extend the known values of ``y`` to every row of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a graph
            The rows, or what ``affinity`` says.
        y : array-like of shape (n_samples,)
            The values; NaN where not known.
        graph : Graph, sparse matrix, or graph of another library, optional
            A graph that is not made from the rows; it takes the place of their own.

        Returns
        -------
        self : GraphRegressor
            The fitted estimator.

        Examples
        --------
        >>> model = GraphRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, np.nan, 2.0])
        >>> model.transduction_.round(1).tolist()
        [0.0, 1.0, 2.0]
        """
        self._check_parameters()
        X, y = self._validated(X, y)
        known = ~np.isnan(y)
        # Values of any magnitude: everything is solved in units in which known values are about 1. A power of
        # two rounds nothing.
        self._scale = float(2.0 ** (np.frexp(np.abs(y[known]).max())[1] - 1))
        centre = float((y[known] / self._scale).mean())
        spread = float(np.abs(y[known] / self._scale - centre).max()) or 1.0
        self._units = centre, spread
        scaled = (y / self._scale - centre) / spread
        self._fit_X: Any = None
        self._tau = np.zeros(0)
        self.graph_ = self._graph(X, graph)
        has_rows = self.affinity == "nearest_neighbors"
        asked = self.evidence == "auto" and has_rows and known.sum() >= FEWEST_VALUES
        models = row_models() if asked else {}
        self._experts: dict[str, Any] = {}
        values = {GRAPH: self._extended(scaled, known)}
        if asked:
            self._columns = ColumnUnits.of(X)
        rows = self._columns.apply(X) if asked else X
        for name, model in models.items():
            self._experts[name] = model.fit(rows[known], scaled[known])
            values[name] = model.predict(rows)
        self.weights_, self._error = self._weighed(rows, scaled, known)
        self._graph_values = values[GRAPH]
        found, apart = _pooled(values, self.weights_)
        firm = min(self.fidelity, FIRMEST)
        found[known] = values[GRAPH][known] if not asked else (found + firm * scaled)[known] / (1 + firm)
        self._given = y
        self.transduction_ = self._in_units(found)
        self.uncertainty_ = np.where(np.isnan(found), np.nan, self._deviation(apart))
        return self

    def _check_parameters(self) -> None:
        if self.affinity not in ("nearest_neighbors", "precomputed"):
            raise ValueError(f"affinity must be 'nearest_neighbors' or 'precomputed'; got {self.affinity!r}.")
        if self.evidence is not None and not (isinstance(self.evidence, str) and self.evidence == "auto"):
            raise ValueError(f"evidence must be 'auto' or None; got {self.evidence!r}.")
        number = isinstance(self.fidelity, Real) and not isinstance(self.fidelity, bool | np.bool_)
        if not number or not 0 < self.fidelity < np.inf:
            raise ValueError(f"fidelity must be a positive number; got {self.fidelity!r}.")

    def _validated(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64]]:
        if y is None:
            raise ValueError(
                "GraphRegressor requires y to be passed, but the target y is None; use NaN for gaps."
            )
        if self.affinity == "nearest_neighbors":
            X = as_float(validate_data(self, X, dtype=REAL, ensure_min_samples=2), "X")
        y = column_or_1d(y, dtype=np.float64, warn=True)
        check_consistent_length(X.weights if isinstance(X, Graph) else X, y)
        if np.isinf(y).any():
            raise ValueError("Input y contains infinity; use NaN where a value is not known.")
        if np.isnan(y).all():
            raise ValueError("y has no known value: every entry is NaN; give at least one row a value.")
        return X, y

    def _graph(self, X: Any, given: Any) -> Graph:
        """The given graph, or that of the rows' neighbours."""
        own = X if self.affinity == "precomputed" else given
        if own is not None:
            graph = as_graph(own, np.float64)
            if self.affinity == "nearest_neighbors" and graph.n_vertices != len(X):
                raise ValueError(
                    f"graph must have one vertex per row of X, {len(X)}; got {graph.n_vertices}."
                )
        if self.affinity == "nearest_neighbors":
            k = asked_neighbors(self.n_neighbors, len(X))
            neighbors = nearest_neighbors(X, k, metric=self.metric)
            self._tau, self._fit_X = local_scales(neighbors, self.scale_neighbor), X
            if own is None:
                graph = similarity_graph(neighbors, self.scale_neighbor, dtype=np.float64)
        else:
            self.n_features_in_ = graph.n_vertices
        return graph

    def _weighed(
        self, X: Any, y: NDArray[np.float64], known: NDArray[np.bool_]
    ) -> tuple[dict[str, float], tuple[float, float] | None]:
        """The weights of the experts, and what their disagreement says of the error, by values held back."""
        rows = np.flatnonzero(known)
        names = [GRAPH, *self._experts]
        if len(rows) < 2 * TURNS:
            return {GRAPH: 1.0}, None
        turn = np.random.default_rng(0).permutation(len(rows)) % TURNS
        said = np.zeros((len(rows), len(names)))
        for t in range(TURNS):
            mine, shown = rows[turn == t], np.where(np.isin(np.arange(len(y)), rows[turn == t]), np.nan, y)
            told = ~np.isnan(shown)
            said[turn == t, 0] = np.nan_to_num(self._extended(shown, told)[mine])
            for e, model in enumerate(row_models().values() if self._experts else (), 1):
                said[turn == t, e] = model.fit(X[told], y[told]).predict(X[mine])
        weights = np.ones(1)
        if len(names) > 1:
            # One more equation, worth a tenth of the values, asks the weights to add up to 1.
            tenth = np.sqrt(0.1 * len(rows)) * max(float(y[rows].std()), 1e-12)
            left = np.vstack([said, np.full(len(names), tenth)])
            weights = nnls(left, np.append(y[rows], tenth))[0]
            weights = weights / weights.sum() if weights.sum() else np.full(len(names), 1 / len(names))
        apart = _apart(said, weights)
        error = (y[rows] - said @ weights) ** 2
        terms = nnls(np.column_stack([np.ones(len(rows)), apart]), error)[0]
        return {name: float(w) for name, w in zip(names, weights)}, (float(terms[0]), float(terms[1]))

    def _deviation(self, apart: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._error is None:
            return np.full(len(apart), np.nan)
        return np.sqrt(self._error[0] + self._error[1] * apart) * self._units[1] * self._scale

    def _in_units(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        centre, spread = self._units
        return (values * spread + centre) * self._scale

    def _extended(self, y: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The values that the graph gives to all rows; NaN in components without a known value."""
        here = np.flatnonzero(self.graph_.reached(known))
        weights = self.graph_.weights.astype(np.float64)[here][:, here]
        weights.data /= weights.data.max(initial=np.finfo(np.float64).tiny)
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        firm = min(self.fidelity, FIRMEST)
        pull = np.where(known[here], firm * np.where(degrees > 0, degrees, 1.0), 0.0)
        out = np.full(len(y), np.nan)
        out[here] = harmonic(Held(weights, pull, np.where(known, y, 0.0)[here]))
        return out

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Compute the values of new rows, by their neighbours among the fitted rows and the models.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values; NaN where none of the neighbours has one.

        Examples
        --------
        >>> model = GraphRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, np.nan, 2.0])
        >>> model.predict([[0.5], [1.0]]).round(1).tolist()
        [0.4, 1.0]
        """
        return self._in_units(self._predicted(X)[0])

    def predict_uncertainty(self, X: Any) -> NDArray[np.float64]:
        """Compute the standard deviation of the error of each predicted value.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            New rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            In the units of ``y``; NaN where too few values were known to hide some.

        Examples
        --------
        >>> X = np.arange(50.0)[:, None]
        >>> model = GraphRegressor().fit(X, np.where(np.arange(50) % 2, X[:, 0], np.nan))
        >>> bool((model.predict_uncertainty([[3.5]]) < 5).all())
        True
        """
        return self._deviation(self._predicted(X)[1])

    def _predicted(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of new rows in our units, and how far the experts are apart."""
        check_is_fitted(self)
        if self.affinity != "nearest_neighbors":
            raise ValueError("predict needs rows of features; with affinity='precomputed' use transduction_.")
        X = as_float(validate_data(self, X, reset=False, dtype=REAL), "X")
        k = asked_neighbors(self.n_neighbors, len(self._fit_X))
        neighbors = nearest_neighbors(self._fit_X, k, queries=X, metric=self.metric)
        exponents = scaled_squares(neighbors, local_scales(neighbors, self.scale_neighbor), self._tau)
        values = self._graph_values[neighbors.indices]
        weights = np.exp(exponents.min(axis=1, keepdims=True) - exponents) * ~np.isnan(values)
        total = weights.sum(axis=1)
        found = (weights * np.nan_to_num(values)).sum(axis=1) / np.where(total > 0, total, 1)
        said = {GRAPH: np.where(total > 0, found, np.nan)}
        rows = self._columns.apply(X) if self._experts else X
        said |= {name: model.predict(rows) for name, model in self._experts.items()}
        pooled, apart = _pooled(said, self.weights_)
        seen = neighbors.distances[:, 0] == 0
        own = (self.transduction_[neighbors.indices[:, 0]] / self._scale - self._units[0]) / self._units[1]
        return np.where(seen, own, pooled), apart

    def _summary(self) -> tuple[str, list[str], dict[str, str]]:
        """What a notebook shows of the answer: how far values are off, by those that were hidden."""
        known, lost = ~np.isnan(self._given), np.isnan(self.transduction_)
        sought = ~known & ~lost if (~known & ~lost).any() else known
        if self._error is None:
            said = (
                f"How far values are off is not known: with fewer than {2 * TURNS} known values none was "
                "hidden to see."
            )
        else:
            off = self._scale * np.sqrt(np.mean((self.uncertainty_[sought] / self._scale) ** 2))
            spread = self._scale * np.std(self._given[known] / self._scale)
            said = (
                f"The values found are expected to be off by about {off:.3g} (root mean square), by known "
                f"values that were hidden in {TURNS} turns; the known values differ by {spread:.3g} from "
                "their mean."
            )
        sentences = [said]
        if lost.any():
            sentences.append(f"{int(lost.sum()):,} rows have no value, because no known one reaches them.")
        heaviest = sorted(self.weights_.items(), key=lambda named: -named[1])
        facts = {
            "rows": f"{len(known):,}, {int(known.sum()):,} of them with a given value",
            "weights": shares((name, weight) for name, weight in heaviest if weight > 0),
        }
        return "A value for every row", sentences, facts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity != "nearest_neighbors"
        return tags


def _pooled(
    said: dict[str, NDArray[np.float64]], weights: dict[str, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weighted mean of what experts say, without the graph where it says nothing; and their variance."""
    table = np.column_stack([said[name] for name in weights])
    counts = np.array(list(weights.values())) * ~np.isnan(table)
    total = counts.sum(axis=1)
    shares = counts / np.where(total > 0, total, 1)[:, None]
    values = np.nan_to_num(table)
    mean = (shares * values).sum(axis=1)
    apart = (shares * (values - mean[:, None]) ** 2).sum(axis=1)
    return np.where(total > 0, mean, np.nan), apart


def _apart(said: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((weights * (said - (said @ weights)[:, None]) ** 2).sum(axis=1))
