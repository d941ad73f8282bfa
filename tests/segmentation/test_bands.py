import numpy as np
import pytest

from phaselabel.segmentation.bands import as_bands


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, np.float64, bool])
def test_any_type_of_number(dtype):
    image = np.zeros((5, 6), dtype)
    image[2:] = 1 if dtype is bool else 200
    scaled = as_bands(image).scaled()
    assert scaled.shape == (5, 6, 1)
    assert scaled.dtype == np.float32
    assert 0 <= scaled.min() < scaled.max() <= 1


def test_black_and_white_are_those_of_bytes():
    """A mask had a range of 1 of 255, so that any weight of the place drowned it."""
    mask = np.random.default_rng(0).random((5, 6)) < 0.5
    scaled = as_bands(mask).scaled()
    np.testing.assert_array_equal(scaled, as_bands(mask * np.uint8(255)).scaled())
    assert set(np.unique(scaled)) == {0, 1}


def test_bands_of_a_cube_are_scaled_one_by_one():
    rng = np.random.default_rng(0)
    cube = rng.random((20, 20, 6)) * [1, 10, 100, 1e3, 1e-3, 0] + 5
    scaled = as_bands(cube).scaled().reshape(-1, 6)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 1, 1, 1, 0], atol=1e-2)


def test_three_bands_keep_their_balance():
    image = np.random.default_rng(0).integers(0, 4000, (9, 9, 3)).astype(np.uint16)
    image[..., 0] //= 10
    scaled = as_bands(image).scaled()
    assert scaled[..., 0].max() < 0.2


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (np.zeros((0, 4)), "none of them 0"),
        (np.zeros(4), "height, width"),
        (np.zeros((2, 2, 2, 2)), "height, width"),
        (np.array([["a", "b"]]), "whole numbers or floats"),
        (np.full((3, 3), np.nan), "every pixel"),
    ],
)
def test_what_is_no_image(image, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_bands(image)


def test_a_few_bright_spots_on_an_even_ground_have_a_range():
    image = np.zeros((100, 100), np.uint16)
    image[3, 4] = 5000
    assert as_bands(image).scaled().max() == 1


def test_a_large_image_has_the_range_of_a_sample():
    image = np.random.default_rng(0).integers(1000, 3000, (1500, 1400)).astype(np.uint16)
    scaled = as_bands(image).scaled()
    assert scaled.min() == pytest.approx(0, abs=0.02)
    assert scaled.max() == pytest.approx(1, abs=0.02)
    with_gaps = image.astype(np.float32)
    with_gaps[:, 700:] = np.nan
    assert as_bands(with_gaps).gain == pytest.approx(as_bands(image).gain, rel=0.02)
