"""What was drawn, stroke by stroke, in; classes, a label image and files of strokes out, and back."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.marks import import_pillow
from phaselabel.segmentation.output import mask_from_run_lengths, run_lengths
from phaselabel.studio.project import MOST_CLASSES, Action, Told, checked_name, colour

MOST_POINTS, LARGEST_BRUSH = 20_000, 400.0


@dataclass
class Board(Told):
    """Classes by number, and layers in the order in which they were drawn; class 0 rubs out."""

    shape: tuple[int, int]
    names: dict[int, str] = field(default_factory=dict)
    colors: dict[int, str] = field(default_factory=dict)
    layers: list[dict[str, Any]] = field(default_factory=list)
    last: int = 0

    @classmethod
    def after(cls, actions: Iterable[Action], shape: tuple[int, int]) -> "Board":
        """The board after everything that is in force."""
        board = cls(shape)
        for action in actions:
            getattr(board, f"_do_{action.kind}")(action.body)
        return board

    def labels(self) -> NDArray[np.int32]:
        """The class number of every marked pixel, 0 elsewhere."""
        image_module, draw_module = import_pillow("PIL.Image", "PIL.ImageDraw")
        canvas = image_module.new("I", (self.shape[1], self.shape[0]), 0)
        pen = draw_module.Draw(canvas)
        for layer in self.layers:
            if "runs" in layer:
                mask = mask_from_run_lengths(layer["runs"], self.shape)
                painted = image_module.fromarray(mask.astype(np.uint8) * 255)
                canvas.paste(layer["class"], (0, 0), painted)
                pen = draw_module.Draw(canvas)
            else:
                _draw(pen, layer)
        return np.array(canvas, np.int32)

    # -- what can be done

    def _check_class(self, body: dict[str, Any]) -> dict[str, Any]:
        if len(self.names) >= MOST_CLASSES:
            raise ValueError(f"A project can have {MOST_CLASSES} classes; remove one first.")
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
            "color": _checked_colour(body.get("color", self.colors[number])),
        }

    def _do_rename(self, body: dict[str, Any]) -> None:
        self.names[body["class"]], self.colors[body["class"]] = body["name"], body["color"]

    def _check_remove(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"class": self._number(body)}

    def _do_remove(self, body: dict[str, Any]) -> None:
        gone = body["class"]
        del self.names[gone], self.colors[gone]
        self.layers = [layer for layer in self.layers if layer["class"] != gone]

    def _check_clear(self, body: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _do_clear(self, body: dict[str, Any]) -> None:
        self.layers = []

    def _check_stroke(self, body: dict[str, Any]) -> dict[str, Any]:
        number = 0 if body.get("class") == 0 else self._number(body)
        return {"class": number, **_checked_line(body, self.shape)}

    def _do_stroke(self, body: dict[str, Any]) -> None:
        self.layers.append(body)

    def _do_add(self, body: dict[str, Any]) -> None:
        """Strokes from a file, on top."""
        by_name = {name: number for number, name in self.names.items()}
        for entry in body["classes"]:
            if entry["name"] not in by_name:
                self._do_class(entry)
                by_name[entry["name"]] = self.last
        for layer in body["layers"]:
            number = by_name[layer["name"]] if layer["name"] else 0
            self.layers.append({**layer, "class": number})

    def _number(self, body: dict[str, Any]) -> int:
        number = body.get("class")
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.names:
            raise ValueError(f"There is no class {number!r:.40}.")
        return number

    # -- files

    def document(self) -> dict[str, Any]:
        """The strokes as a file that :meth:`read` takes back: LabelMe's form with a few more entries."""
        shapes = []
        for layer in self.layers:
            label = self.names.get(layer["class"], "")
            if "runs" in layer:
                shapes.append({"label": label, "shape_type": "mask", "runs": layer["runs"]})
                continue
            points = layer["points"] * (2 if len(layer["points"]) == 1 else 1)
            shapes.append(
                {"label": label, "points": points, "shape_type": "linestrip", "size": layer["size"]}
            )
        return {
            "version": "phaselabel studio 1",
            "imageHeight": self.shape[0],
            "imageWidth": self.shape[1],
            "classes": [{"name": name, "color": self.colors[k]} for k, name in self.names.items()],
            "shapes": shapes,
        }

    def read(self, data: bytes) -> dict[str, Any]:
        """What an uploaded file of strokes would add: this studio's own, LabelMe's, or a label PNG."""
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            return self._read_picture(data)
        try:
            document = json.loads(data)
            shapes = [dict(shape) for shape in document["shapes"]]
            layers = [self._layer(shape) for shape in shapes]
            given = {str(c["name"]): c.get("color") for c in document.get("classes", [])}
        except ValueError as error:
            if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
                raise ValueError("The file is neither JSON with strokes nor a label PNG.") from None
            raise
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"The file has no strokes as the studio or LabelMe write them ({error})."
            ) from None
        names = list(given) + [layer["name"] for layer in layers if layer["name"]]
        return self._addition(layers, names, given)

    def _addition(self, layers: Any, names: Any, given: dict[str, Any]) -> dict[str, Any]:
        fresh = [checked_name(name) for name in dict.fromkeys(names)]
        if len(fresh) + len(self.names) > MOST_CLASSES:
            raise ValueError(f"A project can have {MOST_CLASSES} classes; the file has {len(fresh)}.")
        start = self.last
        classes = []
        for name in fresh:
            start += name not in self.names.values()
            classes.append({"name": name, "color": _checked_colour(given.get(name) or colour(max(start, 1)))})
        return {"classes": classes, "layers": layers}

    def _layer(self, shape: dict[str, Any]) -> dict[str, Any]:
        name = checked_name(shape["label"]) if shape["label"] else ""
        if shape.get("shape_type") == "mask":
            runs = [int(run) for run in shape["runs"]]
            if min(runs, default=0) < 0 or sum(runs) != self.shape[0] * self.shape[1]:
                raise ValueError("A mask in the file doesn't fit this image.")
            return {"name": name, "runs": runs}
        return {"name": name, **_checked_line({"size": 3, **shape}, self.shape)}

    def _read_picture(self, data: bytes) -> dict[str, Any]:
        """Grey or indexed values are classes; the size is looked at before anything is unpacked."""
        import io

        (image_module,) = import_pillow("PIL.Image")
        try:
            # Pillow warns of large pictures and refuses huge ones; ours must have the very size we know.
            with image_module.open(io.BytesIO(data), formats=("PNG",)) as picture:
                if picture.size != self.shape[::-1]:
                    raise ValueError(
                        f"The label PNG is {picture.size[0]} × {picture.size[1]} pixels and the image "
                        f"{self.shape[1]} × {self.shape[0]}; they must be the same."
                    )
                if picture.mode not in ("L", "P", "I;16", "1"):
                    raise ValueError(f"A label PNG must be grey or indexed; this one is {picture.mode}.")
                values = np.array(picture).astype(np.int32)
        except (OSError, SyntaxError, image_module.DecompressionBombError) as error:
            raise ValueError(f"The PNG can't be read ({error}).") from None
        numbers = [int(n) for n in np.unique(values) if n > 0]
        if len(numbers) > MOST_CLASSES:
            raise ValueError(f"The label PNG has {len(numbers)} values; it should have one per class.")
        names = {n: self.names.get(n, f"class {n}") for n in numbers}
        layers = [{"name": names[n], "runs": run_lengths(values == n)} for n in numbers]
        return self._addition(layers, names.values(), {})


def _checked_colour(text: Any) -> str:
    plain = str(text).lower()
    if len(plain) != 7 or plain[0] != "#" or any(c not in "0123456789abcdef" for c in plain[1:]):
        raise ValueError(f"A colour is written like '#0072b2'; got {text!r:.40}.")
    return plain


def _checked_line(body: dict[str, Any], shape: tuple[int, int]) -> dict[str, Any]:
    size, points = body.get("size"), body.get("points")
    if isinstance(size, bool) or not isinstance(size, int | float) or not 0.5 <= size <= LARGEST_BRUSH:
        raise ValueError(f"A brush must be between 0.5 and {LARGEST_BRUSH:g} pixels wide; got {size!r:.40}.")
    if not isinstance(points, list) or not 0 < len(points) <= MOST_POINTS:
        raise ValueError(f"A stroke must have 1 to {MOST_POINTS} points.")
    try:
        found = np.array(points, np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2 or found.shape[1] != 2 or not np.isfinite(found).all():
        raise ValueError("The points of a stroke must be pairs of numbers.")
    edge = 4 * LARGEST_BRUSH
    found = np.clip(found, -edge, np.array([shape[1] + edge, shape[0] + edge]))
    return {"size": round(float(size), 2), "points": found.round(2).tolist()}


def _draw(pen: Any, layer: dict[str, Any]) -> None:
    """A line with round ends; the page counts from pixels' corners, Pillow from their centres."""
    size, number = layer["size"], layer["class"]
    points = [(x - 0.5, y - 0.5) for x, y in layer["points"]]
    width = max(1, round(size))
    if len(points) > 1:
        pen.line(points, fill=number, width=width, joint="curve")
    if width == 1:
        pen.point(points, fill=number)
        return
    reach = (width - 1) / 2
    for x, y in (points[0], points[-1]):
        pen.ellipse([x - reach, y - reach, x + reach, y + reach], fill=number)
