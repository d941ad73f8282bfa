"""Marks of several images in, marks with shared classes on the right images out, or a sentence why not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from phaselabel.segmentation.color import Colour
from phaselabel.segmentation.frames import Frame
from phaselabel.segmentation.marks import Marks, as_marks, with_shared_classes


def listed(images: Any) -> list[Any]:
    """Several images as a list; one image as a list of one."""
    return list(images) if isinstance(images, list | tuple) else [images]


def paired(images: Any, marks: Any) -> tuple[list[Any], list[Any]]:
    """Images and their marks as two lists of one length."""
    if not isinstance(images, list | tuple):
        return [images], [marks]
    if not images:
        raise ValueError("images is empty; pass at least one image.")
    if not isinstance(marks, list | tuple) or len(marks) != len(images):
        given = f"{len(marks)}" if isinstance(marks, list | tuple) else "one"
        raise ValueError(
            f"marks must be a list with an entry for each of the {len(images)} images, None without marks; "
            f"got {given}."
        )
    return list(images), list(marks)


def marks_by_image(
    marks: Any, image: int | np.integer | None, frames: Sequence[Frame], *, volume: bool
) -> list[Marks | None]:
    """The marks of every image, None without any, from a list of them or from marks on one image."""
    if isinstance(marks, list | tuple) and image is None and _is_list_of_marks(marks, len(frames)):
        return [None if m is None else _on(frames[n], m, volume) for n, m in enumerate(marks)]
    number = _number_of_image(marks, frames, 3 if volume else 2) if image is None else int(image)
    if not 0 <= number < len(frames):
        raise ValueError(f"image must be a number from 0 to {len(frames) - 1}; got {image}.")
    by_image: list[Marks | None] = [None] * len(frames)
    by_image[number] = _on(frames[number], marks, volume)
    return by_image


def _on(frame: Frame, marks: Any, volume: bool) -> Marks:
    return as_marks(marks, None if volume else frame.shown.pixels)


def _is_list_of_marks(marks: Any, n_images: int) -> bool:
    """Whether a list is one of marks of every image, and not a label image as nested lists."""
    if len(marks) != n_images:
        return False
    return any(m is None or isinstance(m, Marks) or np.ndim(m) > 1 for m in marks)


def _number_of_image(marks: Any, frames: Sequence[Frame], n_axes: int) -> int:
    """The number of the only image that has the size of the marks."""
    shape = marks.labels.shape if isinstance(marks, Marks) else np.shape(marks)
    alike = [n for n, frame in enumerate(frames) if frame.shown.shape == shape[:n_axes]]
    if len(alike) == 1 or len(frames) == 1:
        return alike[0] if alike else 0
    raise ValueError(
        f"{len(alike)} of the {len(frames)} images have the size of the marks; say which one with "
        "image=number."
    )


def named_alike(before: list[Marks], new: list[Marks | None]) -> list[Marks | None]:
    """New marks with the numbers of the classes that other images have already."""
    known: dict[int, str] = {n: name for one in before for n, name in one.classes.items()}
    first = Marks(np.zeros((1, 1), np.int32), known)
    return [None if one is None else with_shared_classes([first, one])[1] for one in new]


def stroke_numbers(
    frames: Sequence[Frame], placed: Sequence[tuple[NDArray[np.intp], NDArray[np.int32]]]
) -> list[NDArray[np.int64]]:
    """The number of the stroke of every marked pixel: cells of one class that touch are one stroke."""
    numbers, used = [], 0
    for frame, (cells, labels) in zip(frames, placed):
        of_cell = np.zeros(frame.cells.n_cells, np.int64)
        for number in np.unique(labels):
            here = np.zeros(frame.cells.n_cells, bool)
            here[cells[labels == number]] = True
            parts, count = ndimage.label(
                here.reshape(frame.cells.shape), np.ones((3,) * len(frame.cells.shape))
            )
            of_cell[here] = parts.ravel()[here] + used
            used += count
        numbers.append(of_cell[cells])
    return numbers


def names_of(marks: Sequence[Marks], numbers: NDArray[np.int64]) -> dict[int, str]:
    """The name of every class number, from the first image that has it."""
    return {n: next(one.classes[n] for one in marks if n in one.classes) for n in numbers.tolist()}


def colors_of(marks: Sequence[Marks]) -> dict[int, Colour]:
    """The colours that classes were painted in; that of the first image counts."""
    colors: dict[int, Colour] = {}
    for one in marks:
        colors = one.colors | colors
    return colors


def checked_marks(marks: Sequence[Marks | None], frames: Sequence[Frame]) -> list[Marks]:
    """Marks of all images with shared class numbers, those on pixels without data left out."""
    empty = [Marks(np.zeros(frame.bands.shape, np.int32), {}) for frame in frames]
    given = with_shared_classes([none if m is None else m for m, none in zip(marks, empty)])
    alone = len(given) == 1
    fitted = [m.fitted(f.bands.shape, f.bands.valid, alone=alone) for m, f in zip(given, frames)]
    names = {name for one in fitted for name in one.classes.values()}
    if len(names) < 2:
        raise ValueError(
            "There are no marks on any image: mark a few pixels of every class."
            if not names
            else f"All marks are of one class ({names.pop()}): mark at least two, such as the background."
        )
    return fitted
