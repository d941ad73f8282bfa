"""A collapse is noticed while the labels are still sound."""

import numpy as np
import pytest

import phaselabel as pl
from made import two_gaussians
from phaselabel.few_labels.drift import DriftWatch


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_collapse_is_held_and_said():
    X, y, labels = two_gaussians(0)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    long = pl.minimize(graph, labels, max_iter=300, tol=0)
    assert np.mean(long.arm == y) < 0.55
    watch = DriftWatch(2, 0.05)
    pl.minimize(graph, labels, max_iter=300, tol=0, every=5, callbacks=watch)
    assert watch.tripped
    assert np.mean(watch.kept[1].arm == y) > 0.6
