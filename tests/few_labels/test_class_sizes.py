"""Class sizes that are given are met; those that make no sense are refused."""

import numpy as np
import pytest

from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels
from phaselabel.few_labels.class_sizes import class_sizes


def test_given_class_sizes_are_met(digits):
    X, y = digits
    labels = sample_labels(y, 2, random_state=0)
    true = np.bincount(y) / len(y)
    model = GinzburgLandauClassifier(class_sizes=true).fit(X, labels)
    assert np.abs(model.class_sizes_ - true).max() < 0.02
    wide = GinzburgLandauClassifier(class_sizes={k: (0.05, 0.2) for k in range(10)}).fit(X, labels)
    assert (wide.class_sizes_ > 0.04).all()
    free = GinzburgLandauClassifier().fit(X, labels)
    low, high = free.class_size_intervals_.T
    assert (low <= free.class_sizes_ + 1e-9).all()
    assert (free.class_sizes_ <= high + 1e-9).all()


@pytest.mark.parametrize("bad", ["even", [0.5, 0.6], [(0.6, 0.5), (0.1, 0.9)], {0: 1.0}, 3, [0.0, 1.0]])
def test_class_sizes_that_make_no_sense(bad):
    with pytest.raises(ValueError, match="class_sizes"):
        class_sizes(bad if bad != [0.5, 0.6] else [(0.5, 0.5), (0.6, 0.7)], np.arange(2))


def test_a_negative_class_size_is_named():
    with pytest.raises(ValueError, match=r"must not be negative; got \[-1\.0, 2\.0\]"):
        class_sizes([-1.0, 2.0], np.arange(2))
