"""Every numba function of the package: arrays in, arrays out.

A kernel writes only its own rows and adds up in a fixed order, so its result is the same to the last bit
for any number of threads. Fused multiply-add is the one liberty given to the compiler: NaN and infinity
keep their meaning.
"""

from collections.abc import Callable
from typing import Any

import numba as nb
import numpy as np

#: Height and arm lie side by side, so that a neighbour's state costs one touch of a cache line.
STATE = np.dtype([("height", np.float32), ("arm", np.int32)], align=True)
STATE64 = np.dtype([("height", np.float64), ("arm", np.int64)], align=True)

#: What the flow knows of one vertex besides its state.
SITE = np.dtype(
    [("row_sum", np.float32), ("fidelity", np.float32), ("step", np.float32), ("label", np.int32)],
    align=True,
)
SITE64 = np.dtype(
    [("row_sum", np.float64), ("fidelity", np.float64), ("step", np.float64), ("label", np.int64)],
    align=True,
)

#: What one block of rows reports of a sweep.
TALLY = np.dtype(
    [
        ("smoothing", np.float64),
        ("potential", np.float64),
        ("fidelity", np.float64),
        ("unsettled", np.int64),
    ],
    align=True,
)

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}


def _kernel(parallel: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel on first call and keep it on disk; the one switch for all of them."""
    return nb.njit(parallel=parallel, **_OPTIONS)


# -- the star ------------------------------------------------------------------------------------------


@_kernel()
def _smoothing_force(i, indptr, indices, weights, row_sum, state):  # type: ignore[no-untyped-def]
    """R_i = Σ_j ŵ_ij (r_i ± r_j): minus within a class, plus across classes."""
    arm = state[i].arm
    everyone = weights.dtype.type(0)
    kin = weights.dtype.type(0)
    for e in range(indptr[i], indptr[i + 1]):
        j = indices[e]
        pull = weights[e] * state[j].height
        everyone += pull
        if state[j].arm == arm:
            kin += pull
    return state[i].height * row_sum + everyone - 2 * kin


@_kernel()
def _vote(i, indptr, indices, weights, state, label, ballast, ballot):  # type: ignore[no-untyped-def]
    """argmax_k Σ_{y_j=k} ŵ_ij r_j, a known label counting as one more neighbour at its leaf.

    ``ballot`` holds zeros for every class, before and after: only the neighbours' classes are touched.
    Votes only add up, so the first class to reach the highest total wins; a tie goes to the neighbour
    that comes first, not to the class with the smallest number.
    """
    winner = state[i].arm
    best = ballot.dtype.type(0)
    if label >= 0 and ballast > 0:
        ballot[label] = ballast
        best = ballot[label]
        winner = label
    for e in range(indptr[i], indptr[i + 1]):
        j = indices[e]
        arm = state[j].arm
        if arm >= 0:
            ballot[arm] += weights[e] * state[j].height
            if ballot[arm] > best:
                best = ballot[arm]
                winner = arm
    for e in range(indptr[i], indptr[i + 1]):
        arm = state[indices[e]].arm
        if arm >= 0:
            ballot[arm] = 0
    if label >= 0:
        ballot[label] = 0
    return winner


@_kernel(parallel=True)
def sweep(indptr, indices, weights, site, epsilon, state, out, blocks, tally, ballots):  # type: ignore[no-untyped-def]
    """One synchronous descent step, ``state`` -> ``out``, for the rows of ``blocks``.

    Block b holds the rows ``blocks[b]`` to ``blocks[b + 1]``; rows outside all blocks are a boundary that
    is read and never written. ``tally`` receives the energy of ``state``, not of ``out``: it falls out of
    the same pass, because the smoothing term is quadratic and so equals ε/2 Σ r_i R_i (Euler).
    """
    for b in nb.prange(blocks.size - 1):
        smoothing = 0.0
        potential = 0.0
        fidelity = 0.0
        unsettled = 0
        for i in range(blocks[b], blocks[b + 1]):
            r = state[i].height
            arm = state[i].arm
            force = _smoothing_force(i, indptr, indices, weights, site[i].row_sum, state)
            slope = epsilon * force - 2 / epsilon * r * (0.25 - r * r)
            smoothing += r * force
            potential += (0.25 - r * r) ** 2
            mu = site[i].fidelity
            if mu > 0:
                # A known label is a neighbour of weight μ/ε that sits at its leaf.
                gap = r - 0.5 if arm == site[i].label else r + 0.5
                slope += mu * gap
                fidelity += mu * gap * gap
            new = r - site[i].step * slope
            if new > 0.5:  # through the leaf
                new = 1 - new
            if new < 0:  # through the hub
                new = min(-new, 0.5)
                arm = _vote(i, indptr, indices, weights, state, site[i].label, 0.5 * mu / epsilon, ballots[b])
            # Unsettled is who changes class, and who still climbs away from the unstable hub.
            unsettled += arm != state[i].arm or (new < 0.25 and new > 1.01 * r)
            out[i].height = new
            out[i].arm = arm
        tally[b].smoothing = 0.5 * epsilon * smoothing
        tally[b].potential = 0.5 / epsilon * potential
        tally[b].fidelity = 0.5 * fidelity
        tally[b].unsettled = unsettled


@_kernel(parallel=True)
def smoothing_forces(indptr, indices, weights, row_sums, state, out):  # type: ignore[no-untyped-def]
    """out_i = R_i for every row."""
    for i in nb.prange(out.size):
        out[i] = _smoothing_force(i, indptr, indices, weights, row_sums[i], state)


@_kernel(parallel=True)
def vote_shares(indptr, indices, weights, state, out):  # type: ignore[no-untyped-def]
    """out_ik = Σ_{y_j=k} ŵ_ij r_j / Σ_j ŵ_ij r_j; a row that hears nobody stays zero."""
    for i in nb.prange(out.shape[0]):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if state[j].arm >= 0:
                out[i, state[j].arm] += weights[e] * state[j].height
                total += weights[e] * state[j].height
        if total > 0:
            for k in range(out.shape[1]):
                out[i, k] /= total


# -- the graph -----------------------------------------------------------------------------------------


@_kernel(parallel=True)
def exact_distances(points, queries, indices, out):  # type: ignore[no-untyped-def]
    """out_qk = |queries_q - points_{indices_qk}|, from differences, so that equal rows are at exactly 0."""
    for q in nb.prange(indices.shape[0]):
        for k in range(indices.shape[1]):
            j = indices[q, k]
            total = 0.0
            for f in range(points.shape[1]):
                gap = float(queries[q, f]) - float(points[j, f])
                total += gap * gap
            out[q, k] = np.sqrt(total)


@_kernel()
def one_sided(indices):  # type: ignore[no-untyped-def]
    """For each vertex, how many vertices count it as a neighbour without being its neighbour."""
    extra = np.zeros(indices.shape[0], np.int64)
    for i in range(indices.shape[0]):
        for j in indices[i]:
            mutual = False
            for back in indices[j]:
                mutual |= back == i
            extra[j] += not mutual
    return extra


@_kernel()
def symmetrize(indices, values, indptr, out_indices, out_values):  # type: ignore[no-untyped-def]
    """Fill a CSR matrix with every pair of which one is the other's neighbour ("or" symmetry)."""
    n, k = indices.shape
    filled = indptr[:-1].copy()
    for i in range(n):
        for m in range(k):
            out_indices[filled[i]] = indices[i, m]
            out_values[filled[i]] = values[i, m]
            filled[i] += 1
    for i in range(n):
        for m in range(k):
            j = indices[i, m]
            mutual = False
            for back in indices[j]:
                mutual |= back == i
            if not mutual:
                out_indices[filled[j]] = i
                out_values[filled[j]] = values[i, m]
                filled[j] += 1
