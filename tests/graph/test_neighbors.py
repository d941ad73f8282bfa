"""The public search, its options, and neighbours from matrices of distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from made import cloud
from phaselabel import Neighbors, nearest_neighbors


@given(arrays(np.int8, st.tuples(st.integers(3, 30), st.integers(1, 3)), elements=st.integers(0, 2)))
def test_duplicates_never_include_the_row_itself(X):
    found = nearest_neighbors(X, 2)
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    for row, near in enumerate(found.indices):
        assert len(set(near)) == 2
        best = np.sort(np.linalg.norm(X[row].astype(float) - np.delete(X, row, 0), axis=1))[:2]
        np.testing.assert_allclose(found.distances[row], best, atol=1e-12)


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


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"metric": "nonsense"}, "metric must be one of"),
        ({"metric": None}, "metric must be one of"),
        ({"metric": []}, "metric must be one of"),
        ({"metric": "precomputed"}, "metric must be one of"),
        ({"metric": "seuclidean"}, "StandardScaler and use metric='euclidean'"),
        ({"metric": "mahalanobis"}, "whiten the columns"),
        ({"method": "magic"}, "method must be one of"),
        ({"method": []}, "method must be one of"),
        ({"recall": 0}, "recall must be above 0"),
        ({"recall": 1.5}, "recall must be above 0"),
        ({"recall": None}, "recall must be above 0"),
        ({"recall": np.nan}, "recall must be above 0"),
        ({"recall": "0.9"}, "recall must be above 0"),
        ({"working_memory": 0}, "working_memory must be a positive number"),
        ({"working_memory": np.inf}, "working_memory must be a positive number"),
        ({"working_memory": np.nan}, "working_memory must be a positive number"),
        ({"working_memory": "1"}, "working_memory must be a positive number"),
        ({"queries": [[1.0, 2.0]]}, "queries has 2 features but X has 1"),
        ({"queries": [[1.0, 2.0]], "metric": "manhattan"}, "queries has 2 features but X has 1"),
    ],
)
def test_bad_options(options, word):
    with pytest.raises(ValueError, match=word):
        nearest_neighbors([[0.0], [1.0], [2.0]], 1, **options)


def test_every_metric_that_is_offered_answers_queries_as_it_answers_rows():
    with pytest.raises(ValueError, match="metric must be one of") as refusal:
        nearest_neighbors([[0.0], [1.0]], 1, metric="")
    offered = str(refusal.value).removeprefix("metric must be one of ").split(";")[0].split(", ")
    assert len(offered) > 15
    X = np.random.default_rng(0).uniform(0.1, 1, size=(30, 2))
    for metric in offered:
        among_rows = nearest_neighbors(X, 3, metric=metric).distances
        as_queries = nearest_neighbors(X, 4, metric=metric, queries=X).distances
        if (as_queries[:, 0] < 1e-12).all():  # similarities of truth values know no distance 0
            np.testing.assert_allclose(as_queries[:, 1:], among_rows, atol=1e-9, err_msg=metric)


def test_neighbours_of_queries_have_no_components():
    X = cloud(n=50)
    found = nearest_neighbors(X, 3, queries=X[40:])
    with pytest.raises(ValueError, match="neighbours of queries have no components"):
        _ = found.n_components
    with pytest.raises(ValueError, match="found -1 to -1"):
        _ = Neighbors(np.full((4, 2), -1), np.ones((4, 2))).n_components


def test_a_quick_search_shows_no_progress_bar(capsys):
    nearest_neighbors(cloud(n=100), 3)
    nearest_neighbors(cloud(n=100), 3, progress=True)
    assert capsys.readouterr() == ("", "")


def test_bridges_are_refused_before_any_search_where_they_cannot_be_built():
    X = cloud(n=30)
    for options in ({"metric": "manhattan"}, {"queries": X[:3]}):
        with pytest.raises(ValueError, match="connect=True needs dense rows"):
            nearest_neighbors(X, 3, connect=True, **options)
    with pytest.raises(ValueError, match="connect=True needs dense rows"):
        nearest_neighbors(sparse.csr_array(X), 3, connect=True)


@pytest.mark.parametrize("X", [cloud(n=100), sparse.csr_array(cloud(n=100))], ids=["dense", "sparse"])
def test_the_memory_is_stated_before_the_search(X, caplog):
    with caplog.at_level("INFO", "phaselabel"):
        nearest_neighbors(X, 3)
    first, last = [record.getMessage() for record in caplog.records]
    assert "MiB besides the data" in first
    assert "recall" in last
