"""Weights by local scaling, and points added to a graph."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
import phaselabel as pl
from phaselabel.graph.weights import local_scales, scaled_squares


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
    try:
        neighbors = pl.nearest_neighbors(X, min(k, len(X) - 1))
    except ValueError as error:  # one row is too far away for the distances of the others
        if "times as far away as a typical row" not in str(error):
            raise
        return
    graph = pl.similarity_graph(neighbors)
    w = graph.weights
    assert np.isfinite(w.data).all()
    assert (w.data > 0).all()
    assert (w.data <= 1).all()
    assert abs(w - w.T).max() == 0
    assert w.diagonal().max() == 0
    assert np.isfinite(graph.normalized.data).all()


@pytest.mark.parametrize("exponent", [-900, -520, 490, 520, 900])
def test_the_magnitude_of_the_rows_changes_no_weight(exponent):
    X = np.random.default_rng(0).normal(size=(60, 3))
    expected = pl.similarity_graph(pl.nearest_neighbors(X, 5), dtype=np.float64)
    found = pl.similarity_graph(pl.nearest_neighbors(np.ldexp(X, exponent), 5), dtype=np.float64)
    np.testing.assert_allclose(found.weights.toarray(), expected.weights.toarray(), rtol=1e-12)


@given(st.lists(st.floats(5e-324, 1e300), min_size=3, max_size=3))
def test_exponents_are_finite_whatever_the_distances_and_scales(values):
    distance, near, far = values
    pair = pl.Neighbors(np.zeros((1, 1), np.int32), np.array([[distance]]))
    found = float(scaled_squares(pair, np.array([near]), np.array([far]))[0, 0])
    expected = Fraction(distance) ** 2 / (Fraction(near) * Fraction(far))
    if expected < 10**270:
        assert found == pytest.approx(float(expected), rel=1e-9, abs=1e-270)
    else:
        assert 1e269 < found < np.inf


def test_neighbours_beyond_the_points_are_refused():
    for wrong in (3, -1, 2**31 - 1):
        with pytest.raises(ValueError, match="among the 3 points"):
            scaled_squares(pl.Neighbors(np.array([[wrong]]), np.ones((1, 1))), np.ones(1), np.ones(3))


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


def test_an_added_outlier_stays_connected():
    X = np.random.default_rng(0).normal(size=(60, 3))
    near = pl.nearest_neighbors(X, 4)
    graph, _ = pl.extend_graph(pl.similarity_graph(near), near, X, np.full((1, 3), 1e6))
    assert graph.degrees[60] > 0
    assert graph.n_components == 1


def test_a_label_crosses_bridges_although_an_outlier_has_far_weaker_edges():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + np.repeat([[0, 0], [5, 0], [100, 0], [200, 0]], 100, axis=0)
    X = np.concatenate([X, [[0.0, 3000.0]]])
    y = np.full(len(X), -1)
    y[:5], y[100:105] = 0, 1
    neighbors = pl.nearest_neighbors(X, 10, connect=True)
    graph = pl.similarity_graph(neighbors)
    assert graph.weights.data.min() < 1e-30  # those of the outlier
    bridges = graph.weights[neighbors.bridges.heads, neighbors.bridges.tails]
    assert len(bridges) == 2
    assert bridges.min() >= 0.99e-3
    for epsilon in (0.5, 1.0, 2.0):
        solution = pl.minimize(graph, y, epsilon=epsilon)
        assert (solution.arm[200:400] == 1).all()
        assert solution.height[200:400].mean() > 0.45


def test_a_graph_of_other_points_is_not_extended():
    X = np.array([[0.0], [1.0], [10.0], [11.5]])
    near = pl.nearest_neighbors(X, 1)
    graph = pl.similarity_graph(near)
    with pytest.raises(ValueError, match="must be of the same points"):
        pl.extend_graph(graph, near, X[:3], [[2.0]])
    with pytest.raises(ValueError, match="indices must lie between 0 and 3"):
        pl.extend_graph(graph, pl.Neighbors(np.full((4, 1), 10**6), np.ones((4, 1))), X, [[2.0]])


def test_points_added_far_away_are_a_component_of_their_own():
    X = np.array([[0.0], [1.0], [10.0], [11.5]])
    joined = pl.nearest_neighbors(X, 1, connect=True)
    _, extended = pl.extend_graph(pl.similarity_graph(joined), joined, X, [[200.0], [201.0]])
    assert extended.n_components == 2


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


def test_two_distances_of_one_pair_make_one_weight():
    graph = pl.similarity_graph((np.array([[1], [0], [1]]), np.array([[1.0], [3.0], [2.0]])))
    assert (graph.weights != graph.weights.T).nnz == 0


def test_neighbours_that_are_no_arrays_are_refused():
    for indices in (None, 1j, {"a": 1}, "a", 3):
        with pytest.raises(ValueError, match="indices"):
            pl.similarity_graph(pl.Neighbors(indices, np.ones((2, 1))))


@pytest.mark.parametrize("dtype", ["a b", "(", "f2", int, 3, object()])
def test_a_type_that_holds_no_weights_is_refused(dtype):
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        pl.similarity_graph((np.array([[1], [0]]), np.ones((2, 1))), dtype=dtype)


def test_rows_in_the_place_of_neighbours_are_refused():
    with pytest.raises(
        ValueError, match=r"got ndarray. For rows call similarity_graph\(nearest_neighbors\(X\)\)"
    ):
        pl.similarity_graph(np.zeros((5, 2)))
