import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import naive
from phaselabel import Neighbors, nearest_neighbors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_equals_sorting_everybody(d, dtype):
    X = np.random.default_rng(d).normal(size=(60, d)).astype(dtype)
    found = nearest_neighbors(X, 7)
    np.testing.assert_array_equal(found.indices, naive.knn(X.astype(np.float64), 7))
    direct = np.linalg.norm(X[:, None].astype(np.float64) - X[found.indices], axis=2)
    np.testing.assert_allclose(found.distances, direct, rtol=1e-5)


@given(arrays(np.int8, st.tuples(st.integers(3, 30), st.integers(1, 3)), elements=st.integers(0, 2)))
def test_duplicates_never_include_the_row_itself(X):
    found = nearest_neighbors(X, 2)
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    for row, near in enumerate(found.indices):
        assert len(set(near)) == 2
        best = np.sort(np.linalg.norm(X[row].astype(float) - np.delete(X, row, 0), axis=1))[:2]
        np.testing.assert_allclose(found.distances[row], best, atol=1e-12)


def test_far_from_the_origin_and_at_extreme_magnitudes():
    X = np.random.default_rng(0).normal(size=(50, 5))
    expected = nearest_neighbors(X, 5).indices
    np.testing.assert_array_equal(nearest_neighbors(X + 1e6, 5).indices, expected)
    np.testing.assert_array_equal(nearest_neighbors(X * 1e200, 5).indices, expected)
    np.testing.assert_array_equal(nearest_neighbors(X * 1e-200, 5).indices, expected)


def test_equal_rows_are_at_exactly_zero():
    X = np.random.default_rng(0).normal(size=(200, 50)) * 1e3
    found = nearest_neighbors(X, 3, queries=X)
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(200))
    assert (found.distances[:, 0] == 0).all()


def test_neighbours_from_a_sparse_matrix_of_distances():
    X = np.random.default_rng(0).normal(size=(30, 4))
    expected = nearest_neighbors(X, 5)
    full = np.linalg.norm(X[:, None] - X, axis=2)
    found = Neighbors.from_distances(sparse.csr_array(full), 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances)


def test_stored_zeros_are_neighbours():
    distances = sparse.csr_array((np.array([0.0, 0.0, 1.0]), ([0, 1, 2], [1, 0, 0])), shape=(3, 3))
    assert Neighbors.from_distances(distances, 1).indices.ravel().tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("X", "k", "word"),
    [
        ([[0.0], [np.nan]], 1, "NaN"),
        ([[0.0], [np.inf]], 1, "infinity"),
        ([[0.0], [1.0]], 2, "n_neighbors=2"),
        ([[0.0], [1.0]], 0, "n_neighbors"),
        ([[0.0], [1.0]], 1.5, "n_neighbors"),
        ([0.0, 1.0], 1, "2D"),
    ],
)
def test_bad_points(X, k, word):
    with pytest.raises(ValueError, match=word):
        nearest_neighbors(X, k)


@pytest.mark.parametrize(
    ("matrix", "word"),
    [(np.ones((2, 3)), "square"), (-np.ones((3, 3)), "negative"), (np.eye(3), "n_neighbors")],
)
def test_bad_distances(matrix, word):
    with pytest.raises(ValueError, match=word):
        Neighbors.from_distances(sparse.csr_array(matrix), 1)


def test_a_dense_matrix_of_distances_keeps_its_duplicates():
    Z = np.array([[0.0], [0], [0], [1], [1], [1]])
    assert Neighbors.from_distances(abs(Z - Z.T), 2).indices[0].tolist() == [1, 2]
