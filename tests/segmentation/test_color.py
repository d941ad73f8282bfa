import numpy as np
import pytest

from phaselabel import segment
from phaselabel.segmentation.color import to_lab


def test_colors_are_those_of_scikit_image():
    skimage = pytest.importorskip("skimage.color")
    colors = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    colors[:3] = [[0, 0, 0], [0.02, 0.03, 0.01], [1, 1, 1]]
    np.testing.assert_allclose(100 * to_lab(colors), skimage.rgb2lab(colors), atol=0.05)


def test_values_outside_the_range_are_clipped():
    assert (to_lab(np.array([2.0, -1.0, 0.5], np.float32)) == to_lab(np.array([1, 0, 0.5], np.float32))).all()


def test_colours_are_compared_in_cielab_by_default():
    """Lavender is nearer to mint in the numbers of the file, and nearer to dark blue for the eye."""
    image = np.zeros((12, 30, 3))
    image[:, :10], image[:, 10:20], image[:, 20:] = (141, 254, 206), (162, 149, 247), (0, 66, 128)
    image = np.clip(image + np.random.default_rng(0).normal(0, 3, image.shape), 0, 255).astype(np.uint8)
    marks = np.zeros((12, 30), int)
    marks[5, 2:8], marks[5, 22:28] = 1, 2

    def found(pixels, **options):
        return segment(pixels, marks, patch=1, **options)

    auto, lab, bands = (found(image, color=color) for color in ("auto", "lab", "bands"))
    assert (auto.confidence == lab.confidence).all()
    assert np.mean(auto.labels[:, 10:20] == 2) > 0.9
    assert np.mean(bands.labels[:, 10:20] == 2) < 0.8

    # Bands of their own scale, and more than four, are not colours.
    by_band = [found(image, color=color, scale="band").confidence for color in ("auto", "bands")]
    assert (by_band[0] == by_band[1]).all()
    five = np.concatenate([image, image[..., :2]], axis=2)
    of_five = [found(five, color=color).confidence for color in ("auto", "bands", "lab")]
    assert (of_five[0] == of_five[1]).all()
    assert not (of_five[0] == of_five[2]).all()
