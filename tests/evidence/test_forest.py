"""Forests learn what scikit-learn's learn, from dense and from sparse rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from phaselabel.evidence import forest
from phaselabel.evidence.forest import FOREST_VOTES, Forest
from phaselabel.evidence.row_models import Scale


@pytest.fixture
def rows(digits):
    X, y = digits
    return Scale.of(X)(X), y


@pytest.mark.parametrize("extra", [False, True])
def test_as_many_rows_are_right_as_by_scikit_learn(rows, extra):
    kind = ExtraTreesClassifier if extra else RandomForestClassifier
    leads = []
    for X, y in (rows, load_wine(return_X_y=True)):
        for draw in range(6):
            known = np.random.default_rng(draw).permutation(len(y))[:60]
            ours = Forest.fit(X[known], y[known], y.max() + 1, 100, extra=extra).log_probabilities(X)
            theirs = kind(100, class_weight="balanced", random_state=draw).fit(X[known], y[known])
            leads.append(np.mean(ours.argmax(axis=1) == y) - np.mean(theirs.predict(X) == y))
    assert abs(np.mean(leads)) < 0.02


def test_of_uneven_classes_none_is_forgotten(rows):
    X, y = rows
    known = np.concatenate([np.flatnonzero(y == 0)[:80], np.flatnonzero(y == 3)[:4]])
    forest = Forest.fit(X[known], y[known] // 3, 2, 100)
    of_three = forest.log_probabilities(X[y == 3]).argmax(axis=1) == 1
    assert np.mean(of_three) > 0.8  # 0.3 if every label counts the same


def test_no_row_is_surer_than_its_votes(rows):
    X, y = rows
    said = np.exp(Forest.fit(X[:100], y[:100], 10, 50).log_probabilities(X))
    np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-5)
    assert said.max() <= (FOREST_VOTES + 0.1) / (FOREST_VOTES + 1) + 1e-6


@pytest.mark.parametrize("extra", [False, True])
def test_sparse_rows_are_rows(rows, extra):
    X, y = rows
    some = sparse.csr_array(X * (X > 0))
    used = np.flatnonzero(np.diff(some[:100].tocsc().indptr))
    ours = Forest.fit(some[:100], y[:100], 10, 20, extra=extra)
    dense = Forest.fit(some.toarray()[:100][:, used], y[:100], 10, 20, extra=extra)
    expected = dense.log_probabilities(some.toarray()[:, used])
    np.testing.assert_allclose(ours.log_probabilities(some), expected, atol=1e-6)


def test_of_very_many_sparse_columns_the_fullest_are_kept(rows, monkeypatch):
    X, y = rows
    some = sparse.csr_array(np.concatenate([np.eye(len(X)), X * (X > 0)], axis=1))
    monkeypatch.setattr(forest, "LARGEST_TABLE", 100 * 40)
    kept = np.unique(Forest.fit(some[:100], y[:100], 10, 20).feature)
    assert len(kept) <= 40
    assert kept[1:].min() >= len(X)  # leaves have column 0


@pytest.mark.parametrize("X", [sparse.csr_array((6, 5)), np.ones((6, 5))])
def test_rows_without_any_difference_are_one_leaf(X):
    y = np.array([0, 0, 0, 1, 1, 1])
    said = np.exp(Forest.fit(X, y, 2, 10, extra=True).log_probabilities(X))
    np.testing.assert_allclose(said, 0.5, atol=1e-6)


def test_batches_of_trees_are_all_trees(rows, monkeypatch):
    X, y = rows
    whole = Forest.fit(X[:50], y[:50], 10, 30, extra=True)
    monkeypatch.setattr(forest, "LARGEST_TABLE", 7 * 100 * 10)
    parts = Forest.fit(X[:50], y[:50], 10, 30, extra=True)
    for name in vars(whole):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_joined_forests_say_what_their_trees_say_on_average(rows):
    X, y = rows
    two = [Forest.fit(X[some], y[some], 10, 8, seed=some.start) for some in (slice(0, 100), slice(50, 150))]
    shares = [np.exp(one.log_probabilities(X)) for one in two]
    np.testing.assert_allclose(np.exp(Forest.joined(two).log_probabilities(X)), np.mean(shares, 0), atol=1e-5)
