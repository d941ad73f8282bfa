import numpy as np
import pytest

import phaselabel as pl
from phaselabel import BinaryGinzburgLandauClassifier, minimize_binary


def test_two_moons_in_r100():
    rng = np.random.default_rng(0)
    X, y = pl.datasets.make_three_moons(random_state=rng)
    moons = y != 1
    X, y = X[moons], np.where(y[moons] == 2, "lower", "upper")
    hidden = np.ones(len(y), bool)
    hidden[np.r_[0:25, 500:525]] = False
    model = BinaryGinzburgLandauClassifier().fit(X, np.where(hidden, None, y))
    assert model.converged_
    assert np.mean(model.transduction_[hidden] == y[hidden]) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.transduction_)


def test_a_component_without_a_label_is_not_labelled():
    graph = pl.Graph.from_weights([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    assert minimize_binary(graph, [1, -1, -1, -1]).arm.tolist() == [1, 1, -1, -1]


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="GinzburgLandauClassifier"):
        BinaryGinzburgLandauClassifier(n_neighbors=2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, -1])
