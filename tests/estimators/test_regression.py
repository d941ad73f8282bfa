"""Answers and contract of the regressor."""

import networkx as nx
import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from phaselabel import GraphRegressor


@parametrize_with_checks([GraphRegressor(evidence=None)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_smooth_function_from_a_tenth_of_its_values():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (800, 2))
    truth = np.sin(3 * X[:, 0]) + X[:, 1]
    y = np.where(np.arange(800) % 10 == 0, truth, np.nan)
    model = GraphRegressor(evidence=None).fit(X, y)
    hidden = np.isnan(y)
    assert np.corrcoef(model.transduction_[hidden], truth[hidden])[0, 1] > 0.97
    np.testing.assert_allclose(model.transduction_[~hidden], truth[~hidden], atol=0.01)
    np.testing.assert_allclose(model.predict(X), model.transduction_)


def test_harmonic_values_are_means_of_their_neighbours():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 6, X[:, 0], np.nan)
    model = GraphRegressor(n_neighbors=5, evidence=None).fit(X, y)
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


def few_values(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    truth = 2 * X[:, 0] + np.sin(3 * X[:, 1]) + 0.1 * rng.normal(size=n)
    return X, truth, np.where(np.arange(n) % 5 == 0, truth, np.nan)


@pytest.mark.parametrize("fidelity", [1e8, 1e15, 1e300])
def test_large_fidelity_keeps_the_values(fidelity):
    X, _, y = few_values()
    clamped = GraphRegressor(fidelity=fidelity, evidence=None).fit(X, y)
    usual = GraphRegressor(fidelity=1e6, evidence=None).fit(X, y)
    np.testing.assert_allclose(clamped.transduction_, usual.transduction_, atol=1e-4)


@pytest.mark.parametrize(
    ("factor", "evidence"), [(1e155, None), (1e-160, None), (2.0**515, "auto"), (2.0**-530, "auto")]
)
def test_values_of_any_magnitude(factor, evidence):
    X, _, y = few_values()
    small = GraphRegressor(evidence=evidence).fit(X, y)
    large = GraphRegressor(evidence=evidence).fit(X, factor * y)
    np.testing.assert_allclose(large.transduction_ / factor, small.transduction_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(large.predict(X[:5] + 0.01) / factor, small.predict(X[:5] + 0.01), atol=1e-9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("factor", [2.0**-990, 2.0**960])
def test_columns_of_any_magnitude(factor):
    X, _, y = few_values(n=120)
    usual, other = GraphRegressor().fit(X, y), GraphRegressor().fit(factor * X, y)
    np.testing.assert_allclose(other.transduction_, usual.transduction_, atol=1e-9)
    np.testing.assert_allclose(other.predict(factor * X[:5] * 1.01), usual.predict(X[:5] * 1.01), atol=1e-9)
    assert np.isfinite(usual.predict_uncertainty(np.full((1, 3), 1e100))).all()


@pytest.mark.parametrize("fidelity", ["a", [1], None, True, np.ones((1, 1, 1)), np.nan])
def test_a_fidelity_that_is_no_number(fidelity):
    with pytest.raises(ValueError, match="fidelity must be a positive number"):
        GraphRegressor(fidelity=fidelity).fit([[0.0], [1.0], [2.0]], [0.0, np.nan, 1.0])


def test_far_values_are_kept():
    X, _, y = few_values()
    far = GraphRegressor(evidence=None).fit(X, y + 1e9)
    near = GraphRegressor(evidence=None).fit(X, y)
    np.testing.assert_allclose(far.transduction_ - 1e9, near.transduction_, atol=1e-5)


def test_evidence_of_the_columns_helps_and_says_how_sure_it_is():
    X, truth, y = few_values()
    hidden = np.isnan(y)
    errors = {}
    for evidence in ("auto", None):
        model = GraphRegressor(evidence=evidence).fit(X, y)
        errors[evidence] = np.sqrt(np.mean((model.transduction_ - truth)[hidden] ** 2))
    assert errors["auto"] < 0.7 * errors[None]
    model = GraphRegressor().fit(X, y)
    wrong = np.abs(model.transduction_ - truth)[hidden] / model.uncertainty_[hidden]
    assert 0.8 < np.mean(wrong < 2) <= 1
    assert sum(model.weights_.values()) == pytest.approx(1)
    assert model.predict_uncertainty(X[:3]).shape == (3,)


def test_given_graphs():
    X, _, y = few_values(n=60)
    own = GraphRegressor(evidence=None).fit(X, y)
    given = GraphRegressor(affinity="precomputed").fit(own.graph_, y)
    np.testing.assert_allclose(given.transduction_, own.transduction_)
    beside = GraphRegressor(evidence=None).fit(X, y, graph=own.graph_.weights)
    np.testing.assert_allclose(beside.transduction_, own.transduction_)
    with pytest.raises(ValueError, match="one vertex per row"):
        GraphRegressor().fit(X[:50], y[:50], graph=own.graph_)


def test_a_graph_of_another_library():
    X, y = np.arange(30.0)[:, None], np.where(np.arange(30) % 3, np.nan, np.arange(30.0))
    given = GraphRegressor(evidence=None).fit(X, y, graph=nx.path_graph(30))
    ours = GraphRegressor(evidence=None).fit(X, y, graph=nx.to_scipy_sparse_array(nx.path_graph(30)))
    np.testing.assert_allclose(given.transduction_, ours.transduction_)
    assert ours.graph_.weights.dtype == np.float64


@pytest.mark.parametrize("evidence", [np.ones(3), "none", 0, object()])
def test_evidence_that_is_neither_automatic_nor_none_is_refused(evidence):
    X, _, y = few_values(n=60)
    with pytest.raises(ValueError, match="evidence must be 'auto' or None"):
        GraphRegressor(evidence=evidence).fit(X, y)


def test_folds_of_continuous_values():
    from sklearn.model_selection import cross_val_score

    from phaselabel import LabeledFold

    X, _, y = few_values()
    folds = list(LabeledFold(4).split(X, y))
    assert sorted(np.concatenate([test for _, test in folds])) == np.flatnonzero(~np.isnan(y)).tolist()
    assert all(set(np.flatnonzero(np.isnan(y))) <= set(train) for train, _ in folds)
    assert cross_val_score(GraphRegressor(evidence=None), X, y, cv=LabeledFold(3)).min() > 0.3


def test_real_values_are_found_as_well_as_by_the_usual_models():
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.metrics import r2_score
    from sklearn.neighbors import KNeighborsRegressor

    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    known = np.random.default_rng(0).random(len(y)) < 0.2
    ours = r2_score(y[~known], GraphRegressor().fit(X, np.where(known, y, np.nan)).transduction_[~known])
    others = [
        r2_score(y[~known], model.fit(X[known], y[known]).predict(X[~known]))
        for model in (
            KNeighborsRegressor(5),
            RidgeCV(np.logspace(-3, 4, 15)),
            HistGradientBoostingRegressor(),
        )
    ]
    assert ours > sorted(others)[1]  # behind one of them at most
    assert ours > max(others) - 0.05
