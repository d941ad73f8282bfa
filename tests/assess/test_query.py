"""Questions are new, distinct, and reach every part."""

import numpy as np
import pytest

from phaselabel import GinzburgLandauClassifier


def test_queries_are_new_distinct_and_reach_every_part():
    X = np.concatenate([np.random.default_rng(k).normal(20 * k, 1, (30, 2)) for k in range(4)])
    y = np.full(120, -1)
    y[0], y[30] = 0, 1
    with pytest.warns(UserWarning, match="60 of 120"):
        model = GinzburgLandauClassifier(n_neighbors=6, evidence=None).fit(X, y)
    rows = model.query(5)
    assert len(set(rows.tolist())) == 5
    assert (y[rows] < 0).all()
    assert {int(row) // 30 for row in rows[:2]} == {2, 3}
    with pytest.raises(ValueError, match="n must"):
        model.query(0)


@pytest.mark.parametrize("seed", [1000, 1001, 1002])
def test_ten_questions_reach_most_digits(digits_graph, digits, seed):
    y = digits[1]
    labels = np.full(len(y), -1)
    first = np.random.default_rng(seed).permutation(len(y))[:2]
    labels[first] = y[first]
    model = GinzburgLandauClassifier(affinity="precomputed").fit(digits_graph.weights, labels)
    rows = model.query(10)
    assert len(set(rows) | set(first)) == 12
    assert len(np.unique(y[rows])) >= 7
