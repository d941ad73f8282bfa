"""The numba functions of the flow, and how every kernel is compiled: arrays in, arrays out.

A kernel writes only its own rows and adds up in an order that the code fixes, so its result is the same to
the last bit for any number of threads. The compiler may fuse and regroup sums; NaN and infinity keep their
meaning. Indices come in unsigned: numba then needs no test for negative ones, a third of a sweep's time.
"""

import logging
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numba as nb
import numpy as np

log = logging.getLogger(__name__)

#: Height and arm lie side by side, so that a neighbour's state costs one touch of a cache line. The arm is a
#: whole number in a float: comparing it in the registers of the heights makes a sweep a sixth faster.
STATE = np.dtype([("height", np.float32), ("arm", np.float32)], align=True)
STATE64 = np.dtype([("height", np.float64), ("arm", np.float64)], align=True)

#: What the flow knows of one vertex besides its state.
SITE = np.dtype(
    [("row_sum", np.float32), ("fidelity", np.float32), ("stiffness", np.float32), ("label", np.float32)],
    align=True,
)
SITE64 = np.dtype(
    [("row_sum", np.float64), ("fidelity", np.float64), ("stiffness", np.float64), ("label", np.float64)],
    align=True,
)

#: What one block of rows reports of a sweep.
TALLY = np.dtype(
    [
        ("smoothing", np.float64),
        ("potential", np.float64),
        ("fidelity", np.float64),
        ("changed", np.int64),
        ("climbing", np.int64),
        ("moving", np.int64),
        ("waiting", np.int64),
    ],
    align=True,
)

#: A vertex whose height changes by less than this fraction in a sweep is at rest.
REST = np.float32(1e-3)

#: Below this height a vertex is near the hub: its climb hardly shows in the energy.
LOW = np.float32(0.025)

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"contract", "reassoc", "nsz"},
    "error_model": "numpy",
}


#: Arrays up to this size are worked through by one thread: waking others would cost more than it brings.
SMALL = 50_000

_forked = False


def _after_fork() -> None:
    # OpenMP cannot be entered again in the child of a process that has used it.
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Parallel:
    """A kernel in two flavours, one thread or all, compiled when first needed.

    Which one runs depends on the size of the arrays alone, never on the number of threads, because the two
    may differ in the last bit: the compiler groups their sums differently. Only in a forked child is it
    always the serial one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # numba's cache knows a kernel by its name alone, not by how it was compiled.
        self.serial = _compiled(_renamed(function, "_serial"), parallel=False)
        self.parallel = _compiled(_renamed(function, "_parallel"), parallel=True)
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self.sized(max(a.size for a in arguments if isinstance(a, np.ndarray)))(*arguments)

    def sized(self, size: int) -> Callable[..., Any]:
        """The flavour for arrays of this size; a block of a larger graph asks by that graph's size."""
        return self.serial if _forked or size <= SMALL else self.parallel


def _renamed(function: Callable[..., Any], suffix: str) -> Callable[..., Any]:
    """A copy of a function under another name."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__ + suffix)
    copy.__qualname__, copy.__module__ = copy.__name__, function.__module__
    return copy


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return nb.njit(cache=True, **options, **_OPTIONS)(function)
    except RuntimeError:  # no folder to keep compiled kernels in: a read-only installation
        log.info("There is no writable folder for compiled kernels; they are compiled anew in every process.")
        return nb.njit(cache=False, **options, **_OPTIONS)(function)


def _kernel(parallel: bool = False, inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel on first call and keep it on disk; the one switch for all of them."""
    if parallel:
        return _Parallel
    return partial(_compiled, inline="always" if inline else "never")


@cache
def announce_compilation() -> None:
    """Say so, once, when the kernels have never been compiled on this machine."""
    folder = watched_sweep.serial.stats.cache_path
    if not folder or not list(Path(folder).glob("*watched_sweep*.nbi")):
        log.warning("First use: compiling the kernels takes about ten seconds, once.")


# -- the star ------------------------------------------------------------------------------------------


@_kernel(inline=True)
def _neighbors_pull(i, arm, indptr, indices, weights, state):  # type: ignore[no-untyped-def]
    """Σ_j ±ŵ_ij r_j: minus for a neighbour on the same arm, plus for all others."""
    pull = weights.dtype.type(0)
    for e in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[e]
        share = weights[e] * state[j].height
        pull += -share if state[j].arm == arm else share
    return pull


@_kernel()
def _vote(i, indptr, indices, weights, state, label, ballast, ballot):  # type: ignore[no-untyped-def]
    """argmax_k Σ_{y_j=k} ŵ_ij r_j, a known label counting as one more neighbour at its leaf.

    ``ballot`` holds zeros, before and after, for "no class" and for every class: a neighbour at the hub has
    nothing to say, and need not be told from the others. Votes only add up, so the first class to reach the
    highest total wins; a tie goes to the neighbour that comes first, not to the class with the smallest
    number.
    """
    winner = np.int32(state[i].arm)
    known = np.int32(label)
    best = ballot.dtype.type(0)
    if known >= 0 and ballast > 0:
        ballot[known + 1] = ballast
        best = ballot[known + 1]
        winner = known
    for e in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[e]
        arm = np.int32(state[j].arm)
        total = ballot[np.uint32(arm + 1)] + weights[e] * state[j].height
        ballot[np.uint32(arm + 1)] = total
        leads = total > best
        best = total if leads else best
        winner = arm if leads else winner
    for e in range(indptr[i], indptr[i + np.uint64(1)]):
        ballot[np.uint32(np.int32(state[indices[e]].arm) + 1)] = 0
    ballot[known + 1] = 0
    return winner


@_kernel(inline=True)
def _descended(i, indptr, indices, weights, here, epsilon, bend, state):  # type: ignore[no-untyped-def]
    """One descent step of vertex i: its new height, its smoothing force R_i and its gap to its label.

    Its step is 1 / (stiffness + bend·r(1 + 2r)); with a step fixed from outside the bend is zero.
    A negative height says that the vertex passed the hub and has yet to vote. Votes are taken in a loop of
    their own: within this one they would keep the compiler from its best code.
    """
    number = weights.dtype.type
    half = number(0.5)
    r = state[i].height
    arm = state[i].arm
    force = r * here.row_sum + _neighbors_pull(i, arm, indptr, indices, weights, state)
    slope = epsilon * force - number(2) / epsilon * r * (number(0.25) - r * r)
    # A known label is a neighbour of weight μ/ε that sits at its leaf; where there is none, μ is zero.
    gap = r - half if arm == here.label else r + half
    slope += here.fidelity * gap
    new = r - slope / (here.stiffness + bend * r * (number(1) + number(2) * r))
    return min(new, number(1) - new), force, gap  # beyond the leaf it comes down again


@_kernel(inline=True)
def _voted(i, indptr, indices, weights, here, epsilon, state, ballot):  # type: ignore[no-untyped-def]
    """The arm that vertex i chooses at the hub."""
    ballast = weights.dtype.type(0.5) * here.fidelity / epsilon
    return _vote(i, indptr, indices, weights, state, here.label, ballast, ballot)


@_kernel(inline=True)
def _has_moved(old, new):  # type: ignore[no-untyped-def]
    """Whether a height changed by more than a trifle of itself; relative, as growth begins tiny."""
    return abs(new - old) > REST * max(old, new)


@_kernel(parallel=True)
def sweep(indptr, indices, weights, site, epsilon, bend, state, out, blocks, ballots):  # type: ignore[no-untyped-def]
    """One synchronous descent step, ``state`` -> ``out``, for the rows of ``blocks``.

    Block b holds the rows ``blocks[b]`` to ``blocks[b + 1]``; rows outside all blocks are a boundary that
    is read and never written.
    """
    for b in nb.prange(blocks.size - 1):
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            new, _, _ = _descended(i, indptr, indices, weights, site[i], epsilon, bend, state)
            out[i].height = new
            out[i].arm = state[i].arm
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            if out[i].height < 0:
                out[i].height = min(-out[i].height, 0.5)
                out[i].arm = _voted(i, indptr, indices, weights, site[i], epsilon, state, ballots[b])


@_kernel(parallel=True)
def watched_sweep(indptr, indices, weights, site, epsilon, bend, state, out, blocks, ballots, climb, tally):  # type: ignore[no-untyped-def]
    """The same step, and ``tally``: the energy of ``state`` (not of ``out``) and who is not at rest.

    The energy falls out of the pass: the smoothing term is quadratic, so it equals ε/2 Σ r_i R_i (Euler).
    Climbing is who leaves the neighbourhood of the unstable hub by more than a factor ``climb``; waiting is
    whom no label has reached yet.
    """
    for b in nb.prange(blocks.size - 1):
        smoothing = 0.0
        potential = 0.0
        fidelity = 0.0
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            new, force, gap = _descended(i, indptr, indices, weights, site[i], epsilon, bend, state)
            r = state[i].height
            smoothing += r * force
            potential += (0.25 - r * r) ** 2
            fidelity += site[i].fidelity * gap * gap
            out[i].height = new
            out[i].arm = state[i].arm
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            if out[i].height < 0:
                out[i].height = min(-out[i].height, 0.5)
                out[i].arm = _voted(i, indptr, indices, weights, site[i], epsilon, state, ballots[b])
        changed = 0
        climbing = 0
        moving = 0
        waiting = 0
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            r, new = state[i].height, out[i].height
            turned = out[i].arm != state[i].arm
            changed += turned
            climbing += (new < LOW) & (new > climb * r)
            moving += turned | _has_moved(r, new)
            waiting += out[i].arm < 0
        tally[b].smoothing = 0.5 * epsilon * smoothing
        tally[b].potential = 0.5 / epsilon * potential
        tally[b].fidelity = 0.5 * fidelity
        tally[b].changed = changed
        tally[b].climbing = climbing
        tally[b].moving = moving
        tally[b].waiting = waiting


@_kernel(inline=True)
def _wake(i, old, indptr, indices, weights, state, awake):  # type: ignore[no-untyped-def]
    """If vertex i moved from ``old``, mark it, and the neighbours whom that shifts by more than a trifle.

    A neighbour's height changes by at most ŵ_ij times the way that i has gone.
    """
    height = state[i].height
    turned = old.arm != state[i].arm
    if turned or _has_moved(old.height, height):
        awake[i] = True
        way = old.height + height if turned else abs(old.height - height)
        for e in range(indptr[i], indptr[i + np.uint64(1)]):
            j = indices[e]
            if weights[e] * way > REST * state[j].height:
                awake[j] = True  # by several threads at once, perhaps: always the same value


@_kernel(parallel=True)
def wake_around(indptr, indices, weights, old, state, awake):  # type: ignore[no-untyped-def]
    """Mark the first vertices, as many as ``old`` has, that moved, and whom they shift."""
    for row in nb.prange(old.size):
        i = np.uint64(row)
        _wake(i, old[i], indptr, indices, weights, state, awake)


@_kernel(parallel=True)
def partial_sweep(indptr, indices, weights, site, epsilon, bend, state, rows, fresh, blocks, ballots):  # type: ignore[no-untyped-def]
    """One synchronous step of some ``rows``, everybody else standing still: their new states, ``fresh``.

    Block b holds ``rows[blocks[b]]`` to ``rows[blocks[b + 1]]``.
    """
    for b in nb.prange(blocks.size - 1):
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            i = rows[a]
            new, _, _ = _descended(i, indptr, indices, weights, site[i], epsilon, bend, state)
            fresh[a].height = new
            fresh[a].arm = state[i].arm
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            if fresh[a].height < 0:
                i = rows[a]
                fresh[a].height = min(-fresh[a].height, 0.5)
                fresh[a].arm = _voted(i, indptr, indices, weights, site[i], epsilon, state, ballots[b])


@_kernel(parallel=True)
def accept(indptr, indices, weights, state, rows, fresh, blocks, awake):  # type: ignore[no-untyped-def]
    """Let ``rows`` take their ``fresh`` states, and mark who is awake then; ``fresh`` has the old ones."""
    for b in nb.prange(blocks.size - 1):
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            i = rows[a]
            height, arm = state[i].height, state[i].arm
            state[i].height, state[i].arm = fresh[a].height, fresh[a].arm
            fresh[a].height, fresh[a].arm = height, arm
    for b in nb.prange(blocks.size - 1):
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            _wake(rows[a], fresh[a], indptr, indices, weights, state, awake)


@_kernel(parallel=True)
def smoothing_forces(indptr, indices, weights, row_sums, state, out):  # type: ignore[no-untyped-def]
    """out_i = R_i for every row."""
    for row in nb.prange(out.size):
        i = np.uint64(row)
        pull = _neighbors_pull(i, state[i].arm, indptr, indices, weights, state)
        out[i] = state[i].height * row_sums[i] + pull


@_kernel(parallel=True)
def vote_shares(indptr, indices, weights, state, out):  # type: ignore[no-untyped-def]
    """out_ik = Σ_{y_j=k} ŵ_ij r_j / Σ_j ŵ_ij r_j; a row that hears nobody stays zero."""
    for i in nb.prange(out.shape[0]):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if state[j].arm >= 0:
                out[i, int(state[j].arm)] += weights[e] * state[j].height
                total += weights[e] * state[j].height
        if total > 0:
            for k in range(out.shape[1]):
                out[i, k] /= total
