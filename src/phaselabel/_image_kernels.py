"""The numba function that carries the labels of a small image to a large one: arrays in, arrays out.

It obeys the rules of ``_kernels``.
"""

import numba as nb
import numpy as np

from phaselabel._kernels import _kernel


@_kernel(parallel=True)
def extend_votes(  # type: ignore[no-untyped-def]
    top, bottom, pixels, offset, gain, cell, means, spreads, state, reach, n_classes, arms, heights
):
    """The vote of the solved cells around every pixel of the rows top … bottom, by likeness and nearness.

    ``state`` and ``means`` belong to a grid of cells of ``cell`` × ``cell`` pixels; the cells up to ``reach``
    away have a say of ``r_j exp(-|c - m_j|² / s - (distance in cells)² / 2)``. The height is the winner's
    share of the say minus that of all others.
    """
    width, n_bands = pixels.shape[1:]
    rows, columns = means.shape[:2]
    for line in nb.prange(bottom - top):
        y = top + line
        ballot = np.zeros(n_classes, np.float32)
        value = np.empty(n_bands, np.float32)
        row = y // cell
        for x in range(width):
            column = x // cell
            for b in range(n_bands):
                value[b] = (np.float32(pixels[y, x, b]) - offset[b]) * gain[b]
            ballot[:] = 0
            total = np.float32(0)
            for i in range(max(row - reach, 0), min(row + reach + 1, rows)):
                down = (y + np.float32(0.5)) / cell - i - np.float32(0.5)
                for j in range(max(column - reach, 0), min(column + reach + 1, columns)):
                    right = (x + np.float32(0.5)) / cell - j - np.float32(0.5)
                    gap = np.float32(0)
                    for b in range(n_bands):
                        gap += (value[b] - means[i, j, b]) ** 2
                    # The tiny share keeps a pixel that resembles nobody from being decided by underflow.
                    say = (np.exp(-gap / spreads[row, column]) + np.float32(1e-6)) * np.exp(
                        np.float32(-0.5) * (down * down + right * right)
                    )
                    total += say
                    if state[i, j].arm >= 0:
                        ballot[int(state[i, j].arm)] += say * state[i, j].height
            winner = -1
            best = np.float32(0)
            everyone = np.float32(0)
            for k in range(n_classes):
                everyone += ballot[k]
                if ballot[k] > best:
                    best = ballot[k]
                    winner = k
            arms[y, x] = winner
            heights[y, x] = max(2 * best - everyone, np.float32(0)) / total if total > 0 else 0
