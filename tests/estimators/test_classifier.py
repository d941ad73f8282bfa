"""Contract and answers: scikit-learn's own checks, what must simply work, what is refused, how good it is."""

import multiprocessing
import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils.estimator_checks import parametrize_with_checks

import phaselabel as pl
from phaselabel import BinaryGinzburgLandauClassifier, GinzburgLandauClassifier
from phaselabel.datasets import make_three_moons, sample_labels

MINUS_ONE = {"check_classifiers_classes": "its labels are -1 and 1, and here -1 means unlabelled"}


@parametrize_with_checks(
    [
        GinzburgLandauClassifier(),
        GinzburgLandauClassifier(unlabeled=None, evidence=None),
        BinaryGinzburgLandauClassifier(),
        BinaryGinzburgLandauClassifier(unlabeled=None),
    ],
    expected_failed_checks=lambda estimator: MINUS_ONE if estimator.unlabeled == -1 else {},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# -- answers


def three_moons_accuracy(draws, **settings):
    found = []
    for seed in range(draws):
        data, choice, start = np.random.SeedSequence(seed).spawn(3)
        X, y = make_three_moons(random_state=data)
        labels = sample_labels(y, 25, random_state=choice)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = GinzburgLandauClassifier(random_state=start, **settings).fit(X, labels)
        hidden = labels < 0
        found.append(100 * np.mean(model.transduction_[hidden] == y[hidden]))
    return np.mean(found)


def test_three_moons_with_defaults():
    assert three_moons_accuracy(6) >= 96.5


def test_three_moons_with_the_papers_run():
    assert three_moons_accuracy(20, init="random", step=0.01, max_iter=1000, tol=0) >= 95.1


def test_digits_with_two_labels_per_class(digits):
    X, y = digits
    found = []
    for seed in range(8):
        labels = sample_labels(y, 2, random_state=seed)
        model = GinzburgLandauClassifier().fit(X, labels)
        found.append(100 * np.mean(model.transduction_[labels < 0] == y[labels < 0]))
    # Two standard errors below the mean of a hundred other draws, 94.75 with a standard deviation of 2.9.
    assert np.mean(found) >= 92.7


def test_where_label_spreading_fails_without_a_word(digits):
    X, y = digits
    labels = sample_labels(y, 2, random_state=0)
    hidden = labels < 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LabelSpreading().fit(X, labels).transduction_
    ours = GinzburgLandauClassifier().fit(X, labels).transduction_
    assert np.mean(theirs[hidden] == y[hidden]) < 0.2
    assert np.mean(ours[hidden] == y[hidden]) > 0.9


# -- what a user sees


def test_learned_attributes(blobs):
    X, y, labels = blobs
    model = GinzburgLandauClassifier().fit(X, labels)
    assert np.mean(model.transduction_ == y) > 0.98
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.n_features_in_ == 3
    assert ((model.confidence_ > 0) & (model.confidence_ <= 1)).all()
    assert model.energy_["total"][-1] < model.energy_["total"][0]
    assert model.n_iter_ == model.solution_.n_iter
    assert isinstance(model.graph_, pl.Graph)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    np.testing.assert_array_equal(model.label_distributions_.argmax(axis=1), model.solution_.arm)
    np.testing.assert_allclose(model.label_distributions_.max(axis=1), model.confidence_)
    np.testing.assert_array_equal(GinzburgLandauClassifier().fit_predict(X, labels), model.transduction_)


def test_string_labels(blobs):
    X, y, labels = blobs
    names = np.array(["Birnen", "Quitten", "Äpfel"], object)
    given = np.where(labels >= 0, names[labels], None)
    model = GinzburgLandauClassifier().fit(X, given)
    assert model.classes_.tolist() == names.tolist()
    assert np.mean(model.transduction_ == names[y]) > 0.98
    assert set(model.predict(X[:5])) <= set(names)


@pytest.mark.parametrize("kind", ["weights", "graph", "distances"])
def test_precomputed_input_gives_the_same_answer(blobs, kind):
    X, _, labels = blobs
    expected = GinzburgLandauClassifier(n_neighbors=8, evidence=None).fit(X, labels)
    neighbors = pl.nearest_neighbors(X, 8)
    affinity = "precomputed"
    if kind != "distances":
        graph = pl.similarity_graph(neighbors)
        given = graph if kind == "graph" else graph.weights
    else:
        rows = np.repeat(np.arange(120), 8)
        given = sparse.csr_array(
            (neighbors.distances.ravel(), (rows, neighbors.indices.ravel())), shape=(120, 120)
        )
        affinity = "precomputed_nearest_neighbors"
    model = GinzburgLandauClassifier(n_neighbors=8, affinity=affinity, evidence=None).fit(given, labels)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(model.confidence_, expected.confidence_, atol=1e-5)
    new = graph.weights if kind == "graph" else given
    assert np.mean(model.predict(new) == expected.transduction_) > 0.98


def test_a_graph_is_precomputed(blobs):
    X, _, labels = blobs
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 8))
    with pytest.raises(ValueError, match="affinity must be 'precomputed'"):
        GinzburgLandauClassifier().fit(graph, labels)


def test_clone_pipeline_and_grid_search(blobs):
    X, y, labels = blobs
    model = clone(GinzburgLandauClassifier(n_neighbors=5, epsilon=0.5))
    assert model.get_params()["epsilon"] == 0.5
    pipeline = make_pipeline(StandardScaler(), model).fit(X, labels)
    assert pipeline.score(X, y) > 0.98
    search = GridSearchCV(model, {"n_neighbors": [3, 8], "epsilon": [0.5, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


# -- what must simply work


def test_one_class_only(blobs):
    X, _, _ = blobs
    for kind in (GinzburgLandauClassifier, BinaryGinzburgLandauClassifier):
        model = kind(n_neighbors=40).fit(X, np.where(np.arange(120) % 40 == 0, 7, -1))
        assert set(model.transduction_) == {7}
        assert model.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]


def test_every_row_labelled(blobs):
    X, y, _ = blobs
    model = GinzburgLandauClassifier().fit(X, y)
    np.testing.assert_array_equal(model.transduction_, y)


@pytest.mark.parametrize("n_neighbors", [2, 5])
def test_duplicate_rows(blobs, n_neighbors):
    X, y, labels = blobs
    X, y, labels = np.repeat(X, 7, axis=0), np.repeat(y, 7), np.repeat(labels, 7)
    model = GinzburgLandauClassifier(n_neighbors=n_neighbors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # crowded duplicates may well be islands
        model.fit(X, labels)
    assert np.isfinite(model.confidence_).all()
    reached = model.transduction_ >= 0
    assert np.mean(model.transduction_[reached] == y[reached]) > 0.95


def test_constant_features():
    X = np.ones((30, 4))
    model = GinzburgLandauClassifier(n_neighbors=29).fit(X, np.where(np.arange(30) == 0, 1, -1))
    assert set(model.transduction_) == {1}


def test_unreached_rows_are_marked_and_counted():
    X = np.r_[np.zeros((5, 1)), np.full((5, 1), 100.0)] + np.arange(10)[:, None] * 0.01
    with pytest.warns(UserWarning, match="5 of 10 rows") as caught:
        model = GinzburgLandauClassifier(n_neighbors=3).fit(X, [4, *[-1] * 9])
    assert len(caught) == 2  # the other one: there is one class only
    assert model.transduction_.tolist() == [4] * 5 + [-1] * 5
    assert model.confidence_[5:].tolist() == [0] * 5
    assert model.predict([[100.0]]).tolist() == [-1]
    with pytest.warns(UserWarning, match="None"):
        model = GinzburgLandauClassifier(n_neighbors=3, unlabeled=None).fit(X, ["a", *[None] * 9])
    assert model.transduction_.tolist() == ["a"] * 5 + [None] * 5


def frames(X):
    yield X.astype(np.float32)
    yield np.asfortranarray(X)
    yield np.repeat(X, 2, axis=1)[:, ::2]
    readonly = X.copy()
    readonly.flags.writeable = False
    yield readonly
    yield X.tolist()
    yield pd.DataFrame(X, columns=["a", "b", "c"])
    yield polars.DataFrame(X, schema=["a", "b", "c"])


def test_any_table_will_do(blobs):
    X, _, labels = blobs
    expected = GinzburgLandauClassifier().fit(X, labels).transduction_
    for table in frames(X):
        model = GinzburgLandauClassifier().fit(table, labels)
        np.testing.assert_array_equal(model.transduction_, expected)
        assert len(model.predict(table)) == len(X)
    integers = (100 * X).astype(np.int32)
    assert np.mean(GinzburgLandauClassifier().fit(integers, labels).transduction_ == expected) > 0.97
    readonly = labels.copy()
    readonly.flags.writeable = False
    np.testing.assert_array_equal(GinzburgLandauClassifier().fit(X, readonly).transduction_, expected)


def test_feature_names(blobs):
    X, _, labels = blobs
    model = GinzburgLandauClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), labels)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_failed_fit_leaves_the_model_as_it_was(blobs):
    X, y, _ = blobs
    broken = GinzburgLandauClassifier(fidelity=-1)
    with pytest.raises(ValueError, match="fidelity"):
        broken.fit(X, y)
    with pytest.raises(NotFittedError):
        broken.predict(X)
    model = GinzburgLandauClassifier().fit(X, np.array(list("abc"))[y])
    model.fidelity = -1
    with pytest.raises(ValueError, match="fidelity"):
        model.fit(X, np.array(list("xyz"))[y])
    assert model.predict(X[:1])[0] == model.transduction_[0] == "a"


def test_an_outlier_is_labelled_like_its_nearest_neighbours():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 0.001, (50, 2)), [[50.0, 50.0]]]
    model = GinzburgLandauClassifier().fit(X, np.where(np.arange(51) == 0, 3, -1))
    assert (model.transduction_ == 3).all()


def test_a_callback_that_stops_is_no_cause_for_a_warning(blobs):
    X, _, labels = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        GinzburgLandauClassifier(callbacks=lambda sweep, state, energy: sweep >= 30).fit(X, labels)


def test_many_classes_with_one_label_each_cause_no_warning():
    X = np.arange(600.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GinzburgLandauClassifier().fit(
            X, np.where(np.arange(600) % 20 == 10, np.arange(600) // 20, -1)
        )
    assert np.mean(model.transduction_ == np.arange(600) // 20) > 0.8


def fit_in_a_child(data):
    return GinzburgLandauClassifier().fit(*data).transduction_


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_fits_in_a_forked_child_after_a_fit_in_the_parent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = np.where(np.arange(6000) % 100 == 0, (X[:, 0] > 0).astype(int), -1)
    expected = fit_in_a_child((X, y))  # large enough for the parallel kernels
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(fit_in_a_child, ((X, y),)).get(timeout=300)
    np.testing.assert_array_equal(found, expected)


def test_not_converged_is_a_warning_and_a_status(blobs):
    X, _, labels = blobs
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = GinzburgLandauClassifier(max_iter=2).fit(X, labels)
    assert not model.converged_


def test_callbacks_reach_the_flow(blobs):
    X, _, labels = blobs
    history, snapshots = pl.History(), pl.Snapshots([0, 12])
    GinzburgLandauClassifier(init="hub", callbacks=[history, snapshots]).fit(X, labels)
    assert history.sweeps[:2] == [0, 5]
    assert sorted(snapshots.states) == [0, 12]


def test_the_models_see_only_the_columns_that_are_named(tmp_path):
    X, truth = load_iris(return_X_y=True, as_frame=True)
    labels = np.where(np.arange(150) % 10 == 0, truth, -1)
    two = ["petal length (cm)", "petal width (cm)"]
    model = GinzburgLandauClassifier(10, model_columns=two).fit(X, labels)
    again = GinzburgLandauClassifier(10, model_columns=[3, 2]).fit(X.to_numpy(), labels)
    np.testing.assert_array_equal(model.transduction_, again.transduction_)
    said = model._believed.say_of_rows(X.to_numpy())
    blind = model._believed.say_of_rows(X.assign(**{X.columns[0]: 100.0, X.columns[1]: -100.0}).to_numpy())
    np.testing.assert_array_equal(said, blind)
    assert not np.array_equal(said, GinzburgLandauClassifier(10).fit(X, labels)._believed.say_of_rows(X))
    alone = GinzburgLandauClassifier(10, model_columns=two, init="hub").fit(
        X, labels
    )  # no model sees anything
    assert alone.choice_ is None
    model.save(tmp_path / "model")
    new = pd.DataFrame(X.to_numpy()[::7] + 0.01, columns=X.columns)
    np.testing.assert_array_equal(pl.load(tmp_path / "model").predict_proba(new), model.predict_proba(new))


# -- what is refused


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"n_neighbors": 120}, "n_neighbors=120"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": "many"}, "n_neighbors"),
        ({"scale_neighbor": 11}, "scale_neighbor"),
        ({"affinity": "rbf"}, "affinity"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"fidelity": -1.0}, "fidelity"),
        ({"fidelity": np.ones(7)}, "fidelity"),
        ({"step": -0.1}, "step"),
        ({"max_iter": 0}, "max_iter"),
        ({"init": "there"}, "init"),
        ({"unlabeled": "?"}, "unlabeled"),
        ({"model_columns": [99]}, "99"),
        ({"model_columns": ["height"]}, "'height'"),
        ({"model_columns": []}, "model_columns"),
        ({"model_columns": [0], "evidence": None}, "evidence='auto'"),
    ],
)
def test_bad_parameters_before_any_work_starts(blobs, settings, word, monkeypatch):
    X, _, labels = blobs

    def no_work(*_):
        raise AssertionError("work started before the parameters were checked")

    monkeypatch.setattr("phaselabel._kernels.graph.rerank", no_work)
    with pytest.raises(ValueError, match=word):
        GinzburgLandauClassifier(**settings).fit(X, labels)


@pytest.mark.parametrize(
    ("X", "y", "word"),
    [
        ([[0.0], [np.nan]], [0, -1], "NaN"),
        ([[0.0], [np.inf]], [0, -1], "infinity"),
        ([[0.0], [1.0]], [-1, -1], "no labelled row"),
        ([[0.0], [1.0]], [0, -1, -1], "inconsistent numbers"),
        ([[0.0], [1.0]], None, "y"),
        ([[0.0]], [0], "minimum of 2"),
    ],
)
def test_bad_data(X, y, word):
    with pytest.raises(ValueError, match=word):
        GinzburgLandauClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        (np.ones((3, 2)), "square"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (-np.ones((3, 3)), "negative"),
    ],
)
def test_bad_precomputed_graph(matrix, word):
    with pytest.raises(ValueError, match=word):
        GinzburgLandauClassifier(affinity="precomputed").fit(matrix, [0, 1, -1])


def test_the_magnitude_of_the_rows_changes_no_probability():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = [0, 1] * 3 + [-1] * 54
    expected = pl.GinzburgLandauClassifier().fit(X, y)
    for exponent in (-700, 600):
        found = pl.GinzburgLandauClassifier().fit(np.ldexp(X, exponent), y)
        np.testing.assert_array_equal(found.transduction_, expected.transduction_)
        new = np.ldexp(X[:5] + 0.1, exponent)
        np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(X[:5] + 0.1), rtol=1e-6)


def test_whole_numbers_are_not_rounded_without_a_word():
    X = np.array([[2**53], [2**53 + 1], [2**53 + 3], [7]])
    with pytest.raises(ValueError, match="cannot hold exactly"):
        pl.GinzburgLandauClassifier().fit(X, [0, 1, -1, -1])
    with pytest.raises(ValueError, match="cannot hold exactly"):
        pl.GraphRegressor().fit(X, [0.0, 1.0, np.nan, np.nan])


def test_cosine_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((40, 30)) * (np.arange(30) < 15), rng.random((40, 30)) * (np.arange(30) >= 15)])
    y = np.full(80, -1)
    y[[0, 40]] = [0, 1]
    dense = GinzburgLandauClassifier(metric="cosine").fit(X, y)
    thin = GinzburgLandauClassifier(metric="cosine").fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(dense.transduction_, np.repeat([0, 1], 40))
    np.testing.assert_array_equal(thin.transduction_, dense.transduction_)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X[:5])), dense.predict(X[:5]))
