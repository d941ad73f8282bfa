"""A graph and answers one at a time in; labels, votes and a good next question out.

What a fit computes from nothing is kept from answer to answer: the sharpened graph, and for every labelled
item the solution of Poisson's equation with one source there. As the equation is linear, a new answer costs
one such solution, which is found while the user still looks at the question.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.query import Support, choose_queries, support
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.poisson import solve_damped, sources
from phaselabel.few_labels.policy import QUICK
from phaselabel.few_labels.sharpen import sharpened
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.minimize import Solution
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity
from phaselabel.flow.vote_shares import votes_on
from phaselabel.graph import Graph

#: Trust in an answer, as in a fit.
FIDELITY = 30.0

#: How exactly the equation of one source is solved; a fit takes 1e-3.
TOLERANCE = 3e-3

#: A walk from a label ends as if there were this many labels; with the true number nothing could be kept.
USUAL_LABELS = 16

#: The largest number of entries that the solutions of single sources may have together.
LARGEST_TABLE = 100_000_000


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
        self.questions(labels, solution, self.support(labels, solution, 2), [])
        self._responses.clear()

    def prepare(self, rows: NDArray[np.intp] | list[int]) -> None:
        """Solve Poisson's equation with a source at each of the rows, for those that may be answered next."""
        for row in map(int, rows):
            if row not in self._responses:
                # One by one: together, how exact each is would depend on the others, and on their order.
                source = np.zeros((self.graph.n_vertices, 1), np.float32)
                source[row] = 1
                damping = USUAL_LABELS / self.graph.n_vertices
                self._responses[row] = solve_damped(self.sharp, source, damping, tol=TOLERANCE)[:, 0]

    def solve(self, labels: NDArray[np.int32], n_classes: int) -> Solution:
        """The state of every item, given the known classes (-1 where not known)."""
        sizes = class_sizes("estimate", np.arange(n_classes))
        fidelity = checked_fidelity(FIDELITY, labels)
        problem = Problem(self.graph, labels, n_classes, fidelity, sizes, FlowSettings(), None, [self.sharp])
        return solve(problem, QUICK, shares=self._shares)

    def _shares(self, problem: Problem) -> NDArray[np.float32]:
        """Poisson's solution, the sum of those of single sources, unless these take too much memory."""
        rows, values = sources(problem.trusted, problem.n_classes)
        if len(rows) * len(problem.labels) > LARGEST_TABLE:
            self._responses.clear()
            return problem.poisson()
        self.prepare(rows)
        responses = np.stack([self._responses[row] for row in rows.tolist()])
        return np.ascontiguousarray((values.T @ responses).T)

    def support(self, labels: NDArray[np.int32], solution: Solution | None, n_classes: int) -> Support:
        """How well every region is backed by answers."""
        return support(self.sharp, labels, _arm(labels, solution, n_classes), max(n_classes, 1))

    def questions(
        self, labels: NDArray[np.int32], solution: Solution | None, now: Support, asked: list[int], n: int = 1
    ) -> list[int]:
        """The ``n`` best items to ask about, beside those that are being asked about."""
        arm, k = _arm(labels, solution, now.n_classes), now.n_classes
        return list(choose_queries(self.sharp, labels, arm, k, n, known_support=now, asked=asked).tolist())

    def votes(self, solution: Solution, n_classes: int) -> NDArray[np.float64]:
        """The share of every class in the neighbours' vote on each item."""
        return votes_on(self.graph, solution.state, None, n_classes)

    def votes_on(self, rows: list[int], solution: Solution, n_classes: int) -> NDArray[np.float64]:
        """The same for a few items; from any thread, as no kernel takes part."""
        edges = self.graph.normalized[np.array(rows, np.intp)].tocoo()
        arm, weight = solution.arm[edges.col], edges.data * solution.height[edges.col]
        shares = np.zeros((len(rows), n_classes))
        np.add.at(shares, (edges.row[arm >= 0], arm[arm >= 0]), weight[arm >= 0])
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


def _arm(labels: NDArray[np.int32], solution: Solution | None, n_classes: int) -> NDArray[Any]:
    """Where all are of one class, what counts is how far an item is from what is known."""
    return np.zeros(len(labels), np.int32) if solution is None or n_classes < 2 else solution.arm
