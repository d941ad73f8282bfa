"""Colours with an opacity in, colours as they are seen on black out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def multiplied_by_opacity(pixels: NDArray[Any], already: bool = False) -> NDArray[Any]:
    """Multiply colours by their opacity; the opacity stays a band unless every pixel is opaque.

    The colours of transparent pixels are not seen, and must not count.

    Parameters
    ----------
    pixels : ndarray of shape (H, W, B)
        The last band is the opacity, from 0 to the largest number of the type (1 for floats).
    already : bool, default=False
        Whether the colours are multiplied already.

    Returns
    -------
    ndarray of shape (H, W, B) or (H, W, B - 1)
        The same type of numbers.

    Examples
    --------
    >>> multiplied_by_opacity(np.array([[[200, 255], [200, 0]]], np.uint8)).tolist()
    [[[200, 255], [0, 0]]]
    """
    opaque = 1 if pixels.dtype.kind == "f" else np.iinfo(pixels.dtype).max
    alpha = pixels[:, :, -1:]
    if (alpha == opaque).all():
        return pixels[:, :, :-1]
    if already:
        return pixels
    share = alpha / np.float32(opaque) if pixels.dtype.itemsize <= 2 else alpha / np.float64(opaque)
    visible = pixels[:, :, :-1] * share
    if pixels.dtype.kind != "f":
        visible = visible.round()
    return np.concatenate([visible.astype(pixels.dtype), alpha], axis=2)
