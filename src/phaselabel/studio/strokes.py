"""Strokes one after another in; classes, a label image and files of strokes out, and back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.export import mask_from_run_lengths
from phaselabel.segmentation.pictures import import_pillow
from phaselabel.studio.imported_files import read_file
from phaselabel.studio.project import MAX_CLASSES, Action, JournalState, checked_colour, checked_name, colour
from phaselabel.studio.stroke_files import (
    checked_line,
    checked_polygon,
    checked_runs,
    document_of,
)


@dataclass
class Drawing(JournalState):
    """Classes, and layers in the order in which they were drawn.

    Attributes
    ----------
    shape : (int, int)
        Height and width of the picture.
    names, colors : dict of int to str
        The name and the colour of every class, by its number.
    layers : list of dict
        Strokes (``class``, ``size``, ``points``), polygons (``class``, ``polygon``) and masks (``class``,
        ``runs``); class 0 erases.
    last : int
        The number of the newest class. Numbers are never used again.
    """

    shape: tuple[int, int]
    names: dict[int, str] = field(default_factory=dict)
    colors: dict[int, str] = field(default_factory=dict)
    layers: list[dict[str, Any]] = field(default_factory=list)
    last: int = 0

    @classmethod
    def replay(cls, actions: Iterable[Action], shape: tuple[int, int]) -> "Drawing":
        """Apply all actions in force to an empty drawing."""
        drawing = cls(shape)
        for action in actions:
            drawing.apply(action, action.body)
        return drawing

    def labels(self) -> NDArray[np.int32]:
        """Return the class number of every marked pixel, 0 elsewhere."""
        image_module, draw_module = import_pillow("PIL.Image", "PIL.ImageDraw")
        canvas = image_module.new("I", (self.shape[1], self.shape[0]), 0)
        pen = draw_module.Draw(canvas)
        for layer in self.layers:
            if "points" not in layer:
                mask = _mask_of(layer, self.shape)
                painted = image_module.fromarray(mask.astype(np.uint8) * 255)
                canvas.paste(layer["class"], (0, 0), painted)
                pen = draw_module.Draw(canvas)
            else:
                _draw(pen, layer)
        return np.array(canvas, np.int32)

    # -- actions

    def _check_class(self, body: dict[str, Any]) -> dict[str, Any]:
        if len(self.names) >= MAX_CLASSES:
            raise ValueError(f"A project has at most {MAX_CLASSES} classes; remove one first.")
        return {"name": checked_name(body.get("name"), self.names.values())}

    def _do_class(self, body: dict[str, Any]) -> None:
        self.last += 1
        self.names[self.last], self.colors[self.last] = body["name"], body.get("color", colour(self.last))

    def _check_rename(self, body: dict[str, Any]) -> dict[str, Any]:
        number = self._number(body)
        others = [name for k, name in self.names.items() if k != number]
        return {
            "class": number,
            "name": checked_name(body.get("name", self.names[number]), others),
            "color": checked_colour(body.get("color", self.colors[number])),
        }

    def _do_rename(self, body: dict[str, Any]) -> None:
        self.names[body["class"]], self.colors[body["class"]] = body["name"], body["color"]

    def _check_remove(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"class": self._number(body)}

    def _do_remove(self, body: dict[str, Any]) -> None:
        removed = body["class"]
        del self.names[removed], self.colors[removed]
        self.layers = [layer for layer in self.layers if layer["class"] != removed]

    def _check_clear(self, body: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _do_clear(self, body: dict[str, Any]) -> None:
        self.layers = []

    def _check_stroke(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"class": self._number_or_eraser(body), **checked_line(body, self.shape)}

    def _do_stroke(self, body: dict[str, Any]) -> None:
        self.layers.append(body)

    def _check_polygon(self, body: dict[str, Any]) -> dict[str, Any]:
        polygon = checked_polygon(body.get("polygon"), self.shape)
        return {"class": self._number_or_eraser(body), "polygon": polygon}

    def _do_polygon(self, body: dict[str, Any]) -> None:
        self.layers.append(body)

    def _check_region(self, body: dict[str, Any]) -> dict[str, Any]:
        runs = checked_runs(body.get("runs"), self.shape)
        return {"class": self._number_or_eraser(body), "runs": runs}

    def _do_region(self, body: dict[str, Any]) -> None:
        self.layers.append(body)

    def _do_add(self, body: dict[str, Any]) -> None:
        """Put the strokes of a file on top."""
        by_name = {name: number for number, name in self.names.items()}
        for entry in body["classes"]:
            if entry["name"] not in by_name:
                self._do_class(entry)
                by_name[entry["name"]] = self.last
        for layer in body["layers"]:
            number = by_name[layer["name"]] if layer["name"] else 0
            self.layers.append({**layer, "class": number})

    def _number_or_eraser(self, body: dict[str, Any]) -> int:
        return 0 if body.get("class") == 0 else self._number(body)

    def _number(self, body: dict[str, Any]) -> int:
        number = body.get("class")
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.names:
            raise ValueError(f"There is no class {number!r:.40}.")
        return number

    # -- files

    def document(self, title: str) -> dict[str, Any]:
        """Return the layers as a LabelMe document, which :meth:`read` reads back."""
        return document_of(self.layers, self.names, self.colors, self.shape, title)

    def read(self, data: bytes, title: str = "") -> dict[str, Any]:
        """Return the action that adds a file of strokes, polygons or masks."""
        layers, colors = read_file(data, {0: (title, self.shape)}, 0, self.names)
        return self._addition(layers[0], colors)

    def _addition(self, layers: list[dict[str, Any]], colors: dict[str, Any]) -> dict[str, Any]:
        """Return the action that adds layers with the names of their classes."""
        names = dict.fromkeys([*colors, *(layer["name"] for layer in layers if layer["name"])])
        unique = [checked_name(name) for name in names]
        if len(set(unique) | set(self.names.values())) > MAX_CLASSES:
            raise ValueError(f"A project has at most {MAX_CLASSES} classes; the file has {len(unique)}.")
        number = self.last
        classes = []
        for name in unique:
            number += name not in self.names.values()
            color = checked_colour(colors.get(name) or colour(max(number, 1)))
            classes.append({"name": name, "color": color})
        return {"classes": classes, "layers": layers}


def _mask_of(layer: dict[str, Any], shape: tuple[int, int]) -> NDArray[np.bool_]:
    if "polygon" in layer:
        return filled(layer["polygon"], shape)
    return mask_from_run_lengths(layer["runs"], shape)


def filled(polygon: list[list[float]], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the pixels whose centre is inside a polygon, by the even-odd rule.

    Pillow's own polygons include pixels that their edges only touch.

    Examples
    --------
    >>> filled([[1, 0], [3, 0], [3, 2], [1, 2]], (2, 4)).astype(int).tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0]]
    """
    height, width = shape
    crossings = np.zeros((height, width + 1), np.uint8)
    corners = np.asarray(polygon, np.float64)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0)):
        low, high = min(y0, y1), max(y0, y1)
        rows = np.arange(max(0, int(np.ceil(low - 0.5))), min(height, int(np.ceil(high - 0.5))))
        if len(rows):
            x = x0 + (rows + 0.5 - y0) * (x1 - x0) / (y1 - y0)
            crossings[rows, np.clip(np.ceil(x - 0.5), 0, width).astype(int)] ^= 1
    return np.bitwise_xor.accumulate(crossings, axis=1)[:, :width].astype(bool)


def _draw(pen: Any, layer: dict[str, Any]) -> None:
    """Draw a line with round ends. The page counts from the corner of a pixel, Pillow from its centre."""
    size, number = layer["size"], layer["class"]
    points = [(x - 0.5, y - 0.5) for x, y in layer["points"]]
    width = max(1, round(size))
    if len(points) > 1:
        pen.line(points, fill=number, width=width, joint="curve")
    if width == 1:
        pen.point(points, fill=number)
        return
    radius = (width - 1) / 2
    for x, y in (points[0], points[-1]):
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=number)
