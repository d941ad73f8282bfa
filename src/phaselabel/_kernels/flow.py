"""A state on the star and its edges in, the state one sweep further out: the compiled loops of the flow.

A kernel writes only its own rows and adds up in an order that the code fixes, so its result is the same to
the last bit for any number of threads. The compiler may fuse and regroup sums; NaN and infinity keep their
meaning. Indices come in unsigned: numba then needs no test for negative ones, a third of a sweep's time.
"""

import logging
from functools import cache
from pathlib import Path

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel

log = logging.getLogger(__name__)

#: Height and arm lie side by side, so that a neighbour's state costs one touch of a cache line. The arm is a
#: whole number in a float: comparing it in the registers of the heights makes a sweep a sixth faster.
STATE = np.dtype([("height", np.float32), ("arm", np.float32)], align=True)
STATE64 = np.dtype([("height", np.float64), ("arm", np.float64)], align=True)

#: What the flow knows of one vertex besides its state.
SITE_FIELDS = ("row_sum", "fidelity", "stiffness", "label", "voice")
SITE = np.dtype([(name, np.float32) for name in SITE_FIELDS], align=True)
SITE64 = np.dtype([(name, np.float64) for name in SITE_FIELDS], align=True)

#: What one block of rows reports of a sweep.
TALLY = np.dtype(
    [
        ("smoothing", np.float64),
        ("potential", np.float64),
        ("fidelity", np.float64),
        ("evidence", np.float64),
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


@cache
def announce_compilation() -> None:
    """Say so, once, when the kernels have never been compiled on this machine."""
    folder = watched_sweep.serial.stats.cache_path
    if not folder or not list(Path(folder).glob("*watched_sweep*.nbi")):
        log.warning("First use: compiling the kernels takes about ten seconds, once.")


# -- the star ------------------------------------------------------------------------------------------


@kernel(inline=True)
def _neighbors_pull(i, arm, indptr, indices, weights, state):  # type: ignore[no-untyped-def]
    """Σ_j ±ŵ_ij r_j: minus for a neighbour on the same arm, plus for all others."""
    pull = weights.dtype.type(0)
    for e in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[e]
        share = weights[e] * state[j].height
        pull += -share if state[j].arm == arm else share
    return pull


@kernel()
def _vote(i, indptr, indices, weights, state, here, epsilon, opinions, ballot):  # type: ignore[no-untyped-def]
    """argmax_k Σ_{y_j=k} ŵ_ij r_j, a known label and the evidence counting as neighbours at their leaves.

    ``ballot`` holds zeros, before and after, for "no class" and for every class: a neighbour at the hub adds
    nothing, and need not be told from the others. Votes only add up, so the first class to reach the highest
    total wins. Evidence is counted first, from class 0 on, then the label, then the neighbours in their
    order: a tie goes to the class that got there earlier in this count.
    """
    number = ballot.dtype.type
    winner = np.int32(state[i].arm)
    known = np.int32(here.label)
    best = number(0)
    if here.voice > 0:
        weight = number(0.5) * here.voice / epsilon
        for k in range(opinions.shape[1]):
            ballot[k + 1] = weight * opinions[i, k]
            winner = np.int32(k) if ballot[k + 1] > best else winner
            best = max(best, ballot[k + 1])
    ballast = number(0.5) * here.fidelity / epsilon
    if known >= 0 and ballast > 0:
        ballot[known + 1] += ballast
        winner = known if ballot[known + 1] > best else winner
        best = max(best, ballot[known + 1])
    for e in range(indptr[i], indptr[i + np.uint64(1)]):
        j = indices[e]
        arm = np.int32(state[j].arm)
        total = ballot[np.uint32(arm + 1)] + weights[e] * state[j].height
        ballot[np.uint32(arm + 1)] = total
        leads = total > best
        best = total if leads else best
        winner = arm if leads else winner
    if here.voice > 0:
        ballot[:] = 0
    for e in range(indptr[i], indptr[i + np.uint64(1)]):
        ballot[np.uint32(np.int32(state[indices[e]].arm) + 1)] = 0
    ballot[known + 1] = 0
    return winner


@kernel(inline=True)
def _descended(i, indptr, indices, weights, here, epsilon, bend, state, opinions):  # type: ignore[no-untyped-def]
    """One descent step of vertex i: its new height, its smoothing force R_i, its gap to its label, and q_iy.

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
    # Evidence is K neighbours, one at every leaf, of weights θ q_ik / ε; where there is none, θ is zero.
    own = number(0)
    if here.voice > 0:
        own = opinions[i, np.int32(arm)] if arm >= 0 else own
        slope += here.voice * (r + half - own)
    new = r - slope / (here.stiffness + bend * r * (number(1) + number(2) * r))
    return min(new, number(1) - new), force, gap, own  # beyond the leaf it comes down again


@kernel(inline=True)
def _after_vote(old, arm, bend, height):  # type: ignore[no-untyped-def]
    """The height of a vertex that passed the hub and chose an arm: mirrored, as in the paper.

    With the automatic step a vertex that chooses the same arm again stays at the hub: it is the minimum, and
    mirrored the vertex would climb (docs/method.md has the proof).
    """
    if bend > 0 and arm == old.arm:
        return height - height
    return min(-height, 0.5)


@kernel(inline=True)
def _has_moved(old, new):  # type: ignore[no-untyped-def]
    """Whether a height changed by more than a trifle of itself; relative, as growth begins tiny."""
    return abs(new - old) > REST * max(old, new)


@kernel(parallel=True)
def sweep(indptr, indices, weights, site, epsilon, bend, opinions, state, out, blocks, ballots):  # type: ignore[no-untyped-def]
    """One synchronous descent step, ``state`` -> ``out``, for the rows of ``blocks``.

    Block b holds the rows ``blocks[b]`` to ``blocks[b + 1]``; rows outside all blocks are a boundary that
    is read and never written.
    """
    for b in nb.prange(blocks.size - 1):
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            new, _, _, _ = _descended(i, indptr, indices, weights, site[i], epsilon, bend, state, opinions)
            out[i].height = new
            out[i].arm = state[i].arm
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            if out[i].height < 0:
                arm = _vote(i, indptr, indices, weights, state, site[i], epsilon, opinions, ballots[b])
                out[i].height = _after_vote(state[i], arm, bend, out[i].height)
                out[i].arm = arm


@kernel(parallel=True)
def watched_sweep(  # type: ignore[no-untyped-def]
    indptr, indices, weights, site, epsilon, bend, opinions, state, out, blocks, ballots, climb, tally
):
    """The same step, and ``tally``: the energy of ``state`` (not of ``out``), and what is not at rest.

    The energy falls out of the pass: the smoothing term is quadratic, so it equals ε/2 Σ r_i R_i (Euler).
    Climbing vertices leave the neighbourhood of the unstable hub by more than a factor ``climb``; waiting
    ones have no class yet.
    """
    for b in nb.prange(blocks.size - 1):
        smoothing = 0.0
        potential = 0.0
        fidelity = 0.0
        evidence = 0.0
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            new, force, gap, own = _descended(
                i, indptr, indices, weights, site[i], epsilon, bend, state, opinions
            )
            r = state[i].height
            smoothing += r * force
            potential += (0.25 - r * r) ** 2
            fidelity += site[i].fidelity * gap * gap
            evidence += site[i].voice * (0.25 + r * r + r - 2 * r * own)
            out[i].height = new
            out[i].arm = state[i].arm
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            if out[i].height < 0:
                arm = _vote(i, indptr, indices, weights, state, site[i], epsilon, opinions, ballots[b])
                out[i].height = _after_vote(state[i], arm, bend, out[i].height)
                out[i].arm = arm
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
        tally[b].evidence = 0.5 * evidence
        tally[b].changed = changed
        tally[b].climbing = climbing
        tally[b].moving = moving
        tally[b].waiting = waiting


@kernel(inline=True)
def _wake(i, old, indptr, indices, weights, state, awake):  # type: ignore[no-untyped-def]
    """If vertex i moved from ``old``, mark it, and the neighbours that this shifts noticeably.

    A neighbour's height changes by at most ŵ_ij times the distance that i has moved.
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


@kernel(parallel=True)
def wake_around(indptr, indices, weights, old, state, awake):  # type: ignore[no-untyped-def]
    """Mark the first vertices, as many as ``old`` has, that moved, and the vertices that they shift."""
    for row in nb.prange(old.size):
        i = np.uint64(row)
        _wake(i, old[i], indptr, indices, weights, state, awake)


@kernel(parallel=True)
def partial_sweep(  # type: ignore[no-untyped-def]
    indptr, indices, weights, site, epsilon, bend, opinions, state, rows, fresh, blocks, ballots
):
    """One synchronous step of some ``rows``, all others at rest; their new states go to ``fresh``.

    Block b holds ``rows[blocks[b]]`` to ``rows[blocks[b + 1]]``.
    """
    for b in nb.prange(blocks.size - 1):
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            i = rows[a]
            new, _, _, _ = _descended(i, indptr, indices, weights, site[i], epsilon, bend, state, opinions)
            fresh[a].height = new
            fresh[a].arm = state[i].arm
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            if fresh[a].height < 0:
                i = rows[a]
                arm = _vote(i, indptr, indices, weights, state, site[i], epsilon, opinions, ballots[b])
                fresh[a].height = _after_vote(state[i], arm, bend, fresh[a].height)
                fresh[a].arm = arm


@kernel(parallel=True)
def accept(indptr, indices, weights, state, rows, fresh, blocks, awake):  # type: ignore[no-untyped-def]
    """Let ``rows`` take their ``fresh`` states, mark what the next step visits; the old ones go there."""
    for b in nb.prange(blocks.size - 1):
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            i = rows[a]
            height, arm = state[i].height, state[i].arm
            state[i].height, state[i].arm = fresh[a].height, fresh[a].arm
            fresh[a].height, fresh[a].arm = height, arm
    for b in nb.prange(blocks.size - 1):
        for a in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            _wake(rows[a], fresh[a], indptr, indices, weights, state, awake)


@kernel(parallel=True)
def smoothing_forces(indptr, indices, weights, row_sums, state, out):  # type: ignore[no-untyped-def]
    """out_i = R_i for every row."""
    for row in nb.prange(out.size):
        i = np.uint64(row)
        pull = _neighbors_pull(i, state[i].arm, indptr, indices, weights, state)
        out[i] = state[i].height * row_sums[i] + pull


@kernel(parallel=True)
def vote_shares(indptr, indices, weights, state, out):  # type: ignore[no-untyped-def]
    """out_ik = Σ_{y_j=k} ŵ_ij r_j / Σ_j ŵ_ij r_j; a row without votes stays zero."""
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
