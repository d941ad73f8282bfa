"""Marks as people make them in, a label image with named classes out."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

log = logging.getLogger(__name__)

Colour = tuple[int, int, int]

#: Colours told apart by eye, dealt out to classes that come without one.
PALETTE: tuple[Colour, ...] = (
    (230, 60, 50), (50, 120, 220), (60, 170, 70), (250, 180, 30), (150, 80, 190), (30, 190, 200),
    (240, 120, 190), (140, 95, 60), (250, 130, 40), (120, 130, 140), (170, 210, 60), (20, 60, 130),
    (130, 20, 50), (0, 110, 90), (200, 170, 240), (255, 220, 150), (80, 50, 110), (170, 230, 220),
    (110, 110, 20), (250, 150, 140),
)  # fmt: skip

#: A painting with more colours than this has soft brush edges; rare colours are then no classes.
CRISP = 16
RARE = 0.01
TOO_MANY = 64


@dataclass(frozen=True, eq=False)
class Marks:
    """A label image with 0 where nothing is marked, and the name and colour of each number.

    Attributes
    ----------
    labels : ndarray of int32, shape (H, W)
        The class number of every marked pixel, 0 elsewhere (and -1 where an update takes a mark away).
    classes : dict of int to str
        The name of every class number.
    colors : dict of int to (red, green, blue)
        The colour a class was painted in, where it was.
    """

    labels: NDArray[np.int32]
    classes: dict[int, str]
    colors: dict[int, Colour] = field(default_factory=dict)

    @classmethod
    def from_array(cls, labels: ArrayLike, names: dict[int, str] | None = None) -> "Marks":
        """Take a label image: 0 is not marked, every other whole number is a class.

        Examples
        --------
        >>> Marks.from_array([[0, 1], [7, 0]]).classes
        {1: '1', 7: '7'}
        """
        found = np.asarray(labels)
        if found.ndim != 2:
            raise ValueError(f"A label image must have shape (height, width); got {found.shape}.")
        if found.dtype.kind not in "iub" and not (
            found.dtype.kind == "f" and np.all(found == np.round(found))
        ):
            raise ValueError(f"A label image must hold whole numbers, 0 where not marked; got {found.dtype}.")
        if found.size and (found.min() < -1 or found.max() > np.iinfo(np.int32).max):
            raise ValueError(
                f"A label image must hold 0 (not marked) and class numbers from 1; got {found.min()} "
                f"to {found.max()}."
            )
        found = found.astype(np.int32)
        numbers = np.unique(found[found > 0]).tolist()
        return cls(found, {n: (names or {}).get(n, str(n)) for n in numbers})

    @classmethod
    def from_painting(
        cls,
        painting: ArrayLike,
        *,
        legend: dict[str, str] | None = None,
        image: NDArray[Any] | None = None,
    ) -> "Marks":
        """Take a painted image: each colour is a class; transparent or black is not marked.

        Parameters
        ----------
        painting : array-like of uint8, shape (H, W, 3) or (H, W, 4)
            The strokes, alone or painted over a copy of the image.
        legend : dict of "#rrggbb" to str, optional
            Names of the colours; other colours are then no marks.
        image : ndarray, optional
            The image itself: where the painting equals it, nothing is marked.

        Examples
        --------
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
            same = (image[:, :, :3] == paint[:, :, :3]).all(axis=2)
            if same.mean() > 0.5:
                codes[same] = 0
        found, counts = np.unique(codes[codes > 0], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        chosen = _named_colours(legend) if legend else _colours(found[order], counts[order])
        labels = np.zeros(codes.shape, np.int32)
        for number, code in enumerate(chosen, 1):
            labels[codes == code] = number
        names = {n: (chosen[code] or _hex(code)) for n, code in enumerate(chosen, 1)}
        colours = {n: _rgb(code) for n, code in enumerate(chosen, 1)}
        present = set(np.unique(labels).tolist())
        return cls(
            labels,
            {n: name for n, name in names.items() if n in present},
            {n: colour for n, colour in colours.items() if n in present},
        )

    @classmethod
    def from_points(
        cls, points: Iterable[tuple[float, float, Any]], shape: tuple[int, int], radius: int = 0
    ) -> "Marks":
        """Take points (x, y, label): x counts columns from the left, y rows from the top, from 0.

        Examples
        --------
        >>> Marks.from_points([(2, 0, "sky"), (1, 1, "cow")], (2, 3)).labels.tolist()
        [[0, 0, 2], [0, 1, 0]]
        """
        points = list(points)
        numbers, classes = _numbered([label for *_, label in points])
        labels = np.zeros(shape, np.int32)
        rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
        disc = np.argwhere(rows**2 + columns**2 <= radius**2) - radius
        for (x, y, _), number in zip(points, numbers):
            _check_inside([(x, y)], shape)
            spots = disc + np.floor([y, x]).astype(int)
            inside = ((spots >= 0) & (spots < shape)).all(axis=1)
            labels[tuple(spots[inside].T)] = number
        return cls(labels, classes)

    @classmethod
    def from_strokes(
        cls,
        strokes: Iterable[tuple[Any, Sequence[tuple[float, float]]]],
        shape: tuple[int, int],
        width: int = 3,
    ) -> "Marks":
        """Take strokes (label, [(x, y), (x, y), …]) drawn with a pen of ``width`` pixels."""
        return cls._drawn([(label, points, "linestrip") for label, points in strokes], shape, width)

    @classmethod
    def from_polygons(
        cls, polygons: Iterable[tuple[Any, Sequence[tuple[float, float]]]], shape: tuple[int, int]
    ) -> "Marks":
        """Take filled polygons (label, [(x, y), (x, y), (x, y), …])."""
        return cls._drawn([(label, points, "polygon") for label, points in polygons], shape, 1)

    @classmethod
    def from_labelme(cls, document: dict[str, Any], shape: tuple[int, int], width: int = 3) -> "Marks":
        """Take a LabelMe document: polygons, rectangles, circles, lines, line strips and points."""
        try:
            shapes = [
                (s["label"], [(float(x), float(y)) for x, y in s["points"]], s.get("shape_type") or "polygon")
                for s in document["shapes"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "The shapes must be a LabelMe document: {'shapes': [{'label', 'points', 'shape_type'}, …]}; "
                f"missing or wrong: {error}."
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
        canvas = image.new("I", (shape[1], shape[0]), 0)
        pen = draw_module.Draw(canvas)
        for (label, points, kind), number in zip(shapes, numbers):
            points = [(float(x), float(y)) for x, y in points]
            _check_inside(points, shape, edge=1)  # tools draw up to the outer edge of the last pixel
            _draw(pen, kind, points, number, width, label)
        return cls(np.array(canvas, np.int32), classes)

    def merged(self, more: "Marks") -> "Marks":
        """These marks with more on top; classes meet by name, -1 takes a mark away.

        Examples
        --------
        >>> first = Marks.from_points([(0, 0, "cow")], (1, 3))
        >>> both = first.merged(Marks.from_points([(2, 0, "sky")], (1, 3)))
        >>> both.labels.tolist(), both.classes
        ([[1, 0, 2]], {1: 'cow', 2: 'sky'})
        """
        if more.labels.shape != self.labels.shape:
            raise ValueError(_misfit(more.labels.shape, self.labels.shape))
        classes, colours = dict(self.classes), dict(self.colors)
        by_name = {name: number for number, name in classes.items()}
        labels = self.labels.copy()
        labels[more.labels == -1] = 0
        for number, name in more.classes.items():
            free = number if number not in classes else max(classes) + 1
            target = by_name.get(name, free)
            classes[target] = name
            if number in more.colors:
                colours.setdefault(target, more.colors[number])
            labels[more.labels == number] = target
        left = set(np.unique(labels).tolist())
        return Marks(labels, {n: name for n, name in classes.items() if n in left}, colours)

    def palette(self) -> dict[int, Colour]:
        """A colour for every class: the one it was painted in, or the next free one."""
        taken = set(self.colors.values())
        spare = [colour for colour in PALETTE if colour not in taken] or list(PALETTE)
        without = [number for number in self.classes if number not in self.colors]
        return {n: self.colors[n] for n in self.classes if n in self.colors} | {
            n: spare[k % len(spare)] for k, n in enumerate(without)
        }

    def fitted(self, shape: tuple[int, int], valid: NDArray[np.bool_] | None = None) -> "Marks":
        """The marks that count on an image of this shape with data where ``valid``; refuse too few."""
        if self.labels.shape != shape:
            raise ValueError(_misfit(self.labels.shape, shape))
        counts = self.labels > 0 if valid is None else (self.labels > 0) & valid
        classes = {n: self.classes.get(n, str(n)) for n in np.unique(self.labels[counts]).tolist()}
        where = "" if valid is None else " on pixels with data"
        if not classes:
            raise ValueError(f"There are no marks{where}: mark a few pixels of every class.")
        if len(classes) == 1:
            only = next(iter(classes.values()))
            raise ValueError(
                f"All marks{where} are of one class ({only}): mark at least two, for instance the background."
            )
        return Marks(np.where(counts, self.labels, 0), classes, self.colors)


def as_marks(scribbles: Any, image: NDArray[Any] | None = None) -> Marks:
    """Marks from whatever a user may hand in: Marks, a label image or a painting."""
    if isinstance(scribbles, Marks):
        return scribbles
    found = np.asarray(scribbles)
    if found.ndim == 3 and found.shape[2] in (3, 4):
        return Marks.from_painting(found, image=image)
    return Marks.from_array(found)


def import_pillow(*modules: str) -> list[Any]:
    """Pillow's modules, or a sentence that says what to install."""
    from importlib import import_module

    try:
        return [import_module(module) for module in modules]
    except ImportError:
        raise ImportError('Pillow is needed for this: pip install "phaselabel[images]".') from None


def _colours(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> dict[int, str]:
    """Which colours are classes: all of a crisp painting, the common ones of a soft brush."""
    if not len(codes):
        raise ValueError("There are no marks: everything is black or transparent.")
    classes = codes if len(codes) <= CRISP else codes[counts >= RARE * counts.sum()]
    if not 0 < len(classes) <= TOO_MANY:
        raise ValueError(
            f"The marks have {len(codes)} colours, like a photograph; paint with a hard brush on a "
            "transparent or black layer and save it as PNG, or name the colours in a legend."
        )
    if len(classes) < len(codes):
        log.warning(
            "The marks have %d colours: %d common ones are classes, the rest are taken for brush edges.",
            len(codes),
            len(classes),
        )
    return dict.fromkeys(sorted(classes.tolist()), "")


def _named_colours(legend: dict[str, str]) -> dict[int, str]:
    codes = {}
    for colour, name in legend.items():
        text = str(colour).lstrip("#")
        try:
            codes[int(text, 16) if len(text) == 6 else int("error")] = str(name)
        except ValueError:
            raise ValueError(f"A legend maps colours like '#ff0000' to names; got {colour!r}.") from None
    return codes


def _is_picture(image: NDArray[Any]) -> bool:
    return image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] in (1, 3, 4)


def _hex(code: int) -> str:
    return f"#{code:06x}"


def _rgb(code: int) -> Colour:
    return code >> 16, code >> 8 & 255, code & 255


def _numbered(labels: Sequence[Any]) -> tuple[list[int], dict[int, str]]:
    """Numbers for labels: their own if all are whole numbers from 1, else 1 … K by name."""
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
    if kind not in least:
        raise ValueError(f"The shape of {label!r} is a {kind!r}; known are {', '.join(least)}.")
    if len(points) < least[kind]:
        raise ValueError(f"The {kind} of {label!r} has {len(points)} points; it needs {least[kind]}.")
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


def _misfit(found: tuple[int, ...], wanted: tuple[int, int]) -> str:
    turned = " The image seems to be turned: was it rotated after the marks were made?"
    return (
        f"The marks are {found[1]} wide and {found[0]} high but the image is {wanted[1]} wide and "
        f"{wanted[0]} high; make them on an image of the same size."
        + (turned if found == wanted[::-1] and found != wanted else "")
    )
