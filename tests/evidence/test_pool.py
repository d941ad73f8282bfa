"""The pool: labels held back choose the experts."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import check_grad

from made import expert
from phaselabel.evidence import pool
from phaselabel.evidence.pool import (
    fitted_weights,
    pooled,
    prior_precision,
    prior_weights,
    tempering,
)


def precision_of(*kinds):
    return prior_precision(list(kinds), prior_weights(list(kinds), 5.0))


def test_the_expert_that_knows_gets_the_weight():
    y = np.random.default_rng(0).integers(0, 3, 1000)
    tables = np.stack([expert(y, 3, 3.0, 1), expert(y, 3, 0.0, 2)], axis=1)
    weights, _ = fitted_weights(tables, y, np.array([0.5, 0.5]), precision_of("rows", "graph"))
    assert weights[0] > 0.8
    assert weights[1] < 0.1
    found = pooled(tables, weights, np.zeros(3)).argmax(axis=1)
    assert np.mean(found == y) > 0.9


def test_without_labels_the_prior_decides_and_few_labels_move_it_little():
    prior = prior_weights(["rows", "graph"], 1.0)
    weights, bias = fitted_weights(
        np.zeros((0, 2, 3)), np.zeros(0, int), prior, precision_of("rows", "graph")
    )
    np.testing.assert_array_equal(weights, prior)
    assert not bias.any()
    y = np.array([0, 1, 2])
    tables = np.stack([expert(y, 3, 3.0, 1), expert(y, 3, 0.0, 2)], axis=1)
    assert np.abs(fitted_weights(tables, y, prior, precision_of("rows", "graph"))[0] - prior).max() < 0.6


def test_the_loss_has_the_gradient_it_says(monkeypatch):
    seen = {}

    def keep(loss, start, **more):
        seen.update(loss=loss, start=start)
        return SimpleNamespace(x=start)

    monkeypatch.setattr(pool, "minimize", keep)
    y = np.random.default_rng(0).integers(0, 4, 50)
    tables = np.stack([expert(y, 4, 1.0, k) for k in range(3)], axis=1)
    fitted_weights(tables, y, np.full(3, 0.3), precision_of("rows", "rows", "graph"))
    place = seen["start"] + 0.1
    assert check_grad(lambda x: seen["loss"](x)[0], lambda x: seen["loss"](x)[1], place) < 1e-4


def test_weights_of_a_kind_vary_together_more_easily_than_each_alone():
    kinds = ["rows"] * 3 + ["graph"]
    precision = prior_precision(kinds, prior_weights(kinds, 5.0))
    together, apart = np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, -1.0, 0.0, 0.0])
    own, kind = pool.OWN_DEVIATION**2, pool.KIND_DEVIATION**2
    assert together @ precision @ together == pytest.approx(3 / (own + kind))
    assert apart @ precision @ apart == pytest.approx(2 / own)


def test_labels_that_no_expert_finds_leave_a_little_of_the_prior():
    y = np.arange(10) % 2
    wrong = np.stack([expert(1 - y, 2, 4.0, seed) for seed in range(3)], axis=1)
    prior = prior_weights(["rows", "rows", "graph"], 5.0)
    weights, _ = fitted_weights(wrong, y, prior, precision_of("rows", "rows", "graph"))
    np.testing.assert_allclose(weights, pool.LEAST_SHARE * prior)


def test_confidence_is_humble_where_nothing_could_be_hidden():
    assert tempering(0) == pytest.approx(1 / 6)
    assert tempering(500) > 0.98
    assert tempering(5) == pytest.approx(6 / 11)


def test_hidden_labels_of_one_class_say_nothing_against_a_class_without_any():
    rng = np.random.default_rng(0)
    tables = np.log(rng.dirichlet([1, 1, 1], size=(60, 2)))
    prior = np.array([0.5, 0.5])
    _, bias = fitted_weights(tables, np.zeros(60, int), prior, np.eye(2))
    assert not bias.any()
    _, bias = fitted_weights(tables, np.repeat([0, 2], [40, 20]), prior, np.eye(2))
    assert bias[1] == 0
    assert bias[0] == pytest.approx(-bias[2])
    assert bias[0] != 0
