"""A graph and answers one at a time in; labels, votes and a good next question out.

What a fit computes from nothing is kept from answer to answer: the sharpened graph, and for every labelled
item the solution of Poisson's equation with one source there. As the equation is linear, a new answer costs
one such solution, which is found while the user still looks at the question.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import _kernels
from phaselabel.flow import Solution, as_trace
from phaselabel.graph import Graph
from phaselabel.guard import guarded
from phaselabel.query import Hearing, choose_queries, hearing
from phaselabel.sizes import class_sizes
from phaselabel.spread import fading, sharpened, sources, spread
from phaselabel.star import LEAF
from phaselabel.strategy import DRIFT, DRIFT_OF_FEW, UNPINNED, is_few, separates_badly

#: Rounds of the competition, steps of each, sweeps of the flow after an answer: a fit makes 20, 10 and 30.
ROUNDS, STEPS, SWEEPS, FIDELITY = 1, 5, 10, 30.0

#: Items by which class sizes are judged, and how exactly the equation is solved: a fit takes all, and 1e-3.
SAMPLE, EXACT = 8192, 3e-3

#: A walk from a label fades as if there were so many labels; a fit counts them, but then nothing can be kept.
USUAL = 16

#: Numbers that the solutions of single sources may hold together.
MOST_KEPT = 100_000_000


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
        self.questions(labels, solution, self.hearing(labels, solution, 2), [])
        self._responses.clear()

    def prepare(self, rows: NDArray[np.intp] | list[int]) -> None:
        """Solve Poisson's equation with a source at each of the rows, for those that may be answered next."""
        for row in map(int, rows):
            if row not in self._responses:
                # One by one: together, how exact each is would depend on the others, and on their order.
                source = np.zeros((self.graph.n_vertices, 1), np.float32)
                source[row] = 1
                damping = USUAL / self.graph.n_vertices
                self._responses[row] = fading(self.sharp, source, damping, tol=EXACT)[:, 0]

    def solve(self, labels: NDArray[np.int32], n_classes: int) -> Solution:
        """The state of every item, given the known classes (-1 where not known)."""
        k = n_classes
        if k == 1:
            return self._all_alike(labels)
        bad = separates_badly(self.graph, labels)
        if not (is_few(labels, k) or bad):
            self._responses.clear()
            return guarded(self.graph, labels, k, DRIFT, init="hub")
        fidelity = np.full(len(labels), FIDELITY)
        sizes = replace(class_sizes("estimate", np.arange(k)), sample=SAMPLE)
        sizes = sizes.firm(UNPINNED) if bad else sizes
        shares = self._shares(labels, k)
        start = spread(self.sharp, labels, k, sizes, fidelity, shares=shares, rounds=ROUNDS, steps=STEPS)
        return guarded(self.sharp, labels, k, DRIFT_OF_FEW, init=start, max_iter=SWEEPS)

    def _all_alike(self, labels: NDArray[np.int32]) -> Solution:
        """As long as there is one class, everybody whom a label reaches has it: no flow is needed."""
        reached = self.graph.reached(labels >= 0)
        return Solution(
            np.where(reached, 0, -1), np.where(reached, LEAF, 0.0), as_trace([]), 0, "One class.", True
        )

    def _shares(self, labels: NDArray[np.int32], n_classes: int) -> NDArray[np.float32] | None:
        """Poisson's solution, the sum of those of single sources; None where these take too much memory."""
        rows, voices = sources(labels, n_classes)
        if len(rows) * len(labels) > MOST_KEPT:
            self._responses.clear()
            return None
        self.prepare(rows)
        responses = np.stack([self._responses[row] for row in rows.tolist()])
        return np.ascontiguousarray((voices.T @ responses).T)

    def hearing(self, labels: NDArray[np.int32], solution: Solution | None, n_classes: int) -> Hearing:
        """How well every region is backed by answers."""
        return hearing(self.sharp, labels, _arm(labels, solution, n_classes), max(n_classes, 1))

    def questions(
        self, labels: NDArray[np.int32], solution: Solution | None, ear: Hearing, asked: list[int], n: int = 1
    ) -> list[int]:
        """The ``n`` best items to ask about, beside those that are asked already."""
        arm, k = _arm(labels, solution, ear.n_classes), ear.n_classes
        return list(choose_queries(self.sharp, labels, arm, k, n, ear=ear, asked=asked).tolist())

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


def _arm(labels: NDArray[np.int32], solution: Solution | None, n_classes: int) -> NDArray[Any]:
    """Where all are of one class, what counts is how far an item is from what is known."""
    return np.zeros(len(labels), np.int32) if solution is None or n_classes < 2 else solution.arm
