import numpy as np
import pytest

from phaselabel import GinzburgLandauClassifier
from phaselabel.evidence.advice import advice
from phaselabel.evidence.pool import Figures


def test_few_hidden_labels_are_never_silent():
    assert "between 54% and 100%" in advice(Figures(1.0, 1.0, 1.0, 10, 8))[0]
    assert "between 0% and 46%" in advice(Figures(0.0, 0.0, 0.0, 10, 8))[0]
    assert advice(Figures(1.0, 1.0, 1.0, 50, 40)) == []


def test_many_hidden_labels_that_are_not_found_are_not_silent_either():
    assert advice(Figures(0.5, 0.5, 0.5, 400, 320))[0].startswith(
        "Of a class's labels 50% were found on average (400 labels were hidden in turn)"
    )
    assert advice(Figures(0.9, 0.9, 0.9, 400, 320)) == []


def test_the_remark_gives_the_interval_of_the_verdict(digits):
    X, y = digits
    labels = np.where(np.arange(len(y)) < 40, y, -1)
    model = GinzburgLandauClassifier().fit(X[:300], labels[:300])
    figures, held = model.choice_.figures, model.hold_out()
    shown = held.skipped + len(held.rows) * (1 - 1 / held.folds)
    assert (figures.n_hidden, figures.n_shown) == (len(held.rows), shown)


def test_classes_that_no_column_tells_apart_get_a_remark():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.full(300, -1)
    y[:10] = np.arange(10) % 2
    remarks = GinzburgLandauClassifier().fit(X, y).remarks_
    assert any("labels were hidden in turn" in remark for remark in remarks)


def test_labels_of_one_class_get_a_remark():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.full(50, -1)
    y[:4] = 7
    with pytest.warns(UserWarning, match="All known labels are '7', so there is nothing to tell apart"):
        model = GinzburgLandauClassifier().fit(X, y)
    assert "label rows of a second class" in model.remarks_[0]


def test_class_sizes_are_asked_for_unless_they_are_known():
    few, none = Figures(0.5, 0.5, 0.5, 10, 8), Figures(None, None, None, 0)
    for figures in (few, none):
        assert "give class_sizes" in advice(figures)[0]
        assert "class_sizes" not in advice(figures, sizes_known=True)[0]
        assert "sizes" not in advice(figures, sizes_known=True)[0]
