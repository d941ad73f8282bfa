import numpy as np

from phaselabel.segmentation.opinion import MOST_ROWS, Expert, fitting_rows, form_opinion, stroke_folds


def test_whole_strokes_are_hidden_and_every_class_keeps_one():
    labels = np.array([0] * 6 + [1] * 4 + [-1] * 3 + [2] * 2, np.int32)
    groups = np.array([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 0, 0, 6, 6])
    folds = stroke_folds(labels, groups, 3)
    assert folds.n_hidden == 3
    for stroke in range(1, 7):
        assert len(set(folds.fold[groups[folds.known] == stroke])) == 1
    assert (folds.fold[labels[folds.known] == 2] == -1).all()  # its only stroke
    for turn in range(folds.n_hidden):
        assert set(folds.shown(turn)) == {-1, 0, 1, 2}


def test_nothing_is_hidden_with_one_stroke_per_class():
    labels = np.array([0, 0, 1, 1], np.int32)
    assert stroke_folds(labels, np.array([1, 1, 2, 2]), 2).n_hidden == 0


def test_held_back_strokes_choose_the_expert_that_finds_them():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    right = np.log(np.where(np.eye(2)[truth] > 0, 0.9, 0.1)).astype(np.float32)
    noise = np.log(rng.dirichlet([1, 1], 400)).astype(np.float32)

    def always(table):
        return lambda labels, wanted: table if wanted is None else table[wanted]

    labels = np.where(np.arange(400) < 80, truth, -1).astype(np.int32)
    experts = [Expert("right", "looks", 0.4, always(right)), Expert("noise", "graph", 0.4, always(noise))]
    opinion = form_opinion(experts, labels, np.arange(400), 2)
    assert opinion.weights["right"] > 1 > 0.2 > opinion.weights["noise"]
    assert opinion.found > 0.95
    assert (opinion.probabilities.argmax(axis=1) == truth).mean() > 0.95
    assert (opinion.start().arm == opinion.probabilities.argmax(axis=1)).all()


def test_models_are_fitted_to_some_marks_of_every_class():
    labels = np.array([0] * (MOST_ROWS + 50) + [1] * 3 + [-1] * 10, np.int32)
    counts = np.bincount(labels[fitting_rows(labels)])
    assert counts.tolist() == [MOST_ROWS, 3]
