"""A painted image in, a label image with a class for every colour out."""

import logging
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.segmentation.color import Colour

log = logging.getLogger(__name__)

#: A painting with at most 16 colours was made with a hard brush: every colour is a class.
MAX_HARD_BRUSH_COLORS = 16

#: In a painting with more colours, a class has at least this share of the paint; the rest is brush edges.
MIN_SHARE_OF_PAINT = 0.01

#: A painting has at most 64 classes; with more it is taken for a photograph.
MAX_PAINTED_CLASSES = 64


def painted_classes(
    painting: ArrayLike, legend: dict[str, str] | None, image: NDArray[Any] | None
) -> tuple[NDArray[np.int32], dict[int, str], dict[int, Colour]]:
    """The class number of every pixel of a painting, and the name and the colour of every class.

    Parameters
    ----------
    painting, legend, image
        As for :meth:`phaselabel.Marks.from_painting`.

    Returns
    -------
    labels : ndarray of int32, shape (H, W)
        0 where nothing is painted.
    names : dict of int to str
        As the legend says; ``#rrggbb`` without one.
    colors : dict of int to (int, int, int)
        The colours.
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
    colors = {n: (code >> 16, code >> 8 & 255, code & 255) for n, code in numbered}
    return labels, {n: names[code] or f"#{code:06x}" for n, code in numbered}, colors


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
