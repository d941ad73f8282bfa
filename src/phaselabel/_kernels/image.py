"""The solved cells of a small image in, a class for every pixel of a large one out: the compiled loop.

It obeys the rules of :mod:`phaselabel._kernels`.
"""

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel

#: Differences above this, in spreads, count as equal to it: exp(-20) is nothing beside ``LEAST_LIKENESS``.
MOST_UNLIKE = np.float32(20)

#: The number of pixels that are worked on side by side is a multiple of this: that of lanes in a vector.
LANES = 8

#: The small constant decides by nearness where no cell is like a pixel.
LEAST_LIKENESS = np.float32(1e-6)


@kernel(inline=True)
def _decay(t):  # type: ignore[no-untyped-def]
    """exp(-t) for t from 0 to 20 as exp(-t / 64)^64: products alone, of which the compiler makes vectors."""
    u = t * np.float32(1 / 64)
    p = np.float32(1) - u * (
        np.float32(1) - u * (np.float32(1 / 2) - u * (np.float32(1 / 6) - u * np.float32(1 / 24)))
    )
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p


@kernel()
def _read_cell(pixels, offset, gain, first, sides, values):  # type: ignore[no-untyped-def]
    """The scaled pixels of the cell that begins at ``first``, one row for every band.

    Those that a cell at the far edge lacks are copies of its last ones.
    """
    depth, height, width, n_bands = pixels.shape
    p = 0
    for dz in range(sides[0]):
        z = min(first[0] + dz, depth - 1)
        for dy in range(sides[1]):
            y = min(first[1] + dy, height - 1)
            for dx in range(sides[2]):
                x = min(first[2] + dx, width - 1)
                for b in range(n_bands):
                    values[b, p] = (np.float32(pixels[z, y, x, b]) - offset[b]) * gain[b]
                p += 1


@kernel()
def _weigh(values, mean, unlike, near, weight, total):  # type: ignore[no-untyped-def]
    """weight = near exp(-unlike |c - mean|²) for the pixels of a cell; total += weight."""
    weight[:] = 0
    for b in range(len(values)):
        m = mean[b]
        for p in range(len(weight)):
            weight[p] += (values[b, p] - m) ** 2
    for p in range(len(weight)):
        like = _decay(min(weight[p] * unlike, MOST_UNLIKE)) + LEAST_LIKENESS
        weight[p] = like * near[p]
        total[p] += weight[p]


@kernel()
def _decide(votes, total, first, sides, arms, heights):  # type: ignore[no-untyped-def]
    """The winner, and its share of the votes minus that of all other classes, for the pixels of a cell."""
    depth, height, width = arms.shape
    for z in range(first[0], min(first[0] + sides[0], depth)):
        for y in range(first[1], min(first[1] + sides[1], height)):
            for x in range(first[2], min(first[2] + sides[2], width)):
                p = ((z - first[0]) * sides[1] + y - first[1]) * sides[2] + x - first[2]
                winner = -1
                best = np.float32(0)
                sum_of_votes = np.float32(0)
                for k in range(len(votes)):
                    sum_of_votes += votes[k, p]
                    if votes[k, p] > best:
                        best = votes[k, p]
                        winner = k
                arms[z, y, x] = winner
                heights[z, y, x] = max(2 * best - sum_of_votes, np.float32(0)) / total[p]


@kernel(parallel=True)
def extend_votes(  # type: ignore[no-untyped-def]
    top, bottom, sides, pixels, offset, gain, means, spreads, state, near, n_classes, arms, heights
):
    """Let the solved cells around every pixel of the rows top … bottom of cells vote on its class.

    All grids have three axes; an image has one plane. ``state`` and ``means`` belong to a grid of cells, each
    of ``sides`` pixels. ``near[h, i, j]`` is the nearness of one of the cells that vote, for every pixel of
    the cell in the middle. Cell j votes for its class with ``r_j near_j exp(-|c - m_j|² / s)``. The height of
    the pixel is the winner's share of the votes minus that of all other classes. The pixels of a cell are
    worked on side by side; ``near`` may have more of them than a cell has.
    """
    planes, rows, columns = means.shape[:3]
    reach = near.shape[0] // 2, near.shape[1] // 2, near.shape[2] // 2
    for line in nb.prange(bottom - top):
        plane, row = (top + line) // rows, (top + line) % rows
        values = np.zeros((pixels.shape[3], near.shape[3]), np.float32)
        votes = np.empty((n_classes, near.shape[3]), np.float32)
        total, weight = np.empty(near.shape[3], np.float32), np.empty(near.shape[3], np.float32)
        for column in range(columns):
            first = plane * sides[0], row * sides[1], column * sides[2]
            _read_cell(pixels, offset, gain, first, sides, values)
            votes[:] = 0
            total[:] = 0
            unlike = np.float32(1) / spreads[plane, row, column]
            for h in range(max(plane - reach[0], 0), min(plane + reach[0] + 1, planes)):
                for i in range(max(row - reach[1], 0), min(row + reach[1] + 1, rows)):
                    for j in range(max(column - reach[2], 0), min(column + reach[2] + 1, columns)):
                        beside = near[h - plane + reach[0], i - row + reach[1], j - column + reach[2]]
                        _weigh(values, means[h, i, j], unlike, beside, weight, total)
                        arm, tall = int(state[h, i, j].arm), state[h, i, j].height
                        if arm >= 0:
                            for p in range(len(weight)):
                                votes[arm, p] += weight[p] * tall
            _decide(votes, total, first, sides, arms, heights)
