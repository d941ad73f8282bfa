"""Classes that come out cut crosswise are split where they are connected least."""

import numpy as np
import pytest

import phaselabel as pl
from made import accuracy
from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels
from phaselabel.few_labels.split_pairs import MOST_SHRINKING, split_pairs


def groups(sizes, bridges, seed=0):
    """Dense groups joined by a few single edges, and the group of every vertex."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    w = np.where(y[:, None] == y, rng.random((len(y), len(y))) < 0.4, 0.0)
    for a, b, n in bridges:
        w[rng.choice(np.flatnonzero(y == a), n), rng.choice(np.flatnonzero(y == b), n)] = 1
    np.fill_diagonal(w, 0)
    return pl.Graph.from_weights(np.maximum(w, w.T)), y.astype(np.int32)


def crosswise(y, p, q, share):
    """A labelling in which two classes have swapped a share of their vertices."""
    arm = y.copy()
    for here, there in ((p, q), (q, p)):
        members = np.flatnonzero(y == here)
        arm[members[: int(share * len(members))]] = there
    return arm


def one_label_each(y):
    labels = np.full(len(y), -1, np.int32)
    last = [np.flatnonzero(y == k)[-1] for k in np.unique(y)]
    labels[last] = y[last]
    return labels


@pytest.mark.parametrize("given", [False, True])
def test_classes_cut_crosswise_are_parted_where_they_hang_together_least(given):
    graph, y = groups([60, 60, 60], [(0, 1, 6), (1, 2, 4), (0, 2, 4)])
    found = split_pairs(
        graph, one_label_each(y), crosswise(y, 0, 1, 0.4), 3, np.full(len(y), 30.0), sizes_given=given
    )
    np.testing.assert_array_equal(found, y)


def test_a_good_cut_is_left_alone():
    graph, y = groups([60, 40, 50], [(0, 1, 6), (1, 2, 4), (0, 2, 4)])
    np.testing.assert_array_equal(split_pairs(graph, one_label_each(y), y, 3, np.full(len(y), 30.0)), y)


def test_given_sizes_outlive_a_new_cut():
    """Three groups and two classes: the cheapest cut gives the first class one group whole, which is more."""
    graph, y = groups([40, 40, 40], [(0, 1, 6), (1, 2, 3)])
    labels = np.full(len(y), -1, np.int32)
    labels[[119, 40]] = 0, 1
    arm = np.ones(120, np.int32)
    arm[:10] = arm[96:] = 0
    free = split_pairs(graph, labels, arm, 2, np.full(120, 30.0))
    held = split_pairs(graph, labels, arm, 2, np.full(120, 30.0), sizes_given=True)
    np.testing.assert_array_equal(free == 0, y == 2)
    assert not (held == free).all()
    assert abs((held == 0).sum() - 34) <= 34 * MOST_SHRINKING


def test_a_mode_that_separates_something_else_is_no_cut_between_two_classes():
    """A tenth of the rows hangs by a thread: cutting it off is cheapest, and says nothing of the classes."""
    graph, y = groups([54, 54, 12], [(0, 1, 150), (1, 2, 1)])
    labels = np.full(len(y), -1, np.int32)
    labels[[0, 60]] = 0, 1
    half = (np.arange(120) >= 54).astype(np.int32)
    np.testing.assert_array_equal(split_pairs(graph, labels, half, 2, np.full(120, 30.0)), half)


def test_where_walks_cross_every_cut_nothing_is_split():
    """One dense cloud: some cut is cheaper than a random one, and none is a boundary."""
    graph, _ = groups([120], [])
    labels = np.full(120, -1, np.int32)
    labels[[0, 1]] = 0, 1
    half = (np.arange(120) % 2).astype(np.int32)
    np.testing.assert_array_equal(split_pairs(graph, labels, half, 2, np.full(120, 30.0)), half)


def test_trusted_labels_hold_a_cut_and_doubtful_ones_do_not():
    graph, y = groups([60, 60], [(0, 1, 5)])
    arm = crosswise(y, 0, 1, 0.4)
    labels = np.full(len(y), -1, np.int32)
    known = [0, 59, 60, 119]  # both classes in both groups
    labels[known] = arm[known]
    trusting = split_pairs(graph, labels, arm, 2, np.full(len(y), 1e6))
    np.testing.assert_array_equal(trusting[known], arm[known])
    np.testing.assert_array_equal(split_pairs(graph, labels, arm, 2, np.full(len(y), 1e-3)), y)


def test_parts_without_labels_of_both_and_tiny_classes_are_left_alone():
    graph, y = groups([30, 30], [])  # nothing joins them
    arm = crosswise(y, 0, 1, 0.3)
    np.testing.assert_array_equal(split_pairs(graph, one_label_each(y), arm, 2, np.full(60, 30.0)), arm)
    graph, y = groups([6, 6], [(0, 1, 1)])
    arm = crosswise(y, 0, 1, 0.34)
    np.testing.assert_array_equal(split_pairs(graph, one_label_each(y), arm, 2, np.full(12, 30.0)), arm)


def test_three_moons_from_two_labels_each():
    """Six sets of points with five draws each; without a new cut they have 93.6 % on average."""
    accuracies = []
    for points in range(6):
        X, y = pl.datasets.make_three_moons(random_state=points)
        graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
        for seed in range(5):
            labels = sample_labels(y, 2, random_state=seed)
            model = GinzburgLandauClassifier(affinity="precomputed").fit(graph, labels)
            accuracies.append(accuracy(model, y, labels))
    assert np.mean(accuracies) > 95
