"""A search that is asked for some rows at a time finds what a search for all of them finds."""

import numpy as np
import pytest
from scipy import sparse

from made import cloud
from phaselabel import nearest_neighbors
from phaselabel.graph import dense_search
from phaselabel.graph.neighbor_search import NeighborSearch


@pytest.mark.parametrize("kind", ["exact", "shortlist", "cosine", "manhattan", "sparse"])
def test_parts_are_those_of_the_whole_search(kind, monkeypatch):
    X = cloud(n=1500)
    X[700] = X[3]  # equal rows are neighbours at distance zero, and no row is its own neighbour
    if kind == "shortlist":
        monkeypatch.setattr(dense_search, "MAX_EXACT_PRODUCTS", 0)
        monkeypatch.setattr(dense_search.ShortlistSearch, "is_cheaper", lambda self, settings: True)
    if kind == "sparse":
        X = sparse.csr_array(np.where(X > 1, X, 0))
    metric = kind if kind in ("cosine", "manhattan") else "euclidean"
    whole = nearest_neighbors(X, 7, metric=metric)
    assert whole.method.startswith("shortlist") == (kind == "shortlist")
    search = NeighborSearch(X, 7, metric, 0.99)
    for rows in np.array_split(np.random.default_rng(0).permutation(1500), 3):
        part = search.neighbors_of(np.sort(rows))
        np.testing.assert_array_equal(part.indices, whole.indices[np.sort(rows)])
        np.testing.assert_allclose(part.distances, whole.distances[np.sort(rows)], rtol=1e-12, atol=1e-12)
    assert search.recall == pytest.approx(whole.recall, abs=1e-3)
