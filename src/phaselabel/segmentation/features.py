"""An image in, one row of numbers for every pixel out: the patch around it."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

#: Up to this many bands share one scale, like the colours of a photograph; more are scaled one by one.
COLOURS = 4

#: Cubes of more bands than this are turned to so many principal components before patches are cut.
COMPONENTS = 20

Scale = Literal["auto", "image", "band"]


@dataclass(frozen=True, eq=False)
class Bands:
    """A checked image: ``pixels`` (H, W, B) as given, and what makes each band comparable.

    ``(pixels - offset) * gain`` has values near 0 … 1 (one scale for all bands) or unit variance (a scale for
    each). Nothing is converted before it is needed: a 12-megapixel photograph stays in its bytes.
    """

    pixels: NDArray[Any]
    offset: NDArray[np.float32]
    gain: NDArray[np.float32]
    valid: NDArray[np.bool_] | None

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    @property
    def n_bands(self) -> int:
        """How many numbers a pixel has."""
        return int(self.pixels.shape[2])

    def scaled(self, rows: slice = slice(None)) -> NDArray[np.float32]:
        """Some rows of the image in comparable units."""
        return (self.pixels[rows].astype(np.float32) - self.offset) * self.gain


def as_bands(image: ArrayLike, scale: Scale = "auto", name: str = "image") -> Bands:
    """Check an image and find the scale of its bands.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, B)
        Whole numbers, floats or booleans. Pixels with a value that is masked or not finite are "no data":
        they get no label.
    scale : {"auto", "image", "band"}, default="auto"
        "image" gives all bands one scale, "band" gives each its own; "auto" is "image" for up to four bands.
    name : str
        What to call it in errors.

    Examples
    --------
    >>> as_bands(np.zeros((4, 5), np.uint8)).pixels.shape
    (4, 5, 1)
    """
    if isinstance(image, np.ma.MaskedArray):
        image = np.ma.filled(image.astype(np.float64), np.nan)
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or 0 in pixels.shape:
        raise ValueError(
            f"{name} must have shape (height, width) or (height, width, bands), none of them 0; "
            f"got {np.shape(image)}."
        )
    if pixels.dtype.kind == "b":
        pixels = pixels.view(np.uint8)
    if pixels.dtype.kind not in "uif":
        raise ValueError(f"{name} must hold whole numbers or floats; got {pixels.dtype}.")
    if scale not in ("auto", "image", "band"):
        raise ValueError(f"scale must be 'auto', 'image' or 'band'; got {scale!r}.")
    pixels, valid = _without_gaps(pixels, name)
    if scale == "band" or (scale == "auto" and pixels.shape[2] > COLOURS):
        offset, gain = _band_scales(pixels, valid)
    else:
        offset, gain = _image_scale(pixels, valid)
    if pixels.dtype.itemsize > 4:  # small differences of large numbers, and very large ones, need all bytes
        pixels = ((pixels - offset) * gain).astype(np.float32)
        offset, gain = np.zeros_like(offset), np.ones_like(gain)
    return Bands(pixels, offset.astype(np.float32), gain.astype(np.float32), valid)


def pixel_features(bands: NDArray[np.float32], patch: int = 5, position: float = 0.0) -> NDArray[np.float32]:
    r"""The ``patch`` × ``patch`` neighbourhood of every pixel, all bands appended, borders reflected.

    Divided by :math:`\sqrt{\text{patch}^2 B}`, so that the distance of two rows is the root mean square
    difference of their patches. ``position`` adds two columns, ``position · (row, column) / longer side``: at
    0.2, crossing the whole image counts as much as a change of brightness by a fifth of the full range.

    Parameters
    ----------
    bands : ndarray of shape (H, W, B)
        The image in comparable units.
    patch : int, default=5
        Side of the patch, an odd number; 1 takes the pixel alone.
    position : float, default=0.0
        Weight of the pixel's place.

    Returns
    -------
    ndarray of shape (H·W, patch²·B [+ 2])
        One row per pixel, row by row.

    Examples
    --------
    >>> pixel_features(np.zeros((6, 7, 3), np.float32)).shape
    (42, 75)
    """
    height, width, n_bands = bands.shape
    reach = patch // 2
    # A border wider than the image cannot be one reflection; "reflect" repeats it there and back.
    padded = np.pad(bands, ((reach, reach), (reach, reach), (0, 0)), mode="reflect" if reach else "edge")
    unit = np.float32(1 / np.sqrt(patch * patch * n_bands))
    out = np.empty((height, width, patch * patch * n_bands + 2 * (position > 0)), np.float32)
    for k in range(patch * patch):
        row, column = divmod(k, patch)
        view = padded[row : row + height, column : column + width]
        out[:, :, k * n_bands : (k + 1) * n_bands] = view * unit
    if position > 0:
        pace = position / max(height, width)
        out[:, :, -2] = (np.arange(height) * pace)[:, None]
        out[:, :, -1] = np.arange(width) * pace
    return out.reshape(height * width, -1)


def distinct(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The rows that differ, in the order of their first appearance, and which of them each row is.

    Nothing but its place tells a pixel of a flat area from the next one; a search among thousands of them
    would find ties only.

    Examples
    --------
    >>> rows, which = distinct(np.array([[5, 6], [1, 2], [5, 6]], np.float32))
    >>> rows.tolist(), which.tolist()
    ([[5.0, 6.0], [1.0, 2.0]], [0, 1, 0])
    """
    words = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    _, first, which = np.unique(words.ravel(), return_index=True, return_inverse=True)
    return rows[np.sort(first)], np.argsort(np.argsort(first))[which]


def leading_components(bands: NDArray[np.float32], n_components: int) -> NDArray[np.float32]:
    """The ``n_components`` directions in which the pixels of a cube vary most, as bands of their own."""
    flat = bands.reshape(-1, bands.shape[2])
    centred = flat - flat.mean(axis=0, dtype=np.float64).astype(np.float32)
    _, directions = np.linalg.eigh(np.asarray(centred.T @ centred, np.float64))
    leading = directions[:, ::-1][:, :n_components].astype(np.float32)
    return (centred @ leading).reshape(*bands.shape[:2], -1)


def check_patch(patch: Any, position: Any) -> None:
    """Refuse a patch or a weight that cannot be."""
    if isinstance(patch, bool) or not isinstance(patch, int | np.integer) or patch < 1 or patch % 2 == 0:
        raise ValueError(f"patch must be an odd whole number such as 3, 5 or 7; got {patch!r}.")
    if not isinstance(position, int | float | np.number) or not 0 <= position < np.inf:
        raise ValueError(f"position must be 0 or a positive number; got {position!r}.")


def _without_gaps(pixels: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Give pixels without data the value of the nearest that has some, and say where they are."""
    if pixels.dtype.kind != "f":
        return pixels, None
    valid = np.isfinite(pixels).all(axis=2)
    if valid.all():
        return pixels, None
    if not valid.any():
        raise ValueError(f"{name} has NaN or infinity in every pixel; there is nothing to segment.")
    nearest = ndimage.distance_transform_edt(~valid, return_distances=False, return_indices=True)
    return pixels[tuple(nearest)], valid


def _image_scale(
    pixels: NDArray[Any], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One range for all bands: that of the type for bytes, else the image's own."""
    n_bands = pixels.shape[2]
    if pixels.dtype == np.uint8:
        low, high = 0.0, 255.0
    else:
        seen = pixels if valid is None else pixels[valid]
        low, high = float(seen.min()), float(seen.max())
    gain = 1 / (high - low) if high > low else 1.0
    return np.full(n_bands, low), np.full(n_bands, gain)


def _band_scales(
    pixels: NDArray[Any], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every band; a band that never changes says nothing."""
    means, gains = np.zeros(pixels.shape[2]), np.zeros(pixels.shape[2])
    for b in range(pixels.shape[2]):
        band = pixels[:, :, b] if valid is None else pixels[:, :, b][valid]
        spread = float(band.std(dtype=np.float64))
        means[b] = float(band.mean(dtype=np.float64))
        gains[b] = 1 / spread if spread > 1e-12 * max(abs(means[b]), 1e-300) else 0.0
    return means, gains
