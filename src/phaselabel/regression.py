"""Rows and a few known values in, a value for every row out: harmonic extension on the similarity graph."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import cg
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from phaselabel.graph import nearest_neighbors, similarity_graph
from phaselabel.graph.neighbors import check_n_neighbors
from phaselabel.graph.weights import local_scales, scaled_squares


class GraphRegressor(RegressorMixin, BaseEstimator):
    """Give every row a value from a few known ones: each unknown value is its neighbours' weighted mean.

    .. math:: \\sum_j w_{ij} (u_i - u_j) + μ_i (u_i - y_i) = 0, \\qquad μ_i = 0 \\text{ where unknown}

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours of a row in the graph; "auto" is 10, or all others where there are fewer.
    scale_neighbor : int, optional
        Which neighbour sets the local scale; the last one by default.
    fidelity : float, default=1000.0
        Trust in the known values, beside a row's degree; small values smooth noise in them.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_samples,)
        A value for every row; NaN where no known value reaches.
    graph_ : Graph
        The similarity graph.

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
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scale_neighbor = scale_neighbor
        self.fidelity = fidelity

    def fit(self, X: Any, y: Any) -> Self:
        """Extend the known values of ``y``, NaN where not known, to every row of ``X``."""
        if y is None:
            raise ValueError(
                "GraphRegressor requires y to be passed, but the target y is None; use NaN for gaps."
            )
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        y = column_or_1d(y, dtype=np.float64, warn=True)
        check_consistent_length(X, y)
        if np.isinf(y).any():
            raise ValueError("Input y contains infinity; use NaN where a value is not known.")
        known = ~np.isnan(y)
        if not known.any():
            raise ValueError("y has no known value: every entry is NaN; give at least one row a value.")
        if not 0 < self.fidelity < np.inf:
            raise ValueError(f"fidelity must be a positive number; got {self.fidelity!r}.")
        k = self._k(len(X))
        neighbors = nearest_neighbors(X, k)
        self._tau = local_scales(neighbors, self.scale_neighbor)
        self.graph_ = similarity_graph(neighbors, self.scale_neighbor, dtype=np.float64)
        self._fit_X = X
        self.transduction_ = self._extend(y, known)
        return self

    def _k(self, n_rows: int) -> int:
        if isinstance(self.n_neighbors, str) and self.n_neighbors == "auto":
            return max(1, min(10, n_rows - 1))
        check_n_neighbors(self.n_neighbors, n_rows)
        return int(self.n_neighbors)

    def _extend(self, y: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        degrees = self.graph_.degrees
        mean = float(y[known].mean())
        pull = np.where(known, self.fidelity * np.maximum(degrees, 1e-12), 0.0)
        reached = self.graph_.reached(known)
        here = np.flatnonzero(reached)
        diagonal = degrees + pull
        system = (sparse.diags_array(diagonal) - self.graph_.weights)[here][:, here]
        target = np.where(known, pull * (np.nan_to_num(y) - mean), 0.0)[here]
        inverse = sparse.diags_array(1 / np.maximum(diagonal[here], 1e-300))
        found, _ = cg(system, target, rtol=1e-8, M=inverse, maxiter=5000)
        out = np.full(len(y), np.nan)
        out[here] = found + mean
        return out

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Values of new rows: the weighted mean of their neighbours among the fitted rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        neighbors = nearest_neighbors(self._fit_X, self._k(len(self._fit_X)), queries=X)
        exponents = scaled_squares(neighbors, local_scales(neighbors, self.scale_neighbor), self._tau)
        values = self.transduction_[neighbors.indices]
        weights = np.exp(exponents.min(axis=1, keepdims=True) - exponents) * ~np.isnan(values)
        total = weights.sum(axis=1)
        found = (weights * np.nan_to_num(values)).sum(axis=1) / np.where(total > 0, total, 1)
        seen = neighbors.distances[:, 0] == 0
        found[seen] = values[seen, 0]
        return np.where((total > 0) | seen, found, np.nan)
