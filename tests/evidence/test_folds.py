"""Folds: every label is hidden at most once, a class's only label never."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phaselabel.evidence.folds import ENOUGH_HIDDEN, Folds, class_weights


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(5, 200))
def test_folds_hide_each_label_once_and_keep_every_class(seed, n_classes, n):
    labels = np.random.default_rng(seed).integers(-1, n_classes, n).astype(np.int32)
    labels[:n_classes] = np.arange(n_classes)[: len(labels[:n_classes])]
    folds = Folds.of(labels, n_classes)
    hidden = [folds.hidden(turn) for turn in range(folds.n_hidden)]
    together = np.concatenate(hidden) if hidden else np.zeros(0, int)
    assert len(np.unique(together)) == len(together) == len(folds.judged)
    for turn in range(folds.n_hidden):
        assert set(np.unique(labels[folds.shown_rows(turn)])) == set(np.unique(labels[labels >= 0]))
        assert (folds.shown(turn)[folds.hidden(turn)] == -1).all()
    np.testing.assert_array_equal(folds.shown_rows(folds.n_hidden), np.flatnonzero(labels >= 0))


def test_enough_is_enough():
    labels = np.repeat(np.arange(10), 400).astype(np.int32)
    folds = Folds.of(labels, 10)
    assert folds.n_hidden == 1
    assert ENOUGH_HIDDEN <= len(folds.judged) < 2 * ENOUGH_HIDDEN


def test_every_class_counts_the_same():
    y = np.array([0, 0, 0, 1])
    weights = class_weights(y, 2)
    assert weights[:3].sum() == weights[3:].sum()
    assert weights.mean() == 1
