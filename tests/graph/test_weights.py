import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
import phaselabel as pl
from phaselabel.graph.weights import local_scales


@pytest.mark.parametrize(("k", "m"), [(5, 5), (8, 3), (1, 1)])
def test_equals_the_definition(k, m):
    X = np.random.default_rng(k).normal(size=(50, 4))
    graph = pl.similarity_graph(pl.nearest_neighbors(X, k), m, dtype=np.float64)
    expected = naive.weights(X, k, m)
    np.testing.assert_allclose(graph.weights.toarray(), expected, rtol=1e-9)
    np.testing.assert_allclose(graph.degrees, expected.sum(1))
    root = np.sqrt(expected.sum(1))
    np.testing.assert_allclose(graph.normalized.toarray(), expected / np.outer(root, root))


awkward = st.one_of(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 25), st.integers(1, 3)),
        elements=st.sampled_from([0.0, 1.0, 7.0]),
    ),
    arrays(
        np.float64,
        st.tuples(st.integers(2, 25), st.integers(1, 3)),
        elements=st.floats(-1e150, 1e150, allow_nan=False),
    ),
)


@given(awkward, st.integers(1, 10))
def test_any_points_give_a_proper_graph(X, k):
    graph = pl.similarity_graph(pl.nearest_neighbors(X, min(k, len(X) - 1)))
    w = graph.weights
    assert np.isfinite(w.data).all()
    assert (w.data > 0).all()
    assert (w.data <= 1).all()
    assert abs(w - w.T).max() == 0
    assert w.diagonal().max() == 0
    assert np.isfinite(graph.normalized.data).all()


def test_more_duplicates_than_scale_neighbours():
    X = np.r_[np.zeros((12, 2)), np.ones((12, 2)), [[0.5, 0.5]]]
    neighbors = pl.nearest_neighbors(X, 5)
    assert (local_scales(neighbors)[:24] == 0).all()
    graph = pl.similarity_graph(neighbors)
    assert np.isfinite(graph.weights.data).all()
    assert graph.weights[0, int(neighbors.indices[0, 0])] == 1
    assert graph.degrees.min() > 0


def test_scale_is_the_first_distance_that_is_not_zero():
    X = np.array([[0.0], [0.0], [0.0], [3.0], [4.0]])
    tau = local_scales(pl.nearest_neighbors(X, 3), 2)
    assert tau[:3].tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("indices", "distances", "word"),
    [
        ([[1], [0]], [[1.0, 2.0], [1.0, 2.0]], "shape"),
        ([[1], [2]], [[1.0], [1.0]], "between 0 and 1"),
        ([[1], [-1]], [[1.0], [1.0]], "between 0 and 1"),
        ([[0], [0]], [[0.0], [1.0]], "own list"),
        ([[1, 1], [0, 2], [0, 1]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], "twice"),
        ([[1], [0]], [[np.nan], [1.0]], "finite"),
        ([[1], [0]], [[-1.0], [1.0]], "negative"),
        ([[1.0], [0.0]], [[1.0], [1.0]], "whole"),
    ],
)
def test_bad_neighbours(indices, distances, word):
    with pytest.raises(ValueError, match=word):
        pl.similarity_graph((indices, distances))


@pytest.mark.parametrize("m", [0, 3, 1.5])
def test_bad_scale(m):
    with pytest.raises(ValueError, match="scale_neighbor"):
        pl.similarity_graph(pl.nearest_neighbors([[0.0], [1.0], [3.0]], 2), m)


def test_added_points_equal_a_graph_built_at_once_where_nothing_old_changes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    new = np.concatenate([rng.normal(size=(6, 5)) + 50, X[:1] + 1e-3])
    near = pl.nearest_neighbors(X, 4)
    old = pl.similarity_graph(near)
    graph, both = pl.extend_graph(old, near, X, new)
    assert (graph.weights[:120, :120] != old.weights).nnz == 0
    assert abs(graph.weights - graph.weights.T).max() == 0
    assert graph.weights.diagonal().max() == 0
    whole = pl.nearest_neighbors(np.concatenate([X, new]), 4)
    np.testing.assert_array_equal(both.indices[120:], whole.indices[120:])
    np.testing.assert_allclose(both.distances[120:], whole.distances[120:])
    again, _ = pl.extend_graph(graph, both, np.concatenate([X, new]), new[:1] + 0.1)
    assert again.n_vertices == 128


@given(st.integers(2, 40), st.sampled_from([1e-300, 1e-30, 1.0, 1e30, 1e150]), st.booleans())
def test_shortlists_give_proper_graphs_too(n, magnitude, constant):
    X = np.random.default_rng(n).integers(0, 2, (n, 12)) * magnitude * (not constant)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, min(5, n - 1), method="shortlist", connect=True))
    w = graph.weights
    assert np.isfinite(w.data).all()
    assert (w.data > 0).all()
    assert abs(w - w.T).max() == 0
    assert w.diagonal().max() == 0
    assert graph.n_components == 1
