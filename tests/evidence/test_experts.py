"""Experts that ask one graph share what they solve on it."""

from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_digits

import phaselabel as pl
from phaselabel.datasets import sample_labels
from phaselabel.evidence import experts
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.propagation import spread_votes
from phaselabel.few_labels.class_sizes import class_sizes


def test_an_equation_is_solved_once_for_the_poisson_expert_and_the_spread(monkeypatch):
    X, y = (part[:400] for part in load_digits(return_X_y=True))
    labels = sample_labels(y, 2, random_state=0).astype(np.int32)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    folds, sizes = Folds.of(labels, 10), class_sizes("estimate", range(10))
    solved, solve = Counter(), experts.poisson

    def counted(sharp, shown, n_classes):
        solved[shown.tobytes()] += 1
        return solve(sharp, shown, n_classes)

    monkeypatch.setattr(experts, "poisson", counted)
    rows = experts.RowExperts(None, folds, None)
    asked = experts.graph_experts({"10": graph}, folds, rows, sizes, usual="10")
    assert [expert.name for expert in asked] == ["harmonic 10", "poisson 10", "spread 10"]
    said = [[expert.ask(turn, None) for turn in folds.turns] for expert in asked]
    assert sorted(solved.values()) == [1] * len(folds.turns)
    alone = [spread_votes(graph, folds.shown(turn), 10, sizes, []) for turn in folds.turns]
    np.testing.assert_array_equal(said[2], alone)


def test_the_flow_is_asked_where_labels_are_not_few(monkeypatch):
    X, y = load_digits(return_X_y=True)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    sizes = class_sizes("estimate", range(10))
    monkeypatch.setattr(experts, "MOST_ENTRIES", 20_000)

    def names(per_class):
        folds = Folds.of(sample_labels(y, per_class, random_state=0).astype(np.int32), 10)
        rows = experts.RowExperts(None, folds, None)
        asked = experts.graph_experts({"10": graph}, folds, rows, sizes, usual="10")
        return [expert.name for expert in asked], asked, folds

    assert names(50)[0] == ["harmonic 10", "spread 10"]
    found, asked, folds = names(51)
    assert found == ["harmonic 10", "flow 10"]
    shown = folds.shown(0)
    solution = pl.minimize(graph, shown, epsilon=1.0)
    said = asked[1].ask(0, None)
    assert np.exp(said).sum(axis=1) == pytest.approx(1, abs=1e-5)
    hidden = folds.hidden(0)
    assert np.mean(said[hidden].argmax(axis=1) == solution.arm[hidden]) > 0.95
    assert np.mean(said[hidden].argmax(axis=1) == y[hidden]) > 0.8
