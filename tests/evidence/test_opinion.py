"""Evidence as users meet it: it helps where the graph cannot, and what does not fit is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import LinearSVC

import phaselabel as pl
from made import accuracy, suite_table, two_gaussians
from phaselabel import GinzburgLandauClassifier
from phaselabel.assess.calibration import calibration_error
from phaselabel.datasets import sample_labels
from phaselabel.evidence.advice import Figures, advice
from phaselabel.evidence.experts import Expert, RowExperts
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.opinion import pool_opinion
from phaselabel.few_labels.class_sizes import class_sizes

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_two_gaussians_are_told_apart_by_their_columns():
    X, y, labels = two_gaussians(0)
    graph = GinzburgLandauClassifier(evidence=None).fit(X, labels)
    both = GinzburgLandauClassifier().fit(X, labels)
    assert accuracy(both, y, labels) > accuracy(graph, y, labels) + 10
    assert both.choice_.figures.rows > both.choice_.figures.graph
    # Whether the graph adds nothing, or that can't be told, depends on the forest's version.
    assert {*advice(both.choice_.figures)} <= {*map(str, both.remarks_)}
    assert any("The graph adds nothing" in remark for remark in advice(Figures(0.81, 0.62, 0.78, 100, 80)))


@pytest.mark.parametrize(
    ("name", "per_class", "least"), [("waveform5000", 20, 75), ("segment", 20, 88), ("phoneme", 100, 77)]
)
def test_tables(data_home, name, per_class, least):
    X, y = suite_table(data_home, name)
    found, gaps = [], []
    for seed in range(2):
        labels = sample_labels(y, per_class, random_state=seed)
        model = GinzburgLandauClassifier().fit(X, labels)
        found.append(accuracy(model, y, labels))
        hidden = labels < 0
        gaps.append(calibration_error(model.confidence_[hidden], (model.transduction_ == y)[hidden]))
    assert np.mean(found) >= least
    assert np.mean(gaps) <= 0.12


def test_citations_and_words(data_home):
    archive = np.load(Path(data_home) / "suite" / "planetoid_cora.npz")
    shape = tuple(archive["x_shape"])
    X = sparse.csr_array((archive["x_data"], archive["x_indices"], archive["x_indptr"]), shape=shape)
    y, edges = archive["y"], archive["edges"]
    ends = edges if edges.shape[0] == 2 else edges.T
    links = sparse.coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(len(y), len(y)))
    graph = pl.Graph.from_weights(((links + links.T) > 0).astype(np.float32).tocsr())
    labels = sample_labels(y, 20, random_state=0)
    both = GinzburgLandauClassifier().fit(X, labels, graph=graph)
    alone = GinzburgLandauClassifier(affinity="precomputed", evidence=None).fit(graph, labels)
    assert accuracy(both, y, labels) > 77
    assert accuracy(both, y, labels) > accuracy(alone, y, labels) + 5
    assert both.choice_.graph == "given"
    assert str(both.choice_).startswith("flow on the given graph; strongest experts: ")


@pytest.fixture
def blobs_of_two():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    return rng.normal(size=(80, 3)) + 2 * y[:, None], np.where(rng.random(80) < 0.3, y, -1)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_beside_a_given_graph_the_graph_of_the_rows_is_asked_whatever_its_neighbours(k, blobs_of_two):
    X, labels = blobs_of_two
    own = pl.similarity_graph(pl.nearest_neighbors(X[:, :1], 5))
    model = GinzburgLandauClassifier(k).fit(X, labels, graph=own)
    assert {"carried given", "harmonic given", f"harmonic {k}", f"poisson {k}"} <= set(model.choice_.weights)
    assert model.n_neighbors_ == k


def test_a_given_graph_takes_the_place_of_the_smallest_automatic_one(blobs_of_two):
    X, labels = blobs_of_two
    own = pl.similarity_graph(pl.nearest_neighbors(X[:, :1], 5))
    asked = set(GinzburgLandauClassifier().fit(X, labels, graph=own).choice_.weights)
    assert {"carried given", "harmonic 10"} <= asked
    assert "harmonic 3" not in asked


def test_a_classifier_or_its_probabilities_can_be_evidence(digits):
    X, y = digits
    labels = sample_labels(y, 5, random_state=0)
    model = GinzburgLandauClassifier(evidence=RandomForestClassifier(50, random_state=0)).fit(X, labels)
    assert accuracy(model, y, labels) > 90
    rng = np.random.default_rng(0)
    wrong = np.where(rng.random(len(y)) < 0.3, rng.integers(0, 10, len(y)), y)
    opinion = 0.9 * np.eye(10)[wrong] + 0.01
    opinion[:100] = np.nan
    model = GinzburgLandauClassifier(evidence=opinion).fit(X, labels)
    assert accuracy(model, y, labels) > 93
    lone = GinzburgLandauClassifier(affinity="precomputed", evidence=opinion).fit(model.graph_, labels)
    assert accuracy(lone, y, labels) > 93


def test_evidence_reaches_rows_that_no_label_reaches():
    X = np.random.default_rng(0).normal(size=(80, 2))
    X[40:, 1] += 50
    X[:, 0] += np.where(np.arange(80) % 2, 8, -8)
    y = np.arange(80) % 2
    labels = np.where(np.arange(80) < 20, y, -1)
    with pytest.warns(UserWarning, match="no label"):
        assert (GinzburgLandauClassifier(5, evidence=None).fit(X, labels).transduction_ == -1).any()
    assert (GinzburgLandauClassifier(5).fit(X, labels).transduction_ == y).all()


def test_a_class_that_takes_nearly_everything_is_said(digits):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (980, 3)), rng.normal(9, 1, (20, 3))]
    labels = np.full(1000, -1)
    labels[[0, 1, 2, 980, 981, 982]] = 0, 0, 0, 1, 1, 1
    with pytest.warns(UserWarning, match="98% of the rows come out as '0'"):
        model = GinzburgLandauClassifier().fit(X, labels)
    assert any("98%" in remark for remark in model.remarks_)


def test_one_label_per_class_makes_nobody_sure(digits):
    X, y = digits
    model = GinzburgLandauClassifier().fit(X, sample_labels(y, 1, random_state=0))
    assert model.confidence_[model._labels < 0].max() < 0.9
    assert model.choice_.figures.n_hidden == 0


@pytest.mark.parametrize("name", ["model", "model.zip"])
def test_a_saved_model_predicts_the_same(digits, tmp_path, name):
    X, y = digits
    model = GinzburgLandauClassifier().fit(X, sample_labels(y, 5, random_state=0))
    model.save(tmp_path / name)
    again = pl.load(tmp_path / name)
    # No two rows are at the same distance: such neighbours may come in another order from other memory.
    new = X[:200] + np.random.default_rng(0).normal(scale=0.3, size=(200, X.shape[1]))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_allclose(again.predict_proba(new), model.predict_proba(new), rtol=1e-9)
    np.testing.assert_array_equal(again.confidence_, model.confidence_)
    assert again.choice_.weights == model.choice_.weights


def test_new_rows_are_labelled_by_neighbours_and_columns(data_home):
    X, y = suite_table(data_home, "waveform5000")
    labels = sample_labels(y[:4000], 20, random_state=0)
    model = GinzburgLandauClassifier().fit(X[:4000], labels)
    new = np.mean(model.predict(X[4000:]) == y[4000:])
    assert new > np.mean(model.transduction_[labels < 0] == y[:4000][labels < 0]) - 0.04
    odds = model.predict_proba(X[4000:])
    np.testing.assert_array_equal(model.classes_[odds.argmax(axis=1)], model.predict(X[4000:]))


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        ("yes", "evidence must be"),
        (LinearSVC(), "no predict_proba"),
        (np.ones((4, 2)) / 2, "one row per row of X"),
        (np.full((6, 2), -0.5), "negative"),
        (np.full((6, 2), 0.3), "sum to 1"),
        (np.array([[0.5, 0.5]] * 5 + [[np.nan, 1.0]]), "NaN in part of row 5"),
        (np.array([["a", "b"]] * 6), "numbers"),
    ],
)
def test_evidence_that_does_not_fit(evidence, word):
    X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    with pytest.raises(ValueError, match=word):
        GinzburgLandauClassifier(2, evidence=evidence).fit(X, [0, -1, -1, 1, -1, -1])


def test_a_classifier_needs_rows(digits_graph, digits):
    labels = sample_labels(digits[1], 5, random_state=0)
    model = GinzburgLandauClassifier(affinity="precomputed", evidence=RandomForestClassifier())
    with pytest.raises(ValueError, match="needs rows of features"):
        model.fit(digits_graph, labels)
    with pytest.raises(ValueError, match="graph="):
        GinzburgLandauClassifier(affinity="precomputed").fit(digits_graph, labels, graph=digits_graph)
    with pytest.raises(ValueError, match="one vertex per row"):
        GinzburgLandauClassifier().fit(digits[0][:100], labels[:100], graph=digits_graph)


def test_many_labels_are_judged_by_the_pool_that_they_weigh():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=4000)
    labels = np.where(np.arange(4000) < 3000, truth, -1).astype(np.int32)
    folds = Folds.of(labels, 2)
    assert folds.n_hidden == 1  # so no other fold can weigh the experts

    def expert(name, said):
        table = np.log(np.where(np.eye(2)[said] > 0, 0.9, 0.1)).astype(np.float32)
        return Expert(name, "graph", lambda turn, rows: table if rows is None else table[rows])

    good, noise = np.where(rng.random(4000) < 0.9, truth, 1 - truth), rng.integers(2, size=4000)
    walks = [expert("good 10", good), *(expert(f"noise {k}", noise) for k in (3, 40, 41))]
    sizes = class_sizes("estimate", np.arange(2))
    opinion = pool_opinion(RowExperts(None, folds, None), walks, folds, sizes, ["10", "3"], usual="10")
    right = opinion.hidden_probabilities.argmax(axis=1) == labels[opinion.hidden_rows]
    assert right.mean() == pytest.approx(0.9, abs=0.05)
    assert opinion.choice.figures.together == pytest.approx(0.9, abs=0.05)
