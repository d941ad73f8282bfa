"""Rows and a few labels in, a label and a confidence for every row out: the scikit-learn estimator."""

import logging
import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
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
from phaselabel.flow import Solution, check_numbers, checked_callbacks, minimize
from phaselabel.graph import Graph, Neighbors, nearest_neighbors, similarity_graph
from phaselabel.graph.neighbors import check_n_neighbors
from phaselabel.graph.weights import check_scale_neighbor, local_scales, scaled_squares
from phaselabel.guard import guarded
from phaselabel.insight import Insight
from phaselabel.labels import decode, encode
from phaselabel.sizes import class_sizes
from phaselabel.spread import is_few, separates_badly, sharpened, spread
from phaselabel.star import State, checked_fidelity, checked_state

log = logging.getLogger(__name__)

#: How much class sizes may drift (total variation) before the flow is held, and from a spread; how many
#: sweeps a spread settles: further on, large classes only swallow small ones.
DRIFT, DRIFT_OF_FEW, SETTLING = 0.05, 0.01, 30

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
        X : array-like or sparse matrix
            The rows, or what ``affinity`` says.
        y : array-like of shape (n_samples,)
            Labels of any type; ``unlabeled`` (or a missing value) where not known.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._validated(X, y)
        classes, labels = encode(y, self.unlabeled)
        self._check_flow(labels, classes)
        graph, tau = self._graph(X)
        solution = self._flow(graph, labels, classes)
        self._keep(X, classes, labels, graph, tau, solution)
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
        check_consistent_length(X, y)
        return X, y

    def _validated_rows(self, X: Any, reset: bool) -> Any:
        given = self.affinity != "nearest_neighbors"
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32] + ([] if given else [np.uint8]),
            ensure_min_samples=2 if reset and not given else 1,
        )

    def _graph(self, X: Any) -> tuple[Graph, NDArray[np.float64] | None]:
        """The similarity graph, and the local scales of its rows where there are any."""
        if self.affinity == "precomputed":
            return Graph.from_weights(X, np.float32), None
        n_neighbors = self._n_neighbors(X.shape[0])
        check_scale_neighbor(self.scale_neighbor, n_neighbors)
        if self.affinity == "precomputed_nearest_neighbors":
            neighbors = Neighbors.from_distances(X, n_neighbors)
        else:
            neighbors = nearest_neighbors(X, n_neighbors, metric=self.metric, progress=self.verbose)
        tau = local_scales(neighbors, self.scale_neighbor)
        return similarity_graph(neighbors, self.scale_neighbor), tau

    def _n_neighbors(self, n_rows: int) -> int:
        if isinstance(self.n_neighbors, str) and self.n_neighbors == "auto":
            return max(1, min(10, n_rows - 1))
        check_n_neighbors(self.n_neighbors, n_rows)
        return self.n_neighbors

    def _keep(
        self,
        X: Any,
        classes: NDArray[Any],
        labels: NDArray[np.int32],
        graph: Graph,
        tau: NDArray[np.float64] | None,
        solution: Solution,
    ) -> None:
        """Turn the flow's answer into the learned attributes, and say what the user should know."""
        self.classes_, self.graph_, self.solution_ = classes, graph, solution
        self._fit_X = X if self.affinity == "nearest_neighbors" else None
        self._tau = np.zeros(0) if tau is None else tau
        self._packed = solution.state.packed()
        self._labels = labels
        self._calibrated: list[Calibration] = []  # filled when first asked for
        self.transduction_ = decode(solution.arm, classes, self.unlabeled)
        self.energy_, self.n_iter_ = solution.energy, solution.n_iter
        self.converged_ = solution.converged
        log.info("%r: %s", graph, solution.status)
        lost = 0 if (solution.arm >= 0).all() else int((~graph.reached(labels >= 0)).sum())
        if lost:
            warnings.warn(
                f"{lost} of {len(labels)} rows have no label: none reaches them, because they lie in "
                f"parts of the graph without a known label. They are returned as {self.unlabeled!r} with "
                "confidence 0; label one row in each part, or raise n_neighbors.",
                UserWarning,
                stacklevel=3,
            )
        if "max_iter" in solution.status and self.tol > 0:
            warnings.warn(f"The flow has not converged. {solution.status}", ConvergenceWarning, stacklevel=3)

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


class GinzburgLandauClassifier(Insight, GraphClassifier):
    r"""Label every row from a few labels by multiclass Ginzburg-Landau flow on a similarity graph.

    .. math::
        E = \frac{ε}{2} \sum_{i<j} ŵ_{ij}\, ρ_{ij}^2 + \frac{1}{ε} \sum_i Φ(u_i)
          + \sum_{i\ \mathrm{labelled}} \frac{μ_i}{2} ρ(u_i, û_i)^2

    Garcia-Cardona, Flenner, Percus: *Multiclass Semi-Supervised Learning on Graphs using Ginzburg-Landau
    Functional Minimization*.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours of a row in the graph, the row itself not counted; "auto" is 10, or all others where there
        are fewer.
    scale_neighbor : int, optional
        Which neighbour sets the local scale; the last one by default.
    affinity : {"nearest_neighbors", "precomputed", "precomputed_nearest_neighbors"}
        What ``X`` is: rows of features; a sparse symmetric matrix of similarities; or a sparse matrix of
        distances to at least ``n_neighbors`` neighbours per row.
    metric : str, default="euclidean"
        What near means for ``affinity="nearest_neighbors"``: "euclidean", "cosine" or, more slowly, any
        metric that scikit-learn knows by name.
    epsilon : float or Geometric, default=1.0
        Interface width, or a schedule of shrinking values.
    fidelity : float or array-like of shape (n_samples,), default=30.0
        Trust in the known labels, or in each one of them. Large values clamp; small ones let a wrong label
        be outvoted.
    init : {"auto", "hub", "random"}, fitted classifier, State or Solution, default="auto"
        Where the flow starts. "auto" spreads up to five labels per class over the graph first, and starts
        from the hub where there are more and the graph is good. A fitted classifier of the same rows is a
        warm start: its classes are matched by name.
    step : "auto" or float, default="auto"
        Time step; "auto" is the largest that is proved stable.
    max_iter : int, default=2000
        Sweeps at the most.
    tol : float, default=1e-4
        When labels count as quiet and the energy as flat; 0 never stops early.
    class_sizes : "estimate", proportions, (low, high) pairs, or a dict of either, default="estimate"
        What is known of the classes' sizes, in the order of ``classes_`` or by name. Sizes that are not
        given are estimated, see ``class_sizes_``; label counts are never taken for them.
    abstain_below : float, optional
        Rows and predictions of lower confidence are returned as ``unlabeled``.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known"; missing values always do. ``None`` if -1 is a class.
    random_state : int, Generator or None
        For ``init="random"``.
    callbacks : callable or sequence of callables
        Called with (sweep, state, energy) while the flow runs; a true answer stops it.
    verbose : bool, default=False
        Show a bar with the time left while neighbours are sought, if that takes more than two seconds.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The distinct labels.
    transduction_ : ndarray of shape (n_samples,)
        A label for every row, ``unlabeled`` where no label reaches.
    confidence_ : ndarray of shape (n_samples,)
        The probability that each label is right, calibrated on labels that a second flow doesn't see; 0
        where no label reaches. Computed when asked for.
    class_sizes_, class_size_intervals_ : ndarray of shape (K,) and (K, 2)
        The proportion of every class, and the range that unsure rows leave open.
    suspect_labels_ : ndarray of int
        Rows whose given label the surroundings speak against, the strongest evidence first.
    label_distributions_ : ndarray of shape (n_samples, K)
        Class probabilities of the fitted rows.
    energy_ : structured ndarray
        The energy's trace: ``sweep``, ``smoothing``, ``potential``, ``fidelity``, ``total``.
    n_iter_ : int
        Sweeps made.
    converged_ : bool
        Whether the flow ended as it should: labels quiet and energy flat or, after a spread or where class
        sizes drifted, its sweeps cut short on purpose. ``solution_.status`` says which.
    solution_ : Solution
        The flow's whole answer.
    graph_ : Graph
        The similarity graph.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from phaselabel import GinzburgLandauClassifier
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> y = [0, -1, -1, 1, -1, -1]
    >>> GinzburgLandauClassifier(n_neighbors=2).fit(X, y).transduction_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        scale_neighbor: int | None = None,
        affinity: str = "nearest_neighbors",
        metric: str = "euclidean",
        epsilon: Any = 1.0,
        fidelity: Any = 30.0,
        init: Any = "auto",
        step: Any = "auto",
        max_iter: int = 2000,
        tol: float = 1e-4,
        class_sizes: Any = "estimate",
        abstain_below: float | None = None,
        unlabeled: Any = -1,
        random_state: Any = None,
        callbacks: Any = (),
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scale_neighbor = scale_neighbor
        self.affinity = affinity
        self.metric = metric
        self.epsilon = epsilon
        self.fidelity = fidelity
        self.init = init
        self.step = step
        self.max_iter = max_iter
        self.tol = tol
        self.class_sizes = class_sizes
        self.abstain_below = abstain_below
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _check_flow(self, labels: NDArray[np.int32], classes: NDArray[Any]) -> None:
        checked_fidelity(self.fidelity, labels)
        checked_callbacks(self.callbacks)
        check_numbers(epsilon=self.epsilon, step=self.step, max_iter=self.max_iter, tol=self.tol)
        class_sizes(self.class_sizes, classes)
        below = self.abstain_below
        if below is not None and not (isinstance(below, int | float) and 0 <= below <= 1):
            raise ValueError(f"abstain_below must be None or a probability between 0 and 1; got {below!r}.")
        start = self._start(classes)
        if not isinstance(start, str):
            checked_state(start, len(labels), len(classes), "init")
        elif start not in ("auto", "hub", "random"):
            raise ValueError(
                f"init must be 'auto', 'hub', 'random', a fitted classifier or a State; got {start!r}."
            )

    def _start(self, classes: NDArray[Any]) -> Any:
        """``init``, its classes matched by name if it is a fitted classifier; unknown ones at the hub."""
        if not isinstance(self.init, GraphClassifier):
            return self.init
        check_is_fitted(self.init, "solution_")
        earlier = self.init.classes_.tolist()
        now = classes.tolist()
        match = np.array([now.index(name) if name in now else -1 for name in earlier] + [-1], np.int32)
        arm = match[self.init.solution_.arm]
        return State(arm, np.where(arm >= 0, self.init.solution_.height, 0.0))

    def _flow(self, graph: Graph, labels: NDArray[np.int32], classes: NDArray[Any]) -> Solution:
        return self._solve(graph, labels, classes, callbacks=self.callbacks)

    def _solve(
        self, graph: Graph, labels: NDArray[np.int32], classes: NDArray[Any], callbacks: Any = ()
    ) -> Solution:
        start, k = self._start(classes), len(classes)
        sizes = class_sizes(self.class_sizes, classes)
        settings = {
            "epsilon": self.epsilon,
            "fidelity": self.fidelity,
            "step": self.step,
            "tol": self.tol,
            "callbacks": callbacks,
        }
        if not (isinstance(start, str) and start == "auto"):
            return minimize(
                graph,
                labels,
                init=start,
                n_classes=k,
                max_iter=self.max_iter,
                random_state=self.random_state,
                **settings,
            )
        if k == 1 or not (is_few(labels, k) or sizes.exact or separates_badly(graph, labels)):
            return guarded(graph, labels, k, DRIFT, init="hub", max_iter=self.max_iter, **settings)
        sharp = sharpened(graph)
        state = spread(sharp, labels, k, sizes, checked_fidelity(self.fidelity, labels))
        solution = guarded(
            sharp, labels, k, DRIFT_OF_FEW, init=state, max_iter=min(self.max_iter, SETTLING), **settings
        )
        if self.max_iter < SETTLING or solution.converged:
            return solution
        status = f"Spread from few labels, then settled for {solution.n_iter} sweeps."
        return replace(solution, status=status, converged=True)

    def _keep(
        self,
        X: Any,
        classes: NDArray[Any],
        labels: NDArray[np.int32],
        graph: Graph,
        tau: NDArray[np.float64] | None,
        solution: Solution,
    ) -> None:
        super()._keep(X, classes, labels, graph, tau, solution)
        if self.abstain_below is not None:
            arm = np.where(self.confidence_ < self.abstain_below, -1, solution.arm)
            self.transduction_ = decode(arm, classes, self.unlabeled)
        if "badly" in solution.status:
            warnings.warn(solution.status, UserWarning, stacklevel=3)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the vote of their neighbours; ``unlabeled`` below ``abstain_below``."""
        if self.abstain_below is None:
            return super().predict(X)
        odds = self.predict_proba(X)
        arm = np.where(odds.max(axis=1) < self.abstain_below, -1, odds.argmax(axis=1))
        return decode(arm, self.classes_, self.unlabeled)
