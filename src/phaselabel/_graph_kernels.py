"""The numba functions that find neighbours: arrays in, arrays out.

They obey the rules of ``_kernels``.
"""

import numba as nb
import numpy as np

from phaselabel._kernels import _kernel

#: Stands where a neighbour is still missing.
NOBODY = np.iinfo(np.int32).max


@_kernel()
def _squared(points, scale, j, queries, query_scale, q):  # type: ignore[no-untyped-def]
    """``|query_q - point_j|²``, both scaled, in the precision of the scales."""
    # One plain loop: leaving early from a far candidate costs four times what it saves.
    x = queries[q]
    y = points[j]
    a = query_scale[q]
    b = scale[j]
    total = scale.dtype.type(0)
    for f in range(x.size):
        gap = a * scale.dtype.type(x[f]) - b * scale.dtype.type(y[f])
        total += gap * gap
    return total


@_kernel()
def _insert(ids, squares, candidate, square):  # type: ignore[no-untyped-def]
    """Keep the nearest candidates in order; equal distances in the order of their numbers."""
    p = ids.size - 1
    if square > squares[p] or (square == squares[p] and candidate > ids[p]):
        return
    while p > 0 and (squares[p - 1] > square or (squares[p - 1] == square and ids[p - 1] > candidate)):
        squares[p] = squares[p - 1]
        ids[p] = ids[p - 1]
        p -= 1
    squares[p] = square
    ids[p] = candidate


@_kernel(parallel=True)
def rerank(points, scale, queries, query_scale, rows, shortlist, itself, ids, squares):  # type: ignore[no-untyped-def]
    """The nearest of every shortlist, in the full dimension: entry t is about the query ``rows[t]``.

    ``ids`` and ``squares`` receive the result at ``rows[t]``. Candidates out of range are gaps in the list;
    with ``itself`` a query is a point, too, and not its own neighbour.
    """
    for t in nb.prange(rows.size):
        q = rows[t]
        ids[q, :] = NOBODY
        squares[q, :] = np.inf
        for j in shortlist[t]:
            if 0 <= j < points.shape[0] and not (itself and j == q):
                _insert(ids[q], squares[q], j, _squared(points, scale, j, queries, query_scale, q))


@_kernel(parallel=True)
def scan(points, scale, queries, query_scale, rows, itself, ids, squares):  # type: ignore[no-untyped-def]
    """Like :func:`rerank` with everybody on the shortlist."""
    for t in nb.prange(rows.size):
        q = rows[t]
        ids[q, :] = NOBODY
        squares[q, :] = np.inf
        for j in range(points.shape[0]):
            if not (itself and j == q):
                _insert(ids[q], squares[q], j, _squared(points, scale, j, queries, query_scale, q))


@_kernel(parallel=True)
def scan_outside(points, scale, rows, part, ids, squares):  # type: ignore[no-untyped-def]
    """For each of ``rows``, the nearest point of another part."""
    for t in nb.prange(rows.size):
        q = rows[t]
        best = np.inf
        for j in range(points.shape[0]):
            if part[j] != part[q]:
                square = _squared(points, scale, j, points, scale, q)
                if square < best:
                    best = square
                    ids[t] = j
        squares[t] = best


@_kernel(parallel=True)
def scan_sparse(  # type: ignore[no-untyped-def]
    q_indptr,
    q_columns,
    q_data,
    rows,
    c_indptr,
    c_rows,
    c_data,
    squares,
    q_squares,
    itself,
    n_blocks,
    ids,
    out,
):
    """The nearest of all points by ``|x|² + |y|² - 2 x·y``, the products taken column by column."""
    n = squares.size
    for b in nb.prange(n_blocks):
        products = np.zeros(n)
        for t in range(b * rows.size // n_blocks, (b + 1) * rows.size // n_blocks):
            q = rows[t]
            ids[q, :] = NOBODY
            out[q, :] = np.inf
            for e in range(q_indptr[q], q_indptr[q + 1]):
                x = q_data[e]
                for g in range(c_indptr[q_columns[e]], c_indptr[q_columns[e] + 1]):
                    products[c_rows[g]] += x * c_data[g]
            for j in range(n):
                square = max(q_squares[q] + squares[j] - 2 * products[j], 0.0)
                products[j] = 0
                if square <= out[q, out.shape[1] - 1] and not (itself and j == q):
                    _insert(ids[q], out[q], np.int32(j), square)


@_kernel(parallel=True)
def measure_sparse(q_indptr, q_columns, q_data, rows, indptr, columns, data, ids, out):  # type: ignore[no-untyped-def]
    """Replace the squared distances by those from differences, so that equal rows are at exactly 0."""
    for t in nb.prange(rows.size):
        q = rows[t]
        near = ids[q].copy()
        ids[q, :] = NOBODY
        out[q, :] = np.inf
        for j in near:
            total = 0.0
            e = q_indptr[q]
            g = indptr[j]
            while e < q_indptr[q + 1] or g < indptr[j + 1]:
                left = q_columns[e] if e < q_indptr[q + 1] else np.iinfo(np.int64).max
                right = columns[g] if g < indptr[j + 1] else np.iinfo(np.int64).max
                gap = 0.0
                if left <= right:
                    gap += q_data[e]
                    e += 1
                if right <= left:
                    gap -= data[g]
                    g += 1
                total += gap * gap
            _insert(ids[q], out[q], j, total)
