import numpy as np
import pytest

from phaselabel import Marks, segment
from phaselabel.flow.star import State
from phaselabel.segmentation.bands import as_bands
from phaselabel.segmentation.cells import extend, into_cells


@pytest.mark.parametrize("shape", [(12, 18, 3), (13, 17, 2), (3, 40, 1)])
def test_cells_are_means_and_variances(shape):
    image = np.random.default_rng(0).random(shape)
    bands = as_bands(image)
    cells = into_cells(bands, 4)
    scaled = bands.scaled()
    for i in range(cells.shape[0]):
        for j in range(cells.shape[1]):
            block = scaled[4 * i : 4 * i + 4, 4 * j : 4 * j + 4].reshape(-1, shape[2])
            np.testing.assert_allclose(cells.means[i, j], block.mean(axis=0), rtol=1e-5)
            np.testing.assert_allclose(cells.variances[i, j], block.var(axis=0).sum(), rtol=1e-4, atol=1e-7)


def naive_extend(bands, cells, state, n_classes, spreads, reach=2):
    height, width = bands.shape
    scaled = bands.scaled().astype(np.float64)
    arm, tall = state.arm.reshape(cells.shape), state.height.reshape(cells.shape)
    arms, heights = np.empty((height, width), int), np.empty((height, width))
    for y in range(height):
        for x in range(width):
            ballot, total = np.zeros(n_classes), 0.0
            for i in range(max(y // cells.cell - reach, 0), min(y // cells.cell + reach + 1, cells.shape[0])):
                for j in range(
                    max(x // cells.cell - reach, 0), min(x // cells.cell + reach + 1, cells.shape[1])
                ):
                    gap = ((scaled[y, x] - cells.means[i, j]) ** 2).sum()
                    far = ((y + 0.5) / cells.cell - i - 0.5) ** 2 + ((x + 0.5) / cells.cell - j - 0.5) ** 2
                    own = spreads[y // cells.cell, x // cells.cell]
                    say = (np.exp(-gap / own) + 1e-6) * np.exp(-far / 2)
                    total += say
                    if arm[i, j] >= 0:
                        ballot[arm[i, j]] += say * tall[i, j]
            arms[y, x] = ballot.argmax() if ballot.any() else -1
            heights[y, x] = max(2 * ballot.max() - ballot.sum(), 0) / total
    return arms, heights


def test_extension_equals_the_loops():
    from scipy import ndimage

    rng = np.random.default_rng(3)
    bands = as_bands(rng.integers(0, 255, (23, 31, 3)).astype(np.uint8))
    cells = into_cells(bands, 4)
    n = cells.shape[0] * cells.shape[1]
    state = State(rng.integers(-1, 3, n).astype(np.int32), rng.random(n) / 2)
    state.height[state.arm < 0] = 0
    arms, heights = extend(bands, cells, state, 3)
    spreads = 2 * ndimage.minimum_filter(cells.variances, size=3, mode="nearest") + 1e-4
    expected = naive_extend(bands, cells, state, 3, spreads)
    np.testing.assert_allclose(heights, expected[1], atol=1e-4)
    assert (arms == expected[0]).mean() > 0.995  # ties in the last bit


def scene(size):
    """A disc and a bar on textured ground, with the truth."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size] / size
    truth = np.ones((size, size), int)
    truth[(x - 0.3) ** 2 + (y - 0.4) ** 2 < 0.04] = 2
    truth[(abs(x - 0.75) < 0.08) & (abs(y - 0.5) < 0.3)] = 3
    colours = np.array([[0, 0, 0], [90, 140, 80], [200, 90, 60], [80, 90, 190]])
    image = colours[truth] + rng.normal(0, 12, (size, size, 3))
    return np.clip(image, 0, 255).astype(np.uint8), truth


def test_a_reduced_solution_reaches_every_pixel_with_its_edges():
    image, truth = scene(360)
    marks = Marks.from_points([(20, 20, 1), (108, 144, 2), (270, 180, 3)], truth.shape, radius=6)
    seen = []
    result = segment(image, marks, max_pixels=4000, progress=lambda stage, share: seen.append((stage, share)))
    assert result.cell == 6
    assert result.graph.n_vertices == 3600
    blocks = np.kron(result.solution.arm.reshape(60, 60) + 1, np.ones((6, 6), int))
    accuracy, blocky = np.mean(result.labels == truth), np.mean(blocks == truth)
    assert accuracy > 0.995
    assert accuracy > blocky
    assert seen[-1] == ("extending", 1.0)
    assert (result.labels[marks.labels > 0] == marks.labels[marks.labels > 0]).all()
