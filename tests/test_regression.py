"""Answers and contract of the regressor."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from phaselabel import GraphRegressor


@parametrize_with_checks([GraphRegressor()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_smooth_function_from_a_tenth_of_its_values():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (800, 2))
    truth = np.sin(3 * X[:, 0]) + X[:, 1]
    y = np.where(np.arange(800) % 10 == 0, truth, np.nan)
    model = GraphRegressor().fit(X, y)
    hidden = np.isnan(y)
    assert np.corrcoef(model.transduction_[hidden], truth[hidden])[0, 1] > 0.97
    np.testing.assert_allclose(model.transduction_[~hidden], truth[~hidden], atol=0.01)
    np.testing.assert_allclose(model.predict(X), model.transduction_)


def test_harmonic_values_are_means_of_their_neighbours():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 6, X[:, 0], np.nan)
    model = GraphRegressor(n_neighbors=5).fit(X, y)
    w, u = model.graph_.weights.toarray(), model.transduction_
    free = np.isnan(y) & ~np.isnan(u)
    np.testing.assert_allclose((w @ np.nan_to_num(u))[free] / w.sum(axis=1)[free], u[free], atol=1e-5)


def test_unreached_rows_and_nonsense():
    X = np.r_[np.zeros(5), np.full(5, 100.0)][:, None] + np.arange(10)[:, None] * 0.01
    model = GraphRegressor(n_neighbors=3).fit(X, [1.0, *[np.nan] * 9])
    assert np.isnan(model.transduction_[5:]).all()
    np.testing.assert_allclose(model.transduction_[:5], 1)
    with pytest.raises(ValueError, match="no known value"):
        GraphRegressor().fit(X, [np.nan] * 10)
    with pytest.raises(ValueError, match="fidelity"):
        GraphRegressor(fidelity=-1).fit(X, np.arange(10.0))
