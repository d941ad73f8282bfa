"""Reasons point to labels of the class."""

import numpy as np
import pytest

from made import two_gaussians
from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels


def test_reasons_point_to_labels_of_the_class(digits):
    X, y = digits
    labels = sample_labels(y, 5, random_state=0)
    model = GinzburgLandauClassifier().fit(X, labels)
    row = int(np.flatnonzero((labels < 0) & (model.confidence_ > 0.97))[0])
    reasons = model.explain(row, n=3)
    assert 0 < len(reasons) <= 3
    assert all(labels[i] == name for i, name, _ in reasons)
    assert reasons[0][1] == model.transduction_[row]
    with pytest.raises(ValueError, match="row"):
        model.explain(-5)


def test_columns_decide_where_the_graph_knows_nothing():
    X, _, labels = two_gaussians(0)
    unknown = np.flatnonzero(labels < 0)[:40]
    by_columns = GinzburgLandauClassifier().fit(X, labels)
    shares = [by_columns.explain(row) for row in unknown]
    assert np.mean([one.by_columns for one in shares]) > 0.5
    assert all(one.by_columns + one.by_neighbors == 1 for one in shares)
    by_graph = GinzburgLandauClassifier(evidence=None).fit(X, labels).explain(unknown[0])
    assert (by_graph.by_columns, by_graph.by_neighbors) == (0, 1)


def test_neighbours_decide_where_the_columns_know_little(digits):
    X, y = digits
    labels = np.where(np.arange(len(y)) < 60, y, -1)
    model = GinzburgLandauClassifier().fit(X, labels)
    assert np.mean([model.explain(row).by_neighbors for row in range(100, 140)]) > 0.6
    assert (model.explain(0).by_columns, model.explain(0).by_neighbors) == (0, 0)
