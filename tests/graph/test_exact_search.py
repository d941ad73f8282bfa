"""Exact searches: dense rows, sparse rows, and the metrics of scikit-learn."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import naive
from made import cloud
from phaselabel import nearest_neighbors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_equals_sorting_all_rows(d, dtype):
    X = np.random.default_rng(d).normal(size=(60, d)).astype(dtype)
    found = nearest_neighbors(X, 7)
    np.testing.assert_array_equal(found.indices, naive.knn(X.astype(np.float64), 7))
    direct = np.linalg.norm(X[:, None].astype(np.float64) - X[found.indices], axis=2)
    np.testing.assert_allclose(found.distances, direct, rtol=1e-5)


def test_equal_rows_are_at_exactly_zero():
    X = np.random.default_rng(0).normal(size=(200, 50)) * 1e3
    found = nearest_neighbors(X, 3, queries=X)
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(200))
    assert (found.distances[:, 0] == 0).all()


def test_small_working_memory_changes_nothing():
    X = cloud(n=700, d=40)
    expected = nearest_neighbors(X, 5)
    found = nearest_neighbors(X, 5, working_memory=0.01)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


SEARCH = """
import re, sys
from pathlib import Path
import numpy as np
from phaselabel import nearest_neighbors
X = np.random.default_rng(0).integers(0, 255, (80_000, 400), dtype=np.uint8)
nearest_neighbors(X[:600], 5, method="exact", queries=X[:300])
# Of this program alone: ru_maxrss begins with that of the process which started it.
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
nearest_neighbors(X, 5, method="exact", queries=X[:300], working_memory=float(sys.argv[1]))
print((peak() - before) / 1024)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the most memory in use, in KiB")
def test_working_memory_is_kept():
    """The points take 122 MiB in single precision."""
    little, much = (
        float(subprocess.check_output([sys.executable, "-c", SEARCH, str(size)])) for size in (8, 1024)
    )
    assert little < 40 < 100 < much


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev", "correlation", "l2"])
@pytest.mark.parametrize("d", [3, 20])
def test_metrics_agree_with_scikit_learn(metric, d):
    from sklearn.metrics import pairwise_distances

    X = np.random.default_rng(0).normal(size=(80, d))
    full = pairwise_distances(X, metric=metric)
    np.fill_diagonal(full, np.inf)
    found = nearest_neighbors(X, 4, metric=metric)
    np.testing.assert_allclose(found.distances, np.sort(full, axis=1)[:, :4], rtol=1e-7, atol=1e-12)
    queried = nearest_neighbors(X, 1, metric=metric, queries=X)
    np.testing.assert_array_equal(queried.indices.ravel(), np.arange(80))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_sparse_rows_equal_their_dense_twins(metric):
    X = sparse.csr_array(sparse.random(150, 300, density=0.05, random_state=np.random.default_rng(0)))
    found = nearest_neighbors(X, 6, metric=metric)
    expected = nearest_neighbors(X.toarray(), 6, metric=metric)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-9, atol=1e-12)
    assert (found.indices == expected.indices).mean() > 0.99
    queried = nearest_neighbors(X, 2, metric=metric, queries=X[:10])
    np.testing.assert_array_equal(queried.indices[:, 0], np.arange(10))
    assert (queried.distances[:, 0] == 0).all()


@pytest.mark.parametrize("n", [40, 2000])
def test_ties_go_to_the_smaller_number(n):
    X = np.zeros((n, 12))
    found = nearest_neighbors(X, 3)
    assert found.indices[0].tolist() == [1, 2, 3]
    assert found.indices[-1].tolist() == [0, 1, 2]
    grid = np.stack(np.meshgrid(np.arange(30), np.arange(30)), -1).reshape(-1, 2)
    np.testing.assert_array_equal(nearest_neighbors(grid, 4).indices, naive.knn(grid.astype(float), 4))


def test_other_metrics_warn_of_their_cost():
    with pytest.warns(UserWarning, match="compared row by row"):
        nearest_neighbors(np.arange(10_001.0)[:, None], 1, metric="manhattan")


def test_sparse_rows_far_from_the_origin_are_measured_by_their_differences():
    X = np.random.default_rng(0).normal(size=(200, 30)) + 1e7
    found = nearest_neighbors(sparse.csr_array(X), 3)
    np.testing.assert_array_equal(found.indices, nearest_neighbors(X, 3).indices)


@pytest.mark.parametrize("metric", ["correlation", "sqeuclidean"])
def test_metrics_without_a_finite_distance_are_refused(metric):
    X = np.random.default_rng(0).normal(size=(8, 3))
    X[5] = 1.0 if metric == "correlation" else 1e200  # a constant row correlates with no other
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=f"metric='{metric}' gives no finite"):
        nearest_neighbors(X, 2, metric=metric)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="for row 1 of queries"):
        nearest_neighbors(X[:5], 2, metric=metric, queries=X[4:])
