"""Rows and a few labels in, a label and a confidence for every row out: the scikit-learn estimator."""

import warnings
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.hidden import Solver
from phaselabel.assess.novelty import far_rows
from phaselabel.estimators.fitted_classifier import FittedClassifier
from phaselabel.estimators.graph_classifier import GraphClassifier
from phaselabel.estimators.on_dask import fit_on_dask
from phaselabel.estimators.start import agreeing, is_automatic, policy_and_start
from phaselabel.evidence.believing import believe
from phaselabel.evidence.experts import affordable_graphs
from phaselabel.evidence.given import checked_columns, checked_given
from phaselabel.evidence.opinion import GIVEN, Opinion
from phaselabel.few_labels.class_sizes import class_sizes, refuse_smaller
from phaselabel.few_labels.policy import EVIDENCE, Policy
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.minimize import Solution, checked_callbacks
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity
from phaselabel.graph import Graph, Neighbors
from phaselabel.graph.foreign import as_graph
from phaselabel.graph.rungs import RUNGS, USUAL_RUNG, longest_rung, nearest, rungs
from phaselabel.labels import encode


class GinzburgLandauClassifier(FittedClassifier):
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
        between 3, 10 and 40, all from one search; above 25,000 rows 10⁶ / rows take the place of 40, above
        50,000 rows, or 400,000 rows times classes, there are 3 and 10. It is 10 without evidence and above
        666,666 rows times classes.
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
        Trust in the known labels, or in each one of them; 0 makes a label unknown. Large values clamp; small
        ones let a wrong label be outvoted, for sure only with ``evidence=None`` and ``init="hub"``: evidence
        and a spread have learned from the label itself.
    evidence : {"auto", None}, classifier or array-like of shape (n_samples, K), default="auto"
        What speaks for a class besides the graph. "auto": models of the rows and walks on graphs, weighted
        by labels held back. A scikit-learn classifier with ``predict_proba`` takes the place of the models;
        so do probabilities, one column per class in sorted order, with rows of NaN where there is no
        opinion. None: the graph alone. With an ``init`` that is a start of the flow, "auto" means None.
    model_columns : sequence of int or str, optional
        The columns that the models of the rows see, by place or by name; the graph is made from all columns.
        By default the models see all columns too.
    init : {"auto", "hub", "random"}, fitted classifier, State or Solution, default="auto"
        Where the flow starts. "auto" starts from the evidence; without evidence it spreads the labels over
        the graph first if there are at most 50 per class on average, and starts from the hub if there are
        more. A fitted classifier of the same rows is a warm start: "auto", but the flow starts from the
        earlier answer where the new labels don't contradict it. It may save sweeps; the labels are those of
        "auto".
    step : "auto" or float, default="auto"
        Time step; with "auto" the energy is proved not to rise while no row changes class.
    max_iter : int, default=2000
        The largest number of sweeps.
    tol : float, default=1e-4
        When labels count as quiet and the energy as flat; 0 never stops early.
    class_sizes : "estimate", proportions, (low, high) pairs, or a dict of either, default="estimate"
        What is known of the classes' sizes, in the order of ``classes_`` or by name. With evidence, sizes
        that are not given are estimated, from the unlabelled rows and, as far as they differ by more than
        chance, the numbers of labels; without it a spread is pulled softly towards equal sizes.
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
        ``in_blocks``, ``sweeps_per_round`` and ``progress``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The distinct labels.
    transduction_ : ndarray of shape (n_samples,)
        A label for every row; ``unlabeled`` below ``abstain_below`` and, without models of the rows, in
        components without a known label.
    confidence_ : ndarray of shape (n_samples,)
        The probability that each label is right, by labels that were held back; 0 where a row has no class.
    choice_ : Choice or None
        What was chosen (weights of the experts, number of neighbours, class sizes), from what, and how many
        hidden labels the rows, the graph and both together found; None without evidence.
    class_sizes_, class_size_intervals_ : ndarray of shape (K,) and (K, 2)
        The proportion of every class, and the range that unsure rows leave open.
    suspect_labels_ : ndarray of int
        Rows whose given label is probably wrong, by labels held back, the surest first.
    novel_ : ndarray of bool, shape (n_samples,), or None
        Rows far from every label, that look like none of the labelled classes; None in a model that an
        earlier version saved.
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
        Whether labels are quiet and the energy is flat, or the energy has not fallen for 30 sweeps though
        some rows still move. Where it is false ``solution_.reason`` says why: after a spread, or where class
        sizes drifted, the flow is cut short on purpose.
    solution_ : Solution
        The whole answer of the flow, with the name of the policy it was solved by.
    graph_ : Graph
        The similarity graph.
    neighbor_recall_ : float or None
        The share of the true neighbours that the search found, measured on a sample; 1 if it was exact.
    remarks_ : list of str
        What to know of the graph, the columns and the class sizes, in sentences; empty if all is well.
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
        model_columns: Any = None,
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
        self.model_columns = model_columns
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
            fit_on_dask(self, X, y)
            return self
        X, y = self._validated(X, y)
        classes, labels = encode(y, self.unlabeled)
        flow, policy, init = self._checked(labels, classes)
        evidence = self._checked_evidence(len(labels), len(classes), graph is not None)
        columns = self._checked_columns()
        graphs, neighbors = self._graphs(X, evidence, graph, len(classes))
        problem, opinion = self._problem(graphs, labels, classes, flow), None
        if evidence is not None:
            rows = X if self.affinity == "nearest_neighbors" else None
            own = graph is not None
            problem, opinion = believe(rows, graphs, problem, evidence, own=own, columns=columns)
            policy = EVIDENCE
            init = agreeing(opinion.start(), init)
        callbacks = checked_callbacks(self.callbacks)
        solution = solve(problem, policy, init=init, random_state=self.random_state, callbacks=callbacks)
        self._forget()
        self._believed, self.choice_ = opinion, None if opinion is None else opinion.choice
        neighbors = neighbors and nearest(neighbors, self._chosen_neighbors(opinion, neighbors))
        self.n_neighbors_ = None if neighbors is None else neighbors.n_neighbors
        self._learn(X, neighbors, problem.graph, classes, labels, solution)
        self.novel_ = far_rows(problem.graph, problem.trusted)
        self.transduction_ = self._decided(solution.arm)
        self._warn(self._n_unreached, len(labels))
        loud = self._judge()
        if loud:
            warnings.warn(" ".join(loud), UserWarning, stacklevel=2)
        return self

    # -- what is checked before any work starts

    def _checked(self, labels: NDArray[np.int32], classes: NDArray[Any]) -> tuple[FlowSettings, Policy, Any]:
        """The flow's settings, the policy and the start; a parameter that makes no sense is refused."""
        checked_fidelity(self.fidelity, labels)
        checked_callbacks(self.callbacks)
        sizes = class_sizes(self.class_sizes, classes)
        counts = np.bincount(labels[labels >= 0], minlength=len(classes))
        refuse_smaller(sizes, counts, len(labels), classes.tolist())
        self._check_abstention()
        policy, init = policy_and_start(self.init, classes, labels)
        return FlowSettings(self.epsilon, self.step, self.max_iter, self.tol), policy, init

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
        return None if automatic and not is_automatic(self.init) and not has_graph else evidence

    def _checked_columns(self) -> NDArray[np.intp] | None:
        """The places of the columns that the models of the rows see; None for all."""
        if self.model_columns is not None and self.affinity != "nearest_neighbors":
            raise ValueError(
                f"model_columns needs rows of features, and affinity={self.affinity!r} has none."
            )
        names = getattr(self, "feature_names_in_", None)
        return checked_columns(self.model_columns, self.evidence, self.n_features_in_, names)

    # -- graphs and evidence

    def _graphs(
        self, X: Any, evidence: Any, own: Any, n_classes: int
    ) -> tuple[dict[str, Graph], Neighbors | None]:
        """The graphs by name, all from one search; the first is the one that few labels are spread on."""
        several = self.n_neighbors == "auto" and self.scale_neighbor is None
        if evidence is None or self.affinity != "nearest_neighbors" or not several:
            graph, neighbors = self._graph(X)
            graphs = {GIVEN if neighbors is None else str(neighbors.n_neighbors): graph}
        else:
            neighbors = self._search(X, longest_rung(X.shape[0]))
            graphs = rungs(neighbors, affordable_graphs(X.shape[0], n_classes))
        if own is not None:
            own = as_graph(own)
            if own.n_vertices != X.shape[0]:
                raise ValueError(
                    f"graph must have one vertex per row of X, {X.shape[0]}; got {own.n_vertices}."
                )
            if len(graphs) > 1:
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

    def _solver(self) -> Solver:
        """Solves the problem again from some of its labels, by the graph alone."""
        flow, policy, init = self._checked(self._labels, self.classes_)
        if isinstance(self.init, GraphClassifier):
            init = "hub"  # an earlier answer knows the labels that are hidden
        problem = self._problem({GIVEN: self.graph_}, self._labels, self.classes_, flow)

        def solve_from(labels: NDArray[np.int32]) -> Solution:
            return solve(problem.with_labels(labels), policy, init=init, random_state=self.random_state)

        return solve_from
