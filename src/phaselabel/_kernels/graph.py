"""Rows and candidates in, nearest neighbours out; neighbours in, a symmetric graph out: the compiled loops.

They obey the rules of :mod:`phaselabel._kernels`.
"""

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel

#: The index in a list of neighbours where one is still missing.
MISSING = np.iinfo(np.int32).max


@kernel()
def _squared(points, scale, j, queries, query_scale, q):  # type: ignore[no-untyped-def]
    """``|query_q - point_j|²``, both scaled, in the precision of the scales."""
    # One plain loop: leaving early from a far candidate takes four times the time that it saves.
    x = queries[q]
    y = points[j]
    a = query_scale[q]
    b = scale[j]
    total = scale.dtype.type(0)
    for f in range(x.size):
        gap = a * scale.dtype.type(x[f]) - b * scale.dtype.type(y[f])
        total += gap * gap
    return total


@kernel()
def _insert(ids, squares, candidate, square):  # type: ignore[no-untyped-def]
    """Insert a candidate into a list sorted by distance, if it is near enough; ties by row number."""
    p = ids.size - 1
    if square > squares[p] or (square == squares[p] and candidate > ids[p]):
        return
    while p > 0 and (squares[p - 1] > square or (squares[p - 1] == square and ids[p - 1] > candidate)):
        squares[p] = squares[p - 1]
        ids[p] = ids[p - 1]
        p -= 1
    squares[p] = square
    ids[p] = candidate


@kernel(parallel=True)
def rerank(points, scale, queries, query_scale, rows, shortlist, itself, ids, squares):  # type: ignore[no-untyped-def]
    """Sort shortlists by distance in the full dimension: ``shortlist[t]`` belongs to the query ``rows[t]``.

    ``ids`` and ``squares`` receive the result at ``rows[t]``. Candidates out of range are skipped. With
    ``itself`` the queries are the points, and a point is not its own neighbour.
    """
    for t in nb.prange(rows.size):
        q = rows[t]
        ids[q, :] = MISSING
        squares[q, :] = np.inf
        for j in shortlist[t]:
            if 0 <= j < points.shape[0] and not (itself and j == q):
                _insert(ids[q], squares[q], j, _squared(points, scale, j, queries, query_scale, q))


@kernel(parallel=True)
def scan(points, scale, queries, query_scale, rows, itself, ids, squares):  # type: ignore[no-untyped-def]
    """Like :func:`rerank` with all points on the shortlist."""
    for t in nb.prange(rows.size):
        q = rows[t]
        ids[q, :] = MISSING
        squares[q, :] = np.inf
        for j in range(points.shape[0]):
            if not (itself and j == q):
                _insert(ids[q], squares[q], j, _squared(points, scale, j, queries, query_scale, q))


@kernel(parallel=True)
def scan_outside(points, scale, rows, component, ids, squares):  # type: ignore[no-untyped-def]
    """For each of ``rows``, the nearest point of another component."""
    for t in nb.prange(rows.size):
        q = rows[t]
        best = np.inf
        for j in range(points.shape[0]):
            if component[j] != component[q]:
                square = _squared(points, scale, j, points, scale, q)
                if square < best:
                    best = square
                    ids[t] = j
        squares[t] = best


@kernel(parallel=True)
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
    """The nearest of all points by ``|x|² + |y|² - 2 x·y``, the products summed column by column.

    The queries are CSR (``q_``), the points CSC (``c_``).
    """
    n = squares.size
    for b in nb.prange(n_blocks):
        products = np.zeros(n)
        for t in range(b * rows.size // n_blocks, (b + 1) * rows.size // n_blocks):
            q = rows[t]
            ids[q, :] = MISSING
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


@kernel(parallel=True)
def measure_sparse(q_indptr, q_columns, q_data, rows, indptr, columns, data, ids, out):  # type: ignore[no-untyped-def]
    """Recompute squared distances from differences, so that equal rows are at exactly 0, and sort again."""
    for t in nb.prange(rows.size):
        q = rows[t]
        near = ids[q].copy()
        ids[q, :] = MISSING
        out[q, :] = np.inf
        for j in near:
            if not 0 <= j < indptr.size - 1:
                continue
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

#: Queries of one matrix product; with ``_PRODUCT_ROWS`` chosen so that the product stays in the cache.
_PRODUCT_QUERIES = 256
#: Rows of one matrix product.
_PRODUCT_ROWS = 1_024
#: Distances that are compared at once with the last one of a list.
_CHUNK = 32


@kernel()
def _push(ids, squares, candidate, square):  # type: ignore[no-untyped-def]
    """Insert a candidate that is nearer than the last one of a sorted list."""
    p = ids.size - 1
    while p > 0 and squares[p - 1] > square:
        squares[p] = squares[p - 1]
        ids[p] = ids[p - 1]
        p -= 1
    squares[p] = square
    ids[p] = candidate


@kernel()
def _update_list(products, query_square, row_squares, numbers, ids, squares):  # type: ignore[no-untyped-def]
    """Update a list with rows at ``query_square + row_squares - 2 products``; most of them are too far."""
    two = np.float32(2)
    bound = squares[squares.size - 1] - query_square
    for start in range(0, products.size, _CHUNK):
        stop = min(start + _CHUNK, products.size)
        near = np.int32(0)
        for j in range(start, stop):
            near |= np.int32(row_squares[j] - two * products[j] < bound)
        if near:
            for j in range(start, stop):
                if row_squares[j] - two * products[j] < bound:
                    _push(ids, squares, numbers[j], query_square + row_squares[j] - two * products[j])
                    bound = squares[squares.size - 1] - query_square


@kernel()
def _centred(mean, rows, numbers, out, squares):  # type: ignore[no-untyped-def]
    """Some rows minus the mean of a cell, where rounding is small, and their squared lengths."""
    for i in range(numbers.size):
        total = np.float32(0)
        for f in range(mean.size):
            gap = rows[numbers[i], f] - mean[f]
            out[i, f] = gap
            total += gap * gap
        squares[i] = total


@kernel()
def _queries_by_cell(probes, n_cells):  # type: ignore[no-untyped-def]
    """The queries that open cell c, ``ordered[start[c]:start[c + 1]]``; a probe of -1 opens no cell."""
    start = np.zeros(n_cells + 1, np.int64)
    for c in probes.flat:
        if c >= 0:
            start[c + 1] += 1
    start = np.cumsum(start)
    filled = start[:-1].copy()
    ordered = np.empty(probes.size, np.int64)
    for t in range(probes.shape[0]):
        for c in probes[t]:
            if c >= 0:
                ordered[filled[c]] = t
                filled[c] += 1
    return start, ordered


@kernel()
def _open_cells(points, numbers, first, means, queries, probes, ids, squares):  # type: ignore[no-untyped-def]
    """One matrix product for each cell and the queries that open it."""
    n_cells, width = means.shape
    start, ordered = _queries_by_cell(probes, n_cells)
    query_room = np.empty(_PRODUCT_QUERIES * width, np.float32)
    member_room = np.empty(_PRODUCT_ROWS * width, np.float32)
    query_squares, member_squares = (
        np.empty(_PRODUCT_QUERIES, np.float32),
        np.empty(_PRODUCT_ROWS, np.float32),
    )
    product_room = np.empty(_PRODUCT_QUERIES * _PRODUCT_ROWS, np.float32)
    for c in range(n_cells):
        if start[c] == start[c + 1]:
            continue
        for r in range(first[c], first[c + 1], _PRODUCT_ROWS):
            members = np.arange(r, min(r + _PRODUCT_ROWS, first[c + 1]))
            centred_members = member_room[: members.size * width].reshape(members.size, width)
            _centred(means[c], points, members, centred_members, member_squares)
            for a in range(start[c], start[c + 1], _PRODUCT_QUERIES):
                some = ordered[a : min(a + _PRODUCT_QUERIES, start[c + 1])]
                centred_queries = query_room[: some.size * width].reshape(some.size, width)
                _centred(means[c], queries, some, centred_queries, query_squares)
                products = product_room[: some.size * members.size].reshape(some.size, members.size)
                np.dot(centred_queries, centred_members.T, products)
                for i in range(some.size):
                    t = some[i]
                    _update_list(
                        products[i],
                        query_squares[i],
                        member_squares,
                        numbers[r : r + members.size],
                        ids[t],
                        squares[t],
                    )


@kernel(parallel=True)
def scan_cells(points, numbers, first, means, queries, probes, batch, ids, squares):  # type: ignore[no-untyped-def]
    """Update the sorted list of every query with the nearest rows of the cells that it opens.

    ``points`` are sorted by cell, those of cell c start at ``first[c]``; ``numbers`` are their row numbers.
    ``probes`` lists the cells of a query, the nearest first, -1 for none. ``batch`` queries at a time are
    compared with a cell, whatever the number of threads.
    """
    n_blocks = (queries.shape[0] + batch - 1) // batch
    for b in nb.prange(n_blocks):
        block = slice(b * batch, min((b + 1) * batch, queries.shape[0]))
        # After the nearest cell of every query, few candidates of the other cells are near enough to insert.
        for some_probes in (probes[block, :1], probes[block, 1:]):
            _open_cells(
                points, numbers, first, means, queries[block], some_probes, ids[block], squares[block]
            )


# -- from neighbours to a graph ------------------------------------------------------------------------


#: Squares and quotients within these bounds have neither under- nor overflowed.
_TINY, _HUGE = 1e-280, 1e280


@kernel(parallel=True, ordered=True)
def scaled_squares(indices, distances, tau, tau_of_points, out):  # type: ignore[no-untyped-def]
    """out_im = d² / (τ_i τ_j); where one scale is 0 the other replaces it, where both are 0, d itself."""
    for i in nb.prange(indices.shape[0]):
        for m in range(indices.shape[1]):
            d, near, far = distances[i, m], tau[i], tau_of_points[indices[i, m]]
            if near == 0:
                near = far if far > 0 else d
            if far == 0:
                far = near
            if d == 0:
                out[i, m] = 0.0
                continue
            square = d * d / far
            if _TINY < d * d < _HUGE and _TINY < square < _HUGE:
                out[i, m] = min(square / near, _HUGE)
            else:
                out[i, m] = min((d / near) * (d / far), _HUGE)


@kernel(inline=True)
def _lists(indices, i, j):  # type: ignore[no-untyped-def]
    """Whether j is among the neighbours of i."""
    listed = False
    for m in range(indices.shape[1]):
        listed |= indices[i, m] == j
    return listed


@kernel(parallel=True)
def one_sided(indices, blocks, out):  # type: ignore[no-untyped-def]
    """For each vertex, the number of vertices that list it as a neighbour but are not in its own list.

    Every block of vertices reads all lists and counts only for its own vertices: no two blocks write to the
    same entry.
    """
    for b in nb.prange(blocks.size - 1):
        for i in range(indices.shape[0]):
            for m in range(indices.shape[1]):
                j = indices[i, m]
                if blocks[b] <= j < blocks[b + 1] and not _lists(indices, j, i):
                    out[j] += 1


@kernel(parallel=True)
def symmetrize(indices, values, indptr, blocks, filled, out_indices, out_values):  # type: ignore[no-untyped-def]
    """Fill a CSR matrix with every pair of which one is the other's neighbour ("or" symmetry).

    The neighbours of a vertex come first, then the other vertices that list it, in ascending order.
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


@kernel()
def breadth_first_order(indptr, indices):  # type: ignore[no-untyped-def]
    """Vertices in the order of a breadth-first walk, so that neighbours get close numbers."""
    n = indptr.size - 1
    order = np.empty(n, indices.dtype)
    seen = np.zeros(n, np.bool_)
    n_seen = 0
    visited = 0
    for root in range(n):
        if seen[root]:
            continue
        seen[root] = True
        order[n_seen] = root
        n_seen += 1
        while visited < n_seen:
            i = np.uint64(order[visited])
            visited += 1
            for e in range(indptr[i], indptr[i + np.uint64(1)]):
                j = indices[e]
                if not seen[j]:
                    seen[j] = True
                    order[n_seen] = j
                    n_seen += 1
    return order


@kernel(parallel=True)
def renumber(indptr, indices, weights, order, rank, new_indptr, new_indices, new_weights):  # type: ignore[no-untyped-def]
    """The same matrix with vertex ``order[a]`` as number a; the edges of a row keep their order."""
    for a in nb.prange(order.size):
        i = np.uint64(order[a])
        shift = new_indptr[a] - indptr[i]
        for e in range(indptr[i], indptr[i + np.uint64(1)]):
            new_indices[e + shift] = rank[indices[e]]
            new_weights[e + shift] = weights[e]
