"""Class sizes follow the unlabelled rows, as far as they can be trusted."""

import numpy as np
from scipy.special import log_softmax

from made import expert
from phaselabel.evidence.class_sizes import likely_offsets, offsets_for_sizes, trust_in_sizes
from phaselabel.few_labels.class_sizes import class_sizes


def test_uneven_classes_are_found_in_the_rows():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.1).astype(int)
    logits = expert(y, 2, 4.0, 1)
    share = np.exp(likely_offsets(logits))[1] / 2
    assert abs(share - 0.1) < 0.04
    assert trust_in_sizes([logits, logits, logits], 2) == 1
    assert trust_in_sizes([logits[:, ::-1], logits, logits], 2) < 0.1
    assert trust_in_sizes([logits], 0) == 0


def test_given_sizes_are_met():
    logits = expert(np.random.default_rng(0).integers(0, 3, 500), 3, 1.0, 1)
    sizes = class_sizes([0.7, 0.2, 0.1], np.arange(3))
    mean = np.exp(log_softmax(logits + offsets_for_sizes(logits, sizes), axis=1)).mean(axis=0)
    np.testing.assert_allclose(mean, [0.7, 0.2, 0.1], atol=1e-3)
