"""Components of the graph of neighbours, and the edges that join them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phaselabel import nearest_neighbors, similarity_graph


def test_components_are_counted_and_joined_by_the_shortest_edges():
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
