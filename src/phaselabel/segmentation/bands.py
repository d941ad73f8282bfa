"""An image as an array in, its pixels and the scale of its bands out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

#: At most 4 bands share one scale, like the colours of a photograph; more bands are scaled one by one.
MAX_BANDS_WITH_ONE_SCALE = 4

#: The range of an image leaves out 0.5 % of its pixels at either end: hot and dead pixels, for instance.
OUTLIERS = 0.5

#: For the variance of a band, values are clipped that lie outside the range by more than 3 times its width.
FAR_OUTLIERS = 3.0

#: The range is measured on at most about 1,000,000 pixels.
MAX_SAMPLE = 1_000_000

Scale = Literal["auto", "image", "band"]


@dataclass(frozen=True, eq=False)
class Bands:
    """A checked image: ``pixels`` (H, W, B) or (Z, Y, X, B) as given, and what makes each band comparable.

    ``(pixels - offset) * gain`` has values near 0 … 1 (one scale for all bands; outliers lie outside) or unit
    variance (a scale for each). Nothing is converted before it is needed: a 12-megapixel photograph stays in
    its bytes.
    """

    pixels: NDArray[Any]
    offset: NDArray[np.float32]
    gain: NDArray[np.float32]
    valid: NDArray[np.bool_] | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Height and width; depth, height and width of a volume."""
        return self.pixels.shape[:-1]

    @property
    def n_bands(self) -> int:
        """How many numbers a pixel has."""
        return int(self.pixels.shape[-1])

    @property
    def n_pixels(self) -> int:
        """How many pixels there are."""
        return math.prod(self.shape)

    def scaled(self, rows: slice = slice(None)) -> NDArray[np.float32]:
        """Some rows of the image in comparable units."""
        return (self.pixels[rows].astype(np.float32) - self.offset) * self.gain


@dataclass(frozen=True, eq=False)
class BandScale:
    """How pixels of one type become comparable: ``(pixels - offset) * gain``.

    Attributes
    ----------
    offset, gain : ndarray of float64, shape (B,)
        One number for every band.
    dtype : str
        The type of the pixels that it was found on.
    """

    offset: NDArray[np.float64]
    gain: NDArray[np.float64]
    dtype: str

    def fits(self, pixels: NDArray[Any]) -> bool:
        """Whether pixels have this type and number of bands."""
        return pixels.dtype.name == self.dtype and pixels.shape[-1] == len(self.gain)


def as_bands(
    image: ArrayLike,
    scale: Scale = "auto",
    name: str = "image",
    *,
    volume: bool = False,
    known: BandScale | None = None,
) -> Bands:
    """Check an image and find the scale of its bands.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, B)
        Whole numbers, floats or booleans. Pixels with a value that is masked or not finite are "no data":
        they get no label.
    scale : {"auto", "image", "band"}, default="auto"
        "image" gives all bands one scale, "band" gives each its own; "auto" is "image" for at most four
        bands.
    name : str, default="image"
        The name of the parameter in error messages.
    volume : bool, default=False
        Whether the image is (Z, Y, X) or (Z, Y, X, B).
    known : BandScale, optional
        A scale to be used if it fits the type and the number of bands.

    Returns
    -------
    Bands
        The pixels and their scale.

    Examples
    --------
    >>> as_bands(np.zeros((4, 5), np.uint8)).pixels.shape
    (4, 5, 1)
    """
    pixels = _checked(image, name, volume)
    if scale not in ("auto", "image", "band"):
        raise ValueError(f"scale must be 'auto', 'image' or 'band'; got {scale!r}.")
    found = known if known is not None and known.fits(pixels) else None
    pixels, valid = _without_gaps(pixels, name)
    found = found or _found_scale(pixels, valid, scale)
    offset, gain = found.offset, found.gain
    if pixels.dtype.itemsize > 4:  # float32 would lose small differences of large numbers, or overflow
        pixels = ((pixels - offset) * gain).astype(np.float32)
        offset, gain = np.zeros_like(offset), np.ones_like(gain)
    return Bands(pixels, offset.astype(np.float32), gain.astype(np.float32), valid)


def shared_scale(images: Sequence[ArrayLike], scale: Scale = "auto", *, volume: bool = False) -> BandScale:
    """One scale for the bands of several images, found on pixels of all of them.

    Parameters
    ----------
    images : sequence of array-like
        Images as for :func:`as_bands`. Those of another type or number of bands than the first do not count.
    scale : {"auto", "image", "band"}, default="auto"
        As for :func:`as_bands`.
    volume : bool, default=False
        As for :func:`as_bands`.

    Returns
    -------
    BandScale
        The scale.

    Examples
    --------
    >>> shared_scale([np.zeros((4, 5), np.uint8)]).gain.round(6).tolist()
    [0.003922]
    """
    checked = [_checked(image, "image", volume) for image in images]
    alike = [p for p in checked if (p.dtype, p.shape[-1]) == (checked[0].dtype, checked[0].shape[-1])]
    if len(alike) == 1 or alike[0].dtype == np.uint8:
        pixels, valid = _without_gaps(alike[0], "image")
        return _found_scale(pixels, valid, scale)
    flat = [pixels.reshape(-1, pixels.shape[-1]) for pixels in alike]
    step = max(1, sum(map(len, flat)) // MAX_SAMPLE)
    sample = np.concatenate([pixels[::step] for pixels in flat])[:, None]
    pixels, valid = _without_gaps(sample, "image")
    return _found_scale(pixels, valid, scale)


def _checked(image: ArrayLike, name: str, volume: bool) -> NDArray[Any]:
    """The pixels with an axis of bands, of a type that can be computed with."""
    if isinstance(image, np.ma.MaskedArray):
        image = np.ma.filled(image.astype(np.float64), np.nan)
    pixels = np.asarray(image)
    n_axes = 3 if volume else 2
    if pixels.ndim == n_axes:
        pixels = pixels[..., None]
    if pixels.ndim != n_axes + 1 or 0 in pixels.shape:
        axes = "depth, height, width" if volume else "height, width"
        raise ValueError(
            f"{name} must have shape ({axes}) or ({axes}, bands), none of them 0; got {np.shape(image)}."
        )
    if pixels.dtype.kind == "b":  # black and white, as in a picture of bytes
        pixels = pixels.view(np.uint8) * np.uint8(255)
    if pixels.dtype.kind not in "uif":
        raise ValueError(f"{name} must hold whole numbers or floats; got {pixels.dtype}.")
    return pixels


def _found_scale(pixels: NDArray[Any], valid: NDArray[np.bool_] | None, scale: Scale) -> BandScale:
    n_bands = pixels.shape[-1]
    own = scale == "band" or (scale == "auto" and n_bands > MAX_BANDS_WITH_ONE_SCALE)
    offset, gain = (_band_scales if own else _image_scale)(pixels, valid)
    return BandScale(offset, gain, pixels.dtype.name)


def _without_gaps(pixels: NDArray[Any], name: str) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Fill pixels without data with the nearest pixel that has data; return where there is data."""
    if pixels.dtype.kind != "f":
        return pixels, None
    valid = np.isfinite(pixels).all(axis=-1)
    if valid.all():
        return pixels, None
    if not valid.any():
        raise ValueError(f"{name} has NaN or infinity in every pixel; there is nothing to segment.")
    nearest = ndimage.distance_transform_edt(~valid, return_distances=False, return_indices=True)
    return pixels[tuple(nearest)], valid


def _image_scale(
    pixels: NDArray[Any], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One range for all bands: that of the type for bytes, else that of the image without outliers."""
    n_bands = pixels.shape[-1]
    if pixels.dtype == np.uint8:
        low, high = 0.0, 255.0
    else:
        low, high = _range(pixels, valid)
    gain = 1 / (high - low) if high > low else 1.0
    return np.full(n_bands, low), np.full(n_bands, gain)


def _range(pixels: NDArray[Any], valid: NDArray[np.bool_] | None) -> tuple[float, float]:
    """The percentiles ``OUTLIERS`` and ``100 - OUTLIERS``; the full range if these are equal."""
    n_axes = pixels.ndim - 1
    step = math.ceil((math.prod(pixels.shape[:-1]) / MAX_SAMPLE) ** (1 / n_axes) - 1e-9)
    thinned = (slice(None, None, max(1, step)),) * n_axes
    sample = pixels[thinned]
    if valid is not None and valid[thinned].any():
        sample = sample[valid[thinned]]
    low, high = np.percentile(sample, (OUTLIERS, 100 - OUTLIERS)).tolist()
    if high > low:
        return low, high
    # A few bright spots on an even ground are what the image shows.
    with_data = pixels if valid is None else pixels[valid]
    return float(with_data.min()), float(with_data.max())


def _band_scales(
    pixels: NDArray[Any], valid: NDArray[np.bool_] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every band, far outliers clipped; a constant band gets the gain 0."""
    means, gains = np.zeros(pixels.shape[-1]), np.zeros(pixels.shape[-1])
    for b in range(pixels.shape[-1]):
        band = pixels[..., b] if valid is None else pixels[..., b][valid]
        low, high = _range(pixels[..., b : b + 1], valid)
        far = FAR_OUTLIERS * (high - low)
        if band.min() < low - far or band.max() > high + far:
            band = np.clip(band.astype(np.float64), low - far, high + far)
        deviation = float(band.std(dtype=np.float64))
        means[b] = float(band.mean(dtype=np.float64))
        gains[b] = 1 / deviation if deviation > 1e-12 * max(abs(means[b]), 1e-300) else 0.0
    return means, gains
