"""The labels of all items after each answer."""

import numpy as np

import phaselabel as pl
from phaselabel.studio.labelling import Labelling


def test_it_labels_as_the_classifier_would(digits, digits_graph):
    labels = np.full(len(digits[1]), -1, np.int32)
    rng = np.random.default_rng(1000)
    for k in range(10):
        labels[rng.choice(np.flatnonzero(digits[1] == k), 3, replace=False)] = k
    found = Labelling(digits_graph).solve(labels, 10).arm
    model = pl.GinzburgLandauClassifier(affinity="precomputed").fit(digits_graph.weights, labels)
    right = [np.mean(arm == digits[1]) for arm in (found, model.solution_.arm)]
    assert right[0] > right[1] - 0.02
