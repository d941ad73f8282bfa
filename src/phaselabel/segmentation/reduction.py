"""A large image in, a small one to solve on out; and the small solution back to every pixel of the large one.

The small image is made of cells of c × c pixels. A pixel is then labelled by the solved cells around it, each
heard according to its confidence, its nearness and how much its mean looks like the pixel (joint bilateral
upsampling, Kopf et al. 2007, with heights as the values). Work and memory go strip by strip.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from phaselabel import _image_kernels
from phaselabel.segmentation.features import Bands
from phaselabel.star import State

#: Cells up to this many away have a say about a pixel.
REACH = 2

#: Likeness cannot be told finer than this (squared, of a full range of 1).
FLOOR = 1e-4

#: Rows at a time.
STRIP = 256


@dataclass(frozen=True, eq=False)
class Cells:
    """The small image: mean and variance of every cell of ``cell`` × ``cell`` pixels."""

    cell: int
    means: NDArray[np.float32]
    variances: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return self.means.shape[0], self.means.shape[1]


def cell_size(n_pixels: int, max_pixels: int) -> int:
    """The side of the smallest cells of which there are at most ``max_pixels``.

    Examples
    --------
    >>> cell_size(213 * 320, 100_000), cell_size(3000 * 4000, 100_000)
    (1, 11)
    """
    return max(1, int(np.ceil(np.sqrt(n_pixels / max_pixels) - 1e-9)))


def into_cells(bands: Bands, cell: int) -> Cells:
    """Average the image over cells; those at the right and lower edges may be smaller."""
    height, width = bands.shape
    if cell == 1:
        pixels = bands.scaled()
        return Cells(1, pixels, np.zeros(pixels.shape[:2], np.float32))
    tops, lefts = np.arange(0, height, cell), np.arange(0, width, cell)
    means = np.empty((len(tops), len(lefts), bands.n_bands), np.float32)
    variances = np.empty(means.shape[:2], np.float32)
    widths = np.diff(np.append(lefts, width))
    for i, top in enumerate(tops):
        strip = bands.scaled(slice(top, top + cell)).astype(np.float64)
        count = (strip.shape[0] * widths)[:, None]
        mean = np.add.reduceat(strip.sum(axis=0), lefts, axis=0) / count
        square = np.add.reduceat((strip**2).sum(axis=0), lefts, axis=0) / count
        means[i] = mean
        variances[i] = np.maximum(square - mean**2, 0).sum(axis=1)
    return Cells(cell, means, variances)


def majority(
    at: NDArray[np.integer[Any]], classes: NDArray[np.integer[Any]], n_vertices: int, n_classes: int
) -> NDArray[np.int32]:
    """The class most often marked at every vertex, -1 where none is; ``classes[i]`` is marked at ``at[i]``.

    Examples
    --------
    >>> majority(np.array([0, 0, 0, 2]), np.array([1, 0, 1, 0]), 3, 2).tolist()
    [1, -1, 0]
    """
    vertices, which = np.unique(at, return_inverse=True)
    counts = np.zeros((len(vertices), n_classes), np.int32)
    np.add.at(counts, (which, classes), 1)
    out = np.full(n_vertices, -1, np.int32)
    out[vertices] = counts.argmax(axis=1)
    return out


def extend(
    bands: Bands,
    cells: Cells,
    state: State,
    n_classes: int,
    progress: Callable[[float], object] = lambda share: None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Arm and height of every pixel from those of the cells."""
    height, width = bands.shape
    if cells.cell == 1:
        return (
            state.arm.reshape(height, width).astype(np.int32),
            state.height.reshape(height, width).astype(np.float32),
        )
    arms = np.empty((height, width), np.int32)
    heights = np.empty((height, width), np.float32)
    packed = state.packed().reshape(cells.shape)
    # A cell that an edge runs through varies too much; the calmest one nearby shows the texture.
    calm = ndimage.minimum_filter(cells.variances, size=3, mode="nearest")
    spreads = (2 * calm + FLOOR).astype(np.float32)
    for top in range(0, height, STRIP):
        bottom = min(top + STRIP, height)
        _image_kernels.extend_votes(
            top,
            bottom,
            bands.pixels,
            bands.offset,
            bands.gain,
            cells.cell,
            cells.means,
            spreads,
            packed,
            REACH,
            n_classes,
            arms,
            heights,
        )
        progress(bottom / height)
    return arms, heights
