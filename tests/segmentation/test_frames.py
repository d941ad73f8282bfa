import numpy as np
import pytest

from phaselabel import Marks
from phaselabel.segmentation.bands import as_bands
from phaselabel.segmentation.cells import into_cells
from phaselabel.segmentation.frames import Frame, Looks, chosen_position, is_volume


def frame_of(image, cell=1, **options):
    bands = as_bands(image, **options)
    return Frame(bands, bands, into_cells(bands, cell))


def test_distances_are_counted_in_longer_sides():
    frame = frame_of(np.zeros((5, 10)))
    distances = frame.distances(np.array([0])).reshape(5, 10)
    assert distances[0, 0] == 0
    assert distances[0, 9] == pytest.approx(0.9)
    assert (frame.distances(np.array([], int)) == 1).all()


def test_marks_are_found_in_their_cells():
    frame = frame_of(np.zeros((4, 6)), cell=2)
    marks = Marks.from_array(np.eye(4, 6, 2, dtype=int))
    cells, numbers = frame.marked_cells(marks)
    assert cells.tolist() == [1, 1, 5, 5]
    assert (numbers == 1).all()
    assert frame.places.shape == (6, 2)


def test_the_place_counts_where_marks_are_dense():
    weights = [chosen_position(distance) for distance in (0.5, 0.05, 0.03, 0.015, 0.001)]
    assert weights[:2] == [0, 0]
    assert sorted(weights) == weights
    assert weights[-1] == 0.8


def test_the_marks_tell_a_volume_from_bands():
    image = np.zeros((5, 6, 7))
    assert not is_volume(image, np.zeros((5, 6), int))
    assert is_volume(image, np.zeros((5, 6, 7), int))
    assert is_volume(np.zeros((5, 6, 7, 2)), None)
    assert not is_volume(np.zeros((5, 6, 3), np.uint8), np.zeros((5, 6, 3), np.uint8))  # a painting


def test_components_of_a_cube_are_those_of_all_images():
    rng = np.random.default_rng(0)
    spectra = rng.random((5, 30))
    cubes = [(rng.random((6, 7, 5)) @ spectra).astype(np.float32) for _ in range(2)]
    cells = [into_cells(as_bands(cube), 1) for cube in cubes]
    looks = Looks.of(cells, 3, lab=False, ready=False)
    few, all_bands = looks.bands(cells[0].means), cells[0].means
    assert few.shape == (6, 7, 20)
    centre = np.concatenate([looks.bands(one.means).reshape(-1, 20) for one in cells]).mean(axis=0)
    np.testing.assert_allclose(centre, 0, atol=1e-4)
    kept, distances = (np.linalg.norm(np.diff(one, axis=0), axis=-1) for one in (few, all_bands))
    np.testing.assert_allclose(kept, distances, rtol=1e-4)
