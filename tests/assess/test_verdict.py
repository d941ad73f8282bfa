"""One sentence on how good it is, in words and in a notebook."""

import numpy as np

import phaselabel as pl
from phaselabel.assess.hidden import HeldOut
from phaselabel.assess.verdict import as_html, verdict


def test_the_verdict_is_the_figure_of_hidden_labels(digits):
    X, y = digits[0][:300], digits[1][:300]
    model = pl.GinzburgLandauClassifier().fit(X, np.where(np.arange(300) < 80, y, -1))
    held = model.hold_out()
    assert f"About {100 * held.accuracy:.0f} of 100 labels" in verdict(held)
    assert verdict(held) in model._repr_mimebundle_()["text/html"]
    assert "sweeps" in model.solution_._repr_html_()
    assert "300 vertices" in model.graph_._repr_html_()


def test_nothing_to_hide():
    model = pl.GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    assert verdict(model.hold_out()).startswith("How many labels are right is not known")


def test_a_segmentation_in_a_notebook():
    result = pl.segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
    assert "50.0% of the pixels" in result._repr_html_()


def test_words_are_escaped():
    assert "<b>x" not in as_html("<b>x", ["<i>"], {"<u>": "&"})


def test_a_few_labels_that_were_all_found_do_not_promise_a_hundred():
    zeros = np.zeros(18, np.int32)
    said = verdict(HeldOut(np.arange(18), zeros, zeros, np.ones(18), 5, 0, np.ones((18, 2))))
    assert said.startswith("68 to 100 of 100 labels")
