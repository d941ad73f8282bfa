"""Red, green and blue in, CIELAB out: differences between two colours as the eye sees them."""

import numpy as np
from numpy.typing import NDArray

#: Red, green and blue, from 0 to 255.
Colour = tuple[int, int, int]

#: Linear sRGB to CIE XYZ, divided by the white point D65.
_TO_XYZ = np.array(
    [
        [0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339 / 1.08883, 0.1191920 / 1.08883, 0.9503041 / 1.08883],
    ],
    np.float32,
)

#: Below this the cube root of CIELAB is replaced by a line.
_LINEAR_BELOW = (6 / 29) ** 3


def to_lab(colors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lightness and two opponent colours of sRGB colours, divided by 100.

    Parameters
    ----------
    colors : ndarray of shape (..., 3)
        sRGB from 0 to 1; values outside are clipped.

    Returns
    -------
    ndarray of float32, shape (..., 3)
        L from 0 to 1; a and b near -1 … 1.

    Examples
    --------
    >>> to_lab(np.array([1.0, 1.0, 1.0], np.float32)).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    values = np.clip(colors, 0, 1).astype(np.float32, copy=False)
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    xyz = linear.astype(np.float32) @ _TO_XYZ.T
    roots = np.where(xyz > _LINEAR_BELOW, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = roots[..., 0], roots[..., 1], roots[..., 2]
    return np.stack([1.16 * y - 0.16, 5 * (x - y), 2 * (y - z)], axis=-1).astype(np.float32)
