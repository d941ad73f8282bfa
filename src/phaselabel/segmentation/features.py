"""An image in comparable units in, one row of numbers for every pixel out: the patch around it."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: At most 20 bands are cut into patches; of a cube with more, its 20 leading principal components are.
MAX_PATCH_BANDS = 20


def pixel_features(bands: NDArray[np.float32], patch: int = 5, position: float = 0.0) -> NDArray[np.float32]:
    r"""The ``patch`` × ``patch`` (× ``patch``) pixels around each, all bands appended, edges reflected.

    Divided by :math:`\sqrt{\text{patch}^2 B}`, so that the distance of two rows is the root mean square
    difference of their patches. ``position`` adds two columns, ``position · (row, column) / longer side``: at
    0.2, crossing the whole image counts as much as a change of brightness by a fifth of the full range.

    Parameters
    ----------
    bands : ndarray of shape (H, W, B) or (Z, Y, X, B)
        The image in comparable units.
    patch : int, default=5
        Side of the patch, an odd number; 1 takes the pixel alone.
    position : float, default=0.0
        Weight of the pixel's place.

    Returns
    -------
    ndarray of shape (H·W, patch²·B [+ 2]), or (Z·Y·X, patch³·B [+ 3])
        One row per pixel, row by row.

    Examples
    --------
    >>> pixel_features(np.zeros((6, 7, 3), np.float32)).shape
    (42, 75)
    """
    *shape, n_bands = bands.shape
    n_axes, reach = len(shape), patch // 2
    border = ((reach, reach),) * n_axes
    # Where the border is wider than the image, "reflect" goes on reflecting.
    padded = np.pad(bands, (*border, (0, 0)), mode="reflect" if reach else "edge")
    size = patch**n_axes
    unit = np.float32(1 / np.sqrt(size * n_bands))
    out = np.empty((*shape, size * n_bands + n_axes * (position > 0)), np.float32)
    for k, offset in enumerate(np.ndindex(*(patch,) * n_axes)):
        window = tuple(slice(first, first + side) for first, side in zip(offset, shape))
        out[..., k * n_bands : (k + 1) * n_bands] = padded[window] * unit
    if position > 0:
        per_pixel = position / max(shape)
        for axis, side in enumerate(shape):
            along = [-1 if a == axis else 1 for a in range(n_axes)]
            out[..., axis - n_axes] = (np.arange(side) * per_pixel).reshape(along)
    return out.reshape(math.prod(shape), -1)


def distinct_rows(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The distinct rows, in the order of their first appearance, and for every row the number of its equal.

    The pixels of a flat area differ only in their place; a neighbour search among thousands of equal rows
    returns ties only.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Any rows.

    Returns
    -------
    unique : ndarray of shape (m, d)
        The distinct rows.
    inverse : ndarray of shape (n,)
        ``unique[inverse]`` equals ``rows``.

    Examples
    --------
    >>> unique, inverse = distinct_rows(np.array([[5, 6], [1, 2], [5, 6]], np.float32))
    >>> unique.tolist(), inverse.tolist()
    ([[5.0, 6.0], [1.0, 2.0]], [0, 1, 0])
    """
    as_bytes = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    _, first, inverse = np.unique(as_bytes.ravel(), return_index=True, return_inverse=True)
    return rows[np.sort(first)], np.argsort(np.argsort(first))[inverse]


def check_patch(patch: Any, position: Any) -> None:
    """Refuse a patch that is not odd and a position that is not a weight."""
    if isinstance(patch, bool) or not isinstance(patch, int | np.integer) or patch < 1 or patch % 2 == 0:
        raise ValueError(f"patch must be an odd whole number such as 3, 5 or 7; got {patch!r}.")
    if isinstance(position, str) and position == "auto":
        return
    if not isinstance(position, int | float | np.number) or not 0 <= position < np.inf:
        raise ValueError(f"position must be 'auto', 0 or a positive number; got {position!r}.")
