"""Points, lines and areas with labels in, a label image with them drawn out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.limits import MAX_VALUES
from phaselabel.segmentation.pictures import import_pillow

#: A label, points (x, y), and what they are, in the words of LabelMe.
Shape = tuple[Any, Sequence[tuple[float, float]], str]


def numbered(labels: Sequence[Any]) -> tuple[list[int], dict[int, str]]:
    """A number for every label: the label itself if all are whole numbers from 1, else 1 … K by name."""
    names = [str(label).strip() for label in labels]
    if any(not name for name in names):
        raise ValueError(f"Mark {names.index('') + 1} has an empty label; give it a name.")
    if names and all(name.isdecimal() and 0 < int(name) < 2**31 for name in names):
        numbers = [int(name) for name in names]
    else:
        order = {name: k for k, name in enumerate(sorted(set(names)), 1)}
        numbers = [order[name] for name in names]
    return numbers, dict(sorted(dict(zip(numbers, names)).items()))


def dotted(
    points: Sequence[tuple[float, float]], numbers: Sequence[int], shape: tuple[int, int], radius: int
) -> NDArray[np.int32]:
    """A label image with a disc of a class at every point."""
    labels = np.zeros(_checked_shape(shape), np.int32)
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    disc = np.argwhere(rows**2 + columns**2 <= radius**2) - radius
    for (x, y), number in zip(points, numbers):
        _check_inside([(x, y)], shape)
        pixels = disc + np.floor([y, x]).astype(int)
        inside = ((pixels >= 0) & (pixels < shape)).all(axis=1)
        labels[tuple(pixels[inside].T)] = number
    return labels


def drawn(
    shapes: Sequence[Shape], numbers: Sequence[int], shape: tuple[int, int], width: int
) -> NDArray[np.int32]:
    """A label image with every shape in its class; lines have a width, in pixels."""
    image, draw_module = import_pillow("PIL.Image", "PIL.ImageDraw")
    shape = _checked_shape(shape)
    if isinstance(width, bool) or not isinstance(width, int | np.integer) or not 1 <= width <= max(shape):
        raise ValueError(f"width must be a whole number between 1 and {max(shape)}; got {width!r}.")
    canvas = image.new("I", (shape[1], shape[0]), 0)
    pen = draw_module.Draw(canvas)
    for (label, points, kind), number in zip(shapes, numbers):
        points = [(float(x), float(y)) for x, y in points]
        _check_inside(points, shape, edge=1)  # tools draw up to the outer edge of the last pixel
        _draw(pen, kind, points, number, width, label)
    return np.array(canvas, np.int32)


def _checked_shape(shape: Any) -> tuple[int, int]:
    """Height and width of an image that can be."""
    try:
        height, width = shape
        sound = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in (height, width))
        sound = sound and height > 0 and width > 0 and int(height) * int(width) <= MAX_VALUES
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"shape must be the height and width of the image, in pixels; got {shape!r:.60}.")
    return int(height), int(width)


def _check_inside(points: Sequence[tuple[float, float]], shape: tuple[int, int], edge: int = 0) -> None:
    for x, y in points:
        if not (0 <= x < shape[1] + edge and 0 <= y < shape[0] + edge):
            raise ValueError(
                f"The mark at x={x:g}, y={y:g} lies outside the image, {shape[1]} wide and {shape[0]} high; "
                "x counts columns and y rows, both from 0."
            )


def _draw(pen: Any, kind: str, points: Any, number: int, width: int, label: Any) -> None:
    least = {"polygon": 3, "linestrip": 2, "line": 2, "rectangle": 2, "circle": 2, "point": 1}
    if not isinstance(kind, str) or kind not in least:
        raise ValueError(f"The shape of {label!r:.40} is a {kind!r:.40}; known are {', '.join(least)}.")
    if len(points) < least[kind]:
        raise ValueError(f"The {kind} of {label!r:.40} has {len(points)} points; it needs {least[kind]}.")
    if kind == "polygon":
        pen.polygon(points, fill=number)
    elif kind in ("linestrip", "line"):
        pen.line(points, fill=number, width=width, joint="curve")
    elif kind == "rectangle":
        (x0, y0), (x1, y1) = points[:2]
        pen.rectangle([min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)], fill=number)
    elif kind == "circle":
        (x, y), (u, v) = points[:2]
        radius = float(np.hypot(u - x, v - y))
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=number)
    else:
        pen.point(points, fill=number)
