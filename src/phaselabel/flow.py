"""A graph and a few known labels in, a state of low energy out: the one descent loop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.descent import Descent, LocalDescent
from phaselabel.energy import Energy, check_epsilon
from phaselabel.graph import Graph
from phaselabel.star import State, checked_fidelity, checked_labels, checked_state

#: Called with (sweep, state, energy); a true answer stops the flow.
Callback = Callable[[int, State, Energy], Any]

TRACE = np.dtype(
    [("sweep", np.int64)] + [(name, np.float64) for name in ("smoothing", "potential", "fidelity", "total")]
)


@dataclass(frozen=True)
class Geometric:
    """An ε that shrinks: ``start``, ``start·factor``, … down to ``stop``, ``sweeps`` sweeps at each value.

    The paper's adaptive ε is the default.

    Examples
    --------
    >>> [round(epsilon, 2) for epsilon in Geometric(start=1.0, stop=0.25, factor=0.5)]
    [1.0, 0.5, 0.25]
    """

    start: float = 2.0
    stop: float = 0.01
    factor: float = 0.9
    sweeps: int = 40

    def __post_init__(self) -> None:
        check_epsilon(self.start)
        check_epsilon(self.stop)
        if self.stop > self.start:
            raise ValueError(f"An epsilon schedule needs stop <= start; got {self.start} to {self.stop}.")
        if not (_is_number(self.factor) and 0 < self.factor < 1):
            raise ValueError(
                f"The factor of an epsilon schedule must lie between 0 and 1; got {self.factor}."
            )
        if not isinstance(self.sweeps, int | np.integer) or self.sweeps < 1:
            raise ValueError(
                f"An epsilon schedule needs a whole number of sweeps per value; got {self.sweeps!r}."
            )

    def __iter__(self) -> Iterator[float]:
        epsilon = self.start
        while epsilon >= self.stop * (1 - 1e-9):
            yield epsilon
            epsilon *= self.factor


#: Why a flow ended: labels quiet and energy flat; ``max_iter``; a schedule run to its end; a callback; the
#: few sweeps that settle a spread; class sizes that drift, or drift far because the graph separates badly.
Reason = Literal["rest", "limit", "schedule", "callback", "settled", "drift", "collapse"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the flow ended.

    Attributes
    ----------
    arm : ndarray of int
        The class of every vertex, -1 where no label reaches.
    height : ndarray
        How far it stands above the hub, from 0 (undecided) to ½ (at its leaf).
    energy : structured ndarray
        The trace, with fields ``sweep``, ``smoothing``, ``potential``, ``fidelity`` and ``total``.
    n_iter : int
        How many sweeps were made.
    status : str
        Why it stopped, as a sentence.
    converged : bool
        Whether labels are quiet and the energy is flat.
    reason : str
        The same as ``status`` for programs: "rest", "limit", "schedule", "callback", "settled", "drift" or
        "collapse".
    """

    arm: NDArray[np.integer[Any]]
    height: NDArray[np.floating[Any]]
    energy: NDArray[np.void] = field(repr=False)
    n_iter: int
    status: str
    converged: bool
    reason: Reason = "rest"

    @property
    def state(self) -> State:
        """Arm and height, ready to be the start of another flow."""
        return State(self.arm, self.height)


def minimize(
    graph: Graph | Any,
    labels: ArrayLike,
    *,
    epsilon: float | Geometric = 1.0,
    fidelity: ArrayLike = 30.0,
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
              r_i < 0:\ r_i ← -r_i,\ y_i ← \arg\max_k \sum_{y_j = k} ŵ_{ij} r_j

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
    init : {"hub", "random"}, State or Solution, default="hub"
        Where to start. At the hub nobody has a class and there is nothing random; "random" is the paper's
        start; a state or an earlier solution is a warm start. Known labels start at their leaves.
    step : "auto" or float, default="auto"
        Time step dt. "auto" gives a vertex at height r ``1 / (ε Σ_j ŵ_ij + r(1 + 2r)/ε)``: with it the
        energy cannot rise while no vertex changes class, and no vertex can shoot past its leaf.
    max_iter : int, default=2000
        Sweeps at the most.
    tol : float, default=1e-4
        The flow stops when in a sweep the energy falls by no more than this fraction, no more than this
        fraction of the vertices changes class, and no more than a hundred times as many climb away from the
        hub. 0 never stops early.
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
    check_numbers(epsilon=epsilon, step=step, max_iter=max_iter, tol=tol, every=every)
    watchers = checked_callbacks(callbacks)
    start = _start(init, graph, np.where(fidelity > 0, labels, -1), n_classes, random_state)
    descent = LocalDescent(graph, labels, fidelity, start, n_classes)
    return descend(
        descent, epsilon=epsilon, step=step, max_iter=max_iter, tol=tol, callbacks=watchers, every=every
    )


def descend(
    descent: Descent,
    *,
    epsilon: float | Geometric = 1.0,
    step: Literal["auto"] | float = "auto",
    max_iter: int = 2000,
    tol: float = 1e-4,
    callbacks: Sequence[Callback] = (),
    every: int = 5,
) -> Solution:
    """Follow a descent until it has come to rest: the loop itself, for a graph here or in pieces."""
    rest, scheduled = _Rest(tol, descent.n_vertices), isinstance(epsilon, Geometric)
    trace: list[tuple[int, Energy]] = []
    stopped = resting = ended = False
    for value, sweeps in _stages(epsilon, max_iter):
        descent.set_epsilon(value, step)
        end = descent.n_iter + sweeps
        while descent.n_iter < end:
            sweep, before = descent.n_iter, descent.state() if callbacks else None
            now, tally = descent.look()
            trace.append((sweep, now))
            # Every callback is asked, whatever the others answered.
            stopped = any([watch(sweep, before, now) for watch in callbacks])  # type: ignore[arg-type]
            resting = not stopped and rest.reached(sweep, now, tally, value, descent.pace)
            ended = stopped or (resting and not scheduled)
            if ended:
                descent.undo()  # what was looked at is the end
                break
            descent.advance(min(every - 1, end - descent.n_iter))
        if stopped:
            break
    final = descent.state()
    if not ended:
        trace.append((descent.n_iter, descent.energy()))
    reason, status = rest.outcome(descent.n_iter, stopped, scheduled)
    return Solution(final.arm, final.height, as_trace(trace), descent.n_iter, status, resting, reason)


class _Rest:
    """Whether the flow has come to rest: labels quiet and energy flat, or the energy no longer falls."""

    #: So many sweeps without a new lowest energy are rest, though a few vertices may flip for ever.
    PATIENCE = 30

    #: For each vertex that may change class so many may climb from the hub: at an interface most of these
    #: come to rest half-way, while a flow that has yet to leave the hub has everybody climbing.
    CLIMBERS = 100

    def __init__(self, tol: float, n_vertices: int) -> None:
        self.tol, self.n_vertices = tol, n_vertices
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
        # A front that still advances is not quiet, however thin it is.
        quiet = (
            tally["changed"] <= allowed
            and tally["climbing"] <= self.CLIMBERS * allowed
            and tally["waiting"] == self._waiting
        )
        if now < self._lowest - 1e-7 * scale:
            self._lowest, self._lowest_at = now, sweep
        stale = (sweep - self._lowest_at) * pace >= self.PATIENCE and tally["waiting"] == self._waiting
        self._sweep, self._previous, self._waiting = sweep, now, tally["waiting"]
        self.flipping = 0 if quiet else tally["changed"]
        self.found = self.tol > 0 and ((flat and quiet) or stale)
        return self.found

    def outcome(self, n_iter: int, stopped: bool, scheduled: bool) -> tuple[Reason, str]:
        """Why the flow ended, as a word and as a sentence."""
        if stopped:
            return "callback", f"Stopped by a callback after {n_iter} sweeps."
        if scheduled:
            return "schedule", f"Ran the epsilon schedule to its end, {n_iter} sweeps."
        if self.found and self.flipping:
            return "rest", (
                f"Converged after {n_iter} sweeps: the energy no longer falls, though {self.flipping} "
                "vertices between classes still move."
            )
        if self.found:
            return "rest", f"Converged after {n_iter} sweeps: labels quiet, energy flat."
        waiting = f" {self._waiting} vertices have not been reached yet;" if self._waiting else ""
        return "limit", f"Stopped at the limit of {n_iter} sweeps;{waiting} raise max_iter to go on."


def _stages(epsilon: float | Geometric, max_iter: int) -> list[tuple[float, int]]:
    """The values of ε and how many sweeps each gets."""
    if isinstance(epsilon, Geometric):
        return [(value, epsilon.sweeps) for value in epsilon]
    return [(float(epsilon), max_iter)]


def as_trace(trace: list[tuple[int, Energy]]) -> NDArray[np.void]:
    """The energies at each look as a structured array."""
    rows = [(sweep, e.smoothing, e.potential, e.fidelity, e.total) for sweep, e in trace]
    return np.array(rows, TRACE)


def _start(init: Any, graph: Graph, labels: NDArray[np.int32], n_classes: int, random_state: Any) -> State:
    """The state before the first sweep: known labels at their leaves, whom none can reach at the hub."""
    n = len(labels)
    if isinstance(init, str):
        if init == "hub":
            return State.at_hub(n).with_labels(labels)
        if init != "random":
            raise ValueError(f"init must be 'hub', 'random', a State or a Solution; got {init!r}.")
        start = State.at_random(n, n_classes, np.random.default_rng(random_state))
    else:
        start = checked_state(init, n, n_classes, "init")
    reached = graph.reached(labels >= 0)
    start = State(np.where(reached, start.arm, -1), np.where(reached, start.height, 0.0))
    return start.with_labels(labels)


def checked_callbacks(callbacks: Any) -> list[Callback]:
    """Callbacks as a list."""
    watchers = [callbacks] if callable(callbacks) else callbacks
    if not isinstance(watchers, list | tuple) or not all(callable(watch) for watch in watchers):
        raise ValueError(f"callbacks must be a callable or a list of callables; got {callbacks!r}.")
    return list(watchers)


def check_numbers(*, epsilon: Any, max_iter: Any, tol: Any, step: Any = "auto", every: Any = 5) -> None:
    """Refuse numbers that the flow cannot run with."""
    if not isinstance(epsilon, Geometric):
        check_epsilon(epsilon)
    if not (isinstance(step, str) and step == "auto") and not (_is_number(step) and 0 < step <= 1e6):
        raise ValueError(f"step must be 'auto' or a number between 0 and 1e6; got {step!r}.")
    if not (_is_number(tol) and 0 <= tol <= 1):
        raise ValueError(f"tol must be a number between 0 and 1; got {tol!r}.")
    for name, value in (("max_iter", max_iter), ("every", every)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
