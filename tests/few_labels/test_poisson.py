"""The Poisson solution solves its equation."""

import numpy as np

from made import few_labels, random_graph
from phaselabel.few_labels.poisson import bounded, poisson


def test_poisson_solves_its_equation():
    graph = random_graph(40, 1, density=0.4)
    labels = few_labels(40, 3, 0).astype(np.int32)
    found = poisson(graph, labels, 3)
    known = labels >= 0
    loud = np.where(known, 1 / np.bincount(labels[known])[labels], 0)
    loud *= known.sum() / loud.sum()
    hot = np.eye(3)[labels]
    source = np.where(known[:, None], (hot - np.average(hot[known], axis=0, weights=loud[known])), 0)
    d = graph.degrees
    system = (1 + known.mean()) * np.diag(d) - graph.weights.toarray()
    lone = d > 0
    expected = np.linalg.solve(system[np.ix_(lone, lone)], (source * loud[:, None])[lone])
    np.testing.assert_allclose(found[lone], expected, atol=2e-3 * np.abs(expected).max())


def test_a_solution_that_is_nearly_zero_everywhere_is_bounded_without_a_warning():
    solution = np.array([[1e20, -1e20], [0, 0], [0, 0]], np.float32)
    np.testing.assert_array_equal(bounded(solution, 0.0), np.sign(solution))
    np.testing.assert_allclose(bounded(solution, 5e19)[0], np.tanh([1, -1]), rtol=1e-6)
