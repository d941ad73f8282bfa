"""Marks find their images, and say what is missing."""

import numpy as np
import pytest

from phaselabel import Marks
from phaselabel.segmentation.images import Images
from phaselabel.segmentation.marked_images import (
    checked_marks,
    colors_of,
    marks_by_image,
    named_alike,
    names_of,
    paired,
    stroke_numbers,
)


def frames_of(*shapes):
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 255, shape).astype(np.uint8) for shape in shapes]
    settings = {"patch": 1, "color": "auto", "scale": "auto", "max_pixels": 1000, "volume": False}
    return Images.of(pictures, None, **settings).frames


def marks(*rows):
    return np.array(rows)


def test_marks_belong_to_the_only_image_of_their_size():
    frames = frames_of((2, 3), (2, 4), (2, 4))
    found = marks_by_image(marks([1, 0, 0], [0, 0, 2]), None, frames, volume=False)
    assert [one is None for one in found] == [False, True, True]
    with pytest.raises(ValueError, match="2 of the 3 images have the size"):
        marks_by_image(np.zeros((2, 4), int), None, frames, volume=False)
    with pytest.raises(ValueError, match="image must be a number from 0 to 2"):
        marks_by_image(np.zeros((2, 4), int), 3, frames, volume=False)


def test_a_list_has_the_marks_of_every_image():
    frames = frames_of((2, 3), (2, 4))
    found = marks_by_image([None, marks([1, 0, 0, 2], [0, 0, 0, 0])], None, frames, volume=False)
    assert found[0] is None
    assert found[1].classes == {1: "1", 2: "2"}


def test_two_classes_must_be_marked():
    frames = frames_of((1, 3))
    with pytest.raises(ValueError, match="There are no marks"):
        checked_marks([None], frames)
    with pytest.raises(ValueError, match="one class"):
        checked_marks([Marks.from_array([[1, 0, 0]])], frames)


def test_images_and_marks_are_as_many():
    assert paired("image", "marks") == (["image"], ["marks"])
    with pytest.raises(ValueError, match="an entry for each of the 2 images"):
        paired(["a", "b"], ["one"])
    with pytest.raises(ValueError, match="images is empty"):
        paired([], [])


def test_equal_names_have_one_number_and_the_first_colour():
    first = Marks(np.array([[2]], np.int32), {2: "cow"}, {2: (1, 2, 3)})
    second = Marks(np.array([[1]], np.int32), {1: "cow"}, {1: (9, 9, 9)})
    (found,) = named_alike([first], [second])
    assert found.classes == {2: "cow"}
    assert names_of([first, found], np.array([2])) == {2: "cow"}
    assert colors_of([first, found])[2] == (1, 2, 3)


def test_touching_cells_of_a_class_are_one_stroke():
    frames = frames_of((1, 5))
    ((numbers),) = stroke_numbers(frames, [(np.array([0, 1, 3]), np.array([1, 1, 1], np.int32))])
    assert numbers[0] == numbers[1] != numbers[2]
