"""The competition between classes: names do not matter, unreached rows stay at the hub."""

import numpy as np

import phaselabel as pl
from phaselabel.datasets import sample_labels
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.compete import compete
from phaselabel.few_labels.poisson import poisson


def spread(graph, labels, n_classes):
    sizes, trust = class_sizes("estimate", np.arange(n_classes)), np.where(labels >= 0, 30.0, 0.0)
    return compete(graph, labels, n_classes, sizes, trust, poisson(graph, labels, n_classes), 20, 10)


def test_class_names_do_not_matter(digits_graph, digits):
    labels = sample_labels(digits[1], 1, random_state=3).astype(np.int32)
    swap = np.random.default_rng(0).permutation(10).astype(np.int32)
    one = spread(digits_graph, labels, 10)
    other = spread(digits_graph, np.where(labels >= 0, swap[labels], -1).astype(np.int32), 10)
    assert np.mean(swap[one.arm] == other.arm) > 0.999


def test_unreached_rows_stay_at_the_hub():
    graph = pl.Graph.from_weights(np.kron(np.eye(3), 1 - np.eye(4)))
    labels = np.array([0, *[-1] * 3, 1, *[-1] * 7], np.int32)
    state = spread(graph, labels, 2)
    assert state.arm.tolist() == [0] * 4 + [1] * 4 + [-1] * 4
    assert not state.height[8:].any()
