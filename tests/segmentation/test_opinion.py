import numpy as np
from scipy import ndimage, sparse

from phaselabel import Segmenter
from phaselabel.evidence.propagation import DAMPING, with_doubt
from phaselabel.segmentation.grid import Touching
from phaselabel.segmentation.opinion import (
    MOST_ROWS,
    N_HIDDEN_TREES,
    N_TREES,
    Expert,
    Panel,
    Trees,
    Walk,
    fitting_rows,
    grain,
    stroke_folds,
)


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
    panel = Panel.weighed(experts, labels, np.arange(400), 2)
    opinion = panel.opinion(labels)
    assert opinion.weights["right"] > 1 > 0.2 > opinion.weights["noise"]
    assert opinion.found > 0.95
    assert (opinion.probabilities.argmax(axis=1) == truth).mean() > 0.95
    assert (opinion.start().arm == opinion.probabilities.argmax(axis=1)).all()
    more = np.where(np.arange(400) < 159, truth, -1).astype(np.int32)
    assert panel.serves(more)
    more[159] = truth[159]
    assert not panel.serves(more)  # twice as many
    assert not panel.serves(np.where(np.arange(400) < 40, truth, -1))  # half as many


def test_a_stroke_that_is_held_back_counts_as_one_label():
    """Ten pixels that say the same were ten labels: two strokes moved the weights as far as twenty."""
    rng = np.random.default_rng(0)
    truth = np.arange(12) % 3  # twelve strokes
    said = np.log(rng.dirichlet([1, 1, 1], 12) + np.eye(3)[truth]).astype(np.float32)
    other = np.log(rng.dirichlet([1, 1, 1], 12)).astype(np.float32)

    def panel(times):
        labels, strokes = np.repeat(truth, times).astype(np.int32), np.repeat(np.arange(12), times)

        def always(table):
            return lambda labels, wanted: np.repeat(table, times, axis=0)[wanted]

        experts = [Expert("one", "looks", 0.5, always(said)), Expert("other", "graph", 0.5, always(other))]
        return Panel.weighed(experts, labels, strokes, 3)

    alone = panel(1)
    for times in (2, 10, 30):
        longer = panel(times)
        np.testing.assert_allclose(longer.weights, alone.weights, atol=0.01)
        np.testing.assert_allclose(longer.bias, alone.bias, atol=0.01)


def test_a_walk_that_goes_on_ends_no_further_from_the_truth_than_a_new_one():
    image = np.random.default_rng(0).random((30, 40, 1)).astype(np.float32)
    grid = Touching.of([image]).graph(np.arange(1200), 1200)
    labels = np.full(1200, -1, np.int32)
    labels[:40], labels[-40:] = 0, 1
    more = labels.copy()
    more[600:610], more[0] = 1, -1  # a stroke, and one cell less
    walk = Walk(grid, 2)
    walk(labels, None)
    indptr, indices, weights = grid.csr
    system = (1 + DAMPING) * np.eye(1200) - sparse.csr_array((weights, indices, indptr)).toarray()
    root, free = np.sqrt(grid.degrees)[:, None], more < 0
    solution = np.where(free[:, None], 0, np.eye(2)[more] * root)
    solution[free] = np.linalg.solve(system[free][:, free], -system[free][:, ~free] @ solution[~free])

    def error(table):
        return np.abs(np.exp(table) - np.exp(with_doubt(solution / root))).max()

    assert error(walk.again(more)) <= error(Walk(grid, 2)(more, None)) < 0.05
    assert (walk.again(more) == walk(more, None)).all()


def test_trees_after_a_stroke_hold_on_to_nothing():
    rows = np.arange(20, dtype=np.float32)[:, None]
    labels = np.where(np.arange(20) < 10, 0, 1).astype(np.int32)
    trees = Trees(rows, 2, extra=False)
    trees(labels, None)
    assert (trees.again(1 - labels).argmax(axis=1) == 1 - labels).all()


def test_models_are_fitted_to_some_marks_of_every_class():
    labels = np.array([0] * (MOST_ROWS + 50) + [1] * 3 + [-1] * 10, np.int32)
    counts = np.bincount(labels[fitting_rows(labels)])
    assert counts.tolist() == [MOST_ROWS, 3]


def test_grain_is_the_share_of_touching_pairs_that_differ():
    grid = Touching.of([np.zeros((4, 6, 1), np.float32)]).graph(np.arange(24), 24)
    row, column = np.divmod(np.arange(24), 6)

    def table(classes):
        return np.log(np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]], np.float32)[classes])

    assert grain(grid, table(1 + (row + column) % 2)) == 1
    assert grain(grid, table(np.ones(24, int))) == 0
    halves = np.where(column >= 3, 2, 1)
    assert grain(grid, table(halves)) == 4 / (4 * 5 + 3 * 6)
    assert grain(grid, table(np.where(column == 3, 0, halves))) == 0  # a walk that has not reached the border
    assert grain(grid, table(np.zeros(24, int))) == 0


def test_trees_grown_with_marks_held_back_join_the_last_ones(monkeypatch):
    from phaselabel.evidence.forest import Forest

    grown = []
    fit = Forest.fit

    def counted(X, y, n_classes, n_trees, **options):
        grown.append((n_trees, options["seed"]))
        return fit(X, y, n_classes, n_trees, **options)

    monkeypatch.setattr(Forest, "fit", counted)
    rows = np.arange(20, dtype=np.float32)[:, None]
    labels = np.where(np.arange(20) < 10, 0, 1).astype(np.int32)
    trees = Trees(rows, 2, extra=False)
    held = trees(labels, np.array([1, 18]))
    assert held.argmax(axis=1).tolist() == [0, 1]
    assert (trees(labels, None).argmax(axis=1) == labels).all()
    assert grown == [(N_HIDDEN_TREES, 0), (N_TREES - N_HIDDEN_TREES, 1)]


def test_textures_count_where_patches_are_grainy():
    rng = np.random.default_rng(0)
    fine, coarse = rng.normal(size=(48, 96)), ndimage.gaussian_filter(rng.normal(size=(48, 96)), 3)
    truth = np.ones((48, 96), int)
    truth[:, 48:] = 2
    image = np.where(truth == 1, fine, coarse / coarse.std())
    marks = np.zeros_like(truth)
    marks[20, 8:28], marks[30, 66:86] = 1, 2
    model = Segmenter(patch=1).fit(image, marks)  # one pixel says nothing about its texture
    assert model.choice_["texture"] > 0.5
    assert np.mean(model.results_[0].labels == truth) > 0.9
    blocks = truth + 0.02 * fine
    assert "texture" not in Segmenter(patch=1).fit(blocks, marks).choice_
