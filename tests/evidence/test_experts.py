"""Experts that ask one graph share what they solve on it."""

from collections import Counter

import numpy as np
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
