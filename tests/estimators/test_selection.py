"""Folds keep unlabelled rows; settings are chosen by the labels."""

import numpy as np
import pytest

import phaselabel as pl
from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels


def test_folds_keep_unlabelled_rows_in_training(digits):
    from sklearn.model_selection import GridSearchCV

    X, y = digits[0][:500], digits[1][:500]
    labels = sample_labels(y, 4, random_state=0)
    for train, test in pl.LabeledFold(4).split(X, labels):
        assert (labels[test] >= 0).all()
        assert set(np.flatnonzero(labels < 0)) <= set(train)
        assert len(train) + len(test) == len(X)
    search = GridSearchCV(GinzburgLandauClassifier(), {"n_neighbors": [5, 10]}, cv=pl.LabeledFold(2))
    search.fit(X, labels)
    assert search.best_score_ > 0.7
    with pytest.raises(ValueError, match="at least 2 labels"):
        next(pl.LabeledFold().split([[0]] * 3, [0, 1, -1]))


def test_whole_numbers_of_a_regressor_are_named_as_what_they_were_taken_for():
    y = np.array([23.0, 31.0, 40.0, 55.0, 18.0, np.nan])
    with pytest.raises(ValueError, match=r"add 0\.5 to y if it holds a regressor's values"):
        pl.LabeledFold(3).get_n_splits(y=y)
    assert pl.LabeledFold(3).get_n_splits(y=y + 0.5) == 3


def test_more_folds_than_labels_end_with_the_labels():
    # Every number below n_splits was tried, for hours.
    assert len(list(pl.LabeledFold(2**62).split(np.zeros((4, 1)), [0, 0, 1, 1]))) == 2


def test_any_large_number_of_folds_is_taken():
    assert len(list(pl.LabeledFold(2**70).split(np.zeros((4, 1)), [0, 0, 1, 1]))) == 2
