"""The numba functions that find neighbours and make a graph of them: arrays in, arrays out.

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


# -- shortlists from cells -----------------------------------------------------------------------------

#: Queries and rows of one matrix product, which shall stay in the cache.
_TALL, _WIDE = 256, 1_024
#: Distances that are compared with the last of a list at once.
_CHUNK = 32


@_kernel()
def _push(ids, squares, candidate, square):  # type: ignore[no-untyped-def]
    """Put a candidate that is nearer than the last of a list in its place."""
    p = ids.size - 1
    while p > 0 and squares[p - 1] > square:
        squares[p] = squares[p - 1]
        ids[p] = ids[p - 1]
        p -= 1
    squares[p] = square
    ids[p] = candidate


@_kernel()
def _keep(products, lead, tails, names, ids, squares):  # type: ignore[no-untyped-def]
    """Update a list with the rows at ``lead + tails - 2 products``, most of which are too far."""
    two = np.float32(2)
    bound = squares[squares.size - 1] - lead
    for start in range(0, products.size, _CHUNK):
        stop = min(start + _CHUNK, products.size)
        near = np.int32(0)
        for j in range(start, stop):
            near |= np.int32(tails[j] - two * products[j] < bound)
        if near:
            for j in range(start, stop):
                if tails[j] - two * products[j] < bound:
                    _push(ids, squares, names[j], lead + tails[j] - two * products[j])
                    bound = squares[squares.size - 1] - lead


@_kernel()
def _seen_from(mean, rows, numbers, out, squares):  # type: ignore[no-untyped-def]
    """Some rows as seen from a cell's mean, where rounding is small, and their squared lengths."""
    for i in range(numbers.size):
        total = np.float32(0)
        for f in range(mean.size):
            gap = rows[numbers[i], f] - mean[f]
            out[i, f] = gap
            total += gap * gap
        squares[i] = total


@_kernel()
def _askers(probes, n_cells):  # type: ignore[no-untyped-def]
    """Who opens which cell: the queries of cell c are ``asked[start[c]:start[c + 1]]``; nobody opens -1."""
    start = np.zeros(n_cells + 1, np.int64)
    for c in probes.flat:
        if c >= 0:
            start[c + 1] += 1
    start = np.cumsum(start)
    filled = start[:-1].copy()
    asked = np.empty(probes.size, np.int64)
    for t in range(probes.shape[0]):
        for c in probes[t]:
            if c >= 0:
                asked[filled[c]] = t
                filled[c] += 1
    return start, asked


@_kernel()
def _open_cells(points, names, first, means, queries, probes, ids, squares):  # type: ignore[no-untyped-def]
    """One matrix product for each cell and those who open it."""
    n_cells, width = means.shape
    start, asked = _askers(probes, n_cells)
    near, far = np.empty(_TALL * width, np.float32), np.empty(_WIDE * width, np.float32)
    leads, tails = np.empty(_TALL, np.float32), np.empty(_WIDE, np.float32)
    room = np.empty(_TALL * _WIDE, np.float32)
    for c in range(n_cells):
        if start[c] == start[c + 1]:
            continue
        for r in range(first[c], first[c + 1], _WIDE):
            members = np.arange(r, min(r + _WIDE, first[c + 1]))
            theirs = far[: members.size * width].reshape(members.size, width)
            _seen_from(means[c], points, members, theirs, tails)
            for a in range(start[c], start[c + 1], _TALL):
                some = asked[a : min(a + _TALL, start[c + 1])]
                ours = near[: some.size * width].reshape(some.size, width)
                _seen_from(means[c], queries, some, ours, leads)
                products = room[: some.size * members.size].reshape(some.size, members.size)
                np.dot(ours, theirs.T, products)
                for i in range(some.size):
                    t = some[i]
                    _keep(products[i], leads[i], tails, names[r : r + members.size], ids[t], squares[t])


@_kernel(parallel=True)
def scan_cells(points, names, first, means, queries, probes, together, ids, squares):  # type: ignore[no-untyped-def]
    """Put the nearest rows of the cells that each query opens in its list, which is in order already.

    ``points`` are sorted by cell, those of cell c start at ``first[c]``; ``names`` are their numbers.
    ``probes`` names the cells, the nearest first, -1 for none. So many queries as ``together`` says are
    compared with a cell at once, whatever the number of threads.
    """
    n_blocks = (queries.shape[0] + together - 1) // together
    for b in nb.prange(n_blocks):
        mine = slice(b * together, min((b + 1) * together, queries.shape[0]))
        # After everybody's own cell few candidates of the others are near enough to be inserted.
        for part in (probes[mine, :1], probes[mine, 1:]):
            _open_cells(points, names, first, means, queries[mine], part, ids[mine], squares[mine])


# -- from neighbours to a graph ------------------------------------------------------------------------


@_kernel(parallel=True)
def scaled_squares(indices, distances, tau, tau_of_points, out):  # type: ignore[no-untyped-def]
    """out_im = d² / (τ_i τ_j); where one scale is 0 the other stands in for it, where both are, d itself."""
    for i in nb.prange(indices.shape[0]):
        for m in range(indices.shape[1]):
            d, near, far = distances[i, m], tau[i], tau_of_points[indices[i, m]]
            if near == 0:
                near = far if far > 0 else d
            if far == 0:
                far = near
            # Ratios first: a product of scales may over- or underflow where the quotient is harmless.
            out[i, m] = (d / near) * (d / far) if d > 0 else 0.0


@_kernel(inline=True)
def _lists(indices, i, j):  # type: ignore[no-untyped-def]
    """Whether j is among the neighbours of i."""
    found = False
    for m in range(indices.shape[1]):
        found |= indices[i, m] == j
    return found


@_kernel(parallel=True)
def one_sided(indices, blocks, out):  # type: ignore[no-untyped-def]
    """For each vertex, how many vertices count it as a neighbour without being its neighbour.

    Every block of vertices goes through all lists and minds only its own: nobody writes for others.
    """
    for b in nb.prange(blocks.size - 1):
        for i in range(indices.shape[0]):
            for m in range(indices.shape[1]):
                j = indices[i, m]
                if blocks[b] <= j < blocks[b + 1] and not _lists(indices, j, i):
                    out[j] += 1


@_kernel(parallel=True)
def symmetrize(indices, values, indptr, blocks, filled, out_indices, out_values):  # type: ignore[no-untyped-def]
    """Fill a CSR matrix with every pair of which one is the other's neighbour ("or" symmetry).

    A vertex's own neighbours come first, then those who count it as theirs, in the order of their numbers.
    """
    for b in nb.prange(blocks.size - 1):
        for i in range(blocks[b], blocks[b + 1]):
            for m in range(indices.shape[1]):
                out_indices[indptr[i] + m] = indices[i, m]
                out_values[indptr[i] + m] = values[i, m]
            filled[i] = indptr[i] + indices.shape[1]
        for i in range(indices.shape[0]):
            for m in range(indices.shape[1]):
                j = indices[i, m]
                if blocks[b] <= j < blocks[b + 1] and not _lists(indices, j, i):
                    out_indices[filled[j]] = i
                    out_values[filled[j]] = values[i, m]
                    filled[j] += 1


@_kernel()
def breadth_first_order(indptr, indices):  # type: ignore[no-untyped-def]
    """Vertices in the order of a breadth-first walk, so that neighbours get close numbers."""
    n = indptr.size - 1
    order = np.empty(n, indices.dtype)
    seen = np.zeros(n, np.bool_)
    found = 0
    visited = 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        order[found] = root
        found += 1
        while visited < found:
            i = np.uint64(order[visited])
            visited += 1
            for e in range(indptr[i], indptr[i + np.uint64(1)]):
                j = indices[e]
                if not seen[j]:
                    seen[j] = True
                    order[found] = j
                    found += 1
    return order


@_kernel(parallel=True)
def renumber(indptr, indices, weights, order, rank, new_indptr, new_indices, new_weights):  # type: ignore[no-untyped-def]
    """The same matrix with vertex ``order[a]`` as number a; a row's edges keep their order."""
    for a in nb.prange(order.size):
        i = np.uint64(order[a])
        shift = new_indptr[a] - indptr[i]
        for e in range(indptr[i], indptr[i + np.uint64(1)]):
            new_indices[e + shift] = rank[indices[e]]
            new_weights[e + shift] = weights[e]
