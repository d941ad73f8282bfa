import numpy as np
import pytest

from phaselabel.segmentation.frames import Looks
from phaselabel.segmentation.scales import multi_scale, n_far_columns


@pytest.mark.parametrize("shape", [(20, 31), (7, 9, 11)])
def test_every_column_is_finite_and_flat_images_have_no_texture(shape):
    flat = multi_scale(np.full((*shape, 2), 0.5, np.float32))
    varied = multi_scale(np.random.default_rng(0).random((*shape, 2)).astype(np.float32))
    assert np.isfinite(varied).all()
    assert varied.shape[-1] == 6 + 5 * (2 + 3)
    smoothed = [6 + 5 * k + b for k in range(5) for b in range(2)]
    np.testing.assert_allclose(flat[..., smoothed], 0.5, atol=1e-5)
    others = np.setdiff1d(np.arange(flat.shape[-1]), smoothed)
    assert np.abs(flat[..., others]).max() < 1e-3
    assert varied[..., 0].mean() > 0.1


def test_stripes_have_one_direction_and_noise_has_two():
    stripes = np.tile(np.sin(np.arange(64) / 2), (64, 1)).astype(np.float32)[..., None]
    noise = np.random.default_rng(1).normal(size=(64, 64, 1)).astype(np.float32)
    first = 6 + 2  # after the texture: smoothed band, slope, largest, smallest
    for image, low, high in ((stripes, 0, 0.05), (noise, 0.5, 1)):
        features = multi_scale(image)[16:-16, 16:-16].mean(axis=(0, 1))
        ratio = features[first + 4 + 1] / features[first + 4]
        assert low <= ratio <= high


@pytest.mark.parametrize("n_bands", [1, 3, 20])
def test_the_far_columns_are_the_last(n_bands):
    looks = Looks(5, False, False, np.zeros(0, np.float32), np.zeros((0, 0), np.float32))
    bands = np.random.default_rng(0).random((9, 8, n_bands)).astype(np.float32)
    columns = looks.scales(bands).shape[1]
    assert looks.near_columns(columns) == columns - n_far_columns(n_bands)
