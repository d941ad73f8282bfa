"""Rows and a few labels in; a graph, labels and votes on new rows out: what graph classifiers share."""

import logging
import warnings
from abc import ABC, abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from phaselabel import _kernels, storage
from phaselabel.confidence import Calibration, as_distributions
from phaselabel.flow import Solution
from phaselabel.graph import Graph, Neighbors, nearest_neighbors, similarity_graph
from phaselabel.graph.neighbors import check_n_neighbors
from phaselabel.graph.weights import check_scale_neighbor, local_scales, scaled_squares
from phaselabel.labels import decode, encode

log = logging.getLogger(__name__)

AFFINITIES = ("nearest_neighbors", "precomputed", "precomputed_nearest_neighbors")


class GraphClassifier(ClassifierMixin, BaseEstimator, ABC):
    """What graph classifiers share: everything but the flow itself."""

    n_neighbors: int | Literal["auto"]
    scale_neighbor: int | None
    affinity: str
    metric: str = "euclidean"
    verbose: bool = False
    unlabeled: Any
    tol: float

    def fit(self, X: Any, y: Any) -> Self:
        """Label every row of ``X`` from the known entries of ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix, Graph or dask array
            The rows, or what ``affinity`` says; a graph is "precomputed". ``GinzburgLandauClassifier`` labels
            a Dask array on its cluster; ``transduction_`` and ``confidence_`` are Dask arrays then.
        y : array-like of shape (n_samples,)
            Labels of any type; ``unlabeled`` (or a missing value) where not known.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if hasattr(X, "__dask_graph__"):
            return self._fit_on_dask(X, y)
        self.__dict__.pop("_fitted", None)  # of an earlier fit on a Dask array
        X, y = self._validated(X, y)
        classes, labels = encode(y, self.unlabeled)
        self._check_flow(labels, classes)
        graph, neighbors = self._graph(X)
        solution = self._flow(graph, labels, classes)
        self.classes_, self.graph_, self.solution_ = classes, graph, solution
        self.neighbor_recall_ = None if neighbors is None else neighbors.recall
        self._fit_X = X if self.affinity == "nearest_neighbors" else None
        self._tau = np.zeros(0) if neighbors is None else local_scales(neighbors, self.scale_neighbor)
        self._labels, self._packed = labels, solution.state.packed()
        self._calibrated: list[Calibration] = []  # filled when first asked for
        self.energy_, self.n_iter_, self.converged_ = solution.energy, solution.n_iter, solution.converged
        self.transduction_ = self._decided()
        self._announce()
        return self

    def fit_predict(self, X: Any, y: Any) -> NDArray[Any]:
        """Fit and return ``transduction_``, the label of every row."""
        return self.fit(X, y).transduction_

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the vote of their neighbours among the fitted rows.

        A row that equals a fitted one gets that one's label (the first one's, if there are several);
        ``unlabeled`` is returned where none of the neighbours has a label.
        """
        check_is_fitted(self, "solution_")
        X = self._validated_rows(X, reset=False)
        arms = np.empty(X.shape[0], np.int64)
        # Some rows at a time: with many classes the table of shares is large.
        for rows in gen_batches(X.shape[0], max(1, 10_000_000 // len(self.classes_))):
            shares = self._shares(X[rows], plain=True)
            arms[rows] = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
        return decode(arms, self.classes_, self.unlabeled)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows, one column per class; even odds where nothing is known."""
        check_is_fitted(self, "solution_")
        return _even_where_empty(self._shares(self._validated_rows(X, reset=False)))

    @property
    def label_distributions_(self) -> NDArray[np.float64]:
        """Class probabilities of the fitted rows, one column per class; computed when asked for.

        A row's own class has its ``confidence_``; the neighbours' votes for other classes share the rest.
        """
        check_is_fitted(self, "solution_")
        confidence = self.confidence_
        return _even_where_empty(self._distributions(np.arange(len(confidence)), confidence))

    @property
    def confidence_(self) -> NDArray[np.float64]:
        """From 0 (no label reaches the row) over ½ (between classes) to 1."""
        check_is_fitted(self, "solution_")
        return self.solution_.state.confidence(len(self.classes_))

    def save(self, path: Any, *, overwrite: bool = False) -> None:
        """Keep the fitted model in a folder (or one ``.zip`` file) that :func:`phaselabel.load` opens.

        It holds plain arrays and JSON, no pickle; ``callbacks`` and ``random_state`` are not kept.
        """
        storage.save(self, path, overwrite=overwrite)

    def _fit_on_dask(self, X: Any, y: Any) -> Self:
        raise ValueError(f"{type(self).__name__} does not take Dask arrays; GinzburgLandauClassifier does.")

    @abstractmethod
    def _check_flow(self, labels: NDArray[np.int32], classes: NDArray[Any]) -> None:
        """Refuse the flow's parameters before any work starts."""

    @abstractmethod
    def _flow(self, graph: Graph, labels: NDArray[np.int32], classes: NDArray[Any]) -> Solution:
        """Find the state of every vertex."""

    # -- fit, stage by stage

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        if self.affinity not in AFFINITIES:
            raise ValueError(f"affinity must be one of {', '.join(AFFINITIES)}; got {self.affinity!r}.")
        X = self._validated_rows(X, reset=True)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                f"pass one label per row, {self.unlabeled!r} where not known."
            )
        check_consistent_length(X.weights if isinstance(X, Graph) else X, y)
        return X, y

    def _validated_rows(self, X: Any, reset: bool) -> Any:
        if isinstance(X, Graph) and reset:
            if self.affinity != "precomputed":
                raise ValueError(f"X is a graph: affinity must be 'precomputed'; got {self.affinity!r}.")
            self.n_features_in_ = X.n_vertices
            return X
        given = self.affinity != "nearest_neighbors"
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32] + ([] if given else [np.uint8]),
            ensure_min_samples=2 if reset and not given else 1,
        )

    def _graph(self, X: Any) -> tuple[Graph, Neighbors | None]:
        """The similarity graph, and the neighbours it is made of where there are any."""
        if self.affinity == "precomputed":
            return X if isinstance(X, Graph) else Graph.from_weights(X, np.float32), None
        n_neighbors = self._n_neighbors(X.shape[0])
        check_scale_neighbor(self.scale_neighbor, n_neighbors)
        if self.affinity == "precomputed_nearest_neighbors":
            neighbors = Neighbors.from_distances(X, n_neighbors)
        else:
            neighbors = nearest_neighbors(X, n_neighbors, metric=self.metric, progress=self.verbose)
        return similarity_graph(neighbors, self.scale_neighbor), neighbors

    def _n_neighbors(self, n_rows: int) -> int:
        if isinstance(self.n_neighbors, str) and self.n_neighbors == "auto":
            return max(1, min(10, n_rows - 1))
        check_n_neighbors(self.n_neighbors, n_rows)
        return self.n_neighbors

    def _decided(self) -> NDArray[Any]:
        """The label of every fitted row."""
        return decode(self.solution_.arm, self.classes_, self.unlabeled)

    def _announce(self) -> None:
        """Say what the user should know."""
        solution, labels = self.solution_, self._labels
        log.info("%r: %s", self.graph_, solution.status)
        lost = 0 if (solution.arm >= 0).all() else int((~self.graph_.reached(labels >= 0)).sum())
        self._warn(lost, len(labels))

    def _warn(self, lost: int, n_rows: int) -> None:
        if lost:
            warnings.warn(
                f"{lost} of {n_rows} rows have no label: none reaches them, because they lie in "
                f"parts of the graph without a known label. They are returned as {self.unlabeled!r} with "
                "confidence 0; label one row in each part, or raise n_neighbors.",
                UserWarning,
                stacklevel=4,
            )
        if self.solution_.reason == "limit" and self.tol > 0:
            status = self.solution_.status
            warnings.warn(f"The flow has not converged. {status}", ConvergenceWarning, stacklevel=4)

    # -- new rows

    def _as_probabilities(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        return shares

    def _shares(self, X: Any, plain: bool = False) -> NDArray[np.float64]:
        """Probabilities of every new row, zeros where nobody votes; ``plain`` if only the winner counts."""
        n = self.graph_.n_vertices
        shares = np.zeros((X.shape[0], len(self.classes_)))
        if self.affinity == "precomputed":
            edges = sparse.csr_array(X, dtype=np.float32)
            if edges.nnz and not edges.data.min() >= 0:
                raise ValueError(f"X has a negative similarity, {edges.data.min():.3g}; clip it at 0.")
            _kernels.vote_shares(
                edges.indptr,
                edges.indices,
                edges.data * self._inverse_root[edges.indices],
                self._packed,
                shares,
            )
            return shares if plain else self._as_probabilities(shares)
        k = self._n_neighbors(n)
        if self.affinity == "nearest_neighbors":
            neighbors = nearest_neighbors(
                self._fit_X, k, queries=X, metric=self.metric, progress=self.verbose
            )
        else:
            neighbors = Neighbors.from_query(X, k)
        tau = local_scales(neighbors, self.scale_neighbor)
        exponents = scaled_squares(neighbors, tau, self._tau)
        # Only shares count, so the nearest neighbour may have weight 1: far-off rows don't underflow.
        weights = (
            np.exp(exponents.min(axis=1, keepdims=True) - exponents) * self._inverse_root[neighbors.indices]
        )
        indptr = np.arange(0, weights.size + 1, k)
        _kernels.vote_shares(indptr, neighbors.indices.ravel(), weights.ravel(), self._packed, shares)
        seen = neighbors.distances[:, 0] == 0
        rows = neighbors.indices[seen, 0]
        sure = np.ones(len(rows)) if plain else self.confidence_[rows]
        shares = shares if plain else self._as_probabilities(shares)
        shares[seen] = self._distributions(rows, sure)
        return shares

    @property
    def _inverse_root(self) -> NDArray[np.float64]:
        """1/√d_j: how loud a fitted row speaks to its neighbours."""
        degrees = self.graph_.degrees
        return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)

    def _distributions(
        self, rows: NDArray[np.integer[Any]], confidence: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Class probabilities of fitted rows; zeros where no label reaches."""
        edges = self.graph_.normalized[rows]
        votes = np.zeros((len(rows), len(self.classes_)))
        _kernels.vote_shares(edges.indptr, edges.indices, edges.data, self._packed, votes)
        confidence = self.confidence_[rows] if confidence is None else confidence
        return as_distributions(votes, self.solution_.arm[rows], confidence)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity != "nearest_neighbors"
        tags.input_tags.sparse = True
        return tags


def _even_where_empty(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Even odds for rows that nothing is known about."""
    shares[~shares.any(axis=1)] = 1 / shares.shape[1]
    return shares
