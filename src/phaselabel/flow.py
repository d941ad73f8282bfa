"""A graph and a few known labels in, a state of low energy out: the one descent loop."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel import _kernels
from phaselabel.energy import Energy, evaluate
from phaselabel.graph import Graph
from phaselabel.star import LEAF, State

#: Called with (sweep, state, energy); a true answer stops the flow.
Callback = Callable[[int, State, Energy], Any]

#: Sweeps are dealt out in this many blocks of rows, whatever the number of threads: sums stay the same.
N_BLOCKS = 64

#: Where no more than a fraction FEW of the vertices moves, the flow visits only them and their neighbours
#: until the next look, as long as these are no more than a fraction MANY of all.
FEW, MANY = 0.05, 0.3

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
        if not 0 < self.stop <= self.start:
            raise ValueError(f"An epsilon schedule needs 0 < stop <= start; got {self.start} to {self.stop}.")
        if not 0 < self.factor < 1:
            raise ValueError(
                f"The factor of an epsilon schedule must lie between 0 and 1; got {self.factor}."
            )
        if self.sweeps < 1:
            raise ValueError(f"An epsilon schedule needs at least 1 sweep per value; got {self.sweeps}.")

    def __iter__(self) -> Iterator[float]:
        epsilon = self.start
        while epsilon >= self.stop * (1 - 1e-9):
            yield epsilon
            epsilon *= self.factor


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
    """

    arm: NDArray[np.integer[Any]]
    height: NDArray[np.floating[Any]]
    energy: NDArray[np.void] = field(repr=False)
    n_iter: int
    status: str
    converged: bool

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
    every: int = 10,
) -> Solution:
    r"""Descend the Ginzburg-Landau energy from a few known labels.

    .. math:: r_i ← r_i - dt_i \frac{∂E}{∂r_i}, \qquad
              r_i < 0:\ r_i ← -r_i,\ y_i ← \arg\max_k \sum_{y_j = k} ŵ_{ij} r_j

    All vertices move at once (Jacobi), so the result doesn't depend on their order or the number of threads.

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
        label be outvoted by its surroundings; 0 ignores it.
    init : {"hub", "random"}, State or Solution, default="hub"
        Where to start. At the hub nobody has a class and there is nothing random; "random" is the paper's
        start; a state or an earlier solution is a warm start. Known labels start at their leaves.
    step : "auto" or float, default="auto"
        Time step dt. "auto" gives each vertex ``1 / (ε Σ_j ŵ_ij + 1/ε)``: with it the energy cannot rise
        while no vertex changes class, and no vertex can shoot past its leaf.
    max_iter : int, default=2000
        Sweeps at the most.
    tol : float, default=1e-4
        The flow stops when, from one look to the next, the energy fell by no more than this fraction and no
        more than this fraction of the vertices is unsettled. 0 never stops early.
    n_classes : int, optional
        K, where some classes have no label; the largest label + 1 by default.
    random_state : int, Generator or None
        For ``init="random"``.
    callbacks : callable or sequence of callables
        Each is called with (sweep, state, energy) at every look; a true answer stops the flow.
    every : int, default=10
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
    check_init(init, len(labels), n_classes)
    watchers = [callbacks] if callable(callbacks) else list(callbacks)

    descent = _Descent(graph, labels, fidelity, _start(init, labels, n_classes, random_state), n_classes)
    trace: list[tuple[int, Energy]] = []
    quiet = flat = stopped = False
    for value, sweeps in _stages(epsilon, max_iter):
        descent.set_epsilon(value, step)
        end = descent.n_iter + sweeps
        while descent.n_iter < end and not (quiet and flat) and not stopped:
            sweep, before = descent.n_iter, descent.state() if watchers else None
            now, unsettled = descent.look()
            quiet = unsettled <= tol * graph.n_vertices
            flat = tol > 0 and _is_flat(trace, now, tol) and not isinstance(epsilon, Geometric)
            trace.append((sweep, now))
            # Every callback is asked, whatever the others answered.
            stopped = any([watch(sweep, before, now) for watch in watchers])  # type: ignore[arg-type]
            if stopped:
                descent.undo()
            elif not (quiet and flat):
                descent.advance(min(every - 1, end - descent.n_iter))
    final = descent.state()
    if not stopped:
        last = evaluate(graph, final, labels, epsilon=descent.epsilon, fidelity=fidelity)
        trace.append((descent.n_iter, last))
    status, converged = _verdict(epsilon, descent.n_iter, quiet, flat, stopped)
    return Solution(final.arm, final.height, as_trace(trace), descent.n_iter, status, converged)


class _Descent:
    """The arrays of one flow: two buffers that take turns, and what every vertex knows."""

    def __init__(
        self,
        graph: Graph,
        labels: NDArray[np.int32],
        fidelity: NDArray[np.float64],
        start: State,
        n_classes: int,
    ) -> None:
        self._csr = graph.csr
        number = self._csr[2].dtype
        double = number == np.float64
        self.n_iter = 0
        self._front = start.packed(number)
        self._back = np.empty_like(self._front)
        self._row_sums, self._fidelity = graph.row_sums, fidelity
        self._site = np.empty(graph.n_vertices, _kernels.SITE64 if double else _kernels.SITE)
        self._site["row_sum"], self._site["fidelity"] = graph.row_sums, fidelity
        self._site["label"] = labels
        self._blocks = balanced_blocks(graph.normalized.indptr, N_BLOCKS)
        self._tally = np.zeros(N_BLOCKS, _kernels.TALLY)
        self._ballots = np.zeros((N_BLOCKS, n_classes), number)
        self._awake = np.zeros(graph.n_vertices, np.bool_)
        self._moving = graph.n_vertices

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        """Set ε and the step of every vertex."""
        self.epsilon = self._front["height"].dtype.type(epsilon)
        if step == "auto":
            # Two bounds in one. The Hessian ε(D̂ ± Ŵ) + Φ''/ε + μ is at most diag(2εD̂ + 1/ε + μ), so any
            # step below twice this one descends. And (½ - r)(εD̂ + 1/ε) bounds the pull towards the leaf, so
            # with this very step a vertex reaches its leaf at most and never passes it.
            rate = 1 / (epsilon * self._row_sums + 1 / epsilon)
        else:
            rate = np.full(len(self._row_sums), float(step))
        # Fidelity is stiff (the paper's COIL run has dt μ = 2), so it is treated implicitly; that is the
        # same as shortening the step of the labelled vertices.
        self._site["step"] = rate / (1 + rate * self._fidelity)

    def look(self) -> tuple[Energy, int]:
        """Make one sweep; answer the energy before it and how many vertices it found unsettled."""
        _kernels.watched_sweep(*self._arguments(), self._tally)
        self._turn()
        terms = {name: float(self._tally[name].sum()) for name in ("smoothing", "potential", "fidelity")}
        self._moving = int(self._tally["moving"].sum())
        return Energy(**terms), int(self._tally["unsettled"].sum())

    def advance(self, sweeps: int) -> None:
        """Make sweeps, unobserved; while few vertices move, only of those and their neighbours."""
        if self._moving <= FEW * len(self._awake):
            indptr, indices, _ = self._csr
            self._awake[:] = False
            _kernels.wake_around(indptr, indices, self._back, self._front, self._awake)
            while sweeps and (rows := np.flatnonzero(self._awake)).size <= MANY * len(self._awake):
                self._sweep_rows(rows.astype(indices.dtype))
                sweeps -= 1
        for _ in range(sweeps):
            _kernels.sweep(*self._arguments())
            self._turn()

    def _sweep_rows(self, rows: NDArray[np.unsignedinteger[Any]]) -> None:
        """Move some rows in place; ``_awake`` tells whom to visit next."""
        self._awake[rows] = False
        cuts = np.linspace(0, len(rows), N_BLOCKS + 1).astype(np.int64)
        scratch = self._ballots, self._awake
        _kernels.partial_sweep(
            *self._csr, self._site, self.epsilon, self._front, rows, self._back, cuts, *scratch
        )
        self.n_iter += 1

    def _arguments(self) -> tuple[Any, ...]:
        return (*self._csr, self._site, self.epsilon, self._front, self._back, self._blocks, self._ballots)

    def _turn(self) -> None:
        self._front, self._back = self._back, self._front
        self.n_iter += 1

    def undo(self) -> None:
        """Take the last sweep back."""
        self._front, self._back = self._back, self._front
        self.n_iter -= 1

    def state(self) -> State:
        """A copy of the present state."""
        return State.from_packed(self._front)


def balanced_blocks(indptr: NDArray[Any], n_blocks: int) -> NDArray[np.int64]:
    """Cut the rows into blocks of about equal numbers of edges."""
    edges_and_rows = indptr + np.arange(len(indptr))
    cuts = np.linspace(0, edges_and_rows[-1], n_blocks + 1)
    blocks = np.searchsorted(edges_and_rows, cuts).astype(np.int64)
    blocks[0], blocks[-1] = 0, len(indptr) - 1
    return blocks


def _stages(epsilon: float | Geometric, max_iter: int) -> list[tuple[float, int]]:
    """The values of ε and how many sweeps each gets."""
    if isinstance(epsilon, Geometric):
        return [(value, epsilon.sweeps) for value in epsilon]
    return [(float(epsilon), max_iter)]


def _is_flat(trace: list[tuple[int, Energy]], now: Energy, tol: float) -> bool:
    """Whether the energy has hardly fallen since the last look."""
    return bool(trace) and abs(trace[-1][1].total - now.total) <= tol * abs(now.total)


def _verdict(
    epsilon: float | Geometric, n_iter: int, quiet: bool, flat: bool, stopped: bool
) -> tuple[str, bool]:
    """Why the flow ended, as a sentence, and whether that is convergence."""
    if stopped:
        return f"Stopped by a callback after {n_iter} sweeps.", False
    if quiet and flat:
        return f"Converged after {n_iter} sweeps: labels quiet, energy flat.", True
    if isinstance(epsilon, Geometric):
        return f"Ran the epsilon schedule to its end, {n_iter} sweeps.", quiet
    return f"Stopped at the limit of {n_iter} sweeps; raise max_iter to go on.", False


def as_trace(trace: list[tuple[int, Energy]]) -> NDArray[np.void]:
    """The energies at each look as a structured array."""
    rows = [(sweep, e.smoothing, e.potential, e.fidelity, e.total) for sweep, e in trace]
    return np.array(rows, TRACE)


def _start(init: Any, labels: NDArray[np.int32], n_classes: int, random_state: Any) -> State:
    """The state before the first sweep."""
    if isinstance(init, State | Solution):
        start = State(init.arm, init.height)
    elif init == "random":
        start = State.at_random(len(labels), n_classes, np.random.default_rng(random_state))
    else:
        start = State.at_hub(len(labels))
    return start.with_labels(labels)


def check_init(init: Any, n_vertices: int, n_classes: int) -> None:
    """Refuse a start that doesn't fit the graph or the classes."""
    if isinstance(init, str) and init in ("hub", "random"):
        return
    if not isinstance(init, State | Solution):
        raise ValueError(f"init must be 'hub', 'random', a State or a Solution; got {init!r}.")
    if not len(init.arm) == len(init.height) == n_vertices:
        raise ValueError(
            f"init must have one arm and one height per row, {n_vertices}; "
            f"got {len(init.arm)} and {len(init.height)}."
        )
    arm, height = np.asarray(init.arm), np.asarray(init.height)
    if n_vertices and (arm.min() < -1 or arm.max() >= n_classes):
        raise ValueError(
            f"init has arms from {arm.min()} to {arm.max()}; there are {n_classes} classes, "
            "so they must lie between -1 (none) and n_classes - 1."
        )
    if n_vertices and not (height.min() >= 0 and height.max() <= LEAF):
        raise ValueError("init must have heights between 0 (the hub) and 0.5 (the leaf).")


def checked_labels(
    labels: ArrayLike, n_vertices: int, n_classes: int | None
) -> tuple[NDArray[np.int32], int]:
    """Known classes as int32 and the number of classes, or an error that says what is wrong."""
    found = np.asarray(labels)
    if found.shape != (n_vertices,):
        raise ValueError(f"labels must have one entry per vertex, shape ({n_vertices},); got {found.shape}.")
    if not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"labels must be whole numbers with -1 for unknown; got {found.dtype}. "
            "GinzburgLandauClassifier takes labels of any type."
        )
    highest = int(found.max(initial=-1))
    if highest < 0:
        raise ValueError("labels has no known label; give at least one entry a class of 0 or more.")
    if found.min() < -1:
        raise ValueError(f"labels must be -1 (unknown) or 0 and above; got {found.min()}.")
    if n_classes is not None and highest >= n_classes:
        raise ValueError(f"labels go up to {highest} but n_classes={n_classes}.")
    return found.astype(np.int32), n_classes or highest + 1


def checked_fidelity(fidelity: ArrayLike, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """μ_i for every vertex, 0 where there is no label."""
    mu = np.asarray(fidelity, np.float64)
    if mu.ndim and mu.shape != labels.shape:
        raise ValueError(
            f"fidelity must be one number or one per vertex, shape {labels.shape}; got {mu.shape}."
        )
    if not np.isfinite(mu).all() or mu.min() < 0:
        raise ValueError(f"fidelity must be finite and not negative; got {mu.min()}.")
    return np.where(labels >= 0, mu, 0.0)


def check_numbers(*, epsilon: Any, max_iter: Any, tol: Any, step: Any = "auto", every: Any = 10) -> None:
    """Refuse numbers that the flow cannot run with."""
    if not isinstance(epsilon, Geometric) and not (_is_number(epsilon) and 0 < epsilon < np.inf):
        raise ValueError(f"epsilon must be a positive number or a Geometric schedule; got {epsilon!r}.")
    if not (isinstance(step, str) and step == "auto") and not (_is_number(step) and 0 < step < np.inf):
        raise ValueError(f"step must be 'auto' or a positive number; got {step!r}.")
    if not (_is_number(tol) and tol >= 0):
        raise ValueError(f"tol must be 0 or a positive number; got {tol!r}.")
    for name, value in (("max_iter", max_iter), ("every", every)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
