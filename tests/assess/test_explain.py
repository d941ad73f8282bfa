"""Reasons point to labels of the class."""

import numpy as np
import pytest

from made import few_labels, opinions, random_graph, two_gaussians
from phaselabel import GinzburgLandauClassifier, minimize
from phaselabel._kernels import flow as kernels
from phaselabel.assess.explain import decision_shares
from phaselabel.datasets import sample_labels
from phaselabel.evidence.opinion import Opinion
from phaselabel.flow.evidence import Evidence


def test_reasons_point_to_labels_of_the_class(digits):
    X, y = digits
    labels = sample_labels(y, 5, random_state=0)
    model = GinzburgLandauClassifier().fit(X, labels)
    row = int(np.flatnonzero((labels < 0) & (model.confidence_ > 0.97))[0])
    reasons = model.explain(row, n=3)
    assert 0 < len(reasons) <= 3
    assert all(labels[i] == name for i, name, _ in reasons)
    assert reasons[0][1] == model.transduction_[row]
    with pytest.raises(ValueError, match="row"):
        model.explain(-5)


def test_columns_decide_where_the_graph_knows_nothing():
    X, _, labels = two_gaussians(0)
    unknown = np.flatnonzero(labels < 0)[:40]
    by_columns = GinzburgLandauClassifier().fit(X, labels)
    shares = [by_columns.explain(row) for row in unknown]
    assert np.mean([one.by_columns for one in shares]) > 0.5
    assert all(one.by_columns + one.by_neighbors == 1 for one in shares)
    by_graph = GinzburgLandauClassifier(evidence=None).fit(X, labels).explain(unknown[0])
    assert (by_graph.by_columns, by_graph.by_neighbors) == (0, 1)


def test_neighbours_decide_where_the_columns_know_little(digits):
    X, y = digits
    labels = np.where(np.arange(len(y)) < 60, y, -1)
    model = GinzburgLandauClassifier().fit(X, labels)
    assert np.mean([model.explain(row).by_neighbors for row in range(100, 140)]) > 0.6
    assert (model.explain(0).by_columns, model.explain(0).by_neighbors) == (0, 0)


class Ballot(np.ndarray):
    """The votes of the kernel; what was counted can be read after it has been cleared."""

    def __setitem__(self, place, votes):
        super().__setitem__(place, votes)
        if votes:
            self.counted[int(place) - 1] = votes


def counted(graph, state, row, q, voice, epsilon):
    """The votes of every class, as the kernel's own loop counts them."""
    ballot = np.zeros(q.shape[1] + 1).view(Ballot)
    ballot.counted = np.zeros(q.shape[1])
    here = np.zeros(1, kernels.SITE64).view(np.recarray)[0]
    here.label, here.voice = -1, voice
    packed = state.packed(np.float64).view(np.recarray)
    kernels._vote.py_func(np.uint64(row), *graph.csr, packed, here, epsilon, q, ballot)
    return ballot.counted


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_shares_are_those_of_the_vote_in_the_kernel(epsilon):
    n, k, voice = 60, 4, 1.5
    graph, labels, q = random_graph(n, 0, density=0.1), few_labels(n, k, 0), opinions(n, k, 0)
    state = minimize(graph, labels, epsilon=epsilon, evidence=Evidence.of(q, voice)).state
    # Without graphs among the experts all of the evidence is the columns'.
    nothing, offsets = np.zeros((n, k)), np.zeros(k)
    opinion = Opinion(q, q, voice, None, nothing, [], [], None, offsets, None, None, 0)
    unknown = np.flatnonzero(labels < 0)
    for row in unknown:
        neighbors = counted(graph, state, row, q, 0, epsilon)
        both = counted(graph, state, row, q, voice, epsilon)
        own = state.arm[row]
        other = np.where(np.arange(k) == own, -np.inf, both).argmax()
        evidence = both - neighbors
        of_columns = max(evidence[own] - evidence[other], 0)
        of_neighbors = max(neighbors[own] - neighbors[other], 0)
        share, _ = decision_shares(graph, state, opinion, row, epsilon)
        assert share == pytest.approx(of_columns / max(of_columns + of_neighbors, 1e-30), rel=1e-5)
