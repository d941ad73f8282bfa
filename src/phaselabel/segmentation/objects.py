"""Labels in, objects out: connected parts of a class, their sizes as a table, their outlines as polygons."""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

#: A part of fewer pixels than this is noise, not an object.
MIN_PIXELS = 4

#: The columns of a table without objects.
COLUMNS = ("object", "class", "name", "pixels", "x", "y", "left", "width", "top", "height")


@dataclass(frozen=True, eq=False)
class SegmentedObject:
    """A connected part of a class.

    Attributes
    ----------
    number : int
        The class number.
    box : tuple of slice
        The smallest box that holds it, one slice for every axis.
    mask : ndarray of bool
        Its pixels within the box.
    """

    number: int
    box: tuple[slice, ...]
    mask: NDArray[np.bool_]

    @property
    def n_pixels(self) -> int:
        """How many pixels it has."""
        return int(self.mask.sum())

    @property
    def center(self) -> tuple[float, ...]:
        """The mean row and column of its pixels; plane, row and column in a volume."""
        inside = ndimage.center_of_mass(self.mask)
        return tuple(float(c) + s.start for c, s in zip(inside, self.box))

    def run_lengths(self, shape: tuple[int, int]) -> list[int]:
        """COCO's run lengths in an image of a shape: column by column, zeros first."""
        columns, rows = np.nonzero(self.mask.T)
        places = (columns + self.box[1].start) * shape[0] + rows + self.box[0].start
        breaks = np.flatnonzero(np.diff(places) > 1)
        starts = places[np.concatenate([[0], breaks + 1])]
        stops = places[np.concatenate([breaks, [len(places) - 1]])] + 1
        edges = np.stack([starts, stops], axis=1).ravel()
        total = shape[0] * shape[1]
        counts: list[int] = np.diff(np.concatenate([[0], edges, [total]])).tolist()
        return counts[:-1] if counts[-1] == 0 else counts


def objects_of(
    labels: NDArray[Any], numbers: list[int], *, min_pixels: int = MIN_PIXELS
) -> list[SegmentedObject]:
    """The connected parts of every class, class by class, from the top.

    Parameters
    ----------
    labels : ndarray of int
        The class number of every pixel.
    numbers : list of int
        The class numbers to look for.
    min_pixels : int, default=4
        Smaller parts are left out.

    Returns
    -------
    list of SegmentedObject
        The objects. Pixels that touch at a side belong together.

    Examples
    --------
    >>> [part.n_pixels for part in objects_of(np.array([[2, 2, 1, 2]]), [2], min_pixels=1)]
    [2, 1]
    """
    found = []
    for number in numbers:
        parts, _ = ndimage.label(labels == number)
        for k, box in enumerate(ndimage.find_objects(parts), 1):
            mask = parts[box] == k
            if mask.sum() >= min_pixels:
                found.append(SegmentedObject(number, box, mask))
    return found


def object_rows(
    objects: list[SegmentedObject], names: dict[int, str], confidence: NDArray[np.float32] | None = None
) -> Iterator[dict[str, Any]]:
    """One row of the table for every object: class, size, middle, box, mean confidence.

    Examples
    --------
    >>> parts = objects_of(np.array([[2, 2, 1, 1]]), [1, 2], min_pixels=1)
    >>> [(row["name"], row["pixels"], row["x"]) for row in object_rows(parts, {1: "cow", 2: "sky"})]
    [('cow', 2, 2.5), ('sky', 2, 0.5)]
    """
    for k, part in enumerate(objects, 1):
        row: dict[str, Any] = {"object": k, "class": part.number, "name": names[part.number]}
        row["pixels"] = part.n_pixels
        for axis, place in zip("xyz", reversed(part.center)):
            row[axis] = round(place, 2)
        for (start, size), side in zip((("left", "width"), ("top", "height")), reversed(part.box)):
            row[start], row[size] = side.start, side.stop - side.start
        if len(part.box) == 3:
            row["front"], row["depth"] = part.box[0].start, part.box[0].stop - part.box[0].start
        if confidence is not None:
            row["confidence"] = round(float(confidence[part.box][part.mask].mean()), 4)
        yield row


def object_table(
    objects: list[SegmentedObject], names: dict[int, str], confidence: NDArray[np.float32] | None = None
) -> str:
    """The table of objects as the text of a CSV file.

    Parameters
    ----------
    objects : list of SegmentedObject
        The objects.
    names : dict of int to str
        The name of every class number.
    confidence : ndarray of float32, optional
        The confidence of every pixel.

    Returns
    -------
    str
        A line of column names and a line for every object.

    Examples
    --------
    >>> parts = objects_of(np.array([[2, 2, 1, 1]]), [2], min_pixels=1)
    >>> object_table(parts, {2: "sky"}).splitlines()[0]
    'object,class,name,pixels,x,y,left,width,top,height'
    """
    rows = list(object_rows(objects, names, confidence))
    columns = list(rows[0]) if rows else list(COLUMNS)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def outlines(mask: NDArray[np.bool_]) -> list[list[tuple[int, int]]]:
    """The outlines of a mask along the edges of its pixels, as closed rings of corners (x, y).

    Walking along a ring, the mask lies at the right on an image whose y axis points down: outer rings run
    clockwise as seen, holes counter-clockwise. Where two parts meet at a corner only, the rings stay apart.

    Parameters
    ----------
    mask : ndarray of bool, shape (H, W)
        The pixels.

    Returns
    -------
    list of list of tuple of int
        The rings; the last corner of a ring equals its first.

    Examples
    --------
    >>> outlines(np.array([[True, True]]))
    [[(0, 0), (2, 0), (2, 1), (0, 1), (0, 0)]]
    """
    padded = np.pad(mask, 1).astype(np.int8)
    following: dict[tuple[int, int], list[tuple[int, int]]] = {}
    down = padded[1:, 1:-1] - padded[:-1, 1:-1]  # +1: the mask begins below this horizontal edge
    for y, x in zip(*np.nonzero(down)):
        start, end = ((x, y), (x + 1, y)) if down[y, x] > 0 else ((x + 1, y), (x, y))
        following.setdefault((int(start[0]), int(start[1])), []).append((int(end[0]), int(end[1])))
    right = padded[1:-1, 1:] - padded[1:-1, :-1]
    for y, x in zip(*np.nonzero(right)):
        start, end = ((x, y + 1), (x, y)) if right[y, x] > 0 else ((x, y), (x, y + 1))
        following.setdefault((int(start[0]), int(start[1])), []).append((int(end[0]), int(end[1])))
    rings = []
    while following:
        first = next(iter(following))
        ring, here, before = [first], first, None
        while True:
            ends = following[here]
            chosen = ends[0] if len(ends) == 1 or before is None else _right_turn(before, here, ends)
            ends.remove(chosen)
            if not ends:
                del following[here]
            before, here = here, chosen
            ring.append(here)
            if here == first:
                break
        rings.append(_without_straight_corners(ring))
    return rings


def geojson(
    labels: NDArray[Any],
    names: dict[int, str],
    transform: tuple[float, ...] | None = None,
    *,
    crs: str | None = None,
    min_pixels: int = MIN_PIXELS,
    parts: list[SegmentedObject] | None = None,
) -> dict[str, Any]:
    """The objects as a GeoJSON document: one polygon, with its holes, for every object.

    Parameters
    ----------
    labels : ndarray of int, shape (H, W)
        The class number of every pixel.
    names : dict of int to str
        The name of every class number; classes that are not named are left out.
    transform : tuple of float, optional
        (a, b, c, d, e, f): the corner (x, y) of a pixel lies at (a·x + b·y + c, d·x + e·y + f), as rasterio
        has it. Without it coordinates are pixels, y counted downwards.
    crs : str, optional
        The name of the reference of the coordinates, such as "EPSG:32633".
    min_pixels : int, default=4
        Smaller objects are left out.
    parts : list of SegmentedObject, optional
        The objects, if they have been found already.

    Returns
    -------
    dict
        A FeatureCollection.

    Examples
    --------
    >>> document = geojson(np.array([[1, 1], [2, 2]]), {1: "cow", 2: "sky"}, min_pixels=1)
    >>> document["features"][0]["geometry"]["coordinates"]
    [[[0, 0], [2, 0], [2, 1], [0, 1], [0, 0]]]
    """
    features = []
    parts = objects_of(labels, list(names), min_pixels=min_pixels) if parts is None else parts
    for k, part in enumerate(parts, 1):
        top, left = part.box[0].start, part.box[1].start
        rings = [[(x + left, y + top) for x, y in ring] for ring in outlines(part.mask)]
        if transform is not None:
            a, b, c, d, e, f = transform[:6]
            rings = [[(a * x + b * y + c, d * x + e * y + f) for x, y in ring] for ring in rings]
        rings.sort(key=lambda ring: -abs(_area(ring)))  # a part is connected: one outer ring, then its holes
        # The standard wants outer rings counter-clockwise and holes clockwise.
        turned = [ring if (_area(ring) > 0) == (n == 0) else ring[::-1] for n, ring in enumerate(rings)]
        features.append(
            {
                "type": "Feature",
                "id": k,
                "properties": {"class": part.number, "name": names[part.number], "pixels": part.n_pixels},
                "geometry": {"type": "Polygon", "coordinates": [[list(p) for p in ring] for ring in turned]},
            }
        )
    document: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if crs:
        document["crs"] = {"type": "name", "properties": {"name": crs}}
    return document


def _right_turn(
    before: tuple[int, int], here: tuple[int, int], ends: list[tuple[int, int]]
) -> tuple[int, int]:
    """Of two ways on, the one that turns right, so that parts that meet at a corner stay apart."""
    step = (here[0] - before[0], here[1] - before[1])
    right = (here[0] - step[1], here[1] + step[0])
    return right if right in ends else ends[0]


def _without_straight_corners(ring: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A closed ring without the corners at which it goes straight on."""
    corners = ring[:-1]
    kept = []
    for k, here in enumerate(corners):
        before, after = corners[k - 1], corners[(k + 1) % len(corners)]
        if (here[0] - before[0]) * (after[1] - here[1]) != (here[1] - before[1]) * (after[0] - here[0]):
            kept.append(here)
    return [*kept, kept[0]]


def _area(ring: list[Any]) -> float:
    """The signed area of a closed ring: positive if it runs counter-clockwise with y pointing up."""
    return math.fsum(x * v - u * y for (x, y), (u, v) in pairwise(ring)) / 2
