"""Conjugate gradients solve the damped system, and fixed rows stay as they are."""

import numpy as np

from made import random_graph
from phaselabel.few_labels.conjugate_gradients import (
    DampedSystem,
    conjugate_gradients,
    padded,
    product_with,
    squares,
)

DAMPING = 0.01


def solved(graph, right, free=None, most=200):
    residual = right.copy() if free is None else right * free
    system = DampedSystem(product_with(graph.csr), DAMPING, np.zeros_like(right), residual, free=free)
    square = system.square()
    conjugate_gradients(system, square, 1e-10 * square, most)
    return system.solution


def matrix_of(graph):
    return (1 + DAMPING) * np.eye(graph.n_vertices) - graph.normalized.toarray()


def test_the_solution_is_that_of_the_dense_system():
    graph = random_graph(40, 1, density=0.4)
    right = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    expected = np.linalg.solve(matrix_of(graph), right)
    np.testing.assert_allclose(solved(graph, right), expected, atol=1e-3 * np.abs(expected).max())


def test_fixed_rows_stay_at_their_start():
    graph = random_graph(40, 1, density=0.4)
    right = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    free = np.ones((40, 1), np.float32)
    free[:5] = 0
    found, system = solved(graph, right, free), matrix_of(graph)[5:, 5:]
    assert (found[:5] == 0).all()
    np.testing.assert_allclose(found[5:], np.linalg.solve(system, right[5:]), atol=1e-2)


def test_no_iteration_leaves_the_start():
    graph = random_graph(10, 0, density=0.5)
    assert (solved(graph, np.ones((10, 1), np.float32), most=0) == 0).all()


def test_padding_adds_columns_of_zeros():
    table = np.ones((3, 5), np.float32)
    assert padded(table).shape == (3, 8)
    assert (padded(table)[:, 5:] == 0).all()
    assert padded(table[:, :1]).shape == (3, 1)
    np.testing.assert_array_equal(squares(table, table), np.full(5, 3))
