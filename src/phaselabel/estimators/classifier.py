"""Rows and a few labels in, a label and a confidence for every row out: the scikit-learn estimator."""

import warnings
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from phaselabel.assess.calibration import Calibration, as_distributions, confidence
from phaselabel.assess.explain import Explanation, decision_shares, influences
from phaselabel.assess.hidden import HeldOut, Solver, calibration_from_hidden, hold_out
from phaselabel.assess.novelty import DOUBT, far_rows, novelty_remark
from phaselabel.assess.query import choose_queries
from phaselabel.assess.verdict import as_html, verdict
from phaselabel.estimators.graph_classifier import GraphClassifier
from phaselabel.evidence.advice import advice, alarms, doubts
from phaselabel.evidence.auto import Opinion
from phaselabel.evidence.believing import believe
from phaselabel.evidence.given import checked_given
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.graph_quality import remarks
from phaselabel.few_labels.policy import EVIDENCE, FIT, LITERAL, Policy
from phaselabel.few_labels.sharpen import sharpened
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.minimize import FlowSettings, Solution, checked_callbacks
from phaselabel.flow.star import State, checked_fidelity, checked_state
from phaselabel.flow.votes import own_shares
from phaselabel.graph import Graph, Neighbors
from phaselabel.graph.foreign import as_graph
from phaselabel.graph.rungs import RUNGS, USUAL_RUNG, longest_rung, nearest, rungs
from phaselabel.labels import decode, encode

#: The name of a graph that is given.
GIVEN = "given"


class GinzburgLandauClassifier(GraphClassifier):
    r"""Label every row from a few labels by multiclass Ginzburg-Landau flow on a similarity graph.

    .. math::
        E = \frac{ε}{2} \sum_{i<j} ŵ_{ij}\, ρ_{ij}^2 + \frac{1}{ε} \sum_i Φ(u_i)
          + \sum_{i\ \mathrm{labelled}} \frac{μ_i}{2} ρ(u_i, û_i)^2
          + \sum_i \frac{θ_i}{2} \sum_k q_{ik}\, ρ(u_i, \mathrm{leaf}_k)^2

    The first three terms are the paper's. The fourth is what models of the rows and walks on the graph
    believe of every row, q, with the weight that labels held back give to each; ``evidence=None`` leaves
    it out.

    Garcia-Cardona, Flenner, Percus: *Multiclass Semi-Supervised Learning on Graphs using Ginzburg-Landau
    Functional Minimization*.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours of a row in the graph, the row itself not counted. "auto" lets labels held back choose
        between 3, 10 and 40, all from one search; without evidence it is 10.
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
    evidence : {"auto", None}, classifier or array-like of shape (n_samples, K), default="auto"
        What speaks for a class besides the graph. "auto": models of the rows and walks on graphs, weighted
        by labels held back. A scikit-learn classifier with ``predict_proba`` takes the place of the models;
        so do probabilities, one column per class in sorted order, with rows of NaN where there is no
        opinion. None: the graph alone. With an ``init`` that is a start of the flow, "auto" means None.
    init : {"auto", "hub", "random"}, fitted classifier, State or Solution, default="auto"
        Where the flow starts. "auto" starts from the evidence; without evidence it spreads at most 50 labels
        per class over the graph first, and starts from the hub where there are more and the graph is good. A
        fitted classifier of the same rows is a warm start: "auto", but the flow starts from the earlier
        answer where the new labels don't contradict it. It may save sweeps; the labels are those of "auto".
    step : "auto" or float, default="auto"
        Time step; "auto" is the largest that is proved stable.
    max_iter : int, default=2000
        The largest number of sweeps.
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
        Show a bar with the time left during the search for neighbours, if it takes more than two seconds.
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
        The probability that each label is right, by labels that were held back; 0 where no label reaches.
    choice_ : Choice or None
        What was chosen (weights of the experts, number of neighbours, class sizes), from what, and how many
        hidden labels the rows, the graph and both together found; None without evidence.
    class_sizes_, class_size_intervals_ : ndarray of shape (K,) and (K, 2)
        The proportion of every class, and the range that unsure rows leave open.
    suspect_labels_ : ndarray of int
        Rows whose given label is probably wrong, by labels held back, the surest first.
    novel_ : ndarray of bool, shape (n_samples,), or None
        Rows far from every label, that look like none of the labelled classes; None after a fit on Dask.
    label_distributions_ : ndarray of shape (n_samples, K)
        Class probabilities of the fitted rows.
    energy_ : structured ndarray
        The energy's trace on ``flow_graph_``: ``sweep``, ``smoothing``, ``potential``, ``fidelity``,
        ``evidence``, ``total``.
    flow_graph_ : Graph
        The graph that the flow ran on: ``graph_``, or after a spread the same with sharpened weights.
    n_iter_ : int
        The number of sweeps made.
    converged_ : bool
        Whether labels are quiet and the energy is flat. Where it is false ``solution_.reason`` says why:
        after a spread, or where class sizes drifted, the flow is cut short on purpose.
    solution_ : Solution
        The whole answer of the flow, with the name of the policy it was solved by.
    graph_ : Graph
        The similarity graph.
    neighbor_recall_ : float or None
        The share of the true neighbours that the search found, measured on a sample; 1 if it was exact.
    remarks_ : list of str
        What is wrong with the graph, in sentences; empty if it separates the classes well.
    n_features_in_ : int
        Features seen in ``fit``.
    feature_names_in_ : ndarray of str
        The names of the columns, where ``X`` has any.
    n_neighbors_ : int or None
        The neighbours of a row in the graph; None if the graph was given.

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
        evidence: Any = "auto",
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
        self.evidence = evidence
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
    _believed: Opinion | None
    novel_: NDArray[np.bool_] | None

    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Label every row of ``X`` from the known entries of ``y``.

        Parameters
        ----------
        X : array-like, sparse matrix, Graph, dask array, Arrow stream or Hugging Face data set
            The rows, or what ``affinity`` says; a graph is "precomputed". A Dask array is labelled on its
            cluster; ``transduction_`` and ``confidence_`` are Dask arrays then.
        y : array-like of shape (n_samples,)
            Labels of any type; ``unlabeled`` (or a missing value) where not known.
        graph : Graph, sparse matrix of shape (n_samples, n_samples), or graph of another library, optional
            A graph that is not made from the rows (citations, contacts), also one of PyG, DGL, networkx or
            igraph. The flow runs on it, and the rows are evidence.

        Returns
        -------
        self : GinzburgLandauClassifier
            The fitted estimator.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.transduction_.tolist()
        [0, 0, 1, 1]
        """
        if hasattr(X, "__dask_graph__"):
            return self._fit_on_dask(X, y)
        X, y = self._validated(X, y)
        classes, labels = encode(y, self.unlabeled)
        flow, policy, init = self._checked(labels, classes)
        evidence = self._checked_evidence(len(labels), len(classes), graph is not None)
        graphs, neighbors = self._graphs(X, evidence, graph)
        problem, opinion = self._problem(graphs, labels, classes, flow), None
        if evidence is not None:
            rows = X if self.affinity == "nearest_neighbors" else None
            own = graph is not None and len(graphs) > 1
            problem, opinion = believe(rows, graphs, problem, evidence, own=own)
            policy = EVIDENCE
            init = _agreeing(opinion.start(), init)
        callbacks = checked_callbacks(self.callbacks)
        solution = solve(problem, policy, init=init, random_state=self.random_state, callbacks=callbacks)
        self._forget()
        self._believed, self.choice_ = opinion, None if opinion is None else opinion.choice
        neighbors = neighbors and nearest(neighbors, self._chosen_neighbors(opinion, neighbors))
        self.n_neighbors_ = neighbors and neighbors.n_neighbors
        self._learn(X, neighbors, problem.graph, classes, labels, solution)
        self.novel_ = far_rows(problem.graph, problem.trusted)
        self.transduction_ = self._decided(solution.arm)
        self._warn(self._n_unreached, len(labels))
        loud = self._judge()
        if loud:
            warnings.warn(" ".join(loud), UserWarning, stacklevel=2)
        return self

    def _forget(self) -> None:
        """Drop what belongs to an earlier fit."""
        self.__dict__.pop("_fitted", None)  # on a Dask array
        self.novel_ = None
        self._calibrated: list[Calibration] = []  # filled when first asked for; predicting adds no attribute

    # -- what is checked before any work starts

    def _checked(self, labels: NDArray[np.int32], classes: NDArray[Any]) -> tuple[FlowSettings, Policy, Any]:
        """The flow's settings, the policy and the start; a parameter that makes no sense is refused."""
        checked_fidelity(self.fidelity, labels)
        checked_callbacks(self.callbacks)
        class_sizes(self.class_sizes, classes)
        self._check_abstention()
        init = self._init(classes, labels)
        if not isinstance(init, str):
            checked_state(init, len(labels), len(classes), "init")
        elif init not in ("auto", "hub", "random"):
            raise ValueError(
                f"init must be 'auto', 'hub', 'random', a fitted classifier or a State; got {init!r}."
            )
        flow = FlowSettings(self.epsilon, self.step, self.max_iter, self.tol)
        if isinstance(self.init, GraphClassifier):
            return flow, FIT, init
        return (flow, FIT, "hub") if self._is_automatic else (flow, LITERAL, init)

    @property
    def _is_automatic(self) -> bool:
        """Whether the start of the flow is not given as a state; a fitted classifier only saves sweeps."""
        return isinstance(self.init, GraphClassifier) or (isinstance(self.init, str) and self.init == "auto")

    def _check_abstention(self) -> None:
        below = self.abstain_below
        number = isinstance(below, Real) and not isinstance(below, bool | np.bool_)
        if below is not None and not (number and 0 <= below <= 1):
            raise ValueError(f"abstain_below must be None or a probability between 0 and 1; got {below!r}.")

    def _init(self, classes: NDArray[Any], labels: NDArray[np.int32]) -> Any:
        """``init``; of a fitted classifier what the labels don't contradict, the rest at the hub.

        A class that is new has rows among those of the earlier classes, so then everything starts anew.
        """
        if not isinstance(self.init, GraphClassifier):
            return self.init
        check_is_fitted(self.init, "solution_")
        earlier = self.init.classes_.tolist()
        now = classes.tolist()
        match = np.array([now.index(name) if name in now else -1 for name in earlier] + [-1], np.int32)
        arm = match[self.init.solution_.arm]
        if len(arm) == len(labels):
            wrong = (labels >= 0) & (arm >= 0) & (arm != labels)
            restarted = np.union1d(arm[wrong], labels[wrong])
            new_class = any(name not in earlier for name in now)
            arm = np.where(np.isin(arm, restarted) | new_class, -1, arm).astype(np.int32)
        return State(arm, np.where(arm >= 0, self.init.solution_.height, 0.0))

    def _checked_evidence(self, n_rows: int, n_classes: int, has_graph: bool) -> Any:
        """None, "auto", a classifier, or probabilities; what can't be used is refused."""
        has_rows = self.affinity == "nearest_neighbors"
        if has_graph and (not has_rows or self.evidence is None):
            raise ValueError(
                "graph= goes with rows of features and evidence; pass the graph alone as X with "
                "affinity='precomputed'."
            )
        evidence = checked_given(self.evidence, n_rows, n_classes, has_rows=has_rows, affinity=self.affinity)
        automatic = isinstance(evidence, str)
        return None if automatic and not self._is_automatic and not has_graph else evidence

    # -- graphs and evidence

    def _graphs(self, X: Any, evidence: Any, own: Any) -> tuple[dict[str, Graph], Neighbors | None]:
        """The graphs by name, all from one search; the first is the one that few labels are spread on."""
        several = self.n_neighbors == "auto" and self.scale_neighbor is None
        if evidence is None or self.affinity != "nearest_neighbors" or not several:
            graph, neighbors = self._graph(X)
            graphs = {GIVEN if neighbors is None else str(neighbors.n_neighbors): graph}
        else:
            neighbors = self._search(X, longest_rung(X.shape[0]))
            graphs = rungs(neighbors)
        if own is not None:
            own = as_graph(own)
            if own.n_vertices != X.shape[0]:
                raise ValueError(
                    f"graph must have one vertex per row of X, {X.shape[0]}; got {own.n_vertices}."
                )
            graphs.pop(str(RUNGS[0]), None)  # the given graph takes the place of the smallest one
            graphs = {GIVEN: own} | graphs
        return graphs, neighbors

    def _problem(
        self, graphs: dict[str, Graph], labels: NDArray[np.int32], classes: NDArray[Any], flow: FlowSettings
    ) -> Problem:
        fidelity = checked_fidelity(self.fidelity, labels)
        sizes = class_sizes(self.class_sizes, classes)
        return Problem(next(iter(graphs.values())), labels, len(classes), fidelity, sizes, flow)

    def _chosen_neighbors(self, opinion: Opinion | None, neighbors: Neighbors) -> int:
        """The number of neighbours of the chosen graph; the usual one if that is a given graph."""
        if opinion is None:
            return neighbors.n_neighbors
        return int(opinion.choice.graph) if opinion.choice.graph != GIVEN else USUAL_RUNG

    def _solver(self, graph: Graph, labels: NDArray[np.int32], classes: NDArray[Any]) -> Solver:
        """Solves the problem again from some of its labels, by the graph alone."""
        flow, policy, init = self._checked(labels, classes)
        if isinstance(self.init, GraphClassifier):
            init = "hub"  # an earlier answer knows the labels that are hidden
        problem = self._problem({GIVEN: graph}, labels, classes, flow)

        def solve_from(labels: NDArray[np.int32]) -> Solution:
            return solve(problem.with_labels(labels), policy, init=init, random_state=self.random_state)

        return solve_from

    def _judge(self) -> list[str]:
        """Set ``remarks_``; return those that the user must hear of at once."""
        names = [str(name) for name in self.classes_]
        loud = alarms(self.class_sizes_, names)
        if self._fitted is not None:
            loud = self._fitted.outcome.remarks + loud
        elif self.choice_ is None:
            loud = remarks(self.graph_, self._labels, self.solution_) + loud
        loud += novelty_remark(self.novel_)
        quiet = [] if self.choice_ is None else advice(self.choice_.figures)
        if self._believed is not None:
            quiet += doubts(self.class_sizes_, self.class_size_intervals_[:, 0], names)
        self.remarks_ = loud + quiet
        return loud

    def _decided(self, arm: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """The labels of all rows; ``unlabeled`` where confidence is too low."""
        if self.abstain_below is not None:
            arm = np.where(self.confidence_ < self.abstain_below, -1, arm)
        return decode(arm, self.classes_, self.unlabeled)

    # -- on a cluster

    def _fit_on_dask(self, X: Any, y: Any) -> Self:
        from phaselabel.distributed.fitting import RemoteGraph, fit
        from phaselabel.distributed.job import Settings

        for name, fits in {"affinity": ("nearest_neighbors",), "init": ("auto", "hub")}.items():
            if not (isinstance(getattr(self, name), str) and getattr(self, name) in fits):
                raise ValueError(f"On a Dask array {name} must be {' or '.join(map(repr, fits))}.")
        self._check_abstention()
        evidence = self.evidence
        if isinstance(evidence, str) and evidence == "auto" and self.init == "hub":
            evidence = None
        settings = Settings(
            n_neighbors=self.n_neighbors, evidence=evidence,
            scale_neighbor=self.scale_neighbor, metric=self.metric, fidelity=self.fidelity,
            flow=FlowSettings(self.epsilon, self.step, self.max_iter, self.tol),
            class_sizes=self.class_sizes, policy=FIT if self.init == "auto" else LITERAL,
            callbacks=checked_callbacks(self.callbacks),
        )  # fmt: skip
        fitted = fit(X, y, settings, self.unlabeled, self.dask_options)
        self._fitted = fitted
        self.classes_, self.solution_ = fitted.classes, fitted.outcome.solution
        self.graph_: Any = RemoteGraph(fitted)
        self.neighbor_recall_, self.n_features_in_ = fitted.outcome.graph.recall, int(X.shape[1])
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, object)
        self.energy_, self.n_iter_ = self.solution_.energy, self.solution_.n_iter
        self.converged_ = self.solution_.converged
        opinion = fitted.outcome.opinion
        self._believed, self.choice_ = None, None if opinion is None else opinion.choice
        self.n_neighbors_ = fitted.n_neighbors
        self.novel_ = None
        self.transduction_ = fitted.decoded(self.unlabeled, self.abstain_below, self._client)
        self._warn(fitted.n_unreached, fitted.n_rows)
        if loud := self._judge():
            warnings.warn(" ".join(loud), UserWarning, stacklevel=3)
        return self

    def gathered(self) -> Self:
        """The model with all of its arrays in this process; the model itself, unless it was fitted on Dask.

        After a fit on a Dask array it is called by ``predict``, ``explain``, ``query``, ``save`` and others;
        a model too large for this process is refused in a sentence.

        Returns
        -------
        GinzburgLandauClassifier
            A fitted model that works without a cluster.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.gathered() is model
        True
        """
        fitted = self._fitted
        if fitted is None:
            return self
        if fitted.model is None:
            parts = fitted.gathered()
            # scikit-learn's clone would copy the client in dask_options.
            others = {"dask_options": None, "callbacks": ()}
            model = type(self)(**(self.get_params(deep=False) | others))
            model._learn(parts.points, None, parts.graph, self.classes_, parts.labels, parts.solution)
            model._tau, model.neighbor_recall_ = parts.tau, self.neighbor_recall_
            model._believed, model.choice_ = parts.opinion, self.choice_
            model.n_neighbors_ = self.n_neighbors_
            model.novel_ = None
            model._calibrated = [] if parts.calibration is None else [parts.calibration]
            model.n_features_in_, model.remarks_ = self.n_features_in_, self.remarks_
            if hasattr(self, "feature_names_in_"):
                model.feature_names_in_ = self.feature_names_in_
            model.transduction_ = model._decided(parts.solution.arm)
            fitted.model = model
        return fitted.model

    @property
    def _client(self) -> Any:
        return (self.dask_options or {}).get("client")

    # -- how good it is

    @property
    def calibration_(self) -> Calibration:
        """How votes become probabilities, by a second flow without some labels; computed when first used.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> type(model.calibration_).__name__
        'Calibration'
        """
        check_is_fitted(self, "solution_")
        if not self._calibrated:
            solver = self._solver(self.graph_, self._labels, self.classes_)
            self._calibrated.append(
                calibration_from_hidden(solver, self.graph_, self._labels, len(self.classes_))
            )
        return self._calibrated[0]

    @property
    def confidence_(self) -> Any:
        """The probability that each row's label is right; 0 in components without a known label.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> bool((model.confidence_ > 0.5).all())
        True
        """
        check_is_fitted(self, "solution_")
        if self._fitted is not None:
            return self._fitted.confidence(self._client)
        arm, k = self.solution_.arm, len(self.classes_)
        if self._believed is not None:
            believed = self._believed.confidence[np.arange(len(arm)), arm].astype(np.float64)
            sure = confidence(believed, arm, arm == self._labels, None, k)
        else:
            share = own_shares(self.graph_, self.solution_.state, k)
            sure = confidence(share, arm, arm == self._labels, self.calibration_, k)
        return sure if self.novel_ is None else np.where(self.novel_, DOUBT * sure, sure)

    @property
    def class_sizes_(self) -> NDArray[np.float64]:
        """The proportion of every class among the rows that have one, as the flow found it.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.class_sizes_.tolist()
        [0.5, 0.5]
        """
        check_is_fitted(self, "solution_")
        if self._fitted is not None:
            sizes = self._fitted.outcome.class_sizes
        else:
            sizes = self.solution_.state.sizes(len(self.classes_))
        return np.asarray(sizes / max(int(sizes.sum()), 1))

    @property
    def class_size_intervals_(self) -> NDArray[np.float64]:
        """The lowest and highest plausible proportion of every class: without its unsure rows, with others'.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.class_size_intervals_.shape
        (2, 2)
        """
        if (model := self.gathered()) is not self:
            return model.class_size_intervals_
        arm = self.solution_.arm
        reached = np.flatnonzero(arm >= 0)
        odds = self.label_distributions_[reached]
        own = arm[reached][:, None] == np.arange(odds.shape[1])
        low = np.where(own, odds, 0).sum(axis=0)
        high = np.where(own, 1, odds).sum(axis=0)
        return np.column_stack([low, high]) / max(len(reached), 1)

    @property
    def suspect_labels_(self) -> NDArray[np.intp]:
        """Rows whose given label is probably wrong, the surest first; computed when used.

        Labels are judged while they are hidden, and by how often the method is wrong;
        ``hold_out().suspects()`` has the probability of each and the number of false alarms to expect.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.suspect_labels_.tolist()
        []
        """
        if (model := self.gathered()) is not self:
            return model.suspect_labels_
        return self.hold_out().suspects().rows

    def hold_out(self, folds: int = 10, random_state: Any = 0) -> HeldOut:
        """Hide the known labels in turns and look at what the same method finds for them.

        Parameters
        ----------
        folds : int, default=10
            The number of turns; fewer where the largest class has fewer labels.
        random_state : int, Generator or None
            How the labels are dealt out.

        Returns
        -------
        HeldOut
            ``accuracy`` with its ``interval()``, and each label beside what was found for it.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1])
        >>> model.hold_out().accuracy
        1.0
        """
        if (model := self.gathered()) is not self:
            return model.hold_out(folds, random_state)
        check_is_fitted(self, "solution_")
        if self._believed is not None:
            rows, believed = self._believed.hidden_rows, self._believed.hidden_probabilities
            return HeldOut.of_probabilities(rows, self._labels, believed, self._believed.n_folds)
        solver = self._solver(self.graph_, self._labels, self.classes_)
        return hold_out(
            solver, self.graph_, self._labels, len(self.classes_), folds=folds, random_state=random_state
        )

    def _html_repr(self) -> str:
        """The verdict above scikit-learn's diagram, in a notebook."""
        diagram = str(super()._html_repr())
        if not hasattr(self, "solution_") or self._fitted is not None:
            return diagram
        held = self.hold_out() if self._believed is not None else None
        facts = {
            "rows": f"{len(self._labels):,}, {int((self._labels >= 0).sum()):,} of them with a given label",
            "classes": ", ".join(f"{n} {s:.0%}" for n, s in zip(self.classes_[:8], self.class_sizes_)),
            "flow": self.solution_.status,
        }
        sentences = ([] if held is None else [verdict(held)]) + self.remarks_
        return as_html("Labels for every row", sentences, facts) + diagram

    def explain(self, row: int, n: int = 5) -> Explanation:
        """What decided a fitted row: labelled rows, and the shares of its own columns and of its neighbours.

        A random walk on the graph starts at ``row`` and ends at the first labelled row it meets; the
        influence of a labelled row is the probability that the walk ends there.

        Parameters
        ----------
        row : int
            A fitted row.
        n : int, default=5
            How many labelled rows to name, at most.

        Returns
        -------
        Explanation
            A list of (row, label, share of the influence), the largest first. Its attributes ``by_columns``
            and ``by_neighbors`` are the shares of the decision that are due to the row's own columns and to
            its neighbours.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=2).fit([[0.0], [1.0], [2.0], [9.0]], [0, -1, -1, 1])
        >>> [(row, int(label)) for row, label, share in model.explain(1)][0]
        (0, 0)
        >>> 0 <= model.explain(1).by_columns <= 1
        True
        """
        if (model := self.gathered()) is not self:
            return model.explain(row, n)
        check_is_fitted(self, "solution_")
        if not _is_whole(row) or not 0 <= row < len(self._labels):
            raise ValueError(
                f"row must be a whole number between 0 and {len(self._labels) - 1}; got {row!r}."
            )
        _check_count(n)
        weight = influences(self.graph_, self._labels >= 0, row)
        first = np.argsort(-weight, kind="stable")[:n]
        total = max(float(weight.sum()), 1e-30)
        rows = [
            (int(i), self.classes_[self._labels[i]], float(weight[i] / total)) for i in first if weight[i] > 0
        ]
        if self._labels[row] >= 0 or self.solution_.arm[row] < 0:
            return Explanation(rows, 0.0, 0.0)
        return Explanation(rows, *decision_shares(self.graph_, self.solution_.state, self._believed, row))

    def query(self, n: int = 1) -> NDArray[np.intp]:
        """The rows to label next: unsure, typical of their region, far from each other.

        Parameters
        ----------
        n : int, default=1
            How many rows.

        Returns
        -------
        ndarray of int
            The rows, the best first; components without a label come before all others.

        Examples
        --------
        >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
        >>> model = GinzburgLandauClassifier(n_neighbors=2).fit(X, [0, -1, -1, 1, -1, -1])
        >>> len(model.query(2))
        2
        """
        if (model := self.gathered()) is not self:
            return model.query(n)
        check_is_fitted(self, "solution_")
        _check_count(n)
        sharp = sharpened(self.graph_)
        return choose_queries(sharp, self._labels, self.solution_.arm, len(self.classes_), int(n))

    # -- new rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the vote of their neighbours; ``unlabeled`` below ``abstain_below``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            New rows; with another ``affinity`` their similarities or distances to the fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            A label for every row.

        Examples
        --------
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.predict([[4.0]]).tolist()
        [1]
        """
        if hasattr(X, "__dask_graph__"):
            return self._predict_on_dask(X, "predict")
        if (model := self.gathered()) is not self:
            return model.predict(X)
        if self.abstain_below is None:
            return super().predict(X)
        odds = self.predict_proba(X)
        arm = np.where(odds.max(axis=1) < self.abstain_below, -1, odds.argmax(axis=1))
        return decode(arm, self.classes_, self.unlabeled)

    def _shares(self, X: Any, plain: bool = False) -> NDArray[np.float64]:
        """Probabilities of every new row: what its neighbours and the models of the rows say together."""
        if self._believed is None or self.affinity != "nearest_neighbors":
            return super()._shares(X, plain)
        neighbors, weights = self._near(X)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        logits = np.zeros((X.shape[0], len(self.classes_)))
        for j in range(weights.shape[1]):  # one neighbour at a time: little memory, and sums in a fixed order
            logits += weights[:, j : j + 1] * self._believed.graph_logits[neighbors.indices[:, j]]
        odds = self._believed.of_rows(X, logits)
        # The vote of a vertex at the hub: what its neighbours say, and what is believed of it.
        votes = self._believed.voice * odds / 2
        heights = weights * self.solution_.height[neighbors.indices]
        rows = np.arange(len(odds))[:, None]
        np.add.at(votes, (rows, self.solution_.arm[neighbors.indices]), heights)
        arm = votes.argmax(axis=1)
        shares = as_distributions(odds, arm, odds[np.arange(len(odds)), arm])
        seen = neighbors.distances[:, 0] == 0
        same = neighbors.indices[seen, 0]
        shares[seen] = self._distributions(same, self.confidence_[same])
        return shares

    def _distributions(
        self, rows: NDArray[np.integer[Any]], confidence: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if self._believed is None:
            return super()._distributions(rows, confidence)
        believed = self._believed.confidence[rows].astype(np.float64)
        return as_distributions(believed, self.solution_.arm[rows], confidence)

    def _as_probabilities(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Calibrated probabilities of new rows from the shares in the vote on them."""
        arm = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
        k = shares.shape[1]
        own = np.maximum(self.calibration_(shares.max(axis=1)), 1 / k) if k > 1 else np.ones(len(shares))
        return as_distributions(shares, arm, own)


def _agreeing(start: State, earlier: Any) -> State:
    """A start at the heights of an earlier answer, if there is one, where both are on the same arm."""
    if not isinstance(earlier, State):
        return start
    same = (earlier.arm == start.arm) & (earlier.height > start.height)
    return State(start.arm, np.where(same, earlier.height, start.height))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_count(n: Any) -> None:
    if not _is_whole(n) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1; got {n!r}.")
