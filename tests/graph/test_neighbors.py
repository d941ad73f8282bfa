import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import naive
from phaselabel import Neighbors, extend_graph, nearest_neighbors, similarity_graph


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


# -- shortlists


def cloud(n=3000, d=30, seed=0, spectrum=0.8):
    """A cloud that is long in a few directions and short in many."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * spectrum ** np.arange(d)


def share_found(found, truth):
    return float((found.distances <= truth.distances[:, -1:] * (1 + 1e-9)).mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float16, bool])
def test_shortlists_reach_the_recall_they_report(dtype):
    X = cloud() * 20 + 100
    X = (X > 100) if dtype is bool else X.astype(dtype)
    truth = nearest_neighbors(X, 10, method="exact")
    found = nearest_neighbors(X, 10, method="shortlist", recall=0.95)
    assert found.method.startswith("shortlist")
    assert found.recall >= 0.95
    assert share_found(found, truth) == pytest.approx(found.recall, abs=0.03)
    assert not (found.indices == np.arange(len(X))[:, None]).any()
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_where_variance_is_spread_the_search_becomes_harder():
    flat, long = cloud(spectrum=1.0), cloud(spectrum=0.7)
    opened = [
        int(nearest_neighbors(X, 10, method="shortlist", recall=0.9).method.split()[3]) for X in (flat, long)
    ]
    assert opened[0] > opened[1]


def test_if_the_recall_is_not_met_the_search_is_repeated_harder(monkeypatch, caplog):
    from phaselabel.graph.shortlist import Settings, Shortlists

    easy = Settings(30, 27, 27, 1, 11, 3000)
    monkeypatch.setattr(Shortlists, "settings", lambda self, recall: easy)
    monkeypatch.setattr(Shortlists, "pays", lambda self, settings: True)
    with caplog.at_level("INFO"):
        found = nearest_neighbors(cloud(), 10, method="shortlist", recall=0.98)
    assert found.recall >= 0.98
    assert "searching harder" in caplog.text


def test_the_same_bits_twice_and_for_any_number_of_threads():
    import faiss
    import numba

    X = cloud(d=90)
    first = nearest_neighbors(X, 10, method="shortlist")
    faiss.omp_set_num_threads(1)
    numba.set_num_threads(1)
    try:
        second = nearest_neighbors(X, 10, method="shortlist")
    finally:
        faiss.omp_set_num_threads(numba.config.NUMBA_NUM_THREADS)
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)


def test_small_working_memory_changes_nothing():
    X = cloud(n=700, d=40)
    expected = nearest_neighbors(X, 5)
    found = nearest_neighbors(X, 5, working_memory=0.01)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_memory_mapped_rows_are_not_copied(tmp_path):
    X = cloud(n=2000, d=20).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for method in ("exact", "shortlist"):
        found = nearest_neighbors(mapped, 5, method=method)
        np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 5, method=method).indices)
    from phaselabel.graph.rows import Rows

    assert np.shares_memory(Rows.take(mapped, "euclidean").values, mapped)


def test_new_rows_by_shortlists():
    X, new = cloud(), cloud(n=500, seed=1)
    truth = nearest_neighbors(X, 10, queries=new, method="exact")
    found = nearest_neighbors(X, 10, queries=new, method="shortlist", recall=0.95)
    assert share_found(found, truth) > 0.92


# -- metrics and inputs


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev", "correlation", "l2"])
@pytest.mark.parametrize("d", [3, 20])
def test_metrics_mean_what_scikit_learn_means(metric, d):
    from sklearn.metrics import pairwise_distances

    X = np.random.default_rng(0).normal(size=(80, d))
    full = pairwise_distances(X, metric=metric)
    np.fill_diagonal(full, np.inf)
    found = nearest_neighbors(X, 4, metric=metric)
    np.testing.assert_allclose(found.distances, np.sort(full, axis=1)[:, :4], rtol=1e-7, atol=1e-12)
    queried = nearest_neighbors(X, 1, metric=metric, queries=X)
    np.testing.assert_array_equal(queried.indices.ravel(), np.arange(80))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_sparse_rows_as_their_dense_twins(metric):
    X = sparse.random_array((150, 300), density=0.05, rng=np.random.default_rng(0), format="csr")
    found = nearest_neighbors(X, 6, metric=metric)
    expected = nearest_neighbors(X.toarray(), 6, metric=metric)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-9, atol=1e-12)
    assert (found.indices == expected.indices).mean() > 0.99
    queried = nearest_neighbors(X, 2, metric=metric, queries=X[:10])
    np.testing.assert_array_equal(queried.indices[:, 0], np.arange(10))
    assert (queried.distances[:, 0] == 0).all()


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_cosine_refuses_rows_without_direction(wrap):
    X = np.ones((4, 3))
    X[2] = 0
    with pytest.raises(ValueError, match=r"Row 2 of X is all zeros"):
        nearest_neighbors(wrap(X), 1, metric="cosine")


def test_tables():
    import pandas as pd
    import polars

    X = cloud(n=50, d=4)
    expected = nearest_neighbors(X, 3).indices
    for table in (pd.DataFrame(X), polars.DataFrame(X), X.tolist()):
        np.testing.assert_array_equal(nearest_neighbors(table, 3).indices, expected)
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({str(i): column for i, column in enumerate(X.T)})
    np.testing.assert_array_equal(nearest_neighbors(table, 3).indices, expected)


@pytest.mark.parametrize("n", [40, 2000])
def test_ties_go_to_the_smaller_number(n):
    X = np.zeros((n, 12))
    found = nearest_neighbors(X, 3)
    assert found.indices[0].tolist() == [1, 2, 3]
    assert found.indices[-1].tolist() == [0, 1, 2]
    grid = np.stack(np.meshgrid(np.arange(30), np.arange(30)), -1).reshape(-1, 2)
    np.testing.assert_array_equal(nearest_neighbors(grid, 4).indices, naive.knn(grid.astype(float), 4))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"metric": "nonsense"}, "metric"),
        ({"method": "magic"}, "method"),
        ({"recall": 0}, "recall"),
        ({"recall": 1.5}, "recall"),
        ({"working_memory": 0}, "working_memory"),
        ({"queries": [[1.0, 2.0]]}, "features"),
    ],
)
def test_bad_options(options, word):
    with pytest.raises(ValueError, match=word):
        nearest_neighbors([[0.0], [1.0], [2.0]], 1, **options)


def test_progress_is_silent_unless_asked_for_and_quick_work_shows_nothing(capsys):
    nearest_neighbors(cloud(n=100), 3)
    nearest_neighbors(cloud(n=100), 3, progress=True)
    assert capsys.readouterr() == ("", "")


def test_other_metrics_warn_of_their_cost():
    with pytest.warns(UserWarning, match="compared row by row"):
        nearest_neighbors(np.arange(10_001.0)[:, None], 1, metric="manhattan")


# -- bridges


def test_parts_are_counted_and_joined_by_the_shortest_edges():
    X = np.array([[0.0], [1.0], [10.0], [11.5], [100.0], [102.0]])
    apart = nearest_neighbors(X, 1)
    assert apart.n_components == 3
    joined = nearest_neighbors(X, 1, connect=True)
    assert joined.n_components == 1
    bridges = joined.bridges
    assert sorted(zip(bridges.heads.tolist(), bridges.tails.tolist())) == [(1, 2), (3, 4)]
    np.testing.assert_allclose(sorted(bridges.distances), [9.0, 88.5])


@given(arrays(np.int8, st.tuples(st.integers(3, 40), st.integers(1, 2)), elements=st.integers(-60, 60)))
def test_bridges_make_a_minimal_spanning_forest(X):
    joined = nearest_neighbors(X, 1, connect=True)
    apart = nearest_neighbors(X, 1)
    assert len(joined.bridges) == apart.n_components - 1
    assert similarity_graph(joined).n_components == 1


def test_bridges_are_refused_before_any_search_where_they_cannot_be_built():
    X = cloud(n=30)
    for options in ({"metric": "manhattan"}, {"queries": X[:3]}):
        with pytest.raises(ValueError, match="connect=True needs dense rows"):
            nearest_neighbors(X, 3, connect=True, **options)
    with pytest.raises(ValueError, match="connect=True needs dense rows"):
        nearest_neighbors(sparse.csr_array(X), 3, connect=True)


def test_points_added_far_away_are_counted_as_a_part_of_their_own():
    X = np.array([[0.0], [1.0], [10.0], [11.5]])
    joined = nearest_neighbors(X, 1, connect=True)
    _, extended = extend_graph(similarity_graph(joined), joined, X, [[200.0], [201.0]])
    assert extended.n_components == 2


@pytest.mark.parametrize("X", [cloud(n=100), sparse.csr_array(cloud(n=100))], ids=["dense", "sparse"])
def test_the_memory_is_stated_before_the_search(X, caplog):
    with caplog.at_level("INFO", "phaselabel"):
        nearest_neighbors(X, 3)
    first, last = [record.getMessage() for record in caplog.records]
    assert "MiB besides the data" in first
    assert "recall" in last


def test_crowds_of_equal_rows_leave_no_gaps_in_the_lists():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(rng.random((2, 20)), 3000, axis=0), rng.random((50, 20))])
    found = nearest_neighbors(X, 10, method="shortlist")
    assert found.indices.max() < len(X)
    assert np.isfinite(found.distances).all()
    assert (found.distances[:6000] == 0).all()
