"""A large image in, a small one to solve on out; and the small solution back to every pixel of the large one.

The small image is made of cells of c × c pixels. A pixel is labelled by a vote of the solved cells around it;
the weight of a cell grows with its height, its nearness and the likeness of its mean to the pixel (joint
bilateral upsampling, Kopf et al. 2007, with heights as the values). Time and memory are spent strip by strip.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from phaselabel._kernels import image as kernels
from phaselabel.flow.star import State
from phaselabel.segmentation.bands import Bands

#: The cells of an image at most 2 cells away vote on a pixel; in a volume those at most 1 cell away.
VOTING_DISTANCES = (2, 2)

#: The least squared difference that counts as unlike, of a full range of 1.
MIN_VARIANCE = 1e-4

#: Lines of pixels in one strip.
STRIP_ROWS = 256


@dataclass(frozen=True, eq=False)
class Cells:
    """The small image: mean and variance of every cell of ``cell`` × ``cell`` (× ``cell``) pixels."""

    cell: int
    means: NDArray[np.float32]
    variances: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of cells; planes, rows and columns of a volume."""
        return self.means.shape[:-1]

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def containing(self, pixels: tuple[NDArray[np.intp], ...]) -> NDArray[np.intp]:
        """The number of the cell of every pixel, cells counted row by row."""
        return np.ravel_multi_index(tuple(axis // self.cell for axis in pixels), self.shape)


def cell_size(n_pixels: int, max_pixels: int, n_axes: int = 2) -> int:
    """The side of the smallest cells of which there are at most ``max_pixels``.

    Examples
    --------
    >>> cell_size(213 * 320, 100_000), cell_size(3000 * 4000, 100_000), cell_size(256**3, 100_000, 3)
    (1, 11, 6)
    """
    share = n_pixels / max_pixels
    root = np.sqrt(share) if n_axes == 2 else share ** (1 / n_axes)
    return max(1, int(np.ceil(root - 1e-9)))


def into_cells(bands: Bands, cell: int) -> Cells:
    """Average the image over cells; those at the far edges may be smaller."""
    if cell == 1:
        pixels = bands.scaled()
        return Cells(1, pixels, np.zeros(pixels.shape[:-1], np.float32))
    starts = [np.arange(0, side, cell) for side in bands.shape]
    means = np.empty((*map(len, starts), bands.n_bands), np.float32)
    variances = np.empty(means.shape[:-1], np.float32)
    widths = [np.diff(np.append(first, side)) for first, side in zip(starts, bands.shape)]
    within = reduce(np.multiply.outer, widths[1:])[..., None]
    for i, top in enumerate(starts[0]):
        strip = bands.scaled(slice(top, top + cell)).astype(np.float64)
        count = strip.shape[0] * within
        mean = _summed(strip.sum(axis=0), starts[1:]) / count
        square = _summed((strip**2).sum(axis=0), starts[1:]) / count
        means[i] = mean
        variances[i] = np.maximum(square - mean**2, 0).sum(axis=-1)
    return Cells(cell, means, variances)


def _summed(values: NDArray[np.float64], starts: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Sums over cells that begin at ``starts`` along the axes."""
    for axis, first in enumerate(starts):
        values = np.add.reduceat(values, first, axis=axis)
    return values


def majority(
    vertices: NDArray[np.integer[Any]], classes: NDArray[np.integer[Any]], n_vertices: int, n_classes: int
) -> NDArray[np.int32]:
    """The most frequent class among the marks of every vertex, -1 for a vertex without marks.

    Parameters
    ----------
    vertices, classes : ndarray of int, shape (n_marks,)
        The vertex and the class of every mark.
    n_vertices, n_classes : int
        How many there are.

    Returns
    -------
    ndarray of int32, shape (n_vertices,)
        A class for every vertex, or -1.

    Examples
    --------
    >>> majority(np.array([0, 0, 0, 2]), np.array([1, 0, 1, 0]), 3, 2).tolist()
    [1, -1, 0]
    """
    marked, inverse = np.unique(vertices, return_inverse=True)
    counts = np.zeros((len(marked), n_classes), np.int32)
    np.add.at(counts, (inverse, classes), 1)
    out = np.full(n_vertices, -1, np.int32)
    out[marked] = counts.argmax(axis=1)
    return out


def extend(
    bands: Bands,
    cells: Cells,
    state: State,
    n_classes: int,
    progress: Callable[[float], object] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Arm and height of every pixel from those of the cells.

    Parameters
    ----------
    bands : Bands
        The large image.
    cells : Cells
        The small image.
    state : State
        Arm and height of every cell, row by row.
    n_classes : int
        Number of arms.
    progress : callable, optional
        Called with the share of the pixels that is done.

    Returns
    -------
    arms : ndarray of int32, shape (H, W) or (Z, Y, X)
        The winner of the vote on every pixel, -1 where no cell has a class.
    heights : ndarray of float32, of the same shape
        Its share of the vote minus that of all others, from 0 to ½.
    """
    if cells.cell == 1:
        return (
            state.arm.reshape(bands.shape).astype(np.int32),
            state.height.reshape(bands.shape).astype(np.float32),
        )
    arms = np.empty(bands.shape, np.int32)
    heights = np.empty(bands.shape, np.float32)
    # A cell on an edge varies more than its texture; the least variance nearby is the texture's.
    texture = ndimage.minimum_filter(cells.variances, size=3, mode="nearest")
    spreads = (2 * texture + MIN_VARIANCE).astype(np.float32)
    flat = len(bands.shape) == 2
    distances = (0, *VOTING_DISTANCES) if flat else (1, 1, 1)
    sides = (1 if flat else cells.cell, cells.cell, cells.cell)
    near = _nearness(sides, distances)
    planes = (slice(None),) if not flat else (None,)
    pixels, packed = bands.pixels[planes], state.packed().reshape(cells.shape)[planes]
    n_rows, strip = math.prod(cells.shape[:-1]), math.ceil(STRIP_ROWS / cells.cell)
    for top in range(0, n_rows, strip):
        bottom = min(top + strip, n_rows)
        kernels.extend_votes(
            top,
            bottom,
            sides,
            pixels,
            bands.offset,
            bands.gain,
            cells.means[planes],
            spreads[planes],
            packed,
            near,
            n_classes,
            arms[planes],
            heights[planes],
        )
        if progress is not None:
            progress(bottom / n_rows)
    return arms, heights


def _nearness(sides: tuple[int, ...], distances: tuple[int, ...]) -> NDArray[np.float32]:
    """exp(-d² / 2) for every cell at most ``distances`` away and every pixel of a cell, d counted in cells.

    Pixels beyond those of a cell have the nearness 0: loops over whole vectors are faster.

    Examples
    --------
    >>> (100 * _nearness((1, 1, 2), (0, 0, 1))[0, 0, :, :3]).round().tolist()
    [[75.0, 46.0, 0.0], [97.0, 97.0, 0.0], [46.0, 75.0, 0.0]]
    """
    along = []
    for side, distance in zip(sides, distances):
        gaps = (np.arange(side) + 0.5) / side - 0.5 - np.arange(-distance, distance + 1)[:, None]
        along.append(np.exp(-0.5 * gaps**2).astype(np.float32))
    near = np.einsum("ax,by,cz->abcxyz", *along).reshape(*map(len, along), -1)
    return np.pad(near, [(0, 0)] * 3 + [(0, -near.shape[-1] % kernels.LANES)])
