"""A graph and a table with one column per class in, the table after one step out: the loops for few labels.

They obey the rules of :mod:`phaselabel._kernels`.
"""

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel

#: Rows whose products one thread adds up before the sums are added: the order does not depend on threads.
ROWS_PER_SUM = 2048


@kernel(parallel=True)
def shared_neighbors(indptr, indices, out):  # type: ignore[no-untyped-def]
    """out_e = (|N_i ∩ N_j| + 1) / |N_i ∪ N_j| for every edge e = (i, j); columns must be sorted."""
    for row in nb.prange(np.int64(indptr.size - 1)):
        i = np.uint64(row)
        begin, end = indptr[i], indptr[i + np.uint64(1)]
        for e in range(begin, end):
            j = indices[e]
            p, q, stop = begin, indptr[j], indptr[j + np.uint64(1)]
            both = 0
            union = (end - begin) + (stop - q)
            while p < end and q < stop:
                if indices[p] == indices[q]:
                    both += 1
                    p += np.uint64(1)
                    q += np.uint64(1)
                elif indices[p] < indices[q]:
                    p += np.uint64(1)
                else:
                    q += np.uint64(1)
            out[e] = (both + 1.0) / (union - both)


@kernel(parallel=True)
def multiply(indptr, indices, weights, table, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_j w_ij table_j, with one row of ``table`` per vertex."""
    for row in nb.prange(out.shape[0]):
        i = np.uint64(row)
        if out.shape[1] == 1:  # the sum stays in a register; a row would be written at every edge
            total = out.dtype.type(0)
            for e in range(indptr[i], indptr[i + np.uint64(1)]):
                total += weights[e] * table[indices[e], 0]
            out[row, 0] = total
            continue
        for k in range(out.shape[1]):
            out[row, k] = 0
        for e in range(indptr[i], indptr[i + np.uint64(1)]):
            j, w = indices[e], weights[e]
            for k in range(out.shape[1]):
                out[row, k] += w * table[j, k]


@kernel(parallel=True)
def damp(direction, image, grown, free, sums):  # type: ignore[no-untyped-def]
    """image <- free (grown direction - image); sums_bk = Σ direction_ik image_ik over the rows of a block."""
    for b in nb.prange(sums.shape[0]):
        for k in range(sums.shape[1]):
            sums[b, k] = 0
        for i in range(b * ROWS_PER_SUM, min((b + 1) * ROWS_PER_SUM, image.shape[0])):
            for k in range(sums.shape[1]):
                image[i, k] = free[i] * (grown * direction[i, k] - image[i, k])
                sums[b, k] += direction[i, k] * image[i, k]


@kernel(parallel=True)
def advance(rate, direction, image, solution, residual, sums):  # type: ignore[no-untyped-def]
    """solution += rate direction; residual -= rate image; sums_bk = Σ residual_ik² over a block's rows."""
    for b in nb.prange(sums.shape[0]):
        for k in range(sums.shape[1]):
            sums[b, k] = 0
        for i in range(b * ROWS_PER_SUM, min((b + 1) * ROWS_PER_SUM, image.shape[0])):
            for k in range(sums.shape[1]):
                solution[i, k] += rate[k] * direction[i, k]
                residual[i, k] -= rate[k] * image[i, k]
                sums[b, k] += residual[i, k] * residual[i, k]


@kernel(parallel=True)
def turn(ratio, residual, direction):  # type: ignore[no-untyped-def]
    """direction <- ratio direction + residual."""
    for i in nb.prange(direction.shape[0]):
        for k in range(direction.shape[1]):
            direction[i, k] = ratio[k] * direction[i, k] + residual[i, k]


@kernel(parallel=True)
def anchor(reach, arm, label, trust, table):  # type: ignore[no-untyped-def]
    """table_i <- (1 - t_i) (reach table_i + (1 - reach) e_arm(i)) + t_i e_label(i).

    A loop of its own after the product: inside the loop of the product it would slow that down.
    """
    for i in nb.prange(table.shape[0]):
        rest = table.dtype.type(1)
        if label[i] >= 0:
            rest -= trust[i]
        for k in range(table.shape[1]):
            table[i, k] *= rest * reach
        if arm[i] >= 0:
            table[i, arm[i]] += rest * (1 - reach)
        if label[i] >= 0:
            table[i, label[i]] += trust[i]


@kernel(parallel=True)
def choose(table, offsets, out, margin):  # type: ignore[no-untyped-def]
    """The class with the highest share plus offset for every row, and its lead over the second."""
    for i in nb.prange(table.shape[0]):
        best, second = table.dtype.type(-np.inf), table.dtype.type(-np.inf)
        winner = 0
        for k in range(table.shape[1]):
            value = table[i, k] + offsets[k]
            # Without branches: the leading class is unpredictable, and a mispredicted branch costs more.
            winner = k if value > best else winner
            second = max(second, min(best, value))
            best = max(best, value)
        out[i] = winner
        margin[i] = best - second
