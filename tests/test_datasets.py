import numpy as np
import pytest

from phaselabel.datasets import make_three_moons, sample_labels


def test_three_moons_follow_the_recipe():
    X, y = make_three_moons(400, noise=0.0, random_state=0)
    assert X.shape == (1200, 100)
    assert np.bincount(y).tolist() == [400, 400, 400]
    for k, (centre, radius) in enumerate([((0, 0), 1), ((3, 0), 1), ((1.5, 0.4), 1.5)]):
        np.testing.assert_allclose(np.hypot(*(X[y == k, :2] - centre).T), radius)
    assert (X[y < 2, 1] >= 0).all()
    assert (X[y == 2, 1] <= 0.4).all()
    noisy, _ = make_three_moons(400, random_state=0)
    assert noisy[:, 5].var() == pytest.approx(0.02, rel=0.15)


def test_same_seed_same_points():
    np.testing.assert_array_equal(
        make_three_moons(10, random_state=3)[0], make_three_moons(10, random_state=3)[0]
    )


def test_sample_labels_keeps_so_many_of_each():
    y = np.repeat([0, 4], [50, 30])
    labels = sample_labels(y, 7, random_state=0)
    assert np.unique(labels, return_counts=True)[1].tolist() == [66, 7, 7]
    assert (labels[labels >= 0] == y[labels >= 0]).all()
    with pytest.raises(ValueError, match="n_per_class"):
        sample_labels(y, 31)


def test_a_plane_is_needed():
    with pytest.raises(ValueError, match="dimension"):
        make_three_moons(dimension=1)
