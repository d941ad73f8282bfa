"""Values between neighbours, beside elimination in exact numbers."""

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from phaselabel.estimators import harmonic as module
from phaselabel.estimators.harmonic import Held, harmonic


def exact(weights, pull, values):
    """The naive twin: Gauss's elimination in fractions."""
    n = len(pull)
    rows = [[Fraction(0)] * (n + 1) for _ in range(n)]
    for i in range(n):
        for j in np.flatnonzero(weights[i]):
            rows[i][j] -= Fraction(weights[i, j])
            rows[i][i] += Fraction(weights[i, j])
        rows[i][i] += Fraction(pull[i])
        rows[i][n] = Fraction(pull[i]) * Fraction(values[i])
    for c in range(n):
        for r in set(range(n)) - {c}:
            share = rows[r][c] / rows[c][c]
            rows[r] = [a - share * b for a, b in zip(rows[r], rows[c])]
    return np.array([float(row[n] / row[i]) for i, row in enumerate(rows)])


def random_tree(seed, span):
    """A connected graph with weights of ``span`` orders of magnitude, and some held vertices."""
    draws = random.Random(seed)
    n = draws.randint(3, 9)
    weights = np.zeros((n, n))
    for i in range(1, n):
        for j in {draws.randrange(i), draws.randrange(i)}:
            weights[i, j] = weights[j, i] = 10 ** -draws.uniform(0, span)
    held = np.array([i == 0 or draws.random() < 0.3 for i in range(n)])
    firm = draws.choice([1e-12, 1.0, 1e3, 1e10])
    values = np.array([draws.uniform(-1, 1) for _ in range(n)])
    return weights, np.where(held, firm * weights.sum(axis=1), 0), np.where(held, values, 0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("span", [1, 20, 35, 80])
def test_values_are_exact_however_weak_a_link_is(span):
    for seed in range(12):
        weights, pull, values = random_tree(seed, span)
        found = harmonic(Held(sparse.csr_array(weights), pull, values))
        np.testing.assert_allclose(found, exact(weights, pull, values), atol=1e-4)


def test_a_cluster_behind_a_weak_link_takes_the_value_of_its_neighbour():
    """Two outliers, close to each other: the mean of the known values is not theirs."""
    weights = np.zeros((5, 5))
    for i, j, w in ((0, 1, 1.0), (1, 2, 1e-30), (2, 3, 1.0), (0, 4, 1.0)):
        weights[i, j] = weights[j, i] = w
    found = harmonic(
        Held(sparse.csr_array(weights), np.array([0, 1e3, 0, 0, 1e3]), np.array([0, 1.0, 0, 0, -1.0]))
    )
    np.testing.assert_allclose(found, [0, 1, 1, 1, -1], atol=1e-2)


def test_values_that_did_not_converge_are_told(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 1)
    monkeypatch.setattr(module, "ROUNDS", 1)
    n = 60
    chain = sparse.csr_array(sparse.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]))
    with pytest.warns(ConvergenceWarning, match="not converged"):
        harmonic(Held(chain, np.where(np.arange(n) == 0, 1.0, 0), np.ones(n) * (np.arange(n) == 0)))
