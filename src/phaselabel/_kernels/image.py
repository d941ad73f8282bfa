"""The solved cells of a small image in, a class for every pixel of a large one out: the compiled loop.

It obeys the rules of :mod:`phaselabel._kernels`.
"""

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel


@kernel(parallel=True)
def extend_votes(  # type: ignore[no-untyped-def]
    top, bottom, pixels, offset, gain, means, spreads, state, near, n_classes, arms, heights
):
    """Let the solved cells around every pixel of the lines top … bottom vote on its class.

    All grids have three axes; an image has one plane. ``state`` and ``means`` belong to a grid of cells.
    ``near`` has a table for every axis: one row for every place in a cell, one column for every cell that
    votes. Cell j votes for its class with ``r_j exp(-|c - m_j|² / s)``, times its nearness along every axis.
    The height of the pixel is the winner's share of the votes minus that of all other classes.
    """
    height, width, n_bands = pixels.shape[1:]
    planes, rows, columns = means.shape[:3]
    reach = near[0].shape[1] // 2, near[1].shape[1] // 2, near[2].shape[1] // 2
    for line in nb.prange(bottom - top):
        z, y = (top + line) // height, (top + line) % height
        votes = np.zeros(n_classes, np.float32)
        value = np.empty(n_bands, np.float32)
        plane, row = z // near[0].shape[0], y // near[1].shape[0]
        for x in range(width):
            column = x // near[2].shape[0]
            beside = near[2][x - column * near[2].shape[0]]
            for b in range(n_bands):
                value[b] = (np.float32(pixels[z, y, x, b]) - offset[b]) * gain[b]
            votes[:] = 0
            total = np.float32(0)
            unlike = np.float32(-1) / spreads[plane, row, column]
            for h in range(max(plane - reach[0], 0), min(plane + reach[0] + 1, planes)):
                for i in range(max(row - reach[1], 0), min(row + reach[1] + 1, rows)):
                    across = (
                        near[0][z - plane * near[0].shape[0], h - plane + reach[0]]
                        * near[1][y - row * near[1].shape[0], i - row + reach[1]]
                    )
                    for j in range(max(column - reach[2], 0), min(column + reach[2] + 1, columns)):
                        gap = np.float32(0)
                        for b in range(n_bands):
                            gap += (value[b] - means[h, i, j, b]) ** 2
                        # The small constant decides by distance where all similarities underflow.
                        like = np.exp(unlike * gap) + np.float32(1e-6)
                        weight = like * across * beside[j - column + reach[2]]
                        total += weight
                        if state[h, i, j].arm >= 0:
                            votes[int(state[h, i, j].arm)] += weight * state[h, i, j].height
            winner = -1
            best = np.float32(0)
            sum_of_votes = np.float32(0)
            for k in range(n_classes):
                sum_of_votes += votes[k]
                if votes[k] > best:
                    best = votes[k]
                    winner = k
            arms[z, y, x] = winner
            heights[z, y, x] = max(2 * best - sum_of_votes, np.float32(0)) / total if total > 0 else 0
