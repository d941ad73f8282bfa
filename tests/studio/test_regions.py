"""What a click on the picture means."""

import numpy as np
import pytest

from phaselabel.segmentation.export import mask_from_run_lengths
from phaselabel.studio.regions import clicked_region, object_at


def picture(dtype=np.uint8):
    """A disc, brighter on its left side, before a noisy background."""
    y, x = np.mgrid[:60, :80]
    inside = (y - 30) ** 2 + (x - 40) ** 2 < 15**2
    image = np.random.default_rng(0).normal(60, 4, (60, 80))
    image[inside] = 180 - 0.5 * (x[inside] - 25)
    return np.clip(image, 0, 255).astype(dtype), inside


def test_an_object_is_found_by_one_click_and_leaves_out_marks_of_others():
    image, inside = picture()
    none = np.zeros(image.shape, bool)
    found = object_at(image, (40, 30), (0, 0, 80, 60), none)
    assert (found & inside).sum() / (found | inside).sum() > 0.85
    others = none.copy()
    others[25:35, 45:50] = True
    assert not (object_at(image, (35, 30), (0, 0, 80, 60), others) & others).any()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_fill_takes_connected_pixels_of_like_colour(dtype):
    image, inside = picture(dtype)
    body = {"class": 1, "how": "fill", "point": [40.0, 30.0], "tolerance": 0.2}
    runs = clicked_region(body, image, np.zeros(image.shape, np.int32))
    filled = mask_from_run_lengths(runs, image.shape)
    assert (filled & ~inside).sum() == 0
    assert (filled & inside).sum() > 0.9 * inside.sum()


@pytest.mark.parametrize(
    "wrong",
    [
        {"how": "star"},
        {"point": None},
        {"point": [1]},
        {"point": [float("nan"), 1]},
        {"how": "object", "box": "all"},
    ],
)
def test_a_click_that_means_nothing_is_refused(wrong):
    body = {"class": 1, "how": "fill", "point": [1, 1], **wrong}
    with pytest.raises(ValueError, match="region"):
        clicked_region(body, picture()[0], np.zeros((60, 80), np.int32))
