"""A graph and answers one at a time in; labels, votes, a good next question and an estimate of accuracy out.

What a fit computes from nothing is kept from answer to answer: the sharpened graph, and for every labelled
item the solution of Poisson's equation with one source there. As the equation is linear, a new answer costs
one such solution, which is found while the user still looks at the question.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from phaselabel import _kernels
from phaselabel.confidence import BASE, LOOSE, SLOPE
from phaselabel.flow import Solution
from phaselabel.graph import Graph
from phaselabel.guard import guarded
from phaselabel.query import choose_queries
from phaselabel.sizes import class_sizes
from phaselabel.spread import fading, sharpened, sources, spread
from phaselabel.strategy import DRIFT, DRIFT_OF_FEW, UNPINNED, is_few, separates_badly

#: Rounds of the competition and sweeps of the flow after an answer: a fit makes 20 and 30.
ROUNDS, SWEEPS, FIDELITY = 1, 10, 30.0

#: A walk from a label fades as if there were so many labels; a fit counts them, but then nothing can be kept.
USUAL = 16

#: Numbers that the solutions of single sources may hold together.
MOST_KEPT = 100_000_000

#: How fast old answers stop counting in the estimate: they were about a model that knew less.
MEMORY = 0.97


@dataclass(frozen=True)
class Estimate:
    """The share of right labels, and the interval in which it lies with 95 % probability."""

    mean: float
    low: float
    high: float
    answers: int


class Labelling:
    """The labels of all items, kept up to date.

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.sharp = graph, sharpened(graph)
        _ = graph.normalized, self.sharp.normalized
        self._responses: dict[int, NDArray[np.float32]] = {}
        self._warm_up()

    def _warm_up(self) -> None:
        """Have every kernel compiled and loaded before the first answer has to wait for it."""
        labels = np.full(self.graph.n_vertices, -1, np.int32)
        labels[0], labels[-1] = 0, 1
        solution = self.solve(labels, 2)
        self.votes(solution, 2)
        self.questions(labels, solution, 2, 1)
        self._responses.clear()

    def prepare(self, rows: NDArray[np.intp] | list[int]) -> None:
        """Solve Poisson's equation with a source at each of the rows, for those that may be answered next."""
        for row in map(int, rows):
            if row not in self._responses:
                # One by one: together, how exact each is would depend on the others, and on their order.
                source = np.zeros((self.graph.n_vertices, 1), np.float32)
                source[row] = 1
                self._responses[row] = fading(self.sharp, source, USUAL / self.graph.n_vertices)[:, 0]

    def solve(self, labels: NDArray[np.int32], n_classes: int) -> Solution:
        """The state of every item, given the known classes (-1 where not known)."""
        k = n_classes
        if k == 1:
            return guarded(self.graph, labels, k, DRIFT, init="hub")
        bad = separates_badly(self.graph, labels)
        if not (is_few(labels, k) or bad):
            self._responses.clear()
            return guarded(self.graph, labels, k, DRIFT, init="hub")
        fidelity = np.full(len(labels), FIDELITY)
        sizes = class_sizes("estimate", np.arange(k))
        sizes = sizes.firm(UNPINNED) if bad else sizes
        shares = self._shares(labels, k)
        start = spread(self.sharp, labels, k, sizes, fidelity, shares=shares, rounds=ROUNDS)
        return guarded(self.sharp, labels, k, DRIFT_OF_FEW, init=start, max_iter=SWEEPS)

    def _shares(self, labels: NDArray[np.int32], n_classes: int) -> NDArray[np.float32] | None:
        """Poisson's solution, the sum of those of single sources; None where these take too much memory."""
        rows, voices = sources(labels, n_classes)
        if len(rows) * len(labels) > MOST_KEPT:
            self._responses.clear()
            return None
        self.prepare(rows)
        responses = np.stack([self._responses[row] for row in rows.tolist()])
        return np.ascontiguousarray((voices.T @ responses).T)

    def questions(
        self, labels: NDArray[np.int32], solution: Solution | None, n_classes: int, n: int
    ) -> list[int]:
        """The ``n`` best items to ask about next."""
        if solution is None or n_classes < 2:
            # Where all are of one class, what counts is how far an item is from what is known.
            one = np.zeros(len(labels), np.int32)
            return list(choose_queries(self.graph, labels, one, 1, n).tolist())
        return list(choose_queries(self.graph, labels, solution.arm, n_classes, n).tolist())

    def votes(self, solution: Solution, n_classes: int) -> NDArray[np.float64]:
        """The share of every class in the neighbours' vote on each item."""
        edges = self.graph.normalized
        shares = np.zeros((edges.shape[0], n_classes))
        _kernels.vote_shares(edges.indptr, edges.indices, edges.data, solution.state.packed(), shares)
        return shares

    def votes_on(self, rows: list[int], solution: Solution, n_classes: int) -> NDArray[np.float64]:
        """The same for a few items; from any thread, as no kernel takes part."""
        edges = self.graph.normalized[np.array(rows, np.intp)].tocoo()
        arm, heard = solution.arm[edges.col], edges.data * solution.height[edges.col]
        shares = np.zeros((len(rows), n_classes))
        np.add.at(shares, (edges.row[arm >= 0], arm[arm >= 0]), heard[arm >= 0])
        total = shares.sum(axis=1, keepdims=True)
        return shares / np.where(total > 0, total, 1)

    def alike(self, row: int, allowed: NDArray[np.bool_], n: int) -> NDArray[np.intp]:
        """The ``n`` allowed items that a short walk from ``row`` meets most often."""
        weights = self.graph.weights
        here = np.zeros(self.graph.n_vertices)
        here[row] = 1
        met = here.copy()
        degrees = np.maximum(self.graph.degrees, 1e-30)
        for _ in range(4):
            here = weights @ (here / degrees)
            met += here
        met[~allowed] = 0
        order = np.argsort(-met, kind="stable")[:n]
        return order[met[order] > 0]

    def positions(self, X: NDArray[np.floating], steps: int = 6) -> NDArray[np.float32]:
        """A place on a map for every item: leading directions, smoothed along the graph; from 0 to 1."""
        from sklearn.decomposition import PCA

        X = np.asarray(X, np.float32)
        sample = X[:: max(1, len(X) // 5000)]
        n = min(12, *sample.shape)
        found = PCA(n, svd_solver="randomized", random_state=0).fit(sample).transform(X)
        degrees = np.maximum(self.graph.degrees, 1e-30)
        walk = sparse.csr_array(sparse.diags_array(1 / degrees) @ self.graph.weights)
        for _ in range(steps):
            found = 0.5 * found + 0.5 * (walk @ found)
        found = PCA(min(2, n), random_state=0).fit(found[:: max(1, len(X) // 5000)]).transform(found)
        if found.shape[1] == 1:
            found = np.column_stack([found, np.zeros(len(found))])
        low, high = np.quantile(found, 0.002, axis=0), np.quantile(found, 0.998, axis=0)
        return np.clip((found - low) / np.maximum(high - low, 1e-12), 0, 1).astype(np.float32)


def estimate(
    share: NDArray[np.float64], known: NDArray[np.bool_], past: list[tuple[float, bool]], n_classes: int
) -> tuple[Estimate, NDArray[np.float64]]:
    """How many labels are right, judged by how often guesses were right when they were asked about.

    The log-odds of being right are ``θ₀ + θ₁ (2 share - 1)``, as in :mod:`phaselabel.confidence`, with the
    same prior; every answer shows whether the guess before it was right. The interval comes from the
    posterior's curvature.

    Parameters
    ----------
    share : ndarray
        The share of every item's own class in its neighbours' vote; NaN where no label reaches.
    known : ndarray of bool
        Which items have been answered.
    past : list of (share, right)
        What was guessed before each answer, in their order.
    n_classes : int
        How many classes there are.

    Returns
    -------
    Estimate
        For all items.
    confidence : ndarray
        Of each item.
    """
    weights = MEMORY ** np.arange(len(past))[::-1]
    x = np.array([[1.0, 2 * s - 1] for s, _ in past]).reshape(-1, 2)
    right = np.array([hit for _, hit in past], float)
    prior, precision = np.array([BASE, SLOPE]), np.diag(1 / np.square(LOOSE))
    theta, hessian = prior.copy(), precision
    for _ in range(60):
        p = expit(x @ theta)
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + precision
        slope = x.T @ (weights * (right - p)) - precision @ (theta - prior)
        # A step of at most one: far from the solution a full Newton step overshoots.
        step = np.linalg.solve(hessian, slope)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
    reached = np.isfinite(share)
    place = np.column_stack([np.ones(len(share)), 2 * np.where(reached, share, 0) - 1])
    odds = expit(place @ theta)
    open_ = reached & ~known
    confidence = np.where(known, 1.0, np.where(reached, np.maximum(odds, 1 / max(n_classes, 1)), 0.0))
    gradient = (place * (odds * (1 - odds))[:, None])[open_].sum(axis=0) / max(len(share), 1)
    spread_ = 1.96 * float(np.sqrt(gradient @ np.linalg.solve(hessian, gradient)))
    mean = float(confidence.mean())
    floor = float(known.mean())
    return Estimate(mean, max(mean - spread_, floor), min(mean + spread_, 1.0), len(past)), confidence
