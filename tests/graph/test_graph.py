import numpy as np
import pytest
from scipy import sparse

import phaselabel as pl

PATH = [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]


def test_degrees_and_normalised_weights():
    graph = pl.Graph.from_weights(PATH)
    assert graph.degrees.tolist() == [2, 2.5, 0.5]
    assert graph.normalized[0, 1] == pytest.approx(2 / np.sqrt(5))
    assert (graph.n_vertices, graph.n_edges, graph.n_components) == (3, 2, 1)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_any_matrix_is_taken(kind):
    np.testing.assert_array_equal(pl.Graph.from_weights(kind(PATH)).weights.toarray(), PATH)


def test_the_callers_matrix_is_left_alone():
    matrix = sparse.csr_array(np.array(PATH) + np.eye(3))
    before = matrix.toarray()
    pl.Graph.from_weights(matrix)
    np.testing.assert_array_equal(matrix.toarray(), before)


def test_loops_are_dropped():
    assert pl.Graph.from_weights(np.ones((2, 2))).degrees.tolist() == [1, 1]


def test_isolated_vertices_are_components_and_not_nan():
    graph = pl.Graph.from_weights(np.zeros((3, 3)))
    assert graph.n_components == 3
    assert np.isfinite(graph.row_sums).all()
    assert graph.reached(np.array([True, False, False])).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        (np.ones((2, 3)), "square"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, 1], [0, 0]], "not symmetric"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        ([[0, 1j], [1j, 0]], "real"),
        ([[0, 1e39], [1e39, 0]], "divide"),
        ([[0, 1e6, 0], [1e6, 0, 0], [0, 1, 0]], "not symmetric"),
    ],
)
def test_bad_matrices(matrix, word):
    with pytest.raises(ValueError, match=word):
        pl.Graph.from_weights(np.array(matrix))
