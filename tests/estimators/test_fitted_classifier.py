"""What is asked of a fitted classifier: new rows, explanations, and no label where it is not sure."""

import numpy as np
import pytest

import phaselabel as pl
from phaselabel import GinzburgLandauClassifier
from phaselabel._kernels import flow as kernels


def test_rows_seen_in_training_keep_their_label(blobs):
    X, _, labels = blobs
    model = GinzburgLandauClassifier().fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), model.transduction_)
    np.testing.assert_allclose(model.predict_proba(X), model.label_distributions_)


def test_new_rows(blobs):
    X, _, labels = blobs
    model = GinzburgLandauClassifier().fit(X, labels)
    new = np.vstack([6 * np.eye(3) + 0.1, [[1e6, 0, 0]]])  # even far away the nearest class is known
    assert model.predict(new).tolist() == [0, 1, 2, 0]
    assert model.predict_proba(new)[:3].max(axis=1).min() > 0.9
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1)


@pytest.mark.parametrize("epsilon", [0.25, 8.0, pl.Geometric(2.0, 0.25, 0.5, 20)])
def test_a_new_row_is_labelled_by_the_vote_of_a_vertex_at_the_hub(epsilon):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 4)) + 1.2 * y[:, None]
    model = GinzburgLandauClassifier(5, epsilon=epsilon).fit(X, np.where(rng.random(300) < 0.2, y, -1))
    new = rng.normal(size=(400, 4)) + 0.6
    last = epsilon if isinstance(epsilon, float) else list(epsilon)[-1]
    neighbors, weights = model._near(new)
    weights /= weights.sum(axis=1, keepdims=True)
    logits = np.stack([w @ model._believed.graph_logits[near] for w, near in zip(weights, neighbors.indices)])
    q, state = model._believed.of_rows(new, logits), model.solution_.state.packed(np.float64)
    here, ballot = np.zeros(1, kernels.SITE64)[0], np.zeros(3)
    here["label"], here["voice"] = -1, model._believed.voice
    for row, label in enumerate(model.predict(new)):
        edges = np.array([0, 5], np.uint64), neighbors.indices[row].astype(np.uint64), weights[row]
        assert label == kernels._vote(np.uint64(0), *edges, state, here, last, q[row : row + 1], ballot)


@pytest.mark.parametrize("d", [3, 12])
def test_predict_refuses_rows_beyond_all_distances(d):
    X = np.random.default_rng(0).normal(size=(40, d))
    model = GinzburgLandauClassifier().fit(X, [0, 1] * 5 + [-1] * 30)
    for value in (1e200, np.finfo(float).max):
        with pytest.raises(ValueError, match="Row 1 of queries has"):
            model.predict([X[0], np.full(d, value)])
    assert model.predict([np.full(d, 1e100)])[0] in (0, 1)


def test_predict_refuses_columns_that_are_not_the_fitted_rows(blobs):
    _, _, labels = blobs
    graph = pl.similarity_graph(pl.nearest_neighbors(blobs[0], 8)).weights
    model = GinzburgLandauClassifier(affinity="precomputed").fit(graph, labels)
    with pytest.raises(ValueError, match="features"):
        model.predict(graph[:, :10])


@pytest.mark.parametrize("row", [1.5, "a", True, None, -1, 4, np.float64(1)])
def test_explain_refuses_what_is_no_row(row):
    model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    with pytest.raises(ValueError, match="row must be a whole number between 0 and 3"):
        model.explain(row)


@pytest.mark.parametrize("n", [0, -1, 1.5, "a"])
def test_explain_refuses_a_number_that_makes_no_sense(n):
    model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    with pytest.raises(ValueError, match="n must be a whole number"):
        model.explain(0, n)


def test_abstain_below_is_any_real_number_but_no_boolean():
    X, y = [[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1]
    given = GinzburgLandauClassifier(n_neighbors=1, abstain_below=np.float32(0.5)).fit(X, y)
    plain = GinzburgLandauClassifier(n_neighbors=1, abstain_below=0.5).fit(X, y)
    assert given.transduction_.tolist() == plain.transduction_.tolist()
    for below in (True, np.nan, 2, "0.5"):
        with pytest.raises(ValueError, match="abstain_below must be None or a probability"):
            GinzburgLandauClassifier(n_neighbors=1, abstain_below=below).fit(X, y)


def test_one_label_per_class_is_remarked_on():
    model = pl.GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    assert any("No class has two known labels" in remark for remark in model.remarks_)
