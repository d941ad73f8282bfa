"""The images of a model in, the rows of all their cells and the pairs of cells that touch out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.segmentation.bands import Bands, BandScale, Scale, as_bands, shared_scale
from phaselabel.segmentation.cells import cell_size, into_cells
from phaselabel.segmentation.frames import Color, Frame, Looks
from phaselabel.segmentation.grid import Touching


@dataclass(frozen=True, eq=False)
class Images:
    """All images of a model, reduced to cells.

    Attributes
    ----------
    frames : list of Frame
        The images.
    scale : BandScale
        The scale that they share.
    looks : Looks
        How cells become rows.
    rows, scales : ndarray of float32, shape (n_cells, d)
        What cells are compared by, and what models of the cells are fitted to.
    touching : Touching
        The pairs of cells that touch.
    """

    frames: list[Frame]
    scale: BandScale
    looks: Looks
    rows: NDArray[np.float32]
    scales: NDArray[np.float32]
    touching: Touching

    @classmethod
    def of(
        cls,
        images: list[Any],
        ready: list[Any] | None,
        *,
        patch: int,
        color: Color,
        scale: Scale,
        max_pixels: int,
        volume: bool,
    ) -> "Images":
        """Reduce images, or ready-made features of them, to at most ``max_pixels`` cells."""
        shared = shared_scale(images, scale, volume=volume)
        shown = [as_bands(image, scale, volume=volume, known=shared) for image in images]
        bands = shown
        if ready is not None:
            if len(ready) != len(images):
                raise ValueError(f"There are {len(images)} images and {len(ready)} arrays of features.")
            bands = [ready_made(one, like, scale, volume) for one, like in zip(ready, shown)]
        if len({one.n_bands for one in bands}) > 1:
            raise ValueError(
                f"All images must have the same number of bands; got {[one.n_bands for one in bands]}."
            )
        total = sum(one.n_pixels for one in bands)
        cell = cell_size(total, max_pixels, len(bands[0].shape))
        frames = [Frame(s, b, into_cells(b, cell)) for s, b in zip(shown, bands)]
        # The patch keeps its size in the image: a patch of 5 × 5 cells would blur every outline by two cells.
        patch = 2 * round(patch // 2 / cell) + 1
        lab = ready is None and _compares_colors(color, scale, bands[0].n_bands)
        looks = Looks.of([frame.cells for frame in frames], patch, lab=lab, ready=ready is not None)
        base = [looks.bands(frame.cells.means) for frame in frames]
        rows = np.concatenate([looks.rows(one) for one in base])
        scales = np.concatenate([looks.scales(one) for one in base])
        return cls(frames, shared, looks, rows, scales, Touching.of(base))

    @property
    def places(self) -> NDArray[np.float32]:
        """Row and column of every cell in its image, in longer sides."""
        return np.concatenate([frame.places for frame in self.frames])


def ready_made(features: ArrayLike, shown: Bands, scale: Scale, volume: bool) -> Bands:
    """Ready-made features of an image; those of another size are refused."""
    bands = as_bands(features, "image" if scale == "auto" else scale, "features", volume=volume)
    if bands.shape != shown.shape:
        raise ValueError(
            f"features must have the image's height and width, {shown.shape}; got {bands.shape}."
        )
    return bands


def _compares_colors(color: Color, scale: Scale, n_bands: int) -> bool:
    if color == "auto":
        return n_bands in (3, 4) and scale != "band"
    if color == "lab" and n_bands < 3:
        raise ValueError(f"color='lab' needs three bands; the image has {n_bands}: use color='auto'.")
    return color == "lab"
