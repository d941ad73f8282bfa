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


@pytest.mark.parametrize("sizes", [[174, 2, 2], [0.98, 0.01, 0.01], [(0, 1), (0, 0.01), (0, 1)]])
@pytest.mark.parametrize("evidence", ["auto", None])
def test_a_class_can_not_be_smaller_than_the_number_of_its_labels(sizes, evidence):
    X, y = np.random.default_rng(0).normal(size=(178, 2)), np.full(178, -1)
    y[:15] = np.arange(15) % 3
    with pytest.raises(
        ValueError, match="2 of 178 rows to class 1, which has 5 known labels; give it a larger"
    ):
        GinzburgLandauClassifier(class_sizes=sizes, evidence=evidence).fit(X, y)
    GinzburgLandauClassifier(class_sizes=[168, 5, 5], evidence=evidence, max_iter=1, tol=0).fit(X, y)
