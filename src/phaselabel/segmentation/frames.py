"""Images in, one row of looks for every cell of all of them out: what pixels are compared by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from phaselabel.segmentation.bands import Bands
from phaselabel.segmentation.cells import Cells
from phaselabel.segmentation.color import to_lab
from phaselabel.segmentation.features import MAX_PATCH_BANDS, pixel_features
from phaselabel.segmentation.marks import Marks
from phaselabel.segmentation.scales import N_TEXTURES, SIGMAS, multi_scale, n_far_columns

#: Colours are compared in CIELAB, or as they are.
Color = Literal["auto", "lab", "bands"]

#: Gaussians of at least this width see the texture around a cell instead of the cell.
WIDE_SIGMA = 4.0

#: The weights that position="auto" chooses from.
POSITIONS = (0.2, 0.4, 0.8)

#: position="auto" is this over the mean distance of a cell to the nearest mark, in longer sides.
POSITION_TIMES_DISTANCE = 0.008


@dataclass(frozen=True, eq=False)
class Looks:
    """How the cells of an image become rows of numbers; the same way for every image of a model.

    Attributes
    ----------
    patch : int
        Side of the patch, in cells.
    lab : bool
        Whether the first three bands are colours to be compared in CIELAB.
    ready : bool
        Whether the bands are ready-made features, which are taken as they are.
    mean, directions : ndarray
        The leading components of cubes with many bands; empty for other images.
    """

    patch: int
    lab: bool
    ready: bool
    mean: NDArray[np.float32]
    directions: NDArray[np.float32]

    @classmethod
    def of(cls, frames: Sequence[Cells], patch: int, *, lab: bool, ready: bool) -> "Looks":
        """Find the leading components of the cells of all images, if there are many bands."""
        n_bands = frames[0].means.shape[-1]
        if ready or n_bands <= MAX_PATCH_BANDS:
            return cls(patch, lab, ready, np.zeros(0, np.float32), np.zeros((0, 0), np.float32))
        flat = np.concatenate([cells.means.reshape(-1, n_bands) for cells in frames])
        mean = flat.mean(axis=0, dtype=np.float64).astype(np.float32)
        centred = flat - mean
        _, vectors = np.linalg.eigh(np.asarray(centred.T @ centred, np.float64))
        leading = np.ascontiguousarray(vectors[:, ::-1][:, :MAX_PATCH_BANDS], np.float32)
        return cls(patch, lab, ready, mean, leading)

    def bands(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """The bands that patches and scales are made of."""
        if self.lab:
            colors = to_lab(means[..., :3])
            return colors if means.shape[-1] == 3 else np.concatenate([colors, means[..., 3:]], axis=-1)
        if self.directions.size:
            return np.asarray((means - self.mean) @ self.directions)
        return means

    def rows(self, bands: NDArray[np.float32]) -> NDArray[np.float32]:
        """The patch around every cell: what the neighbours in the graph are found by."""
        return pixel_features(bands, 1 if self.ready else self.patch)

    def scales(self, bands: NDArray[np.float32]) -> NDArray[np.float32]:
        """The bands and their surroundings at several scales: what models of the cells are fitted to."""
        flat = bands.reshape(-1, bands.shape[-1])
        if self.ready:
            return flat
        features = multi_scale(bands)
        return np.concatenate([flat, features.reshape(len(flat), -1)], axis=1)

    @property
    def has_textures(self) -> bool:
        """Whether wide windows describe textures: those of pictures do, not those of cubes."""
        return not self.ready and not self.directions.size

    def near_columns(self, n_columns: int) -> int:
        """How many of the first columns of :meth:`scales` describe a cell and its near surroundings."""
        return n_columns if self.ready else n_columns - n_far_columns(n_bands_of(n_columns))


def n_bands_of(n_columns: int) -> int:
    """The number of bands, from that of all columns: bands, textures, and as many for every width."""
    n_widths = len(SIGMAS) + 1
    return (n_columns - N_TEXTURES - n_far_columns(0) * n_widths) // (n_widths + 1)


def texture_columns(n_columns: int) -> NDArray[np.intp]:
    """The columns of :meth:`Looks.scales` that tell textures apart: strengths, and the wider Gaussians.

    Examples
    --------
    >>> texture_columns(1 + 6 + 5 * 4).tolist()
    [1, 2, 3, 4, 5, 6, 15, 16, 17, 18, 19, 20, 21, 22]
    """
    n_bands = n_bands_of(n_columns)
    first, width = n_bands + N_TEXTURES, n_far_columns(n_bands)
    wide = [first + k * width + np.arange(width) for k, sigma in enumerate(SIGMAS) if sigma >= WIDE_SIGMA]
    return np.concatenate([np.arange(n_bands, first), *wide])


@dataclass(frozen=True, eq=False)
class Frame:
    """One image of a model.

    Attributes
    ----------
    shown : Bands
        The image.
    bands : Bands
        What pixels are compared by: the image, or ready-made features.
    cells : Cells
        ``bands`` averaged over cells.
    """

    shown: Bands
    bands: Bands
    cells: Cells

    @property
    def places(self) -> NDArray[np.float32]:
        """Row and column of every cell, in longer sides."""
        shape = self.cells.shape
        axes = np.meshgrid(*[np.arange(side, dtype=np.float32) for side in shape], indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1) / np.float32(max(shape))

    def marked_cells(self, marks: Marks) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """The cell and the class number of every marked pixel."""
        pixels = np.nonzero(marks.labels > 0)
        return self.cells.containing(pixels), marks.labels[pixels]

    def distances(self, cells: NDArray[np.intp]) -> NDArray[np.float64]:
        """The distance of every cell to the nearest of some cells, in longer sides; 1 without any."""
        unmarked = np.ones(self.cells.n_cells, bool)
        unmarked[cells] = False
        if unmarked.all():
            return np.ones(len(unmarked))
        far = ndimage.distance_transform_edt(unmarked.reshape(self.cells.shape))
        return np.asarray(far.ravel() / max(self.cells.shape))


def chosen_position(distance: float) -> float:
    """The weight of the place for marks at a mean distance: 0, or the nearest of ``POSITIONS``.

    Examples
    --------
    >>> chosen_position(0.2), chosen_position(0.03), chosen_position(0.005)
    (0.0, 0.2, 0.8)
    """
    weight = POSITION_TIMES_DISTANCE / max(distance, 1e-9)
    if weight < POSITIONS[0]:
        return 0.0
    return min(POSITIONS, key=lambda level: abs(np.log(level / min(weight, POSITIONS[-1]))))


def is_volume(image: ArrayLike, marks: Any) -> bool:
    """Whether image and marks are of depth, height and width.

    Four axes are; with three axes the marks decide, because (H, W, B) has marks of shape (H, W).

    Examples
    --------
    >>> is_volume(np.zeros((4, 5, 6)), np.zeros((4, 5, 6), int)), is_volume(np.zeros((4, 5, 6)), None)
    (True, False)
    """
    shape = np.shape(image)
    marked = np.shape(marks.labels if isinstance(marks, Marks) else marks) if marks is not None else ()
    return len(shape) == 4 or (len(shape) == 3 and marked == shape and marked[2] not in (3, 4))
