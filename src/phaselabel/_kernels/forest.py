"""Labelled rows in, trees as arrays out; trees and rows in, the mean of the leaves that rows end in out."""

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel

#: Values of a column that are nearer to each other are equal.
NEAR = np.float32(1e-7)

#: By how much a split must be better than one that was found before it, relative to it. Many splits of few
#: rows are equally good: the first one is taken, however the compiler rounds.
BETTER = 1e-9

#: The steps of the random numbers (splitmix64, after Steele, Lea and Flood, 2014).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
_UNIT = np.uint64(11)


@kernel(parallel=True, ordered=True)
def grow_trees(  # type: ignore[no-untyped-def]
    rows, classes, weights, seeds, n_tried, extra, feature, threshold, left, right, value, n_nodes
):
    """Tree t, from random numbers of its own, into the t-th row of the arrays of nodes.

    A random forest: every tree sees as many rows as there are, drawn by their weights with replacement, and
    takes the best split of ``n_tried`` random columns. With ``extra``, extremely randomised trees: all rows
    with their weights, and one random threshold for each column. A leaf has one class, or rows that no column
    tells apart.
    """
    n, k = rows.shape[0], value.shape[2]
    reached = np.cumsum(weights)
    for t in nb.prange(seeds.size):
        state = np.empty(1, np.uint64)
        state[0] = seeds[t]
        weight, members = np.zeros(n), np.empty(n, np.int64)
        if extra:
            weight[:] = weights
        else:
            for _ in range(n):
                drawn = np.searchsorted(reached, _unit(state) * reached[n - 1], side="right")
                weight[min(drawn, n - 1)] += 1
        m = 0
        for i in range(n):
            if weight[i] > 0:
                members[m] = i
                m += 1
        begin, end = np.empty(2 * m, np.int64), np.empty(2 * m, np.int64)
        columns, totals = np.arange(rows.shape[1]), np.empty(k)
        begin[0], end[0], made, node = 0, m, 1, 0
        while node < made:
            a, b = begin[node], end[node]
            inside = members[a:b]
            total = _shares(inside, classes, weight, totals)
            for c in range(k):
                value[t, node, c] = totals[c] / total
            column, cut, middle = 0, 0.0, a
            if totals.max() < total:
                column, cut = _split(rows, classes, weight, inside, totals, columns, n_tried, extra, state)
                middle = a + _partition(rows, inside, column, cut)
            feature[t, node], threshold[t, node] = 0, 0.0
            left[t, node] = right[t, node] = -1
            if a < middle < b:
                feature[t, node], threshold[t, node] = column, cut
                left[t, node], right[t, node] = made, made + 1
                begin[made], end[made], begin[made + 1], end[made + 1] = a, middle, middle, b
                made += 2
            node += 1
        n_nodes[t] = made


@kernel(ordered=True)
def _split(  # type: ignore[no-untyped-def]
    rows, classes, weight, members, totals, columns, n_tried, extra, state
):
    """The best column of some random ones, and its threshold; of columns that part no rows, any."""
    column, cut, best, tried = 0, np.inf, 0.0, 0
    values = np.empty(members.size, np.float32)
    while tried < columns.size and (tried < n_tried or best == 0):
        other = tried + _below(state, columns.size - tried)
        columns[tried], columns[other] = columns[other], columns[tried]
        low = high = rows[members[0], columns[tried]]
        for i in range(members.size):
            values[i] = rows[members[i], columns[tried]]
            low, high = min(low, values[i]), max(high, values[i])
        if high - low > NEAR:
            if extra:
                at = low + _unit(state) * (np.float64(high) - low)
                at = np.float64(low) if at >= high else at
                score = _score_at(members, classes, weight, values, at, totals)
            else:
                score, at = _best_cut(members, classes, weight, values, totals)
            if score > best * (1 + BETTER):
                column, cut, best = columns[tried], at, score
        tried += 1
    return column, cut


@kernel(ordered=True)
def _best_cut(members, classes, weight, values, totals):  # type: ignore[no-untyped-def]
    """The score of the best threshold between two values of a column, and that threshold."""
    m = members.size
    bits, keys, lower = values.view(np.uint32), np.empty(m, np.uint64), np.zeros(totals.size)
    for i in range(m):
        # As whole numbers, the bits of floats have the order of the floats: below zero turned round.
        sign = bits[i] >> np.uint32(31)
        flipped = ~bits[i] if sign else bits[i] | np.uint32(0x80000000)
        keys[i] = (np.uint64(flipped) << np.uint64(32)) | np.uint64(i)
    keys.sort()
    below, total, squares_below, squares = 0.0, 0.0, 0.0, 0.0
    for c in range(totals.size):
        total += totals[c]
        squares += totals[c] ** 2
    best, at = 0.0, 0.0
    for i in range(m - 1):
        place = np.int64(keys[i] & np.uint64(0xFFFFFFFF))
        row = members[place]
        w, c = weight[row], classes[row]
        squares_below += w * (2 * lower[c] + w)
        squares += w * (w - 2 * (totals[c] - lower[c]))
        lower[c] += w
        below += w
        value, after = values[place], values[np.int64(keys[i + 1] & np.uint64(0xFFFFFFFF))]
        score = squares_below / below + squares / (total - below)
        if after - value > NEAR and score > best * (1 + BETTER):
            best, at = score, (np.float64(value) + np.float64(after)) / 2
            if at >= after:
                at = np.float64(value)
    return best, at


@kernel(ordered=True)
def _score_at(members, classes, weight, values, at, totals):  # type: ignore[no-untyped-def]
    """The score of one threshold: what Gini's impurity lacks, summed over both sides."""
    lower = np.zeros(totals.size)
    for i in range(members.size):
        if values[i] <= at:
            lower[classes[members[i]]] += weight[members[i]]
    below, above, squares_below, squares = 0.0, 0.0, 0.0, 0.0
    for c in range(totals.size):
        upper = totals[c] - lower[c]
        below += lower[c]
        above += upper
        squares_below += lower[c] ** 2
        squares += upper**2
    return squares_below / below + squares / above


@kernel(ordered=True)
def _partition(rows, members, column, cut):  # type: ignore[no-untyped-def]
    """Members up to the threshold first, the others after them; how many come first."""
    first, last = 0, members.size - 1
    while first <= last:
        if rows[members[first], column] <= cut:
            first += 1
        else:
            members[first], members[last] = members[last], members[first]
            last -= 1
    return first


@kernel(ordered=True)
def _shares(members, classes, weight, totals):  # type: ignore[no-untyped-def]
    """The weight of every class among the members, and of all of them."""
    totals[:] = 0
    for i in range(members.size):
        totals[classes[members[i]]] += weight[members[i]]
    total = 0.0
    for c in range(totals.size):
        total += totals[c]
    return total


@kernel(inline=True)
def _unit(state):  # type: ignore[no-untyped-def]
    """The next random number in [0, 1)."""
    state[0] += _STEP
    z = state[0]
    z = (z ^ (z >> _SHIFT[0])) * _MIX[0]
    z = (z ^ (z >> _SHIFT[1])) * _MIX[1]
    z = z ^ (z >> _SHIFT[2])
    return np.float64(z >> _UNIT) / 9007199254740992.0  # 2⁵³


@kernel(inline=True)
def _below(state, n):  # type: ignore[no-untyped-def]
    """The next random whole number below n."""
    return np.int64(_unit(state) * n)


@kernel(parallel=True)
def leaf_means(rows, roots, feature, threshold, left, right, value, out):  # type: ignore[no-untyped-def]
    """out_i = mean over trees of value[leaf of row i]; a row goes left where it is at most the threshold."""
    for i in nb.prange(rows.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = 0
        for t in range(roots.size):
            node = roots[t]
            while left[node] >= 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            for k in range(out.shape[1]):
                out[i, k] += value[node, k]
        for k in range(out.shape[1]):
            out[i, k] /= roots.size
