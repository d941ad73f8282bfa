"""Answers and laws with few labels: accuracy, no collapse, class sizes, calibration, suspects, queries."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import phaselabel as pl
from conftest import few_labels, random_graph
from phaselabel import GinzburgLandauClassifier
from phaselabel._few_label_kernels import anchor
from phaselabel.confidence import calibration_error, reliability
from phaselabel.datasets import sample_labels
from phaselabel.guard import SizeWatch
from phaselabel.recut import SHRINK, recut
from phaselabel.sizes import class_sizes
from phaselabel.spread import is_faint, poisson, sharpened, spread


def accuracy(model, y, labels):
    return 100 * np.mean(model.transduction_[labels < 0] == y[labels < 0])


def two_gaussians(seed):
    """Method of the collapse: 1,500 points in 241 dimensions, centres 2.5 apart."""
    data, choice = np.random.SeedSequence(seed).spawn(2)
    y = np.repeat([0, 1], 750)
    X = np.random.default_rng(data).normal(size=(1500, 241))
    X[:, 0] += 2.5 * y
    return X, y, sample_labels(y, 50, random_state=choice)


# -- twins and laws


def test_sharpening_equals_the_definition():
    graph = random_graph(25, 3)
    w = graph.weights.toarray()
    linked = w > 0
    expected = np.zeros_like(w)
    for i, j in zip(*np.nonzero(w)):
        both = (linked[i] & linked[j]).sum()
        expected[i, j] = w[i, j] * (both + 1) / (linked[i].sum() + linked[j].sum() - both)
    np.testing.assert_allclose(sharpened(graph, 1).weights.toarray(), expected, rtol=1e-6)


def test_shares_are_drawn_to_the_own_class_and_to_the_label():
    rng = np.random.default_rng(0)
    table = rng.random((4, 3)).astype(np.float32)
    arm, labels = np.array([2, -1, 1, 0], np.int32), np.array([-1, -1, 1, 2], np.int32)
    trust = np.array([0.9, 0.9, 0.5, 0.25], np.float32)  # without a label it says nothing
    expected = 0.75 * table
    for i, k in ((0, 2), (2, 1), (3, 0)):
        expected[i, k] += 0.25
    for i, k in ((2, 1), (3, 2)):
        expected[i] *= 1 - trust[i]
        expected[i, k] += trust[i]
    anchor(np.float32(0.75), arm, labels, trust, table)
    np.testing.assert_allclose(table, expected, rtol=1e-6)


def test_poisson_solves_its_equation():
    graph = random_graph(40, 1, density=0.4)
    labels = few_labels(40, 3, 0).astype(np.int32)
    found = poisson(graph, labels, 3, tol=1e-7, damping=1e-3)
    known = labels >= 0
    loud = np.where(known, 1 / np.bincount(labels[known])[labels], 0)
    loud *= known.sum() / loud.sum()
    hot = np.eye(3)[labels]
    source = np.where(known[:, None], (hot - np.average(hot[known], axis=0, weights=loud[known])), 0)
    d = graph.degrees
    system = (1 + 1e-3) * np.diag(d) - graph.weights.toarray()
    lone = d > 0
    expected = np.linalg.solve(system[np.ix_(lone, lone)], (source * loud[:, None])[lone])
    np.testing.assert_allclose(found[lone], expected, atol=2e-3 * np.abs(expected).max())


def test_class_names_do_not_matter(digits_graph, digits):
    labels = sample_labels(digits[1], 1, random_state=3).astype(np.int32)
    swap = np.random.default_rng(0).permutation(10).astype(np.int32)
    sizes, trust = class_sizes("estimate", np.arange(10)), np.where(labels >= 0, 30.0, 0.0)
    one = spread(digits_graph, labels, 10, sizes, trust)
    other = spread(digits_graph, np.where(labels >= 0, swap[labels], -1).astype(np.int32), 10, sizes, trust)
    assert np.mean(swap[one.arm] == other.arm) > 0.999


def test_unreached_rows_stay_at_the_hub():
    graph = pl.Graph.from_weights(np.kron(np.eye(3), 1 - np.eye(4)))
    labels = np.array([0, *[-1] * 3, 1, *[-1] * 7], np.int32)
    state = spread(graph, labels, 2, class_sizes("estimate", np.arange(2)), np.where(labels >= 0, 30.0, 0.0))
    assert state.arm.tolist() == [0] * 4 + [1] * 4 + [-1] * 4
    assert not state.height[8:].any()


# -- classes that come out cut crosswise


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
    found = recut(
        graph, one_label_each(y), crosswise(y, 0, 1, 0.4), 3, np.full(len(y), 30.0), sizes_given=given
    )
    np.testing.assert_array_equal(found, y)


def test_a_good_cut_is_left_alone():
    graph, y = groups([60, 40, 50], [(0, 1, 6), (1, 2, 4), (0, 2, 4)])
    np.testing.assert_array_equal(recut(graph, one_label_each(y), y, 3, np.full(len(y), 30.0)), y)


def test_given_sizes_outlive_a_new_cut():
    """Three groups and two classes: the cheapest cut would give one class two groups whole."""
    graph, y = groups([40, 40, 40], [(0, 1, 3), (1, 2, 6)])
    labels = np.full(len(y), -1, np.int32)
    labels[[0, -1]] = 0, 1
    half = (np.arange(120) % 2).astype(np.int32)
    free = recut(graph, labels, half, 2, np.full(120, 30.0))
    held = recut(graph, labels, half, 2, np.full(120, 30.0), sizes_given=True)
    assert sorted(np.bincount(free)) == [40, 80]
    assert np.abs(np.bincount(held) - 60).max() <= 60 * SHRINK


def test_trusted_labels_hold_a_cut_and_doubtful_ones_do_not():
    graph, y = groups([60, 60], [(0, 1, 5)])
    arm = crosswise(y, 0, 1, 0.4)
    labels = np.full(len(y), -1, np.int32)
    known = [0, 59, 60, 119]  # both classes in both groups
    labels[known] = arm[known]
    trusting = recut(graph, labels, arm, 2, np.full(len(y), 1e6))
    np.testing.assert_array_equal(trusting[known], arm[known])
    np.testing.assert_array_equal(recut(graph, labels, arm, 2, np.full(len(y), 1e-3)), y)


def test_parts_without_labels_of_both_and_tiny_classes_are_left_alone():
    graph, y = groups([30, 30], [])  # nothing joins them
    arm = crosswise(y, 0, 1, 0.3)
    np.testing.assert_array_equal(recut(graph, one_label_each(y), arm, 2, np.full(60, 30.0)), arm)
    graph, y = groups([6, 6], [(0, 1, 1)])
    arm = crosswise(y, 0, 1, 0.34)
    np.testing.assert_array_equal(recut(graph, one_label_each(y), arm, 2, np.full(12, 30.0)), arm)


def test_three_moons_from_two_labels_each():
    """Without a new cut these draws have 91 % on average."""
    X, y = pl.datasets.make_three_moons(random_state=0)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    found = []
    for seed in range(10):
        labels = sample_labels(y, 2, random_state=seed)
        found.append(accuracy(GinzburgLandauClassifier(affinity="precomputed").fit(graph, labels), y, labels))
    assert np.mean(found) > 95


# -- answers


@pytest.mark.parametrize(("per_class", "least"), [(1, 90.0), (2, 94.5), (5, 95.5)])
def test_digits(digits, per_class, least):
    X, y = digits
    found = []
    for seed in range(6):
        labels = sample_labels(y, per_class, random_state=seed)
        found.append(accuracy(GinzburgLandauClassifier().fit(X, labels), y, labels))
    assert np.mean(found) >= least


def test_two_gaussians_do_not_collapse():
    found = []
    for seed in range(4):
        X, y, labels = two_gaussians(seed)
        found.append(accuracy(GinzburgLandauClassifier().fit(X, labels), y, labels))
    assert np.mean(found) >= 63
    assert min(found) >= 58


def test_labels_that_are_hardly_heard_are_not_spread():
    path = np.diag(np.ones(999), 1)
    labels = np.full(1000, -1)
    labels[[0, 700]] = 0, 1
    model = GinzburgLandauClassifier(affinity="precomputed").fit(path + path.T, labels)
    (border,) = np.flatnonzero(np.diff(model.transduction_))
    assert abs(border - 350) <= 5
    assert model.solution_.reason == "rest"


def test_labels_that_are_heard_are_spread(digits_graph, digits):
    labels = sample_labels(digits[1], 1, random_state=0).astype(np.int32)
    sharp = sharpened(digits_graph)
    shares = poisson(sharp, labels, 10)
    assert not is_faint(sharp, labels, shares)
    assert is_faint(sharp, labels, shares * np.where(np.arange(len(labels)) % 3 == 0, 1e-6, 1)[:, None])


def test_a_spread_costs_nothing_where_labels_share_clusters(data_home):
    """COIL: classes of four unlike objects; undamped, the majority among a cluster's labels won all of it."""
    archive = np.load(Path(data_home) / "sslbook_coil.npz")
    graph, y = pl.similarity_graph(pl.nearest_neighbors(archive["X"], 4)), archive["y"].astype(np.int64)
    for per_class in (5, 25):
        found = {"auto": [], "hub": []}
        for seed in range(6):
            labels = sample_labels(y, per_class, random_state=seed)
            for init, scores in found.items():
                model = GinzburgLandauClassifier(affinity="precomputed", init=init)
                scores.append(accuracy(model.fit(graph.weights, labels), y, labels))
        assert np.mean(found["auto"]) >= np.mean(found["hub"])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_collapse_is_held_and_said():
    X, y, labels = two_gaussians(0)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    long = pl.minimize(graph, labels, max_iter=300, tol=0)
    assert np.mean(long.arm == y) < 0.55
    watch = SizeWatch(2)
    pl.minimize(graph, labels, max_iter=300, tol=0, every=5, callbacks=watch)
    assert watch.tripped
    assert np.mean(watch.kept[1].arm == y) > 0.6


def test_a_bad_graph_is_reported_in_words():
    X, _, labels = two_gaussians(0)
    with pytest.warns(UserWarning, match="only 6.% of the edges between known labels"):
        model = GinzburgLandauClassifier().fit(X, labels)
    assert any("hubs with up to" in remark for remark in model.remarks_)


def test_a_good_graph_gets_no_remark(digits, recwarn):
    X, y = digits
    model = GinzburgLandauClassifier().fit(X, sample_labels(y, 20, random_state=0))
    assert model.remarks_ == []
    assert model.neighbor_recall_ == 1
    assert not recwarn.list


def test_why_a_flow_ended_is_told_to_programs(digits):
    X, y = digits
    labels = sample_labels(y, 2, random_state=0)
    settled = GinzburgLandauClassifier().fit(X, labels).solution_
    assert settled.reason in ("settled", "drift", "rest")
    assert settled.converged == (settled.reason == "rest")
    assert GinzburgLandauClassifier(init="hub").fit(X, labels).solution_.reason == "rest"
    with pytest.warns(ConvergenceWarning):
        assert GinzburgLandauClassifier(max_iter=3).fit(X, labels).solution_.reason == "limit"


def test_given_class_sizes_are_met(digits):
    X, y = digits
    labels = sample_labels(y, 2, random_state=0)
    true = np.bincount(y) / len(y)
    model = GinzburgLandauClassifier(class_sizes=true).fit(X, labels)
    assert np.abs(model.class_sizes_ - true).max() < 0.02
    wide = GinzburgLandauClassifier(class_sizes={k: (0.05, 0.2) for k in range(10)}).fit(X, labels)
    assert (wide.class_sizes_ > 0.04).all()
    free = GinzburgLandauClassifier().fit(X, labels)
    low, high = free.class_size_intervals_.T
    assert (low <= free.class_sizes_ + 1e-9).all()
    assert (free.class_sizes_ <= high + 1e-9).all()


@pytest.mark.parametrize("bad", ["even", [0.5, 0.6], [(0.6, 0.5), (0.1, 0.9)], {0: 1.0}, 3, [0.0, 1.0]])
def test_class_sizes_that_make_no_sense(bad):
    with pytest.raises(ValueError, match="class_sizes"):
        class_sizes(bad if bad != [0.5, 0.6] else [(0.5, 0.5), (0.6, 0.7)], np.arange(2))


# -- confidence


@pytest.mark.parametrize("per_class", [5, 60])
def test_confidence_is_calibrated(digits, per_class):
    X, y = digits
    gaps = []
    for seed in range(3):
        labels = sample_labels(y, per_class, random_state=seed)
        model = GinzburgLandauClassifier().fit(X, labels)
        hidden = labels < 0
        right = model.transduction_[hidden] == y[hidden]
        gaps.append(calibration_error(model.confidence_[hidden], right))
        mean, hits, count = reliability(model.confidence_[hidden], right)
        assert count.sum() == hidden.sum()
        assert len(mean) == len(hits)
    assert np.mean(gaps) < 0.04


def test_abstaining_leaves_the_sure_rows(digits):
    X, y = digits
    labels = sample_labels(y, 5, random_state=0)
    model = GinzburgLandauClassifier(abstain_below=0.9).fit(X, labels)
    kept = (model.transduction_ >= 0) & (labels < 0)
    everyone = GinzburgLandauClassifier().fit(X, labels)
    assert 0.5 < kept.mean() < 1
    assert np.mean(model.transduction_[kept] == y[kept]) * 100 > accuracy(everyone, y, labels)
    assert set(model.predict(X[~kept & (labels < 0)])) == {-1}
    with pytest.raises(ValueError, match="abstain_below"):
        GinzburgLandauClassifier(abstain_below=2).fit(X, labels)


# -- suspects, reasons, queries


def test_wrong_labels_are_suspects(digits):
    X, y = digits
    labels = sample_labels(y, 50, random_state=0)
    rng = np.random.default_rng(1)
    wrong = rng.choice(np.flatnonzero(labels >= 0), 100, replace=False)
    flipped = labels.copy()
    flipped[wrong] = (labels[wrong] + rng.integers(1, 10, 100)) % 10
    clean, noisy = (GinzburgLandauClassifier().fit(X, given) for given in (labels, flipped))
    hidden = labels < 0
    loss = np.mean(clean.transduction_[hidden] == y[hidden]) - np.mean(
        noisy.transduction_[hidden] == y[hidden]
    )
    assert loss < 0.05
    assert np.isin(noisy.suspect_labels_[:80], wrong).mean() >= 0.8


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


def test_queries_are_new_distinct_and_reach_every_part():
    X = np.concatenate([np.random.default_rng(k).normal(20 * k, 1, (30, 2)) for k in range(4)])
    y = np.full(120, -1)
    y[0], y[30] = 0, 1
    with pytest.warns(UserWarning, match="60 of 120"):
        model = GinzburgLandauClassifier(n_neighbors=6).fit(X, y)
    rows = model.query(5)
    assert len(set(rows.tolist())) == 5
    assert (y[rows] < 0).all()
    assert {int(row) // 30 for row in rows[:2]} == {2, 3}
    with pytest.raises(ValueError, match="n must"):
        model.query(0)


@pytest.mark.parametrize("seed", [1000, 1001, 1002])
def test_ten_questions_reach_most_digits(digits_graph, digits, seed):
    y = digits[1]
    labels = np.full(len(y), -1)
    first = np.random.default_rng(seed).permutation(len(y))[:2]
    labels[first] = y[first]
    model = GinzburgLandauClassifier(affinity="precomputed").fit(digits_graph.weights, labels)
    rows = model.query(10)
    assert len(set(rows) | set(first)) == 12
    assert len(np.unique(y[rows])) >= 7


# -- choosing settings


def test_folds_keep_unlabelled_rows_in_training(digits):
    from sklearn.model_selection import GridSearchCV

    X, y = digits[0][:500], digits[1][:500]
    labels = sample_labels(y, 4, random_state=0)
    for train, test in pl.LabeledFold(4).split(X, labels):
        assert (labels[test] >= 0).all()
        assert set(np.flatnonzero(labels < 0)) <= set(train)
        assert len(train) + len(test) == len(X)
    search = GridSearchCV(GinzburgLandauClassifier(), {"n_neighbors": [5, 10]}, cv=pl.LabeledFold(2))
    search.fit(X, labels)
    assert search.best_score_ > 0.7
    with pytest.raises(ValueError, match="at least 2 labels"):
        next(pl.LabeledFold().split([[0]] * 3, [0, 1, -1]))


def test_settings_from_the_labels(digits):
    X, y = digits[0][:500], digits[1][:500]
    labels = sample_labels(y, 4, random_state=0)
    model = pl.GinzburgLandauClassifierCV([10, 400], [1.0], [30.0], cv=4).fit(X, labels)
    assert model.best_params_["n_neighbors"] == 10
    assert len(model.curve_) == 2
    assert np.mean(model.transduction_ == y) > 0.8
    assert model.predict_proba(X[:3]).shape == (3, 10)
    assert len(model.confidence_) == 500
