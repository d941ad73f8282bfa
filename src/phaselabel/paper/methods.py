"""A problem in, a class for every row out: the variants of the flow, baselines and cited methods by name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import eigsh

from phaselabel.flow.binary import minimize_binary
from phaselabel.flow.minimize import Solution, minimize
from phaselabel.flow.presets import PRESETS, paper_run
from phaselabel.flow.schedule import Geometric
from phaselabel.graph import Graph
from phaselabel.paper import cited_methods
from phaselabel.paper.cited_methods import Scores
from phaselabel.paper.problem import DEFAULT_NEIGHBORS, Problem
from phaselabel.paper.recipes import Recipe

Answer = Solution | NDArray[np.integer[Any]]

#: k-means takes the best of ten starts on at most 10,000 rows, and one start on more.
MAX_ROWS_WITH_TEN_STARTS = 10_000

#: The kernel of at most 10,000 rows is in memory at a time.
KERNEL_ROWS = 10_000


@dataclass(frozen=True)
class Method:
    """A function from problems to classes, with its place in the table.

    ``n_neighbors`` is the graph that it uses, None for methods without a graph. ``kind`` is "ours" for the
    flows of this package, "baseline" for scikit-learn's methods and "cited" for those that the paper cites.
    """

    variant: str
    title: str
    kind: Literal["ours", "baseline", "cited"]
    n_neighbors: int | None
    solve: Callable[[Problem], Answer]

    @property
    def key(self) -> tuple[str, int | None]:
        """Variant and number of neighbours: unique in an experiment."""
        return self.variant, self.n_neighbors


def methods(recipe: Recipe) -> list[Method]:
    """All methods of an experiment, in the order of its table."""
    listed: list[Method] = []
    for size in recipe.n_neighbors:
        listed += _flows(recipe, size)
    listed.append(
        Method(
            "defaults",
            "the graph alone: `GinzburgLandauClassifier(evidence=None)`",
            "ours",
            DEFAULT_NEIGHBORS,
            _defaults,
        )
    )
    listed += _graph_baselines(recipe.n_neighbors[0])
    for size in recipe.n_neighbors if recipe.cited_methods else ():
        listed += _cited_methods(size)
    return listed + _row_baselines()


def flow_settings(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Arguments of :func:`phaselabel.minimize` for each variant.

    The printed energy has the gradient 2εR + Φ'/ε + μ(u - û). Our form at ε' = √2 ε is
    √2 εR + Φ'/(√2 ε) + μ'(u - û), which is 1/√2 of it when μ' = μ/√2; a step dt' = √2 dt makes it equal.
    """
    root = np.sqrt(2.0)
    printed = paper_run(recipe.name)
    settings: dict[str, dict[str, Any]] = {"paper": printed}
    if f"{recipe.name}-adaptive" in PRESETS:
        settings["paper-adaptive"] = paper_run(f"{recipe.name}-adaptive")
    settings["printed-energy"] = printed | {
        "epsilon": root * printed["epsilon"],
        "fidelity": printed["fidelity"] / root,
        "step": root * printed["step"],
    }
    settings["ours"] = {name: printed[name] for name in ("epsilon", "fidelity")}
    return settings


TITLES = {
    "paper": "paper's run",
    "paper-adaptive": "paper's run, adaptive ε",
    "printed-energy": "printed energy (ε·√2)",
    "ours": "ours: start, step and stop by default",
}


def _defaults(problem: Problem) -> Solution:
    """The classifier without evidence, on the graph that it would build itself."""
    from phaselabel.estimators.classifier import GinzburgLandauClassifier

    model = GinzburgLandauClassifier(affinity="precomputed", evidence=None)
    return model.fit(problem.graphs[DEFAULT_NEIGHBORS], problem.labels).solution_


def run_flow(problem: Problem, size: int, **settings: Any) -> Solution:
    """The flow on the graph of ``size`` neighbours; ``settings`` are those of :func:`phaselabel.minimize`."""
    return minimize(
        problem.graphs[size],
        problem.labels,
        n_classes=problem.n_classes,
        random_state=problem.start,
        **settings,
    )


def _flows(recipe: Recipe, size: int) -> list[Method]:
    listed = [
        Method(
            variant,
            TITLES[variant],
            "ours",
            size,
            lambda problem, settings=settings: run_flow(problem, size, **settings),  # type: ignore[misc]
        )
        for variant, settings in flow_settings(recipe).items()
    ]
    schedule = recipe.binary_schedule
    if schedule is not None:
        listed += [
            Method(
                "binary",
                "binary model, defaults",
                "ours",
                size,
                lambda problem: minimize_binary(problem.graphs[size], problem.labels),
            ),
            Method(
                "binary-sizes",
                "binary model, sizes of the classes, no label",
                "ours",
                size,
                lambda problem: _by_sizes(problem, size, schedule),
            ),
        ]
    return listed


def _by_sizes(problem: Problem, size: int, schedule: Geometric) -> Solution:
    """The binary model without labels, with the true sizes; the classes get the names that fit best."""
    mean = 2 * float(np.mean(problem.y)) - 1
    solution = minimize_binary(problem.graphs[size], np.full(len(problem.y), -1), mean=mean, epsilon=schedule)
    return replace(solution, arm=matched(solution.arm, problem.y))


def _graph_baselines(size: int) -> list[Method]:
    return [
        Method("spectral", "spectral clustering", "baseline", size, lambda p: spectral(p, size)),
        Method(
            "label-spreading",
            "LabelSpreading",
            "baseline",
            size,
            lambda p: _label_spreading(p, p.graphs[size]),
        ),
    ]


def _cited_methods(size: int) -> list[Method]:
    def classes(scores: Callable[[Problem, Graph, Scores], Scores]) -> Callable[[Problem], Answer]:
        def solve(problem: Problem) -> Answer:
            known = cited_methods.one_hot(problem.labels, problem.n_classes)
            answer: NDArray[np.int64] = scores(problem, problem.graphs[size], known).argmax(axis=1)
            return answer

        return solve

    named = [
        (
            "consistency",
            "local and global consistency",
            lambda p, graph, known: cited_methods.local_global_consistency(graph, known),
        ),
        ("squared-loss", "SQ-Loss-I", lambda p, graph, known: cited_methods.squared_loss(graph, known)),
        (
            "measure-propagation",
            "measure propagation",
            lambda p, graph, known: cited_methods.measure_propagation(graph, known),
        ),
        (
            "laprls",
            "LapRLS",
            lambda p, graph, known: cited_methods.laplacian_least_squares(graph, p.X, known),
        ),
    ]
    return [Method(variant, title, "cited", size, classes(scores)) for variant, title, scores in named]


def _row_baselines() -> list[Method]:
    return [
        Method("k-means", "k-means", "baseline", None, k_means),
        Method("neighbors", "nearest labelled neighbour", "baseline", None, _nearest),
        Method("svm", "SVM (Gaussian kernel)", "baseline", None, _svm),
        Method("logistic", "logistic regression", "baseline", None, _logistic),
    ]


def spectral(problem: Problem, size: int) -> NDArray[np.int64]:
    """k-means on the first K eigenvectors of L_s; clusters get classes by the best matching."""
    return _clusters(problem, eigenvectors(problem.graphs[size], problem.n_classes))


@lru_cache(maxsize=2)
def eigenvectors(graph: Graph, count: int) -> NDArray[np.float64]:
    """The eigenvectors of the smallest eigenvalues of L_s: the largest of D^(-1/2) W D^(-1/2)."""
    matrix = graph.normalized.astype(np.float64)
    start = np.sqrt(graph.degrees)  # the first eigenvector, so that nothing is random
    vectors: NDArray[np.float64] = eigsh(matrix, count, which="LA", v0=start + start.mean(), tol=1e-6)[1]
    return vectors


def k_means(problem: Problem) -> NDArray[np.int64]:
    """k-means on the rows; clusters get classes by the best matching."""
    return _clusters(problem, problem.X)


def _clusters(problem: Problem, rows: NDArray[Any]) -> NDArray[np.int64]:
    from sklearn.cluster import KMeans

    seed = int(problem.clustering.generate_state(1)[0])
    model = KMeans(
        problem.n_classes, n_init=1 if len(rows) > MAX_ROWS_WITH_TEN_STARTS else 10, random_state=seed
    )
    return matched(model.fit_predict(rows), problem.y)


def matched(clusters: NDArray[np.integer[Any]], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each cluster a class of its own, so that as many rows as possible are right.

    Examples
    --------
    >>> matched(np.array([1, 1, 0]), np.array([0, 0, 1])).tolist()
    [0, 0, 1]
    """
    n = int(max(clusters.max(), y.max())) + 1
    counts = np.zeros((n, n), np.int64)
    np.add.at(counts, (clusters, y), 1)
    class_of: NDArray[np.int64] = linear_sum_assignment(counts, maximize=True)[1]
    classes: NDArray[np.int64] = class_of[clusters]
    return classes


def _label_spreading(problem: Problem, graph: Graph) -> NDArray[np.int64]:
    from sklearn.semi_supervised import LabelSpreading

    model = LabelSpreading(kernel=lambda rows, others=None: graph.weights.astype(np.float64))
    # The kernel is the graph, whatever the rows. Rows without a known label in their component give 0/0.
    with np.errstate(invalid="ignore", divide="ignore"):
        model.fit(np.arange(len(problem.y), dtype=float)[:, None], problem.labels)
    classes: NDArray[np.int64] = model.transduction_
    return classes


def _nearest(problem: Problem) -> NDArray[np.int64]:
    from sklearn.neighbors import KNeighborsClassifier

    known = problem.known
    model = KNeighborsClassifier(1, algorithm="brute").fit(problem.X[known], problem.labels[known])
    classes: NDArray[np.int64] = model.predict(problem.X)
    return classes


def _svm(problem: Problem) -> NDArray[np.int64]:
    """scikit-learn's SVC with its defaults; matrix products make it faster than libsvm alone."""
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import SVC

    known = problem.known
    rows = problem.X[known]
    gamma = 1 / (rows.shape[1] * float(rows.var(dtype=np.float64)))
    model = SVC(kernel="precomputed").fit(rbf_kernel(rows, gamma=gamma), problem.labels[known])
    pairs, coefficients, offsets = one_against_one(model)
    classes = np.empty(len(problem.X), np.int64)
    for begin in range(0, len(classes), KERNEL_ROWS):
        block = slice(begin, begin + KERNEL_ROWS)
        kernel = rbf_kernel(problem.X[block], rows[model.support_], gamma=gamma)
        first_wins = kernel @ coefficients.astype(kernel.dtype) + offsets > 0
        votes = np.zeros((len(kernel), len(model.classes_)), np.int64)
        for column, (first, second) in enumerate(pairs):
            votes[:, first] += first_wins[:, column]
            votes[:, second] += ~first_wins[:, column]
        classes[block] = model.classes_[votes.argmax(axis=1)]
    return classes


def one_against_one(model: Any) -> tuple[list[tuple[int, int]], NDArray[Any], NDArray[Any]]:
    """The pairs of classes of a fitted SVC, with coefficients on the support vectors and offsets.

    Parameters
    ----------
    model : SVC
        A fitted classifier.

    Returns
    -------
    pairs : list of (int, int)
        The classes that are compared; the first wins where the decision is positive.
    coefficients : ndarray of shape (n_support, n_pairs)
        A column for every pair.
    offsets : ndarray of shape (n_pairs,)
        Added to the product of kernel and coefficients.
    """
    ends = np.cumsum([0, *model.n_support_])
    members = [slice(*ends[k : k + 2]) for k in range(len(model.classes_))]
    pairs = list(combinations(range(len(members)), 2))
    coefficients = np.zeros((ends[-1], len(pairs)))
    for column, (first, second) in enumerate(pairs):
        coefficients[members[first], column] = model.dual_coef_[second - 1, members[first]]
        coefficients[members[second], column] = model.dual_coef_[first, members[second]]
    # With two classes scikit-learn reverses the sign, so that the second class is the positive one.
    sign = -1 if len(pairs) == 1 else 1
    return pairs, sign * coefficients, sign * model.intercept_


def _logistic(problem: Problem) -> NDArray[np.int64]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    known = problem.known
    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
    model.fit(problem.X[known], problem.labels[known])
    classes: NDArray[np.int64] = model.predict(problem.X)
    return classes
