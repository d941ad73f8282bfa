import numpy as np

from phaselabel import GinzburgLandauClassifier
from phaselabel.evidence.advice import advice
from phaselabel.evidence.pool import Figures


def test_few_hidden_labels_are_never_silent():
    assert "between 69% and 100%" in advice(Figures(1.0, 1.0, 1.0, 10))[0]
    assert "between 12% and 74%" in advice(Figures(0.4, 0.4, 0.4, 10))[0]
    assert "between 0% and 31%" in advice(Figures(0.0, 0.0, 0.0, 10))[0]
    assert advice(Figures(1.0, 1.0, 1.0, 15)) == []


def test_many_hidden_labels_that_are_not_found_are_not_silent_either():
    assert advice(Figures(0.5, 0.5, 0.5, 400))[0].startswith("Of 400 labels hidden in turn 50% were found")
    assert advice(Figures(0.9, 0.9, 0.9, 400)) == []


def test_classes_that_no_column_tells_apart_get_a_remark():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), np.full(300, -1)
    y[:10] = np.arange(10) % 2
    remarks = GinzburgLandauClassifier().fit(X, y).remarks_
    assert any("labels hidden in turn" in remark for remark in remarks)
