"""A class without a label is noticed; where every class has labels nothing is said."""

import warnings

import numpy as np
import pytest
from scipy.sparse import block_diag

from phaselabel import GinzburgLandauClassifier, Graph
from phaselabel.assess.novelty import far_rows
from phaselabel.datasets import sample_labels


@pytest.fixture(scope="module")
def without_zero(digits):
    """Digits of which no zero has a label."""
    X, y = digits
    labels = sample_labels(y, 20, random_state=0)
    labels[y == 0] = -1
    with pytest.warns(UserWarning, match="rows look like none of the labelled ones"):
        return GinzburgLandauClassifier().fit(X, labels)


def test_rows_of_a_class_without_a_label_are_found(without_zero, digits):
    model, y = without_zero, digits[1]
    assert np.mean(model.novel_[y == 0]) > 0.8
    assert np.mean(model.novel_[y != 0]) < 0.01
    assert any("a class may have no label yet" in remark for remark in model.remarks_)


def test_their_confidence_is_low(without_zero, digits):
    model, y = without_zero, digits[1]
    assert np.median(model.confidence_[y == 0]) <= 0.5
    assert np.median(model.confidence_[y != 0]) > 0.9


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("evidence", ["auto", None])
def test_rows_beside_them_are_doubted_too_and_keep_their_class(evidence):
    """Of three heaps two are labelled; fitted rows of the third, and new ones, are no surer than half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)) + np.repeat([[0, 0, 0], [20, 0, 0], [11, 6, 0]], 80, axis=0)
    y = np.full(240, -1)
    y[:10], y[80:90] = 0, 1
    model = GinzburgLandauClassifier(100, evidence=evidence).fit(X, y)
    model.novel_ = np.arange(240) >= 160
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    np.testing.assert_array_equal(model.label_distributions_.argmax(axis=1), model.transduction_)
    sure = model.predict_proba(X + 0.01).max(axis=1)
    assert sure[160:].max() <= 0.5 + 1e-6
    assert sure[:160].min() > 0.5 + 1e-6


def test_nothing_is_said_where_every_class_has_labels(digits, digits_graph):
    for draw in range(3):
        assert not far_rows(digits_graph, sample_labels(digits[1], 20, random_state=draw)).any()


def test_a_small_component_may_have_no_label_by_chance():
    sizes = [300, 20, 60]
    graph = Graph.from_weights(block_diag([np.ones((size, size)) for size in sizes]))
    labels = np.full(sum(sizes), -1, np.int32)
    labels[:30] = np.arange(30) % 2  # random rows: 1.6 would be in the second component, 4.7 in the third
    assert far_rows(graph, labels).nonzero()[0].tolist() == list(range(320, 380))


def test_few_labels_say_nothing(digits_graph):
    labels = np.full(digits_graph.n_vertices, -1, np.int32)
    labels[:9] = 0
    assert not far_rows(digits_graph, labels).any()


def test_of_one_class_no_remark_says_that_confidence_is_lowered_or_that_every_row_is_reached():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 100])
    y = np.full(600, -1)
    y[:20] = 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GinzburgLandauClassifier(evidence=None).fit(X, y)
    assert (model.confidence_[:300] == 1).all()
    said = " ".join(str(warning.message) for warning in caught)
    assert "300 of 600 rows have no label" in said
    assert "every row that they reach gets this label" in said
    assert "look like none of the labelled ones" in said
    assert "Label a few of them" in said
    assert "lowered" not in said
