"""The one solver: answers from few labels, no collapse, why a flow ended."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import phaselabel as pl
from made import accuracy, two_gaussians
from phaselabel import GinzburgLandauClassifier
from phaselabel.datasets import sample_labels


@pytest.mark.parametrize(("per_class", "least"), [(1, 91.5), (2, 93.2), (5, 95.5)])
def test_digits(digits, per_class, least):
    """The bounds are 1.5 points below the means of a hundred other draws: 93.0, 94.7 and 97.0."""
    X, y = digits
    found = []
    for seed in range(6):
        labels = sample_labels(y, per_class, random_state=seed)
        found.append(accuracy(GinzburgLandauClassifier(evidence=None).fit(X, labels), y, labels))
    assert np.mean(found) >= least


def test_two_gaussians_do_not_collapse():
    found = []
    for seed in range(4):
        X, y, labels = two_gaussians(seed)
        found.append(accuracy(GinzburgLandauClassifier().fit(X, labels), y, labels))
    assert np.mean(found) >= 63
    assert min(found) >= 58


def test_labels_too_far_apart_for_the_solver_are_not_spread():
    path = np.diag(np.ones(999), 1)
    labels = np.full(1000, -1)
    labels[[0, 700]] = 0, 1
    model = GinzburgLandauClassifier(affinity="precomputed", evidence=None).fit(path + path.T, labels)
    assert not model.solution_.sharpened
    (border,) = np.flatnonzero(np.diff(model.transduction_))
    assert abs(border - 350) <= 5
    assert model.solution_.reason == "rest"


def test_a_spread_costs_nothing_where_labels_share_clusters(data_home):
    """COIL: classes of four unlike objects; undamped, the majority among a cluster's labels won all of it."""
    archive = np.load(Path(data_home) / "sslbook_coil.npz")
    graph, y = pl.similarity_graph(pl.nearest_neighbors(archive["X"], 4)), archive["y"].astype(np.int64)
    for per_class in (5, 25):
        found = {"auto": [], "hub": []}
        for seed in range(6):
            labels = sample_labels(y, per_class, random_state=seed)
            for init, scores in found.items():
                model = GinzburgLandauClassifier(affinity="precomputed", evidence=None, init=init)
                scores.append(accuracy(model.fit(graph.weights, labels), y, labels))
        assert np.mean(found["auto"]) >= np.mean(found["hub"])


@pytest.mark.parametrize(("per_class", "settings"), [(2, {}), (60, {}), (2, {"init": "hub"})])
def test_the_graph_of_the_energy_is_exposed(digits, per_class, settings):
    X, y = digits
    labels = sample_labels(y, per_class, random_state=0)
    model = GinzburgLandauClassifier(evidence=None, **settings).fit(X, labels)
    spread = per_class == 2 and not settings
    assert (model.flow_graph_ is model.graph_) != spread
    now = pl.energy.evaluate(model.flow_graph_, model.solution_.state, labels)
    assert now.total == pytest.approx(model.energy_["total"][-1], rel=1e-5)


def test_why_a_flow_ended_is_told_to_programs(digits):
    X, y = digits
    labels = sample_labels(y, 2, random_state=0)
    settled = GinzburgLandauClassifier(evidence=None).fit(X, labels).solution_
    assert settled.reason in ("settled", "drift", "rest")
    assert settled.converged == (settled.reason == "rest")
    assert GinzburgLandauClassifier(init="hub").fit(X, labels).solution_.reason == "rest"
    with pytest.warns(ConvergenceWarning):
        assert GinzburgLandauClassifier(evidence=None, max_iter=3).fit(X, labels).solution_.reason == "limit"
