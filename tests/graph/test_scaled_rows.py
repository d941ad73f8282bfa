"""Tables of any kind, and rows of any magnitude."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import naive
from made import cloud
from phaselabel import nearest_neighbors
from phaselabel.graph import dense_search
from phaselabel.graph.scaled_rows import ScaledRows


def test_far_from_the_origin_and_at_extreme_magnitudes():
    X = np.random.default_rng(0).normal(size=(50, 5))
    expected = nearest_neighbors(X, 5).indices
    np.testing.assert_array_equal(nearest_neighbors(X + 1e6, 5).indices, expected)
    np.testing.assert_array_equal(nearest_neighbors(X * 1e200, 5).indices, expected)
    np.testing.assert_array_equal(nearest_neighbors(X * 1e-200, 5).indices, expected)


def test_memory_mapped_rows_are_not_copied(tmp_path):
    X = cloud(n=2000, d=20).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for method in ("exact", "shortlist"):
        found = nearest_neighbors(mapped, 5, method=method)
        np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 5, method=method).indices)
    assert np.shares_memory(ScaledRows.take(mapped, "euclidean").values, mapped)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_cosine_refuses_rows_of_zeros(wrap):
    X = np.ones((4, 3))
    X[2] = 0
    with pytest.raises(ValueError, match=r"Row 2 of X is all zeros"):
        nearest_neighbors(wrap(X), 1, metric="cosine")
    X[2] = 1e-309, 0, 0
    with pytest.raises(ValueError, match=r"Row 2 of X has no value above 2e-308"):
        nearest_neighbors(wrap(X), 1, metric="cosine")
    X[2] = 3e-308, 0, 3e-308
    assert nearest_neighbors(wrap(X), 1, metric="cosine").indices.shape == (4, 1)


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


# -- magnitudes


def naive_distances(X, queries):
    """Distances without overflow, the nearest first."""
    return np.array([sorted(math.dist(x, q) for x in X.tolist()) for q in queries.tolist()])


finite = st.floats(allow_nan=False, allow_infinity=False)
tables = arrays(np.float64, st.tuples(st.integers(2, 8), st.just(3)), elements=finite)


def distances_or_refusal(X, queries=None):
    try:
        found = nearest_neighbors(X, 1, queries=queries)
    except ValueError as error:
        return re.search(r"Row \d+ of (X|queries) has (a|the) value", str(error))[0], None
    assert ((found.indices >= 0) & (found.indices < X.shape[0])).all()
    assert np.isfinite(found.distances).all()
    return "", found.distances[:, 0]


@settings(max_examples=300)
@given(tables, tables, st.booleans())
def test_any_finite_rows_have_their_distances_or_are_refused(X, queries, wide):
    if wide:  # wider rows are searched by another method
        X, queries = np.tile(X, 4), np.tile(queries, 4)
    for new in (None, queries):
        refusal, distances = distances_or_refusal(X, new)
        if not refusal:
            rows = X if new is None else new
            expected = naive_distances(X, rows)[:, int(new is None)]
            size = max(np.abs(X).max(), np.abs(rows).max())
            np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-140 * size)


@given(tables, tables)
def test_any_finite_sparse_rows_have_their_distances_or_are_refused(X, queries):
    for new in (None, queries):
        refusal, distances = distances_or_refusal(
            sparse.csr_array(X), None if new is None else sparse.csr_array(new)
        )
        if not refusal:
            rows = X if new is None else new
            expected = naive_distances(X, rows)[:, int(new is None)]
            # The nearest row is chosen by |x|² + |y|² - 2 x·y, in which the smallest distances cancel.
            size = max(np.abs(X).max(), np.abs(rows).max())
            np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-6 * size)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [3, 12])
@pytest.mark.parametrize("value", [1e141, 1e200, 1.79e308, -1.79e308])
def test_rows_and_queries_far_beyond_the_others_are_refused(value, d, kind):
    X = cloud(60, d, spectrum=1.0)
    far = X.copy()
    far[30, 1] = value
    with pytest.raises(ValueError, match=r"Row 30 of X has .* missing value"):
        nearest_neighbors(kind(far), 5)
    with pytest.raises(ValueError, match=r"Row 30 of queries has .* missing value"):
        nearest_neighbors(kind(X), 5, queries=kind(far))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [3, 12])
@pytest.mark.parametrize("value", [1e7, 1e30, 1e100, -1e135])
def test_an_outlier_changes_no_distance_between_other_rows(value, d, kind):
    X = cloud(60, d, spectrum=1.0)
    expected = nearest_neighbors(np.delete(X, 30, axis=0), 5)
    far = X.copy()
    far[30, 1] = value
    found = nearest_neighbors(kind(far), 5)
    np.testing.assert_allclose(np.delete(found.distances, 30, axis=0), expected.distances, rtol=1e-9)
    np.testing.assert_allclose(found.distances[30], abs(value), rtol=1e-6)
    queried = nearest_neighbors(kind(X), 5, queries=kind(far))
    np.testing.assert_allclose(queried.distances[30], abs(value), rtol=1e-6)


@pytest.mark.parametrize("method", ["exact", "shortlist"])
@pytest.mark.parametrize("value", [1e8, 1e30])
def test_a_few_outliers_cost_no_recall(method, value):
    X = cloud(4000, 20)
    truth = nearest_neighbors(X, 10, method="exact")
    far = X.copy()
    far[777, 3], far[1500, 7], far[1501] = value, -value, far[1500]
    far[1501, 7] = -value
    found = nearest_neighbors(far, 10, method=method)
    rest = np.setdiff1d(np.arange(4000), [777, 1500, 1501])
    assert (found.indices[rest] == truth.indices[rest]).mean() > 0.97
    assert found.indices[1500, 0] == 1501  # outliers near each other are neighbours
    queried = nearest_neighbors(far, 1, queries=far[[777, 1500]], method=method)
    assert queried.indices[0, 0] == 777
    assert (queried.distances[:, 0] == 0).all()


def test_rows_of_two_very_different_scales_are_announced_where_they_cost_precision(monkeypatch):
    monkeypatch.setattr(dense_search, "MAX_SCAN_PRODUCTS", 1e6)
    X = cloud(600, 12)
    X[::3] *= 1e9
    with pytest.warns(UserWarning, match="Scale the columns, or take logarithms"):
        found = nearest_neighbors(X, 5)
    np.testing.assert_array_equal(found.indices[:30], naive.knn(X, 5)[:30])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cosine_depends_on_no_row_length(kind, dtype):
    X = cloud(60, 8)
    expected = nearest_neighbors(X.astype(dtype).astype(float), 5, metric="cosine")
    exponents = np.random.default_rng(0).integers(*((-100, 100) if dtype == np.float32 else (-900, 900)), 60)
    found = nearest_neighbors(kind(np.ldexp(X.astype(dtype), exponents[:, None])), 5, metric="cosine")
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-9, atol=1e-12)
