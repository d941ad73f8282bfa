"""A graph, labels and class sizes in; a class for every vertex out: the one solver.

``fit``, the command line, the studio, Dask and the segmentation of images all call :func:`solve`. Where one
of them must be quicker it passes another :class:`~phaselabel.few_labels.policy.Policy`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.few_labels.compete import compete
from phaselabel.few_labels.drift import DriftWatch
from phaselabel.few_labels.poisson import poisson
from phaselabel.few_labels.policy import FIT, Policy
from phaselabel.few_labels.sharpen import sharpened
from phaselabel.few_labels.split_pairs import split_pairs
from phaselabel.flow.block import Block
from phaselabel.flow.descent import Descent
from phaselabel.flow.energy import evaluate
from phaselabel.flow.evidence import Evidence
from phaselabel.flow.minimize import Callback, Solution, as_trace, descend, n_unreachable, start_state
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import LEAF, State
from phaselabel.graph import Graph


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be labelled, and what is known; checked by whoever makes it.

    Attributes
    ----------
    graph : Graph
        The similarity graph.
    labels : ndarray of int32
        The known classes; -1 where not known.
    n_classes : int
        K.
    fidelity : ndarray
        Trust μ in each known label, 0 elsewhere.
    sizes : ClassSizes
        What is known of the classes' sizes.
    flow : FlowSettings
        ε, step, and when to stop.
    evidence : Evidence, optional
        What is believed of every vertex besides the labels.
    sharp_cache : list of Graph
        The sharpened graph, once it has been needed.
    """

    graph: Graph
    labels: NDArray[np.int32]
    n_classes: int
    fidelity: NDArray[np.float64]
    sizes: ClassSizes
    flow: FlowSettings
    evidence: Evidence | None = None
    sharp_cache: list[Graph] = field(default_factory=list, repr=False)

    @cached_property
    def trusted(self) -> NDArray[np.int32]:
        """The labels that have any trust."""
        return np.where(self.fidelity > 0, self.labels, -1).astype(np.int32)

    @property
    def sharp(self) -> Graph:
        """The graph, sharpened by shared neighbours; made once for this problem and those derived from it."""
        if not self.sharp_cache:
            self.sharp_cache.append(sharpened(self.graph))
        return self.sharp_cache[0]

    def poisson(self) -> NDArray[np.float32]:
        """The Poisson solution on the sharpened graph."""
        return poisson(self.sharp, self.trusted, self.n_classes)

    def descent(self, graph: Graph, init: Any, random_state: Any = None) -> Descent:
        """A descent on the graph, or on its sharpened twin, from a start."""
        start = start_state(init, graph, self.trusted, self.n_classes, random_state, self.evidence)
        block = Block.of_graph(graph, self.labels, self.fidelity, start, self.n_classes, self.evidence)
        lost = n_unreachable(graph, self.trusted, self.evidence)
        return Descent(block, graph.n_vertices, lost)

    def with_labels(self, labels: NDArray[np.int32]) -> "Problem":
        """The same problem with fewer labels, each as much trusted as before."""
        return replace(self, labels=labels, fidelity=np.where(labels >= 0, self.fidelity, 0.0))


def solve(
    problem: Problem,
    policy: Policy = FIT,
    *,
    init: Any = "hub",
    random_state: Any = None,
    callbacks: Sequence[Callback] = (),
    shares: Callable[[Problem], NDArray[np.float32]] = Problem.poisson,
) -> Solution:
    """Find a class for every vertex.

    Where labels are many, the flow runs from ``init``. Where labels are few or sizes are given, labels are
    spread first: the graph is sharpened, Poisson's equation solved, classes compete under the pressure of
    their sizes, the flow settles what they left, and pairs of similar classes are split anew.

    Parameters
    ----------
    problem : Problem
        What is to be labelled.
    policy : Policy
        How thorough to be.
    init : "hub", "random" or State
        Where a flow without a spread starts.
    random_state : int, Generator or None
        For ``init="random"``.
    callbacks : sequence of callables
        Called with (sweep, state, energy) while a flow runs.
    shares : callable
        Solves Poisson's equation; called with the problem where labels are spread.

    Returns
    -------
    Solution
        With the policy's name.
    """
    k = problem.n_classes
    if k == 1 and policy.spread_up_to:
        return replace(_one_class(problem), policy=policy.name)
    start = _spread(problem, policy, shares)
    graph, flow, limit = problem.graph, problem.flow, policy.drift
    if start is not None:
        init, graph, limit = start, problem.sharp, policy.drift_after_spread
        flow = replace(flow, max_iter=min(flow.max_iter, policy.settling_sweeps))
    may_split = start is not None and policy.splits_pairs
    while True:
        watch = DriftWatch(k, limit, start)
        watchers: list[Callback] = [*callbacks, *([] if limit is None else [watch])]
        solution = watch.held(descend(problem.descent(graph, init, random_state), flow, watchers))
        if not may_split or solution.reason == "callback":
            break
        may_split = False
        arm = split_pairs(
            graph, problem.labels, solution.arm, k, problem.fidelity, sizes_given=problem.sizes.are_given
        )
        if (arm == solution.arm).all():
            break
        init = start = State(arm, solution.height)
    if start is not None and solution.reason == "limit" and flow.max_iter == policy.settling_sweeps:
        status = f"Spread from few labels, then settled for {solution.n_iter} sweeps."
        solution = replace(solution, status=status, reason="settled")
    return replace(solution, policy=policy.name, sharpened=start is not None)


def _spread(
    problem: Problem, policy: Policy, shares: Callable[[Problem], NDArray[np.float32]]
) -> State | None:
    """The state that a spread leaves; None where the flow starts without one."""
    labels, given = problem.labels, problem.sizes.are_given
    if not policy.spreads(len(labels), int((labels >= 0).sum()), problem.n_classes, sizes_given=given):
        return None
    solution, sizes = shares(problem), replace(problem.sizes, sample=policy.size_sample)
    # A step of the solver carries a label over one edge. Where it ended before a vertex had anything, only
    # the pressure of the sizes would decide; the flow goes on until every vertex has a class.
    reached = problem.graph.reached(problem.trusted >= 0)
    if not (sizes.are_given or solution[reached].any(axis=1).all()):
        return None
    return compete(
        problem.sharp, problem.trusted, problem.n_classes, sizes, problem.fidelity, solution,
        policy.rounds, policy.steps,
    )  # fmt: skip


def _one_class(problem: Problem) -> Solution:
    """With one class every vertex in a component with a label has it: no flow is needed."""
    reached = problem.graph.reached(problem.trusted >= 0)
    state = State(np.where(reached, 0, -1).astype(np.int32), np.where(reached, LEAF, 0.0))
    epsilon = problem.flow.last_epsilon
    now = evaluate(problem.graph, state, problem.labels, epsilon=epsilon, fidelity=problem.fidelity)
    return Solution(state.arm, state.height, as_trace([(0, now)]), 0, "There is one class.", True)
