"""A problem in, a class for every row out: our variants, the baselines and the rivals by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse.linalg import eigsh

from phaselabel.binary import minimize_binary
from phaselabel.flow import Solution, minimize
from phaselabel.graph import Graph
from phaselabel.paper import rivals
from phaselabel.paper.problem import DEFAULT_NEIGHBORS, Problem
from phaselabel.paper.recipes import Recipe

Answer = Solution | NDArray[np.integer[Any]]

#: Above this many rows clusterings start once instead of ten times.
LARGE = 10_000

#: Rows whose kernel is held in memory at a time.
CHUNK = 10_000


@dataclass(frozen=True)
class Method:
    """Something that answers a problem.

    ``n_neighbors`` names the graph it uses, and is None for methods that use none; ``kind`` is "ours" for the
    flows of this package and "baseline" or "rival" for what they are compared with.
    """

    variant: str
    title: str
    kind: Literal["ours", "baseline", "rival"]
    n_neighbors: int | None
    solve: Callable[[Problem], Answer]

    @property
    def key(self) -> tuple[str, int | None]:
        """What tells it from the experiment's other methods."""
        return self.variant, self.n_neighbors


def methods(recipe: Recipe) -> list[Method]:
    """All that is run for an experiment, in the order of its table."""
    listed: list[Method] = []
    for size in recipe.n_neighbors:
        listed += _flows(recipe, size)
    listed.append(
        Method(
            "defaults",
            "nothing set `GinzburgLandauClassifier()`",
            "ours",
            DEFAULT_NEIGHBORS,
            _as_it_comes,
        )
    )
    for size in recipe.n_neighbors:
        listed += _on_the_graph(size)
        listed += _rivals(size) if recipe.rivals else []
    return listed + _on_the_rows()


def flow_settings(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Arguments of :func:`phaselabel.minimize` for each variant.

    The printed energy has the gradient 2εR + Φ'/ε + μ(u - û). Our form at ε' = √2 ε is
    √2 εR + Φ'/(√2 ε) + μ'(u - û), which is 1/√2 of it when μ' = μ/√2; a step dt' = √2 dt makes it equal.
    """
    root = np.sqrt(2.0)
    physics: dict[str, Any] = {"epsilon": recipe.epsilon, "fidelity": recipe.fidelity}
    descent: dict[str, Any] = {"init": "random", "step": recipe.step, "max_iter": recipe.sweeps, "tol": 0.0}
    settings: dict[str, dict[str, Any]] = {"paper": physics | descent}
    if recipe.adaptive:
        settings["paper-adaptive"] = physics | descent | {"epsilon": recipe.adaptive}
    settings["printed-energy"] = descent | {
        "epsilon": root * recipe.epsilon,
        "fidelity": recipe.fidelity / root,
        "step": root * recipe.step,
    }
    settings["ours"] = physics
    return settings


TITLES = {
    "paper": "paper's run",
    "paper-adaptive": "paper's run, adaptive ε",
    "printed-energy": "printed energy (ε·√2)",
    "ours": "ours: start, step and stop by default",
}


def _as_it_comes(problem: Problem) -> Solution:
    """The classifier with nothing set, but for the graph that it would build."""
    from phaselabel.classifier import GinzburgLandauClassifier

    model = GinzburgLandauClassifier(affinity="precomputed")
    return model.fit(problem.graphs[DEFAULT_NEIGHBORS], problem.labels).solution_


def _flow(problem: Problem, size: int, **settings: Any) -> Solution:
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
            lambda problem, settings=settings: _flow(problem, size, **settings),  # type: ignore[misc]
        )
        for variant, settings in flow_settings(recipe).items()
    ]
    if recipe.binary:
        listed.append(
            Method(
                "binary",
                "binary model, defaults",
                "ours",
                size,
                lambda problem: minimize_binary(problem.graphs[size], problem.labels),
            )
        )
    return listed


def _on_the_graph(size: int) -> list[Method]:
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


def _rivals(size: int) -> list[Method]:
    def best(scores: Callable[[Problem, Graph, rivals.Scores], rivals.Scores]) -> Callable[[Problem], Answer]:
        return lambda p: scores(p, p.graphs[size], rivals.one_hot(p.labels, p.n_classes)).argmax(axis=1)

    named = [
        (
            "consistency",
            "local and global consistency",
            lambda p, graph, given: rivals.local_global_consistency(graph, given),
        ),
        ("squared-loss", "SQ-Loss-I", lambda p, graph, given: rivals.squared_loss(graph, given)),
        (
            "measure-propagation",
            "measure propagation",
            lambda p, graph, given: rivals.measure_propagation(graph, given),
        ),
        ("laprls", "LapRLS", lambda p, graph, given: rivals.laplacian_least_squares(graph, p.X, given)),
    ]
    return [Method(variant, title, "rival", size, best(scores)) for variant, title, scores in named]


def _on_the_rows() -> list[Method]:
    return [
        Method("k-means", "k-means", "baseline", None, _k_means),
        Method("neighbors", "nearest labelled neighbour", "baseline", None, _nearest),
        Method("svm", "SVM (Gaussian kernel)", "baseline", None, _svm),
        Method("logistic", "logistic regression", "baseline", None, _logistic),
    ]


def spectral(problem: Problem, size: int) -> NDArray[np.int64]:
    """k-means on the first K eigenvectors of L_s, its clusters named by the best matching."""
    return _clusters(problem, eigenvectors(problem.graphs[size], problem.n_classes))


@lru_cache(maxsize=2)
def eigenvectors(graph: Graph, count: int) -> NDArray[np.float64]:
    """The eigenvectors of the smallest eigenvalues of L_s: the largest of D^(-1/2) W D^(-1/2)."""
    matrix = graph.normalized.astype(np.float64)
    start = np.sqrt(graph.degrees)  # the first eigenvector itself; and nothing random
    vectors: NDArray[np.float64] = eigsh(matrix, count, which="LA", v0=start + start.mean(), tol=1e-6)[1]
    return vectors


def _k_means(problem: Problem) -> NDArray[np.int64]:
    return _clusters(problem, problem.X)


def _clusters(problem: Problem, rows: NDArray[Any]) -> NDArray[np.int64]:
    from sklearn.cluster import KMeans

    seed = int(problem.clustering.generate_state(1)[0])
    model = KMeans(problem.n_classes, n_init=1 if len(rows) > LARGE else 10, random_state=seed)
    return matched(model.fit_predict(rows), problem.y)


def matched(clusters: NDArray[np.integer[Any]], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give clusters the classes that make most rows right, one each.

    Examples
    --------
    >>> matched(np.array([1, 1, 0]), np.array([0, 0, 1])).tolist()
    [0, 0, 1]
    """
    n = int(max(clusters.max(), y.max())) + 1
    counts = np.zeros((n, n), np.int64)
    np.add.at(counts, (clusters, y), 1)
    names: NDArray[np.int64] = linear_sum_assignment(counts, maximize=True)[1]
    return names[clusters]


def _label_spreading(problem: Problem, graph: Graph) -> NDArray[np.int64]:
    from sklearn.semi_supervised import LabelSpreading

    model = LabelSpreading(kernel=lambda rows, others=None: graph.weights.astype(np.float64))
    # Only the row numbers matter, the kernel is the graph; without its 0/0 warning for rows not reached.
    with np.errstate(invalid="ignore", divide="ignore"):
        model.fit(np.arange(len(problem.y), dtype=float)[:, None], problem.labels)
    found: NDArray[np.int64] = model.transduction_
    return found


def _nearest(problem: Problem) -> NDArray[np.int64]:
    from sklearn.neighbors import KNeighborsClassifier

    known = problem.known
    model = KNeighborsClassifier(1, algorithm="brute").fit(problem.X[known], problem.labels[known])
    found: NDArray[np.int64] = model.predict(problem.X)
    return found


def _svm(problem: Problem) -> NDArray[np.int64]:
    """scikit-learn's SVC with its defaults; kernel and decisions by matrix products, which libsvm lacks."""
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import SVC

    known = problem.known
    rows = problem.X[known]
    gamma = 1 / (rows.shape[1] * float(rows.var(dtype=np.float64)))
    model = SVC(kernel="precomputed").fit(rbf_kernel(rows, gamma=gamma), problem.labels[known])
    pairs, coefficients, offsets = one_against_one(model)
    found = np.empty(len(problem.X), np.int64)
    for begin in range(0, len(found), CHUNK):
        some = slice(begin, begin + CHUNK)
        kernel = rbf_kernel(problem.X[some], rows[model.support_], gamma=gamma)
        first_wins = kernel @ coefficients.astype(kernel.dtype) + offsets > 0
        votes = np.zeros((len(kernel), len(model.classes_)), np.int64)
        for column, (first, second) in enumerate(pairs):
            votes[:, first] += first_wins[:, column]
            votes[:, second] += ~first_wins[:, column]
        found[some] = model.classes_[votes.argmax(axis=1)]
    return found


def one_against_one(model: Any) -> tuple[list[tuple[int, int]], NDArray[Any], NDArray[Any]]:
    """A fitted SVC's pairs of classes, and for each a column of coefficients on the support vectors and an
    offset: the first class wins where the decision is positive."""
    ends = np.cumsum([0, *model.n_support_])
    members = [slice(*ends[k : k + 2]) for k in range(len(model.classes_))]
    pairs = list(combinations(range(len(members)), 2))
    coefficients = np.zeros((ends[-1], len(pairs)))
    for column, (first, second) in enumerate(pairs):
        coefficients[members[first], column] = model.dual_coef_[second - 1, members[first]]
        coefficients[members[second], column] = model.dual_coef_[first, members[second]]
    # With two classes scikit-learn turns the sign, so that the second class is the positive one.
    sign = -1 if len(pairs) == 1 else 1
    return pairs, sign * coefficients, sign * model.intercept_


def _logistic(problem: Problem) -> NDArray[np.int64]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    known = problem.known
    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
    model.fit(problem.X[known], problem.labels[known])
    found: NDArray[np.int64] = model.predict(problem.X)
    return found
