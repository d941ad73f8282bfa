"""Marks in any form that people make them in, a label image with named classes out."""

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.segmentation.limits import MAX_VALUES
from phaselabel.segmentation.pictures import import_pillow

log = logging.getLogger(__name__)

Colour = tuple[int, int, int]

#: A label and the points (x, y) of a line or a polygon.
Outline = tuple[Any, Sequence[tuple[float, float]]]

#: Colours that the eye tells apart, for classes without a colour.
PALETTE: tuple[Colour, ...] = (
    (230, 60, 50), (50, 120, 220), (60, 170, 70), (250, 180, 30), (150, 80, 190), (30, 190, 200),
    (240, 120, 190), (140, 95, 60), (250, 130, 40), (120, 130, 140), (170, 210, 60), (20, 60, 130),
    (130, 20, 50), (0, 110, 90), (200, 170, 240), (255, 220, 150), (80, 50, 110), (170, 230, 220),
    (110, 110, 20), (250, 150, 140),
)  # fmt: skip

#: A painting with at most 16 colours was made with a hard brush: every colour is a class.
MAX_HARD_BRUSH_COLORS = 16

#: In a painting with more colours, a class has at least this share of the paint; the rest is brush edges.
MIN_SHARE_OF_PAINT = 0.01

#: A painting has at most 64 classes; with more it is taken for a photograph.
MAX_PAINTED_CLASSES = 64


@dataclass(frozen=True, eq=False)
class Marks:
    """A label image with 0 where nothing is marked, and the name and colour of each number.

    Parameters
    ----------
    labels : ndarray of int32, shape (H, W) or (Z, Y, X)
        The class number of every marked pixel, 0 elsewhere; -1 removes a mark in an update.
    classes : dict of int to str
        The name of every class number.
    colors : dict of int to tuple of int, optional
        The colour (red, green, blue) of the classes that were painted in one.

    See Also
    --------
    read_marks : Reads marks from a file.
    segment : Takes an image and its marks.

    Examples
    --------
    >>> from phaselabel import Marks
    >>> marks = Marks(np.array([[0, 1], [2, 0]], np.int32), {1: "cow", 2: "sky"})
    >>> marks.labels.shape
    (2, 2)
    """

    labels: NDArray[np.int32]
    classes: dict[int, str]
    colors: dict[int, Colour] = field(default_factory=dict)

    @classmethod
    def from_array(cls, labels: ArrayLike, names: dict[int, str] | None = None) -> "Marks":
        """Make marks of a label image: 0 is not marked, every other whole number is a class.

        Parameters
        ----------
        labels : array-like of int, shape (H, W) or (Z, Y, X)
            The class number of every marked pixel, 0 elsewhere; -1 removes a mark in an update.
        names : dict of int to str, optional
            Names of the class numbers; a class without one is named by its number.

        Returns
        -------
        Marks
            The marks.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> Marks.from_array([[0, 1], [7, 0]]).classes
        {1: '1', 7: '7'}
        """
        numbers = np.asarray(labels)
        if numbers.ndim not in (2, 3):
            raise ValueError(
                "A label image must have shape (height, width), that of a volume (depth, height, width); "
                f"got {numbers.shape}."
            )
        if numbers.dtype.kind not in "iub" and not (
            numbers.dtype.kind == "f" and np.isfinite(numbers).all() and np.all(numbers == np.round(numbers))
        ):
            raise ValueError(
                f"A label image must hold whole numbers, 0 where not marked; got {numbers.dtype}."
            )
        if numbers.size and (numbers.min() < -1 or float(numbers.max()) > np.iinfo(np.int32).max):
            raise ValueError(
                f"A label image must hold 0 (not marked) and class numbers from 1; got {numbers.min()} "
                f"to {numbers.max()}."
            )
        places, values = _marked(numbers)
        # Whole numbers are the same class in any type: 2.0 is called "2", True "1".
        present = np.unique(values[values > 0].astype(np.int64)).tolist()
        return cls(_placed(numbers.shape, places, values), {n: (names or {}).get(n, str(n)) for n in present})

    @classmethod
    def from_painting(
        cls,
        painting: ArrayLike,
        *,
        legend: dict[str, str] | None = None,
        image: NDArray[Any] | None = None,
    ) -> "Marks":
        """Make marks of a painted image: each colour is a class; transparent or black is not marked.

        Parameters
        ----------
        painting : array-like of uint8, shape (H, W, 3) or (H, W, 4)
            The strokes, alone or painted over a copy of the image.
        legend : dict of str to str, optional
            Names of colours, ``{"#rrggbb": name}``; other colours are then no marks.
        image : ndarray, optional
            The image itself: where the painting equals it, nothing is marked.

        Returns
        -------
        Marks
            The marks, with the colours they were painted in.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> strokes = np.zeros((2, 3, 3), np.uint8)
        >>> strokes[0, 0] = 255, 0, 0
        >>> strokes[1, 2] = 0, 0, 255
        >>> Marks.from_painting(strokes, legend={"#ff0000": "cow", "#0000ff": "sky"}).classes
        {1: 'cow', 2: 'sky'}
        """
        paint = np.asarray(painting)
        if paint.ndim != 3 or paint.shape[2] not in (3, 4) or paint.dtype != np.uint8:
            raise ValueError(
                "A painting must be bytes of shape (height, width, 3 or 4); "
                f"got {paint.dtype} of shape {paint.shape}."
            )
        codes = (paint[:, :, :3].astype(np.int32) * [65536, 256, 1]).sum(axis=2, dtype=np.int32)
        if paint.shape[2] == 4:
            codes[paint[:, :, 3] < 128] = 0
        if image is not None and _is_picture(image) and image.shape[:2] == paint.shape[:2]:
            unpainted = (image[:, :, :3] == paint[:, :, :3]).all(axis=2)
            if unpainted.mean() > 0.5:
                codes[unpainted] = 0
                if unpainted.all():
                    raise ValueError("There are no marks: the painting is equal to the image; paint on it.")
        painted, counts = np.unique(codes[codes > 0], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        names = _named_colours(legend) if legend else _class_colours(painted[order], counts[order])
        labels = np.zeros(codes.shape, np.int32)
        for number, code in enumerate(names, 1):
            labels[codes == code] = number
        present = set(np.unique(labels).tolist())
        numbered = [(n, code) for n, code in enumerate(names, 1) if n in present]
        return cls(
            labels,
            {n: names[code] or _hex(code) for n, code in numbered},
            {n: _rgb(code) for n, code in numbered},
        )

    @classmethod
    def from_points(
        cls, points: Iterable[tuple[float, float, Any]], shape: tuple[int, int], radius: int = 0
    ) -> "Marks":
        """Make marks of points (x, y, label): x counts columns from the left, y rows from the top, from 0.

        Parameters
        ----------
        points : iterable of (x, y, label)
            The points; whole numbers as labels stay the class numbers, other labels are numbered by name.
        shape : tuple of int
            Height and width of the image.
        radius : int, default=0
            Each point marks the disc of this radius, in pixels.

        Returns
        -------
        Marks
            The marks.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> Marks.from_points([(2, 0, "sky"), (1, 1, "cow")], (2, 3)).labels.tolist()
        [[0, 0, 2], [0, 1, 0]]
        """
        points = list(points)
        numbers, classes = _numbered([label for *_, label in points])
        labels = np.zeros(_checked_shape(shape), np.int32)
        rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
        disc = np.argwhere(rows**2 + columns**2 <= radius**2) - radius
        for (x, y, _), number in zip(points, numbers):
            _check_inside([(x, y)], shape)
            pixels = disc + np.floor([y, x]).astype(int)
            inside = ((pixels >= 0) & (pixels < shape)).all(axis=1)
            labels[tuple(pixels[inside].T)] = number
        return cls(labels, classes)

    @classmethod
    def from_strokes(cls, strokes: Iterable[Outline], shape: tuple[int, int], width: int = 3) -> "Marks":
        """Make marks of strokes (label, [(x, y), (x, y), …]).

        Parameters
        ----------
        strokes : iterable of (label, points)
            Lines through points (x, y); labels as in :meth:`from_points`.
        shape : tuple of int
            Height and width of the image.
        width : int, default=3
            Width of the lines, in pixels.

        Returns
        -------
        Marks
            The marks.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> Marks.from_strokes([("cow", [(1, 0), (3, 0)])], (2, 5), width=1).labels.tolist()
        [[0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
        """
        return cls._drawn([(label, points, "linestrip") for label, points in strokes], shape, width)

    @classmethod
    def from_polygons(cls, polygons: Iterable[Outline], shape: tuple[int, int]) -> "Marks":
        """Make marks of filled polygons (label, [(x, y), (x, y), (x, y), …]).

        Parameters
        ----------
        polygons : iterable of (label, points)
            At least three corners (x, y) each; labels as in :meth:`from_points`.
        shape : tuple of int
            Height and width of the image.

        Returns
        -------
        Marks
            The marks.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> square = [("cow", [(1, 0), (3, 0), (3, 2), (1, 2)])]
        >>> int(Marks.from_polygons(square, (3, 5)).labels.sum())
        9
        """
        return cls._drawn([(label, points, "polygon") for label, points in polygons], shape, 1)

    @classmethod
    def from_labelme(cls, document: dict[str, Any], shape: tuple[int, int], width: int = 3) -> "Marks":
        """Make marks of a LabelMe document: polygons, rectangles, circles, lines, line strips and points.

        Parameters
        ----------
        document : dict
            The content of a JSON file as LabelMe writes it.
        shape : tuple of int
            Height and width of the image.
        width : int, default=3
            Width of lines and line strips, in pixels.

        Returns
        -------
        Marks
            The marks.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> point = {"label": "cow", "points": [[1, 0]], "shape_type": "point"}
        >>> Marks.from_labelme({"shapes": [point]}, (1, 3)).labels.tolist()
        [[0, 1, 0]]
        """
        try:
            shapes = [
                (s["label"], [(float(x), float(y)) for x, y in s["points"]], s.get("shape_type") or "polygon")
                for s in document["shapes"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "The shapes must be a LabelMe document: {'shapes': [{'label', 'points', 'shape_type'}, …]}; "
                f"missing or wrong: {error!s:.100}."
            ) from None
        return cls._drawn(shapes, shape, width)

    @classmethod
    def _drawn(
        cls,
        shapes: Sequence[tuple[Any, Sequence[tuple[float, float]], str]],
        shape: tuple[int, int],
        width: int,
    ) -> "Marks":
        image, draw_module = import_pillow("PIL.Image", "PIL.ImageDraw")
        numbers, classes = _numbered([label for label, *_ in shapes])
        shape = _checked_shape(shape)
        if isinstance(width, bool) or not isinstance(width, int | np.integer) or not 1 <= width <= max(shape):
            raise ValueError(f"width must be a whole number between 1 and {max(shape)}; got {width!r}.")
        canvas = image.new("I", (shape[1], shape[0]), 0)
        pen = draw_module.Draw(canvas)
        for (label, points, kind), number in zip(shapes, numbers):
            points = [(float(x), float(y)) for x, y in points]
            _check_inside(points, shape, edge=1)  # tools draw up to the outer edge of the last pixel
            _draw(pen, kind, points, number, width, label)
        return cls(np.array(canvas, np.int32), classes)

    def merged(self, more: "Marks") -> "Marks":
        """These marks with others on top; equal names are one class, and -1 removes a mark.

        Parameters
        ----------
        more : Marks
            The marks to add, of the same height and width.

        Returns
        -------
        Marks
            New marks; a class without any mark left is not among them.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> first = Marks.from_points([(0, 0, "cow")], (1, 3))
        >>> both = first.merged(Marks.from_points([(2, 0, "sky")], (1, 3)))
        >>> both.labels.tolist(), both.classes
        ([[1, 0, 2]], {1: 'cow', 2: 'sky'})
        """
        if more.labels.shape != self.labels.shape:
            raise ValueError(misfit(more.labels.shape, self.labels.shape))
        classes, colours = dict(self.classes), dict(self.colors)
        by_name = {name: number for number, name in classes.items()}
        labels = _placed(self.labels.shape, *_marked(self.labels))
        places, values = _marked(more.labels)
        labels.reshape(-1)[places[values == -1]] = 0
        for number, name in more.classes.items():
            free = number if number not in classes else max(classes) + 1
            target = by_name.get(name, free)
            classes[target] = name
            if number in more.colors:
                colours.setdefault(target, more.colors[number])
            labels.reshape(-1)[places[values == number]] = target
        present = set(np.unique(_marked(labels)[1]).tolist())
        return Marks(labels, {n: name for n, name in classes.items() if n in present}, colours)

    def palette(self) -> dict[int, Colour]:
        """A colour for every class: the one it was painted in, or the next free one.

        Returns
        -------
        dict of int to tuple of int
            (red, green, blue) for every class number.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> Marks.from_array([[0, 1], [7, 0]]).palette()
        {1: (230, 60, 50), 7: (50, 120, 220)}
        """
        taken = set(self.colors.values())
        spare = [colour for colour in PALETTE if colour not in taken] or list(PALETTE)
        without = [number for number in self.classes if number not in self.colors]
        return {n: self.colors[n] for n in self.classes if n in self.colors} | {
            n: spare[k % len(spare)] for k, n in enumerate(without)
        }

    def fitted(
        self, shape: tuple[int, ...], valid: NDArray[np.bool_] | None = None, *, alone: bool = True
    ) -> "Marks":
        """The marks that count on an image: those on pixels with data, of at least two classes.

        Parameters
        ----------
        shape : tuple of int
            Height and width of the image.
        valid : ndarray of bool, shape (H, W), optional
            Where the image has data; everywhere by default.
        alone : bool, default=True
            Whether there are no marks on other images, so that these must have two classes.

        Returns
        -------
        Marks
            These marks without those on pixels that have no data.

        Raises
        ------
        ValueError
            If height and width differ, or if fewer than two classes are marked.

        Examples
        --------
        >>> from phaselabel import Marks
        >>> Marks.from_array([[2, 0, 1, -1]]).fitted((1, 4)).labels.tolist()
        [[2, 0, 1, 0]]
        """
        if self.labels.shape != shape:
            raise ValueError(misfit(self.labels.shape, shape))
        places, values = _marked(self.labels)
        counted = values > 0 if valid is None else (values > 0) & valid.ravel()[places]
        places, values = places[counted], values[counted]
        classes = {n: self.classes.get(n, str(n)) for n in np.unique(values).tolist()}
        where = "" if valid is None else " on pixels with data"
        if not classes and alone:
            raise ValueError(f"There are no marks{where}: mark a few pixels of every class.")
        if len(classes) == 1 and alone:
            only = next(iter(classes.values()))
            raise ValueError(
                f"All marks{where} are of one class ({only}): mark at least two, for instance the background."
            )
        return Marks(_placed(shape, places, values), classes, self.colors)


def _marked(labels: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The places that are not 0, counted row by row, and what is there."""
    flat = labels.ravel()
    places = np.flatnonzero(flat)
    return places, flat[places]


def _placed(shape: tuple[int, ...], places: NDArray[np.intp], values: NDArray[Any]) -> NDArray[np.int32]:
    """Values at some places, 0 elsewhere; memory is taken where there are values only."""
    labels = np.zeros(shape, np.int32)
    labels.reshape(-1)[places] = values
    return labels


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


def as_marks(scribbles: Marks | ArrayLike, image: NDArray[Any] | None = None) -> Marks:
    """Marks from marks, a label image or a painting."""
    if isinstance(scribbles, Marks):
        return scribbles
    array = np.asarray(scribbles)
    if array.ndim == 3 and array.shape[2] in (3, 4):
        return Marks.from_painting(array, image=image)
    return Marks.from_array(array)


def with_shared_classes(marks: Sequence[Marks]) -> list[Marks]:
    """Marks of several images with the same number for classes of the same name.

    A class keeps its number unless an earlier one has it.

    Parameters
    ----------
    marks : sequence of Marks
        The marks of every image.

    Returns
    -------
    list of Marks
        The same marks, numbered alike.

    Examples
    --------
    >>> first, second = Marks.from_points([(0, 0, "cow")], (1, 2)), Marks.from_points([(0, 0, "sky")], (1, 2))
    >>> [one.classes for one in with_shared_classes([first, second])]
    [{1: 'cow'}, {2: 'sky'}]
    """
    number_of: dict[str, int] = {}
    colors: dict[int, Colour] = {}
    out = []
    for one in marks:
        for number, name in one.classes.items():
            if name not in number_of:
                taken = set(number_of.values())
                number_of[name] = number if number not in taken else max(taken) + 1
            if number in one.colors:
                colors.setdefault(number_of[name], one.colors[number])
        places, values = _marked(one.labels)
        renamed = np.where(values == -1, np.int32(-1), np.int32(0))
        for number, name in one.classes.items():
            renamed[values == number] = number_of[name]
        labels = _placed(one.labels.shape, places, renamed)
        classes = {number_of[name]: name for name in one.classes.values()}
        own = {n: colors[n] for n in classes if n in colors}
        out.append(Marks(labels, dict(sorted(classes.items())), own))
    return out


def _class_colours(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> dict[int, str]:
    """The colours that are classes: all of them with a hard brush, the frequent ones with a soft brush."""
    if not len(codes):
        raise ValueError("There are no marks: everything is black or transparent.")
    classes = codes
    if len(codes) > MAX_HARD_BRUSH_COLORS:
        classes = codes[counts >= MIN_SHARE_OF_PAINT * counts.sum()]
    if not 0 < len(classes) <= MAX_PAINTED_CLASSES:
        raise ValueError(
            f"The marks have {len(codes)} colours, like a photograph; paint with a hard brush on a "
            "transparent or black layer and save it as PNG, or name the colours in a legend."
        )
    if len(classes) < len(codes):
        log.warning(
            "The marks have %d colours: %d frequent ones are classes, the rest are taken for brush edges.",
            len(codes),
            len(classes),
        )
    return dict.fromkeys(sorted(classes.tolist()), "")


def _named_colours(legend: dict[str, str]) -> dict[int, str]:
    codes = {}
    if not isinstance(legend, dict):
        raise ValueError(f"A legend maps colours like '#ff0000' to names; got {legend!r:.40}.")
    for colour, name in legend.items():
        text = str(colour).lstrip("#")
        if not re.fullmatch("[0-9a-fA-F]{6}", text):
            raise ValueError(f"A legend maps colours like '#ff0000' to names; got {colour!r:.40}.")
        codes[int(text, 16)] = str(name)
    return codes


def _is_picture(image: NDArray[Any]) -> bool:
    return image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] in (1, 3, 4)


def _hex(code: int) -> str:
    return f"#{code:06x}"


def _rgb(code: int) -> Colour:
    return code >> 16, code >> 8 & 255, code & 255


def _numbered(labels: Sequence[Any]) -> tuple[list[int], dict[int, str]]:
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


def misfit(marks: tuple[int, ...], image: tuple[int, ...]) -> str:
    """What to say of marks and an image of these shapes, which differ."""
    if len(marks) != 2 or len(image) != 2:
        return f"The marks have the shape {marks} but the image has {image}; they must be equal."
    turned = " The image seems to be turned: was it rotated after the marks were made?"
    return (
        f"The marks are {marks[1]} wide and {marks[0]} high but the image is {image[1]} wide and "
        f"{image[0]} high; make them on an image of the same size."
        + (turned if marks == image[::-1] and marks != image else "")
    )
