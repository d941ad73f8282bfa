"""A graph and a few known labels in, a state of low energy out: the one descent loop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.flow.block import Block
from phaselabel.flow.descent import Descent
from phaselabel.flow.energy import ENERGY_TERMS, Energy
from phaselabel.flow.evidence import Evidence, fitting_evidence
from phaselabel.flow.schedule import FlowSettings, Geometric
from phaselabel.flow.star import State, checked_fidelity, checked_labels, checked_state
from phaselabel.graph import Graph
from phaselabel.streams import generator

#: Called with (sweep, state, energy); a true answer stops the flow.
Callback = Callable[[int, State, Energy], Any]

TRACE = np.dtype([("sweep", np.int64)] + [(name, np.float64) for name in (*ENERGY_TERMS, "total")])


#: Why a flow ended: labels quiet and energy flat, or an energy that no longer falls; ``max_iter``; a schedule
#: run to its end; a callback; the few sweeps that settle a spread; class sizes that drift, or drift far
#: because the graph separates badly; a front that edges of vanishing weight stop.
Reason = Literal["rest", "limit", "schedule", "callback", "settled", "drift", "collapse", "stalled"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the flow ended.

    Parameters
    ----------
    arm : ndarray of int
        The class of every vertex, -1 where it has none: in components with neither label nor evidence.
    height : ndarray
        The height above the hub of every vertex, from 0 (undecided) to ½ (at its leaf).
    energy : structured ndarray
        The trace, with fields ``sweep``, ``smoothing``, ``potential``, ``fidelity``, ``evidence`` and
        ``total``.
    n_iter : int
        The number of sweeps made.
    status : str
        Why it stopped, as a sentence.
    converged : bool
        Whether labels are quiet and the energy is flat, or the energy has not fallen for 30 sweeps though
        some vertices still move.
    reason : str
        The same as ``status`` for programs: "rest", "limit", "schedule", "callback", "settled", "drift",
        "collapse" or "stalled".
    policy : str
        The name of the policy that it was solved by; "literal" if the flow ran from a given start, with
        nothing before it and nothing watching it.
    sharpened : bool
        Whether the flow ran, and the energy is counted, on the graph with edges weighted by shared
        neighbours: so it is after a spread from few labels.

    Examples
    --------
    >>> from phaselabel import minimize
    >>> solution = minimize(np.array([[0, 1.0], [1.0, 0]]), [0, -1])
    >>> solution.arm.tolist(), solution.reason, solution.policy
    ([0, 0], 'rest', 'literal')
    """

    arm: NDArray[np.integer[Any]]
    height: NDArray[np.floating[Any]]
    energy: NDArray[np.void] = field(repr=False)
    n_iter: int
    status: str
    converged: bool
    reason: Reason = "rest"
    policy: str = "literal"
    sharpened: bool = False

    def _repr_html_(self) -> str:
        """The answer in a notebook: why it stopped, and how many vertices each class has."""
        found = self.arm[self.arm >= 0]
        sizes = np.bincount(found) if len(found) else np.zeros(0, np.int64)
        listed = ", ".join(f"class {k}: {size:,}" for k, size in enumerate(sizes[:10]))
        listed += f" and {len(sizes) - 10} more classes" if len(sizes) > 10 else ""
        lost = int((self.arm < 0).sum())
        without = f"; {lost:,} vertices without a class" if lost else ""
        return (
            f"<div><b>Solution</b><p style='margin:.3em 0'>{escape(self.status)}</p>"
            f"<p style='margin:.3em 0'>{listed}{without}</p></div>"
        )

    @property
    def state(self) -> State:
        """Arm and height, ready to be the start of another flow.

        Examples
        --------
        >>> from phaselabel import minimize
        >>> minimize(np.array([[0, 1.0], [1.0, 0]]), [0, -1]).state.arm.tolist()
        [0, 0]
        """
        return State(self.arm, self.height)


def minimize(
    graph: Graph | Any,
    labels: ArrayLike,
    *,
    epsilon: float | Geometric = 1.0,
    fidelity: ArrayLike = 30.0,
    evidence: Evidence | ArrayLike | None = None,
    init: Literal["hub", "random"] | State | Solution = "hub",
    step: Literal["auto"] | float = "auto",
    max_iter: int = 2000,
    tol: float = 1e-4,
    n_classes: int | None = None,
    random_state: Any = None,
    callbacks: Callback | Sequence[Callback] = (),
    every: int = 5,
) -> Solution:
    r"""Descend the Ginzburg-Landau energy from a few known labels.

    .. math:: r_i ← r_i - dt_i \frac{∂E}{∂r_i}, \qquad
              r_i < 0:\ r_i ← -r_i,\ y_i ← \arg\max_k \Bigl( \sum_{y_j = k} ŵ_{ij} r_j
              + \frac{μ_i}{2ε} [ŷ_i = k] + \frac{θ_i}{2ε} q_{ik} \Bigr)

    A known label ŷ and the evidence q vote like neighbours at their leaves. With ``step="auto"`` a vertex
    that chooses its own arm again stays at the hub instead: :math:`r_i ← 0`.

    All vertices move at once (Jacobi), so the result depends neither on the number of threads nor, but for
    exact ties, on the vertices' order.

    Parameters
    ----------
    graph : Graph or sparse matrix
        The similarity graph; a matrix is checked and taken as its weights.
    labels : array-like of int, shape (n,)
        The known classes 0 … K-1; -1 where not known.
    epsilon : float or Geometric, default=1.0
        Interface width ε, or a schedule of shrinking values. A schedule brings its own number of sweeps
        (``max_iter`` is not used) and is always run to its end.
    fidelity : float or array-like of shape (n,), default=30.0
        Pull μ of a known label; an array gives each label its own. Large values clamp, small ones let a
        label be outvoted by its surroundings; 0 makes it unknown.
    evidence : Evidence or array-like of shape (n, K), optional
        What a model believes of every vertex: probabilities, which get the weight θ = 1, or an
        :class:`Evidence` with weights of its own. A row of NaN is no opinion.
    init : {"hub", "random"}, State or Solution, default="hub"
        Where to start. At the hub no vertex has a class and there is nothing random; "random" is the
        paper's start; a state or an earlier solution is a warm start. Known labels start at their leaves.
    step : "auto" or float, default="auto"
        Time step dt. "auto" gives a vertex at height r ``1 / (ε Σ_j ŵ_ij + r(1 + 2r)/ε + μ_i + θ_i)``: with
        it the energy cannot rise while no vertex changes class, and no vertex can shoot past its leaf. A
        number is the paper's step, in which a vertex that passes the hub is always mirrored.
    max_iter : int, default=2000
        The largest number of sweeps.
    tol : float, default=1e-4
        The flow stops when in a sweep the energy falls by no more than this fraction, no more than this
        fraction of the vertices changes class, and no more than a hundred times as many climb away from the
        hub. 0 never stops early, and every vertex moves in every sweep.
    n_classes : int, optional
        K, where some classes have no label; the largest label + 1 by default.
    random_state : int, Generator or None
        For ``init="random"``.
    callbacks : callable or sequence of callables
        Each is called with (sweep, state, energy) at every look; a true answer stops the flow.
    every : int, default=5
        Sweeps from one look to the next.

    Returns
    -------
    Solution
        The final state, the energy's trace, and why the flow stopped.

    Examples
    --------
    >>> path = Graph.from_weights([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> solution = minimize(path, [0, -1, -1, 1])
    >>> solution.arm.tolist(), solution.converged
    ([0, 0, 1, 1], True)
    """
    graph = graph if isinstance(graph, Graph) else Graph.from_weights(graph)
    labels, n_classes = checked_labels(labels, graph.n_vertices, n_classes)
    fidelity = checked_fidelity(fidelity, labels)
    settings = FlowSettings(epsilon, step, max_iter, tol, every)
    watchers = checked_callbacks(callbacks)
    if evidence is not None:
        evidence = fitting_evidence(evidence, graph.n_vertices, n_classes)
    known = np.where(fidelity > 0, labels, -1)
    start = start_state(init, graph, known, n_classes, random_state, evidence)
    block = Block.of_graph(graph, labels, fidelity, start, n_classes, evidence)
    return descend(
        Descent(block, graph.n_vertices, n_unreachable(graph, known, evidence)), settings, watchers
    )


def descend(descent: Descent, settings: FlowSettings, callbacks: Sequence[Callback] = ()) -> Solution:
    """Follow a descent until it comes to rest: the loop itself, for a graph in this process or in blocks."""
    rest = _Rest(settings.tol, descent.n_vertices, descent.n_unreachable)
    scheduled = isinstance(settings.epsilon, Geometric)
    trace: list[tuple[int, Energy]] = []
    stopped = resting = ended = False
    for epsilon, sweeps in settings.stages:
        descent.set_epsilon(epsilon, settings.step)
        end = descent.n_iter + sweeps
        while descent.n_iter < end:
            sweep, before = descent.n_iter, descent.state() if callbacks else None
            now, tally = descent.look()
            trace.append((sweep, now))
            # Every callback is called, whatever the others return.
            stopped = any([watch(sweep, before, now) for watch in callbacks])  # type: ignore[arg-type]
            resting = not stopped and rest.reached(sweep, now, tally, epsilon, descent.pace)
            ended = stopped or (resting and not scheduled)
            if ended:
                descent.undo()  # the state that was looked at is the end
                break
            # A run that never stops early is the literal one: every vertex moves in every sweep.
            descent.advance(min(settings.every - 1, end - descent.n_iter), skip=settings.tol > 0)
        if stopped:
            break
    final = descent.state()
    if not ended:
        trace.append((descent.n_iter, descent.energy()))
    waiting = descent.n_vertices - int(final.sizes(1).sum())
    reason, status = rest.outcome(descent.n_iter, waiting, stopped, scheduled)
    converged = resting and reason != "stalled"
    return Solution(final.arm, final.height, as_trace(trace), descent.n_iter, status, converged, reason)


class _Rest:
    """Whether the flow has come to rest: labels quiet and energy flat, or the energy no longer falls."""

    #: This many sweeps without a new lowest energy are rest, though a few vertices may flip for ever.
    PATIENCE = 30

    #: For each vertex that may change class this many may climb from the hub: at an interface most of them
    #: come to rest half-way, while in a flow that has yet to leave the hub all vertices climb.
    CLIMBERS = 100

    def __init__(self, tol: float, n_vertices: int, n_unreachable: int | None) -> None:
        self.tol, self.n_vertices, self.n_unreachable = tol, n_vertices, n_unreachable
        self.found = False
        self.flipping = 0
        self._previous = self._lowest = np.inf
        self._sweep = self._lowest_at = 0
        self._waiting = n_vertices

    def reached(self, sweep: int, energy: Energy, tally: dict[str, int], epsilon: float, pace: float) -> bool:
        """Take one look; ``pace`` is the step's length relative to the automatic one."""
        now, pace = energy.total, min(1.0, pace)
        # Near zero a fraction of the energy is noise: 1e-3 of what the wells can hold is the least scale.
        scale = max(now, 1e-3 * self.n_vertices / (32 * epsilon))
        flat = abs(self._previous - now) <= self.tol * pace * scale * (sweep - self._sweep)
        allowed = self.tol * self.n_vertices
        # A front that still advances is not quiet, however thin it is. Behind an edge of weight 1e-33 it
        # takes two hundred sweeps until the first vertex is high enough to pass the label on. All the while
        # it climbs: as long as a vertex climbs and another waits, the front is on its way.
        on_its_way = tally["waiting"] != self._waiting or (
            self._is_ahead(tally["waiting"]) and tally["climbing"] > 0
        )
        quiet = (
            tally["changed"] <= allowed and tally["climbing"] <= self.CLIMBERS * allowed and not on_its_way
        )
        if now < self._lowest - 1e-7 * scale:
            self._lowest, self._lowest_at = now, sweep
        stale = (sweep - self._lowest_at) * pace >= self.PATIENCE and not on_its_way
        self._sweep, self._previous, self._waiting = sweep, now, tally["waiting"]
        self.flipping = 0 if quiet else tally["changed"]
        self.found = self.tol > 0 and ((flat and quiet) or stale)
        return self.found

    def _is_ahead(self, waiting: int) -> bool:
        """Whether vertices wait that are connected to a known label."""
        return self.n_unreachable is not None and waiting > self.n_unreachable

    def outcome(self, n_iter: int, waiting: int, stopped: bool, scheduled: bool) -> tuple[Reason, str]:
        """Why the flow ended, with ``waiting`` vertices without a class, as a word and as a sentence."""
        if stopped:
            return "callback", f"Stopped by a callback after {n_iter} sweeps."
        if scheduled:
            return "schedule", f"Ran the epsilon schedule to its end, {n_iter} sweeps."
        late = waiting - (self.n_unreachable or 0)
        if self.found and self._is_ahead(waiting):
            return "stalled", (
                f"Stalled after {n_iter} sweeps: {late} vertices are connected to a known label by edges "
                "whose weights vanish in the arithmetic; scale the weights up."
            )
        if self.found and self.flipping:
            return "rest", (
                f"Converged after {n_iter} sweeps: the energy no longer falls, though {self.flipping} "
                "vertices between classes still move."
            )
        if self.found:
            return "rest", f"Converged after {n_iter} sweeps: labels quiet, energy flat."
        unreached = f" {late} vertices have not been reached yet;" if late else ""
        return "limit", f"Stopped at the limit of {n_iter} sweeps;{unreached} raise max_iter to go on."


def as_trace(trace: list[tuple[int, Energy]]) -> NDArray[np.void]:
    """The energies at each look as a structured array."""
    rows = [(sweep, *(getattr(e, name) for name in ENERGY_TERMS), e.total) for sweep, e in trace]
    return np.array(rows, TRACE)


def start_state(
    init: Any,
    graph: Graph,
    labels: NDArray[np.int32],
    n_classes: int,
    random_state: Any = None,
    evidence: Evidence | None = None,
) -> State:
    """The state before the first sweep: known labels at their leaves, components without any at the hub."""
    n = len(labels)
    if isinstance(init, str):
        if init == "hub":
            return State.at_hub(n).with_labels(labels)
        if init != "random":
            raise ValueError(f"init must be 'hub', 'random', a State or a Solution; got {init!r}.")
        start = State.at_random(n, n_classes, generator(random_state, "start"))
    else:
        start = checked_state(init, n, n_classes, "init")
    reached = graph.reached(_anchored(labels, evidence))
    start = State(np.where(reached, start.arm, -1), np.where(reached, start.height, 0.0))
    return start.with_labels(labels)


def n_unreachable(graph: Graph, labels: NDArray[np.int32], evidence: Evidence | None = None) -> int:
    """The number of vertices in components with neither a known label nor evidence."""
    return int((~graph.reached(_anchored(labels, evidence))).sum())


def _anchored(labels: NDArray[np.int32], evidence: Evidence | None) -> NDArray[np.bool_]:
    return labels >= 0 if evidence is None else (labels >= 0) | (evidence.voice > 0)


def checked_callbacks(callbacks: Any) -> list[Callback]:
    """Callbacks as a list."""
    watchers = [callbacks] if callable(callbacks) else callbacks
    if not isinstance(watchers, list | tuple) or not all(callable(watch) for watch in watchers):
        raise ValueError(f"callbacks must be a callable or a list of callables; got {callbacks!r}.")
    return list(watchers)
