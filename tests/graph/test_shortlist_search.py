"""Shortlists from cells: the recall that they reach, and what the settings depend on."""

import numpy as np
import pytest

from made import cloud
from phaselabel import nearest_neighbors
from phaselabel.graph.shortlist_search import Settings, ShortlistSearch


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


def test_more_cells_are_opened_where_the_variance_is_spread():
    flat, long = cloud(spectrum=1.0), cloud(spectrum=0.7)
    opened = [
        int(nearest_neighbors(X, 10, method="shortlist", recall=0.9).method.split()[3]) for X in (flat, long)
    ]
    assert opened[0] > opened[1]


def test_if_the_recall_is_not_met_the_search_is_repeated_harder(monkeypatch, caplog):
    easy = Settings(30, 27, 27, 1, 11, 3000)
    monkeypatch.setattr(ShortlistSearch, "settings", lambda self, recall: easy)
    monkeypatch.setattr(ShortlistSearch, "is_cheaper", lambda self, settings: True)
    with caplog.at_level("INFO"):
        found = nearest_neighbors(cloud(), 10, method="shortlist", recall=0.98)
    assert found.recall >= 0.98
    assert "searching harder" in caplog.text


def test_the_same_bits_for_any_number_of_threads():
    import faiss
    import numba

    X = cloud(d=90)
    before = faiss.omp_get_max_threads(), numba.get_num_threads()
    found = []
    try:
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            faiss.omp_set_num_threads(threads)
            numba.set_num_threads(threads)
            found.append(nearest_neighbors(X, 10, method="shortlist"))
    finally:
        faiss.omp_set_num_threads(before[0])
        numba.set_num_threads(before[1])
    first, second = found
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.distances, second.distances)


def test_queries_by_shortlists():
    X, new = cloud(), cloud(n=500, seed=1)
    truth = nearest_neighbors(X, 10, queries=new, method="exact")
    found = nearest_neighbors(X, 10, queries=new, method="shortlist", recall=0.95)
    assert share_found(found, truth) > 0.92


def test_many_equal_rows_leave_no_gaps_in_the_lists():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(rng.random((2, 20)), 1500, axis=0), rng.random((50, 20))])
    found = nearest_neighbors(X, 10, method="shortlist")
    assert found.indices.max() < len(X)
    assert np.isfinite(found.distances).all()
    assert (found.distances[:3000] == 0).all()
