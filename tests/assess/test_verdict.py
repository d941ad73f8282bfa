"""One sentence on how good it is, in words and in a notebook."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import phaselabel as pl
from phaselabel.assess.hidden import HeldOut
from phaselabel.assess.verdict import as_html, verdict
from phaselabel.estimators import fitted_classifier


def test_the_verdict_is_the_figure_of_hidden_labels(digits):
    X, y = digits[0][:300], digits[1][:300]
    model = pl.GinzburgLandauClassifier().fit(X, np.where(np.arange(300) < 80, y, -1))
    held = model.hold_out()
    assert f"About {100 * held.accuracy:.0f} of 100 labels" in verdict(held)
    assert verdict(held) in model._repr_mimebundle_()["text/html"]
    assert verdict(held) in model._repr_html_()
    assert "80 of them with a given label" in model._repr_html_()
    assert "sweeps" in model.solution_._repr_html_()
    assert "300 vertices" in model.graph_._repr_html_()


def test_a_model_that_is_not_fitted_has_no_verdict():
    for model in (pl.GinzburgLandauClassifier(), pl.BinaryGinzburgLandauClassifier(), pl.GraphRegressor()):
        assert "every row" not in model._repr_html_()


def test_no_label_is_hidden_to_show_a_model(digits, monkeypatch):
    X, y = digits[0][:300], digits[1][:300]
    model = pl.GinzburgLandauClassifier(evidence=None).fit(X, np.where(np.arange(300) < 80, y, -1))

    def hidden(*words, **options):
        raise AssertionError("labels are hidden to show the model")

    for name in ("hold_out", "calibration_from_hidden"):
        monkeypatch.setattr(fitted_classifier, name, hidden)
    shown = model._repr_mimebundle_()["text/html"]
    assert "not known yet: hold_out() hides the known labels in turns" in shown
    assert model.solution_.status in shown
    assert "sk-toggleable__content" in shown  # scikit-learn's diagram is below


def test_the_binary_model_says_that_it_does_not_know(digits):
    X, y = digits[0][:300], digits[1][:300] % 2
    shown = pl.BinaryGinzburgLandauClassifier().fit(X, np.where(np.arange(300) < 80, y, -1))._repr_html_()
    assert "How many labels are right is not known: this model hides no labels." in shown
    assert "300, 80 of them with a given label" in shown


def test_a_regressor_says_how_far_it_is_off():
    X, y = load_diabetes(return_X_y=True)
    known = np.arange(len(y)) % 5 == 0
    model = pl.GraphRegressor().fit(X, np.where(known, y, np.nan))
    off = np.sqrt(np.mean((model.transduction_ - y)[~known] ** 2))
    said = re.search(r"expected to be off by about ([\d.]+) \(root mean square\)", model._repr_html_())
    assert float(said[1]) == pytest.approx(off, rel=0.15)
    assert "442, 89 of them with a given value" in model._repr_html_()
    few = pl.GraphRegressor(2).fit([[0.0], [1.0], [2.0], [90.0], [91.0], [92.0]], [0, *[np.nan] * 5])
    assert "How far values are off is not known: with fewer than 10 known values" in few._repr_html_()
    assert "3 rows have no value, because no known one reaches them." in few._repr_html_()


def test_nothing_to_hide():
    model = pl.GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    assert verdict(model.hold_out()).startswith("How many labels are right is not known")


def test_a_segmentation_in_a_notebook():
    result = pl.segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
    assert "50.0% of the pixels" in result._repr_html_()
    assert "How many pixels are right is not known: no stroke was hidden" in result._repr_html_()


def test_a_segmentation_says_how_many_hidden_strokes_were_found(tmp_path):
    rng = np.random.default_rng(0)
    image = rng.normal(80, 8, (30, 40, 3)).clip(0, 255).astype(np.uint8)
    image[:, 20:] += 90
    marks = np.zeros((30, 40), int)
    for row in (4, 14, 24):
        marks[row, 2:15], marks[row, 24:38] = 1, 2
    model = pl.Segmenter(patch=3).fit([image], [marks])
    assert model.strokes_found_ == 1.0
    said = "Of marks in strokes that were hidden, 100 of 100 were found again"
    assert said in model.results_[0]._repr_html_()
    model.save(tmp_path / "m")
    assert pl.load(tmp_path / "m").strokes_found_ == 1.0
    pieces = pl.Graph.from_weights(np.kron(np.eye(2), np.ones((2, 2))))
    assert "No label reaches a piece without a known one" in pieces._repr_html_()


def test_words_are_escaped():
    assert "<b>x" not in as_html("<b>x", ["<i>"], {"<u>": "&"})


def test_a_few_labels_that_were_all_found_do_not_promise_a_hundred():
    zeros = np.zeros(18, np.int32)
    said = verdict(HeldOut(np.arange(18), zeros, zeros, np.ones(18), 5, 0, np.ones((18, 2))))
    assert said.startswith("68 to 100 of 100 labels")
    assert said.endswith("were found again. No label of 1 class could be hidden.")


def test_the_verdict_says_what_it_does_not_judge(digits):
    X, y = digits[0][:300], digits[1][:300]
    labels = np.where((np.arange(300) < 80) & (y < 8), y, -1)
    labels[np.flatnonzero(y >= 8)[:2]] = 8, 9
    model = pl.GinzburgLandauClassifier().fit(X, labels)
    assert sorted(set(y[np.flatnonzero(y >= 8)[:2]])) == [8, 9]
    assert verdict(model.hold_out()).endswith(" No label of 2 classes could be hidden.")
