"""The solved cells of a small image in, a class for every pixel of a large one out: the compiled loop.

It obeys the rules of :mod:`phaselabel._kernels`.
"""

import numba as nb
import numpy as np

from phaselabel._kernels.compile import kernel


@kernel(parallel=True)
def extend_votes(  # type: ignore[no-untyped-def]
    top, bottom, pixels, offset, gain, cells, means, spreads, state, reaches, n_classes, arms, heights
):
    """Let the solved cells around every pixel of the lines top … bottom vote on its class.

    All grids have three axes; an image has one plane. ``state`` and ``means`` belong to a grid of cells with
    the sides ``cells``. Cell j, at most ``reaches`` cells away along every axis, votes for its class with
    ``r_j exp(-|c - m_j|² / s - (distance in cells)² / 2)``. The height of the pixel is the winner's share of
    the votes minus that of all other classes.
    """
    height, width, n_bands = pixels.shape[1:]
    planes, rows, columns = means.shape[:3]
    for line in nb.prange(bottom - top):
        z = (top + line) // height
        y = (top + line) % height
        votes = np.zeros(n_classes, np.float32)
        value = np.empty(n_bands, np.float32)
        plane = z // cells[0]
        row = y // cells[1]
        for x in range(width):
            column = x // cells[2]
            for b in range(n_bands):
                value[b] = (np.float32(pixels[z, y, x, b]) - offset[b]) * gain[b]
            votes[:] = 0
            total = np.float32(0)
            for h in range(max(plane - reaches[0], 0), min(plane + reaches[0] + 1, planes)):
                deep = (z + np.float32(0.5)) / cells[0] - h - np.float32(0.5)
                for i in range(max(row - reaches[1], 0), min(row + reaches[1] + 1, rows)):
                    down = (y + np.float32(0.5)) / cells[1] - i - np.float32(0.5)
                    for j in range(max(column - reaches[2], 0), min(column + reaches[2] + 1, columns)):
                        right = (x + np.float32(0.5)) / cells[2] - j - np.float32(0.5)
                        gap = np.float32(0)
                        for b in range(n_bands):
                            gap += (value[b] - means[h, i, j, b]) ** 2
                        # The small constant decides by distance where all similarities underflow.
                        weight = (np.exp(-gap / spreads[plane, row, column]) + np.float32(1e-6)) * np.exp(
                            np.float32(-0.5) * (deep * deep + down * down + right * right)
                        )
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
