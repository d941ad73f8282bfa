"""A file of shapes (the studio's own, LabelMe's or a label PNG) in, layers out; and layers in, a file out."""

import base64
import binascii
import io
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.export import mask_from_run_lengths, run_lengths
from phaselabel.segmentation.pictures import import_pillow, open_picture
from phaselabel.studio.project import MAX_CLASSES, checked_name

#: A stroke or a polygon has at most this many points.
MAX_POINTS = 20_000

#: A brush is at most this many pixels wide.
MAX_BRUSH = 400.0

#: The width in pixels of lines from files that don't say it.
LINE_WIDTH = 3

#: A circle becomes a polygon with this many corners.
CIRCLE_CORNERS = 128

#: How many points each shape of LabelMe needs.
MIN_POINTS = {"polygon": 3, "rectangle": 2, "circle": 2, "line": 2, "linestrip": 2, "point": 1, "mask": 2}

Shape = tuple[int, int]
Layer = dict[str, Any]


def read_layers(data: bytes, shape: Shape, names: dict[int, str]) -> tuple[list[Layer], dict[str, Any]]:
    """Read a file of shapes.

    Parameters
    ----------
    data : bytes
        The file.
    shape : (int, int)
        Height and width of the picture.
    names : dict of int to str
        The names of the classes, for the values of a label PNG.

    Returns
    -------
    layers : list of dict
        Strokes (``name``, ``size``, ``points``), polygons (``name``, ``polygon``) and masks (``name``,
        ``runs``); an empty name erases.
    colors : dict of str to str
        The classes that the file lists, with their colours.
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return _png_layers(data, shape, names), {}
    try:
        document = json.loads(data)
        shapes = [dict(entry) for entry in document["shapes"]]
        _check_size(document, shape)
        layers = [_layer(entry, shape) for entry in shapes]
        colors = {str(c["name"]): c.get("color") for c in document.get("classes", [])}
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise ValueError("The file is neither JSON with strokes nor a label PNG.") from None
        raise
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"The file has no strokes as the studio or LabelMe write them ({error}).") from None
    return layers, colors


def document_of(
    layers: list[Layer], names: dict[int, str], colors: dict[int, str], shape: Shape, title: str
) -> dict[str, Any]:
    """Return layers as a LabelMe document with a few more entries, which :func:`read_layers` reads back."""
    return {
        "version": "phaselabel studio 1",
        "flags": {},
        "imagePath": title,
        "imageData": None,
        "imageHeight": shape[0],
        "imageWidth": shape[1],
        "classes": [{"name": name, "color": colors[k]} for k, name in names.items()],
        "shapes": [
            {"label": names.get(layer["class"], ""), "group_id": None, "flags": {}, **_shape_of(layer, shape)}
            for layer in layers
        ],
    }


def checked_line(body: dict[str, Any], shape: Shape) -> Layer:
    """Return the size and the points of a stroke; refuse what is no stroke."""
    size = body.get("size")
    if isinstance(size, bool) or not isinstance(size, int | float) or not 0.5 <= size <= MAX_BRUSH:
        raise ValueError(f"A brush must be between 0.5 and {MAX_BRUSH:g} pixels wide; got {size!r:.40}.")
    return {"size": round(float(size), 2), "points": _checked_points(body.get("points"), shape)}


def checked_polygon(points: Any, shape: Shape) -> list[list[float]]:
    """Return the corners of a polygon; refuse what is no polygon."""
    if not isinstance(points, list) or len(points) < MIN_POINTS["polygon"]:
        raise ValueError(f"A polygon must have at least {MIN_POINTS['polygon']} corners.")
    return _checked_points(points, shape)


def checked_runs(runs: Any, shape: Shape) -> list[int]:
    """Return the run lengths of a mask, column by column; refuse those that don't fit the picture."""
    try:
        numbers = [int(run) for run in runs]
    except (TypeError, ValueError):
        numbers = [-1]
    if min(numbers, default=0) < 0 or sum(numbers) != shape[0] * shape[1]:
        raise ValueError("A mask in the file doesn't fit this image.")
    return numbers


def _checked_points(points: Any, shape: Shape) -> list[list[float]]:
    if not isinstance(points, list) or not 0 < len(points) <= MAX_POINTS:
        raise ValueError(f"A stroke must have 1 to {MAX_POINTS} points.")
    try:
        pairs = np.array(points, np.float64)
    except (TypeError, ValueError):
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.isfinite(pairs).all():
        raise ValueError("The points of a stroke must be pairs of numbers.")
    margin = 4 * MAX_BRUSH
    pairs = np.clip(pairs, -margin, np.array([shape[1] + margin, shape[0] + margin]))
    return [[float(x), float(y)] for x, y in pairs.round(2)]


# -- JSON


def _check_size(document: dict[str, Any], shape: Shape) -> None:
    height, width = document.get("imageHeight"), document.get("imageWidth")
    if (height is not None and height != shape[0]) or (width is not None and width != shape[1]):
        raise ValueError(
            f"The file is for a picture of {width} × {height} pixels; this one has {shape[1]} × {shape[0]}."
        )


def _layer(entry: dict[str, Any], shape: Shape) -> Layer:
    name = checked_name(entry["label"]) if entry["label"] else ""
    kind = entry.get("shape_type") or "polygon"
    if kind not in MIN_POINTS:
        raise ValueError(f"The shape of {name!r} is a {kind!r:.40}; known are {', '.join(MIN_POINTS)}.")
    if kind == "mask" and "runs" in entry:
        return {"name": name, "runs": checked_runs(entry["runs"], shape)}
    points = _checked_points(entry["points"], shape)
    if len(points) < MIN_POINTS[kind]:
        raise ValueError(f"A {kind} needs {MIN_POINTS[kind]} points; one of {name!r} has {len(points)}.")
    if kind == "mask":
        return {"name": name, "runs": run_lengths(_labelme_mask(entry, points, shape))}
    if kind in ("polygon", "rectangle", "circle"):
        return {"name": name, "polygon": _outline(kind, points)}
    return {"name": name, **checked_line({"size": LINE_WIDTH, **entry}, shape)}


def _outline(kind: str, points: list[list[float]]) -> list[list[float]]:
    """A polygon for a filled shape."""
    if kind == "rectangle" and len(points) == 2:
        (x0, y0), (x1, y1) = points
        return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
    if kind == "circle":
        (x, y), (u, v) = points[:2]
        radius, angles = np.hypot(u - x, v - y), np.linspace(0, 2 * np.pi, CIRCLE_CORNERS, endpoint=False)
        corners = np.column_stack([x + radius * np.cos(angles), y + radius * np.sin(angles)]).round(2)
        return [[float(a), float(b)] for a, b in corners]
    return points


def _labelme_mask(entry: dict[str, Any], points: list[list[float]], shape: Shape) -> NDArray[np.bool_]:
    """LabelMe's mask: a PNG of a part of the picture, and the corners of that part, both inside."""
    (x0, y0), (x1, y1) = [(round(x), round(y)) for x, y in points[:2]]
    whole = np.zeros(shape, bool)
    inside = 0 <= x0 <= x1 < shape[1] and 0 <= y0 <= y1 < shape[0]
    try:
        data = base64.b64decode(entry["mask"], validate=True)
        part = png_values(data, (y1 - y0 + 1, x1 - x0 + 1)) if inside else None
    except (binascii.Error, ValueError, TypeError, KeyError):
        part = None
    if part is None:
        raise ValueError(f"A mask of {entry['label']!r:.80} can't be read, or doesn't fit this image.")
    whole[y0 : y1 + 1, x0 : x1 + 1] = part > 0
    return whole


def _shape_of(layer: Layer, shape: Shape) -> dict[str, Any]:
    """A layer as a shape of LabelMe."""
    if "polygon" in layer:
        return {"points": layer["polygon"], "shape_type": "polygon"}
    if "runs" not in layer:
        points = layer["points"] * (2 if len(layer["points"]) == 1 else 1)
        return {"points": points, "shape_type": "linestrip", "size": layer["size"]}
    mask = mask_from_run_lengths(layer["runs"], shape)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        rows = columns = np.zeros(1, int)
    (y0, y1), (x0, x1) = (int(rows[0]), int(rows[-1])), (int(columns[0]), int(columns[-1]))
    (image_module,) = import_pillow("PIL.Image")
    file = io.BytesIO()
    image_module.fromarray(mask[y0 : y1 + 1, x0 : x1 + 1]).save(file, format="PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return {"points": [[x0, y0], [x1, y1]], "shape_type": "mask", "mask": data}


# -- PNG


def _png_layers(data: bytes, shape: Shape, names: dict[int, str]) -> list[Layer]:
    values = png_values(data, shape)
    numbers = [int(n) for n in np.unique(values) if n > 0]
    if len(numbers) > MAX_CLASSES:
        raise ValueError(f"The label PNG has {len(numbers)} values; it should have one per class.")
    return [{"name": names.get(n, f"class {n}"), "runs": run_lengths(values == n)} for n in numbers]


def png_values(data: bytes, shape: Shape) -> NDArray[np.int32]:
    """The values of a grey or indexed PNG, whose size is checked before it is unpacked."""
    (image_module,) = import_pillow("PIL.Image")
    try:
        # The size must be the expected one, so a small file can't unpack to a huge picture.
        with open_picture(io.BytesIO(data), formats=("PNG",)) as picture:
            if picture.size != shape[::-1]:
                raise ValueError(
                    f"The label PNG is {picture.size[0]} × {picture.size[1]} pixels and the image "
                    f"{shape[1]} × {shape[0]}; they must be the same."
                )
            if picture.mode not in ("L", "P", "I;16", "I", "1"):
                raise ValueError(f"A label PNG must be grey or indexed; this one is {picture.mode}.")
            return np.array(picture).astype(np.int32)
    except (OSError, SyntaxError, image_module.DecompressionBombError) as error:
        raise ValueError(f"The PNG can't be read ({error}).") from None
