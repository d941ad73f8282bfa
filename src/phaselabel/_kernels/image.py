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
def decay(t):  # type: ignore[no-untyped-def]
    """exp(-t) for t from 0 to 20, as (exp(-t / 64))^64: products alone, which the compiler makes vectors of."""
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


@kernel(parallel=True)
def extend_votes(  # type: ignore[no-untyped-def]
    top, bottom, sides, pixels, offset, gain, means, spreads, state, near, n_classes, arms, heights
):
    """Let the solved cells around every pixel of the rows top … bottom of cells vote on its class.

    All grids have three axes; an image has one plane. ``state`` and ``means`` belong to a grid of cells, each
    of ``sides`` pixels. ``near[h, i, j]`` is the nearness of one of the cells that vote, for every pixel of
    the cell in the middle. Cell j votes for its class with ``r_j near_j exp(-|c - m_j|² / s)``. The height of
    the pixel is the winner's share of the votes minus that of all other classes.

    The pixels of a cell are worked on side by side. Those that a cell at the far edge lacks are copies of its
    last ones and are not written; nor are those that ``near`` has beyond a cell.
    """
    depth, height, width, n_bands = pixels.shape
    planes, rows, columns = means.shape[:3]
    deep, high, wide = sides
    reach = near.shape[0] // 2, near.shape[1] // 2, near.shape[2] // 2
    n_pixels = near.shape[3]
    for line in nb.prange(bottom - top):
        plane, row = (top + line) // rows, (top + line) % rows
        values = np.zeros((n_bands, n_pixels), np.float32)
        votes = np.empty((n_classes, n_pixels), np.float32)
        total = np.empty(n_pixels, np.float32)
        weight = np.empty(n_pixels, np.float32)
        for column in range(columns):
            p = 0
            for dz in range(deep):
                z = min(plane * deep + dz, depth - 1)
                for dy in range(high):
                    y = min(row * high + dy, height - 1)
                    for dx in range(wide):
                        x = min(column * wide + dx, width - 1)
                        for b in range(n_bands):
                            values[b, p] = (np.float32(pixels[z, y, x, b]) - offset[b]) * gain[b]
                        p += 1
            votes[:] = 0
            total[:] = 0
            unlike = np.float32(1) / spreads[plane, row, column]
            for h in range(max(plane - reach[0], 0), min(plane + reach[0] + 1, planes)):
                for i in range(max(row - reach[1], 0), min(row + reach[1] + 1, rows)):
                    for j in range(max(column - reach[2], 0), min(column + reach[2] + 1, columns)):
                        weight[:] = 0
                        for b in range(n_bands):
                            mean = means[h, i, j, b]
                            for p in range(n_pixels):
                                weight[p] += (values[b, p] - mean) ** 2
                        beside = near[h - plane + reach[0], i - row + reach[1], j - column + reach[2]]
                        for p in range(n_pixels):
                            like = decay(min(weight[p] * unlike, MOST_UNLIKE)) + LEAST_LIKENESS
                            weight[p] = like * beside[p]
                            total[p] += weight[p]
                        arm, tall = int(state[h, i, j].arm), state[h, i, j].height
                        if arm >= 0:
                            for p in range(n_pixels):
                                votes[arm, p] += weight[p] * tall
            for z in range(plane * deep, min((plane + 1) * deep, depth)):
                for y in range(row * high, min((row + 1) * high, height)):
                    for x in range(column * wide, min((column + 1) * wide, width)):
                        p = ((z - plane * deep) * high + y - row * high) * wide + x - column * wide
                        winner = -1
                        best = np.float32(0)
                        sum_of_votes = np.float32(0)
                        for k in range(n_classes):
                            sum_of_votes += votes[k, p]
                            if votes[k, p] > best:
                                best = votes[k, p]
                                winner = k
                        arms[z, y, x] = winner
                        heights[z, y, x] = max(2 * best - sum_of_votes, np.float32(0)) / total[p]
