"""Questions are new, distinct, and reach every part."""

import numpy as np
import pytest

from made import accuracy
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


def asked_rows(model, n, rng):
    return model.query(n)


def random_rows(model, n, rng):
    return rng.permutation(np.flatnonzero(model._labels < 0))[:n]


def least_confident_rows(model, n, rng):
    left = np.flatnonzero(model._labels < 0)
    return left[np.argsort(model.confidence_[left], kind="stable")[:n]]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("evidence", ["auto", None])
def test_thirty_labels_teach_more_than_random_or_doubtful_ones(digits_graph, digits, evidence):
    y, mean = digits[1], {}
    for choose in (asked_rows, random_rows, least_confident_rows):
        right = []
        for draw in range(3):
            rng, labels = np.random.default_rng(draw), np.full(len(y), -1)
            first = rng.permutation(len(y))[:2]
            labels[first] = y[first]
            model = GinzburgLandauClassifier(affinity="precomputed", evidence=evidence)
            chosen = choose(model.fit(digits_graph, labels), 28, rng)
            labels[chosen] = y[chosen]
            right.append(accuracy(model.fit(digits_graph, labels), y, labels))
        mean[choose] = np.mean(right)
    assert mean[asked_rows] > 95
    assert mean[asked_rows] > mean[random_rows] + 4
    assert mean[asked_rows] > mean[least_confident_rows] + 10
