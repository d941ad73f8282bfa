"""The models of the rows: as arrays they say what scikit-learn's own say, and learn what can be learned."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from phaselabel.evidence.folds import class_weights
from phaselabel.evidence.forest import Forest
from phaselabel.evidence.row_models import (
    PENALTY,
    Curve,
    Linear,
    Scale,
    leading_directions,
)


@pytest.fixture
def rows(digits):
    X, y = digits
    return Scale.of(X)(X), y


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_line_says_what_logistic_regression_says(rows, n_classes):
    X, y = rows
    some = y < n_classes
    X, y = X[some], y[some]
    weights = class_weights(y[:60], n_classes)
    model = LogisticRegression(C=PENALTY, max_iter=100).fit(X[:60], y[:60], sample_weight=weights)
    ours = Linear.fit(X[:60], y[:60], n_classes)
    np.testing.assert_allclose(np.exp(ours.log_probabilities(X)), model.predict_proba(X), atol=1e-4)


def test_a_class_without_a_label_has_the_least_probability(rows):
    X, y = rows
    known = np.flatnonzero(y[:100] < 3)
    for model in (Linear.fit(X[known], y[known], 5), Forest.fit(X[known], y[known], 5, 10)):
        said = model.log_probabilities(X)
        assert said[:, 3:].max() < said[:, :3].max(axis=1).min()


def test_a_curve_parts_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    y = (np.linalg.norm(X, axis=1) > 1.2).astype(int)
    X = Scale.of(X)(X)
    curve = Curve.fit(X[:100], y[:100], 2, leading_directions(X)).log_probabilities(X[100:])
    line = Linear.fit(X[:100], y[:100], 2).log_probabilities(X[100:])
    assert np.mean(curve.argmax(axis=1) == y[100:]) > 0.9
    assert np.mean(line.argmax(axis=1) == y[100:]) < 0.75


def test_rows_far_from_all_labels_are_of_the_class_that_lies_around():
    rng = np.random.default_rng(0)
    y = np.arange(2010) % 2
    X = rng.normal(size=(2010, 20)) * np.where(y == 0, 2.0, 1.0)[:, None]
    X = Scale.of(X)(X)
    curve = Curve.fit(X[:10], y[:10], 2, leading_directions(X))
    assert np.mean(curve.log_probabilities(X[10:]).argmax(axis=1) == y[10:]) > 0.9  # 0.55 if the level is ½


def test_scale_is_one_number():
    X = np.array([[0.0, 0.0], [2.0, 200.0]])
    scaled = Scale.of(X)(X)
    assert np.mean((scaled**2).sum(axis=1)) == pytest.approx(1, rel=1e-5)
    assert scaled[1, 1] == pytest.approx(100 * scaled[1, 0], rel=1e-5)


def test_directions_of_wide_rows_take_memory_of_rows_not_columns():
    # The product of 30,000 columns with themselves would take 7 GB, and its directions hours.
    rows = np.random.default_rng(0).normal(size=(12, 30_000)).astype(np.float32)
    directions = leading_directions(rows)
    assert directions.shape == (30_000, 12)
    apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    kept = np.linalg.norm((rows @ directions)[:, None] - rows @ directions, axis=2)
    np.testing.assert_allclose(kept, apart, rtol=1e-3)


def test_directions_of_wide_rows_are_those_of_the_covariance():
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(150, 5)) @ rng.normal(size=(5, 200))).astype(np.float32)
    wide, full = leading_directions(rows), leading_directions(np.repeat(rows, 2, axis=0))
    strong = full[:, -5:]
    np.testing.assert_allclose(strong @ strong.T, wide @ wide.T, atol=1e-3)


def test_wide_rows_at_the_origin_have_a_direction():
    assert leading_directions(np.zeros((3, 200), np.float32)).shape == (200, 1)
