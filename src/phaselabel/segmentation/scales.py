"""An image in comparable units in, features of every pixel at several scales out: colour, edges, texture."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

#: The widths of the Gaussians, in pixels of the image or in cells.
SIGMAS = (1.0, 2.0, 4.0, 8.0)

#: So wide a Gaussian describes what is around an object more than the object itself.
FAR_SIGMA = 16.0

#: The widths at which the strength of the texture is measured.
TEXTURE_SIGMAS = (1.0, 2.0, 4.0)

#: The strength of a texture is averaged over these multiples of its width.
TEXTURE_WINDOWS = (2.5, 5.0)

#: The number of columns that describe the texture.
N_TEXTURES = len(TEXTURE_SIGMAS) * len(TEXTURE_WINDOWS)

#: A texture of one width is what two Gaussians differ by, narrower and wider by this factor.
TEXTURE_BAND = 1.5

#: The structure tensor is averaged over this multiple of the width.
TENSOR_WINDOW = 1.5

#: Differences between neighbouring pixels are small beside those of colours; this makes them comparable.
EDGE_GAIN = 2.0

#: A Gaussian ends after this multiple of its width.
TRUNCATE = 3.0


def multi_scale(bands: NDArray[np.float32]) -> NDArray[np.float32]:
    """Smoothed bands at several scales; the slope, the structure tensor and the texture of the first band.

    Parameters
    ----------
    bands : ndarray of shape (H, W, B) or (Z, Y, X, B)
        The image in comparable units; the first band is the lightness, or the leading component.

    Returns
    -------
    ndarray of float32, shape (H, W, d) or (Z, Y, X, d)
        For each of ``TEXTURE_SIGMAS`` and of ``TEXTURE_WINDOWS`` the root mean square of the band of that
        width in the window. For each of ``SIGMAS``, and for ``FAR_SIGMA`` in the last columns, the smoothed
        bands, the length of the gradient times the width, and the roots of the largest and the smallest
        eigenvalue of the structure tensor.

    Examples
    --------
    >>> multi_scale(np.zeros((6, 7, 3), np.float32)).shape
    (6, 7, 36)
    """
    first = bands[..., 0]
    slopes = _gradient(_smooth(first, SIGMAS[0]))
    columns: list[NDArray[np.floating]] = []
    for sigma in TEXTURE_SIGMAS:
        square = (_smooth(first, sigma / TEXTURE_BAND) - _smooth(first, sigma * TEXTURE_BAND)) ** 2
        for window in TEXTURE_WINDOWS:
            columns.append(EDGE_GAIN * np.sqrt(np.maximum(_smooth(square, window * sigma), 0)))
    for sigma in (*SIGMAS, FAR_SIGMA):
        smooth = [_smooth(bands[..., b], sigma) for b in range(bands.shape[-1])]
        columns += smooth
        columns.append(np.float32(sigma) * np.sqrt(sum(part**2 for part in _gradient(smooth[0]))))
        columns += [EDGE_GAIN * np.sqrt(np.maximum(value, 0)) for value in _tensor_extremes(slopes, sigma)]
    return np.stack(columns, axis=-1).astype(np.float32, copy=False)


def n_far_columns(n_bands: int) -> int:
    """How many of the last columns of :func:`multi_scale` belong to ``FAR_SIGMA``."""
    return n_bands + 3


def _smooth(band: NDArray[np.float32], sigma: float) -> NDArray[np.float32]:
    smooth: NDArray[np.float32] = ndimage.gaussian_filter(band, sigma, truncate=TRUNCATE)
    return smooth


def _gradient(band: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Central differences along every axis; 0 along an axis of one pixel."""
    return [
        np.gradient(band, axis=axis) if band.shape[axis] > 1 else np.zeros_like(band)
        for axis in range(band.ndim)
    ]


def _tensor_extremes(slopes: list[NDArray[np.float32]], sigma: float) -> list[NDArray[np.floating]]:
    """The largest and the smallest eigenvalue of the structure tensor, 2 × 2 or 3 × 3."""
    n_axes = len(slopes)
    tensor = np.empty((*slopes[0].shape, n_axes, n_axes), np.float32)
    for i in range(n_axes):
        for j in range(i, n_axes):
            tensor[..., i, j] = tensor[..., j, i] = _smooth(slopes[i] * slopes[j], TENSOR_WINDOW * sigma)
    if n_axes == 2:
        half = (tensor[..., 0, 0] + tensor[..., 1, 1]) / 2
        spread = np.hypot((tensor[..., 0, 0] - tensor[..., 1, 1]) / 2, tensor[..., 0, 1])
        return [half + spread, half - spread]
    values = np.linalg.eigvalsh(tensor)
    return [values[..., -1], values[..., 0]]
