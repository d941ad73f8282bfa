import numpy as np
import pytest

from phaselabel.segmentation.features import check_patch, pixel_features


def naive_patches(bands, patch):
    height, width, n_bands = bands.shape
    reach = patch // 2

    def mirror(i, n):
        i = abs(i) % (2 * n - 2) if n > 1 else 0
        return i if i < n else 2 * n - 2 - i

    rows = []
    for y in range(height):
        for x in range(width):
            around = [
                bands[mirror(y + dy, height), mirror(x + dx, width)]
                for dy in range(-reach, reach + 1)
                for dx in range(-reach, reach + 1)
            ]
            rows.append(np.concatenate(around))
    return np.array(rows) / np.sqrt(patch * patch * n_bands)


@pytest.mark.parametrize(("shape", "patch"), [((6, 7, 3), 5), ((4, 9, 1), 3), ((2, 3, 2), 5), ((1, 4, 1), 3)])
def test_patches_equal_the_loops(shape, patch):
    bands = np.random.default_rng(0).random(shape).astype(np.float32)
    np.testing.assert_allclose(pixel_features(bands, patch), naive_patches(bands, patch), rtol=1e-6)


def test_the_papers_patch_has_75_numbers():
    assert pixel_features(np.zeros((5, 5, 3), np.float32), 5).shape == (25, 75)


def test_position_counts_as_said():
    rows = pixel_features(np.zeros((11, 21, 3), np.float32), 3, position=0.2)
    across = np.linalg.norm(rows[20] - rows[0])
    assert across == pytest.approx(0.2 * 20 / 21, rel=1e-5)


@pytest.mark.parametrize("patch", [0, 2, -1, 2.5, True, "5"])
def test_patch_must_be_odd(patch):
    with pytest.raises(ValueError, match="odd"):
        check_patch(patch, 0)


@pytest.mark.parametrize("position", [-1, np.nan, np.inf, "a"])
def test_position_must_be_a_weight(position):
    with pytest.raises(ValueError, match="position"):
        check_patch(5, position)
