"""Rows and a few labels in, a label and a confidence for every row out: the scikit-learn estimator."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from phaselabel.estimator import GraphClassifier
from phaselabel.flow import Solution, check_numbers, checked_callbacks, minimize
from phaselabel.graph import Graph
from phaselabel.insight import Insight
from phaselabel.labels import decode
from phaselabel.sizes import class_sizes
from phaselabel.star import State, checked_fidelity, checked_state
from phaselabel.strategy import remarks, solve


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
        What ``X`` is: rows of features; a sparse symmetric matrix of similarities, or a :class:`Graph`; or a
        sparse matrix of distances to at least ``n_neighbors`` neighbours per row.
    metric : str, default="euclidean"
        What near means for ``affinity="nearest_neighbors"``: "euclidean", "cosine" or, more slowly, any
        metric that scikit-learn knows by name.
    epsilon : float or Geometric, default=1.0
        Interface width, or a schedule of shrinking values.
    fidelity : float or array-like of shape (n_samples,), default=30.0
        Trust in the known labels, or in each one of them. Large values clamp; small ones let a wrong label
        be outvoted.
    init : {"auto", "hub", "random"}, fitted classifier, State or Solution, default="auto"
        Where the flow starts. "auto" spreads up to 50 labels per class over the graph first, and starts
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
    dask_options : dict, optional
        For a fit on a Dask array: ``client``, ``checkpoint`` (a folder that all workers see), ``resume``,
        ``sweeps_per_round`` and ``progress``.

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
        Whether labels are quiet and the energy is flat. Where it is false ``solution_.reason`` says why:
        after a spread, or where class sizes drifted, the flow is cut short on purpose.
    solution_ : Solution
        The flow's whole answer.
    graph_ : Graph
        The similarity graph.
    neighbor_recall_ : float or None
        The share of the true neighbours that the search found, measured on a sample; 1 if it was exact.
    remarks_ : list of str
        What is wrong with the graph, in sentences; empty if it separates the classes well.
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
        dask_options: dict[str, Any] | None = None,
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
        self.dask_options = dask_options

    _fitted: Any = None

    def _fit_on_dask(self, X: Any, y: Any) -> Self:
        from phaselabel.distributed.fitting import RemoteGraph, fit
        from phaselabel.distributed.job import Settings

        for name, fits in {"affinity": ("nearest_neighbors",), "init": ("auto", "hub")}.items():
            if not (isinstance(getattr(self, name), str) and getattr(self, name) in fits):
                raise ValueError(f"On a Dask array {name} must be {' or '.join(map(repr, fits))}.")
        if not (isinstance(self.class_sizes, str) and self.class_sizes == "estimate"):
            raise ValueError("On a Dask array class_sizes must be 'estimate'.")
        check_numbers(epsilon=self.epsilon, step=self.step, max_iter=self.max_iter, tol=self.tol)
        settings = Settings(
            n_neighbors=10 if self.n_neighbors == "auto" else self.n_neighbors,
            scale_neighbor=self.scale_neighbor, metric=self.metric, epsilon=self.epsilon,
            fidelity=self.fidelity, step=self.step, max_iter=self.max_iter, tol=self.tol,
            callbacks=checked_callbacks(self.callbacks),
        )  # fmt: skip
        fitted = fit(X, y, settings, self.unlabeled, self.dask_options)
        self._fitted = fitted
        self.classes_, self.solution_ = fitted.classes, fitted.outcome.solution
        self.graph_: Any = RemoteGraph(fitted)
        self.neighbor_recall_, self.n_features_in_ = fitted.outcome.recall, int(X.shape[1])
        self.energy_, self.n_iter_ = self.solution_.energy, self.solution_.n_iter
        self.converged_ = self.solution_.converged
        self.remarks_: list[str] = []
        self.transduction_ = fitted.decoded(self.unlabeled, self.abstain_below, self._client)
        self._warn(fitted.n_unreached, int(X.shape[0]))
        return self

    @property
    def _client(self) -> Any:
        return (self.dask_options or {}).get("client")

    @property
    def confidence_(self) -> Any:
        """The probability that each row's label is right; 0 for whom no label reaches."""
        check_is_fitted(self, "solution_")
        return super().confidence_ if self._fitted is None else self._fitted.confidence(self._client)

    @property
    def class_sizes_(self) -> NDArray[np.float64]:
        """The proportion of every class among the rows that a label reaches, as the flow found it."""
        check_is_fitted(self, "solution_")
        if self._fitted is None:
            return super().class_sizes_
        sizes = self._fitted.outcome.class_sizes
        return np.asarray(sizes / max(int(sizes.sum()), 1))

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
        settings = {
            "epsilon": self.epsilon,
            "fidelity": self.fidelity,
            "step": self.step,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callbacks": callbacks,
        }
        if isinstance(start, str) and start == "auto":
            return solve(graph, labels, k, class_sizes(self.class_sizes, classes), **settings)
        return minimize(graph, labels, init=start, n_classes=k, random_state=self.random_state, **settings)

    def _decided(self) -> NDArray[Any]:
        if self.abstain_below is None:
            return super()._decided()
        arm = np.where(self.confidence_ < self.abstain_below, -1, self.solution_.arm)
        return decode(arm, self.classes_, self.unlabeled)

    def _announce(self) -> None:
        super()._announce()
        self.remarks_ = remarks(self.graph_, self._labels, self.solution_)
        if self.remarks_:
            warnings.warn(" ".join(self.remarks_), UserWarning, stacklevel=3)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the vote of their neighbours; ``unlabeled`` below ``abstain_below``."""
        if self.abstain_below is None:
            return super().predict(X)
        odds = self.predict_proba(X)
        arm = np.where(odds.max(axis=1) < self.abstain_below, -1, odds.argmax(axis=1))
        return decode(arm, self.classes_, self.unlabeled)
