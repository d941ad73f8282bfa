"""An image and a clicked place in, the region that the click means out: like colours, or a whole object."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from phaselabel.evidence.propagation import harmonic
from phaselabel.segmentation.export import run_lengths
from phaselabel.segmentation.grid import Touching

#: An object is looked for on at most this many cells of the part of the image that is shown.
MAX_CELLS = 40_000

#: Pixels are filled whose colour differs by at most this, of a full range of 1, unless the request says so.
FILL_TOLERANCE = 0.08

#: Cells around a click whose colour differs by less than this, of a full range of 1, are seeds of the object.
SEED_TOLERANCE = 0.04

Shape = tuple[int, int]
Mask = NDArray[np.bool_]


def clicked_region(body: dict[str, Any], image: NDArray[Any], marked: NDArray[np.int32]) -> list[int]:
    """The run lengths of the region that a request means: ``how`` is "fill" or "object".

    Parameters
    ----------
    body : dict
        ``class``, ``how``, ``point`` (x, y), ``tolerance`` for "fill" and ``box`` for "object".
    image : ndarray of shape (H, W) or (H, W, B)
        The picture.
    marked : ndarray of int32, shape (H, W)
        The class number of every marked pixel, 0 elsewhere.

    Returns
    -------
    list of int
        The run lengths, column by column.
    """
    point, box = _numbers(body.get("point"), 2), _numbers(body.get("box", [0, 0, 1e9, 1e9]), 4)
    if body.get("how") == "fill":
        (tolerance,) = _numbers([body.get("tolerance", FILL_TOLERANCE)], 1)
        mask = like_colours(image, (point[0], point[1]), tolerance)
    elif body.get("how") == "object":
        others = (marked > 0) & (marked != body.get("class"))
        left, top, right, bottom = (int(np.clip(side, -1e9, 1e9)) for side in box)
        mask = object_at(image, (point[0], point[1]), (left, top, right, bottom), others)
    else:
        raise ValueError(f"A region is a fill or an object; got {body.get('how')!r:.40}.")
    return run_lengths(mask)


def _numbers(values: Any, n: int) -> list[float]:
    """Finite numbers; refuse anything else."""
    good = isinstance(values, list) and len(values) == n and all(isinstance(v, int | float) for v in values)
    if not good or not np.isfinite(values).all():
        raise ValueError(f"A region needs {n} numbers; got {values!r:.60}.")
    return [float(v) for v in values]


def like_colours(image: NDArray[Any], point: tuple[float, float], tolerance: float) -> Mask:
    """The connected pixels around a click that differ from it by at most ``tolerance`` in every band.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, B)
        The picture.
    point : (float, float)
        x and y of the click.
    tolerance : float
        The largest difference, of a full range of 1.

    Returns
    -------
    ndarray of bool, shape (H, W)
        The region.

    Examples
    --------
    >>> image = np.array([[0, 0, 200, 0]], np.uint8)
    >>> like_colours(image, (0.5, 0.5), 0.1).tolist()
    [[True, True, False, False]]
    """
    bands = image if image.ndim == 3 else image[:, :, None]
    x, y = _pixel(point, bands.shape[:2])
    limit = tolerance * _range(bands)
    here = bands[y, x].astype(np.float32)
    like = np.ones(bands.shape[:2], bool)
    for b in range(bands.shape[2]):
        like &= np.abs(bands[:, :, b].astype(np.float32) - here[b]) <= limit
    return _part_at(like, x, y)


def object_at(
    image: NDArray[Any], point: tuple[float, float], box: tuple[int, int, int, int], others: Mask
) -> Mask:
    """The object that was clicked, within the part of the image that is shown.

    Cells around the click of nearly its colour are the object; the rim of the part that is shown, and marks
    of other classes, are not. A walk from every other cell tells which of them it meets first: edges with
    much contrast are hardly crossed (the random walker of Grady, 2006).

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, B)
        The picture.
    point : (float, float)
        x and y of the click.
    box : (int, int, int, int)
        Left, top, right and bottom of the part that is shown.
    others : ndarray of bool, shape (H, W)
        The marks of other classes.

    Returns
    -------
    ndarray of bool, shape (H, W)
        The object.
    """
    bands = image if image.ndim == 3 else image[:, :, None]
    height, width = bands.shape[:2]
    x, y = _pixel(point, (height, width))
    left, top = max(0, min(box[0], x - 1)), max(0, min(box[1], y - 1))
    right, bottom = min(width, max(box[2], x + 2)), min(height, max(box[3], y + 2))
    side = int(np.ceil(np.sqrt((right - left) * (bottom - top) / MAX_CELLS)))
    part = bands[top:bottom:side, left:right:side].astype(np.float32) / _range(bands)
    column, row = (x - left) // side, (y - top) // side
    # Averaged over three by three cells: single pixels are noise.
    part = ndimage.uniform_filter(part, (3, 3, 0), mode="nearest")
    labels = np.full(part.shape[:2], -1, np.int32)
    labels[others[top:bottom:side, left:right:side]] = 1
    labels[[0, -1], :] = labels[:, [0, -1]] = 1
    near = (np.abs(part - part[row, column]) <= SEED_TOLERANCE).all(axis=2) & (labels < 0)
    near[row, column] = True
    labels[_part_at(near, column, row)] = 0
    cells = np.arange(labels.size)
    graph = Touching.of([part]).graph(cells, labels.size)
    odds = harmonic(graph, labels.ravel(), 2)
    inside = (odds[:, 0] > odds[:, 1]).reshape(labels.shape)
    inside = ndimage.binary_fill_holes(_part_at(inside, column, row))
    whole = np.zeros((height, width), bool)
    grown = np.repeat(np.repeat(inside, side, axis=0), side, axis=1)
    whole[top:bottom, left:right] = grown[: bottom - top, : right - left]
    return whole & ~others


def _pixel(point: tuple[float, float], shape: Shape) -> tuple[int, int]:
    """Column and row of the pixel at a place."""
    return int(np.clip(point[0], 0, shape[1] - 1)), int(np.clip(point[1], 0, shape[0] - 1))


def _range(bands: NDArray[Any]) -> float:
    """The range of the values of an image."""
    if bands.dtype == np.uint8:
        return 255.0
    some = bands[:: max(1, bands.shape[0] // 500), :: max(1, bands.shape[1] // 500)]
    low, high = np.nanpercentile(some, (1, 99))
    return float(max(high - low, 1e-30))


def _part_at(mask: Mask, x: int, y: int) -> Mask:
    """The connected part of a mask around one of its pixels."""
    parts, _ = ndimage.label(mask)
    return np.asarray(parts == parts[y, x]) & mask
