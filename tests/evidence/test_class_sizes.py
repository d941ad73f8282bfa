"""Class sizes follow the unlabelled rows, as far as they can be trusted."""

import numpy as np
from scipy.special import log_softmax

from made import expert
from phaselabel.evidence.class_sizes import (
    found_offsets,
    label_offsets,
    likely_offsets,
    offsets_for_sizes,
    trust_in_sizes,
)
from phaselabel.few_labels.class_sizes import class_sizes


def test_uneven_classes_are_found_in_the_rows():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.1).astype(int)
    logits = expert(y, 2, 4.0, 1)
    even = np.zeros(2)
    share = np.exp(likely_offsets(logits, even))[1] / 2
    assert abs(share - 0.1) < 0.04
    assert trust_in_sizes([logits, logits, logits], 2, even) == 1
    assert trust_in_sizes([logits[:, ::-1], logits, logits], 2, even) < 0.1
    assert trust_in_sizes([logits], 0, even) == 0


def test_counts_of_labels_count_where_the_rows_do_not_speak_against_them():
    y = (np.random.default_rng(0).random(2000) < 0.1).astype(int)
    logits, silent = expert(y, 2, 4.0, 1), np.zeros((2000, 2))
    for rows in (logits, silent):
        share = np.exp(label_offsets(np.array([90, 10]), rows))[1] / 2
        assert abs(share - 0.1) < 0.03
    assert not label_offsets(np.array([10, 90]), logits).any()
    # Counts as chance gives them, and equal ones, say nothing.
    for counts in ([6, 4], [12, 8], [50, 50]):
        assert not label_offsets(np.array(counts), silent).any()
    # Too few labels to trust the rows: the counts decide.
    few, silent = np.array([40, 2, 2]), np.zeros((2000, 3))
    offsets, trust = found_offsets(silent, [silent, silent], few, 2, 0.9)
    assert trust == 0
    assert offsets[0] > 0.5
    np.testing.assert_array_equal(offsets, label_offsets(few, silent))


def test_sizes_are_trusted_as_far_as_hidden_labels_are_found():
    y = np.random.default_rng(0).choice(2, 2000, p=[0.9, 0.1])
    logits, even = expert(y, 2, 4.0, 1), np.array([20, 20])
    trust = {found: found_offsets(logits, [logits] * 3, even, 2, found)[1] for found in (0.5, 0.575, 0.65, 1)}
    assert trust[0.5] == 0
    assert 0.4 < trust[0.575] / trust[1] < 0.6
    assert trust[0.65] == trust[1] > 0.9


def test_only_classes_with_enough_labels_are_compared():
    y = np.random.default_rng(0).choice(3, 3000, p=[0.6, 0.3, 0.1])
    logits = expert(y, 3, 4.0, 1)
    offsets, trust = found_offsets(logits, [logits] * 3, np.array([20, 20, 1]), 2, 1.0)
    expected = label_offsets(np.array([20, 20, 1]), logits)
    assert trust > 0.5
    assert offsets[2] == expected[2]
    assert offsets[0] - offsets[1] > 0.4
    assert found_offsets(logits, [logits] * 3, np.array([20, 1, 1]), 2, 1.0)[1] == 0


def test_given_sizes_are_met():
    logits = expert(np.random.default_rng(0).integers(0, 3, 500), 3, 1.0, 1)
    sizes = class_sizes([0.7, 0.2, 0.1], np.arange(3))
    mean = np.exp(log_softmax(logits + offsets_for_sizes(logits, sizes), axis=1)).mean(axis=0)
    np.testing.assert_allclose(mean, [0.7, 0.2, 0.1], atol=1e-3)
