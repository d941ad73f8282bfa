"""Places on the map."""

import importlib.util

import numpy as np
import pytest

import phaselabel as pl
from phaselabel.studio import map_layout as module
from phaselabel.studio.map_layout import map_layout


def clusters(n):
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    return (rng.normal(size=(n, 5)) + 12 * np.eye(5)[kind]).astype(np.float32), kind


def apart(places, kind):
    """The share of items whose nearest item on the map is of the same cluster."""
    distances = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    np.fill_diagonal(distances, np.inf)
    return np.mean(kind[distances.argmin(axis=1)] == kind)


@pytest.fixture(scope="module")
def laid_out():
    X, kind = clusters(240)
    return pl.similarity_graph(pl.nearest_neighbors(X, 8, connect=True)), X, kind


def test_without_the_extra_leading_directions_keep_clusters_apart(laid_out, monkeypatch):
    graph, X, kind = laid_out
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    places = map_layout(graph, X)
    assert places.min() >= 0
    assert places.max() <= 1
    assert apart(places, kind) == 1
    assert (map_layout(graph, np.ones_like(X)) == 0.5).all()
    pair = np.array([[0, 1, 0], [2, 0, 1]], np.float32)  # its items would meet in the middle
    places = map_layout(pl.similarity_graph(pl.nearest_neighbors(pair, 1)), pair)
    assert np.abs(places[0] - places[1]).max() > 0.5


@pytest.mark.parametrize("most", [10_000, 80])
def test_with_opentsne_clusters_are_apart_also_where_some_items_join_later(laid_out, monkeypatch, most):
    pytest.importorskip("openTSNE", reason="the extra map is not installed")
    graph, X, kind = laid_out
    monkeypatch.setattr(module, "MAX_EMBEDDED", most)
    assert apart(map_layout(graph, X), kind) == 1


def test_two_features_are_the_map():
    X = np.random.default_rng(0).uniform(3, 9, (50, 2))
    places = map_layout(pl.similarity_graph(pl.nearest_neighbors(X, 5)), X)
    inside = (places > 0) & (places < 1)
    share = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    np.testing.assert_allclose(places[inside], share[inside], atol=0.01)
    assert inside.mean() > 0.9
