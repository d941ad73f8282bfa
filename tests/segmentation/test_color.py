import numpy as np
import pytest

from phaselabel.segmentation.color import to_lab


def test_colors_are_those_of_scikit_image():
    skimage = pytest.importorskip("skimage.color")
    colors = np.random.default_rng(0).random((50, 3)).astype(np.float32)
    colors[:3] = [[0, 0, 0], [0.02, 0.03, 0.01], [1, 1, 1]]
    np.testing.assert_allclose(100 * to_lab(colors), skimage.rgb2lab(colors), atol=0.05)


def test_values_outside_the_range_are_clipped():
    assert (to_lab(np.array([2.0, -1.0, 0.5], np.float32)) == to_lab(np.array([1, 0, 0.5], np.float32))).all()
