"""Confidence means what it says."""

import numpy as np
import pytest

import naive
from made import accuracy
from phaselabel import GinzburgLandauClassifier
from phaselabel.assess.calibration import calibration_error
from phaselabel.datasets import sample_labels


@pytest.mark.parametrize("per_class", [5, 60])
def test_confidence_is_calibrated(digits, per_class):
    X, y = digits
    gaps = []
    for seed in range(3):
        labels = sample_labels(y, per_class, random_state=seed)
        model = GinzburgLandauClassifier().fit(X, labels)
        hidden = labels < 0
        right = model.transduction_[hidden] == y[hidden]
        gaps.append(calibration_error(model.confidence_[hidden], right))
        assert gaps[-1] == pytest.approx(naive.calibration_error(model.confidence_[hidden], right))
    assert np.mean(gaps) < 0.04


def test_abstaining_leaves_the_sure_rows(digits):
    X, y = digits
    labels = sample_labels(y, 5, random_state=0)
    model = GinzburgLandauClassifier(abstain_below=0.9).fit(X, labels)
    kept = (model.transduction_ >= 0) & (labels < 0)
    everyone = GinzburgLandauClassifier().fit(X, labels)
    assert 0.5 < kept.mean() < 1
    assert np.mean(model.transduction_[kept] == y[kept]) * 100 > accuracy(everyone, y, labels)
    assert set(model.predict(X[~kept & (labels < 0)])) == {-1}
    with pytest.raises(ValueError, match="abstain_below"):
        GinzburgLandauClassifier(abstain_below=2).fit(X, labels)
