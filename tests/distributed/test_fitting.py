"""From the rows of a Dask array to labels."""

import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from sklearn.linear_model import LogisticRegression

import phaselabel as pl
from clusters import blobs, local_flow, overlapping
from phaselabel.distributed.build import plan
from phaselabel.distributed.job import FROM_THE_HUB, NOT_SPREAD
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.policy import HUB
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity


def test_a_dask_array_in_dask_arrays_out(client):
    X, y = blobs(30_000, seed=1)
    labels = np.where(pl.datasets.sample_labels(y, 60, random_state=0) >= 0, y, -1)
    names = np.array(["ant", "bee", "cow", "dog", "eel"], object)
    given = np.where(labels >= 0, names[labels], None)
    rows = da.from_array(X, chunks=(7_000, 5))
    model = pl.GinzburgLandauClassifier(unlabeled=None, evidence=None, dask_options={"client": client})
    model.fit(rows, given)
    local = pl.GinzburgLandauClassifier(unlabeled=None, evidence=None).fit(X, given)
    assert isinstance(model.transduction_, da.Array)
    assert model.neighbor_recall_ >= 0.98
    labelled = model.transduction_.compute()
    assert model._fitted.outcome.graph.partition.counts.shape[1] == 8
    np.testing.assert_array_equal(labelled, local.transduction_)  # all workers search among all rows
    confidence = model.confidence_.compute()
    assert np.mean(np.abs(confidence - local.confidence_)) < 0.01
    np.testing.assert_allclose(model.class_sizes_, local.class_sizes_, atol=0.005)


def test_the_whole_way_equals_the_local_one_where_neighbours_do(client):
    # Few rows, far-reaching cells: both searches are exact, so that the graphs are equal to the last bit.
    X, y = blobs(3_000, seed=2)
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    model = pl.GinzburgLandauClassifier(
        evidence=None, dask_options={"client": client, "sweeps_per_round": 1, "in_blocks": True}
    )
    model.fit(da.from_array(X, chunks=(1_100, -1)), labels)
    graph = local_weights(X)
    expected = local_flow(graph, labels)
    np.testing.assert_array_equal(model.solution_.height.compute(), expected[1])


def test_warnings_point_at_the_line_that_called_fit(client):
    X = np.concatenate([np.arange(8.0), np.arange(1000.0, 1008.0)])[:, None]
    labels = np.where(np.arange(16) < 8, np.arange(16) % 2, -1)
    model = pl.GinzburgLandauClassifier(2, evidence=None, dask_options={"client": client})
    with pytest.warns(UserWarning, match="rows have no label") as caught:
        model.fit(da.from_array(X, chunks=(8, 1)), labels)
    assert {warning.filename for warning in caught if "no label" in str(warning.message)} == {__file__}


@pytest.mark.parametrize("stop", ["limit", "callback"])
def test_rows_that_a_stopped_flow_has_not_reached_yet_are_no_parts_without_a_label(client, stop):
    X = np.arange(200.0)[:, None]
    labels = np.where(np.arange(200) < 2, np.arange(200), -1)
    settings = {"max_iter": 2} if stop == "limit" else {"callbacks": lambda *look: True}
    options = {"client": client, "in_blocks": True}
    model = pl.GinzburgLandauClassifier(2, evidence=None, dask_options=options, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(da.from_array(X, chunks=(100, 1)), labels)
    assert (model.solution_.reason, model._fitted.n_unreached > 0) == (stop, True)
    said = [str(warning.message) for warning in caught]
    assert not [words for words in said if "have no label" in words]
    assert any("The flow has not converged" in words for words in said) == (stop == "limit")


def test_the_flow_from_the_hub_on_one_worker_if_that_is_wanted(client):
    X, y = overlapping(600)
    labels = pl.datasets.sample_labels(y, 5, random_state=3)
    model = pl.GinzburgLandauClassifier(init="hub", dask_options={"client": client, "in_blocks": False})
    model.fit(da.from_array(X, chunks=(250, -1)), labels)
    assert not model._fitted.outcome.in_blocks
    arm, height, confidence, *_ = local_fit(X, labels, init="hub")
    np.testing.assert_array_equal(model.transduction_.compute(), arm)
    np.testing.assert_array_equal(model.solution_.height.compute(), height)
    np.testing.assert_array_equal(model.confidence_.compute(), confidence)


@pytest.mark.parametrize(("data", "per_class", "seed"), [("digits", 1, 3), ("gaussians", 5, 2)])
def test_a_flow_whose_class_sizes_drift_is_taken_back_as_the_local_one_is(
    client, digits, data, per_class, seed
):
    X, y = digits if data == "digits" else overlapping()
    labels = pl.datasets.sample_labels(y, per_class, random_state=seed)
    options = {"client": client, "sweeps_per_round": 1, "in_blocks": True}
    model = pl.GinzburgLandauClassifier(evidence=None, dask_options=options)
    model.fit(da.from_array(X, chunks=(600, -1)), labels)
    arm, height, sweep, reason = watched(X, labels)
    assert reason in ("drift", "collapse"), "the sizes of this set must drift, or nothing is tested"
    assert (model.solution_.reason, model.n_iter_) == (reason, sweep)
    np.testing.assert_array_equal(model.solution_.height.compute(), height)
    np.testing.assert_array_equal(model.transduction_.compute(), arm)
    np.testing.assert_array_equal(model.class_sizes_, np.bincount(arm) / len(arm))
    assert (model.confidence_.compute() > 0).all()


@pytest.mark.parametrize("per_class", [1, 5, 50])
@pytest.mark.parametrize("data", ["digits", "gaussians"])
def test_the_answer_is_that_of_a_local_fit(client, digits, data, per_class):
    X, y = digits if data == "digits" else overlapping()
    labels = pl.datasets.sample_labels(y, per_class, random_state=3)
    model = pl.GinzburgLandauClassifier(evidence=None, dask_options={"client": client})
    model.fit(da.from_array(X, chunks=(600, -1)), labels)
    arm, height, confidence, sizes, remarks = local_fit(X, labels)
    assert model.solution_.policy == "fit"
    found = dask.compute(model.transduction_, model.solution_.height, model.confidence_)
    for one, expected in zip(found, (arm, height, confidence)):
        np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(model.class_sizes_, sizes)
    assert model.remarks_ == remarks


@pytest.mark.parametrize("per_class", [1, 5, 50])
@pytest.mark.parametrize("data", ["digits", "gaussians"])
def test_with_evidence_too_the_answer_is_that_of_a_local_fit(client, digits, data, per_class):
    X, y = digits if data == "digits" else overlapping()
    labels = pl.datasets.sample_labels(y, per_class, random_state=3)
    model = pl.GinzburgLandauClassifier(dask_options={"client": client})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(da.from_array(X, chunks=(600, -1)), labels)
    arm, height, confidence, sizes, remarks = local_fit(X, labels, "auto")
    assert model.solution_.policy == "evidence"
    np.testing.assert_array_equal(model.transduction_.compute(), arm)
    np.testing.assert_array_equal(model.solution_.height.compute(), height)
    np.testing.assert_array_equal(model.confidence_.compute(), confidence)
    np.testing.assert_array_equal(model.class_sizes_, sizes)
    assert model.remarks_ == remarks
    assert set(model.choice_.weights) >= {"linear", "forest", "harmonic 3", "poisson 40"}
    assert str(model.n_neighbors_) == model.choice_.graph


@pytest.mark.parametrize("n_workers", [1, 2])
@pytest.mark.parametrize("kind", ["classifier", "array", "columns"])
def test_given_evidence_on_few_workers(n_workers, kind):
    X, y = overlapping(600)
    labels = pl.datasets.sample_labels(y, 5, random_state=3)
    evidence = LogisticRegression()
    if kind == "array":
        evidence = evidence.fit(X[labels >= 0], y[labels >= 0]).predict_proba(X)
        evidence[::7] = np.nan
    given = {"model_columns": [1, 0]} if kind == "columns" else {"evidence": evidence}
    local = pl.GinzburgLandauClassifier(5, **given).fit(X, labels)
    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client:
        model = pl.GinzburgLandauClassifier(5, **given, dask_options={"client": client})
        model.fit(da.from_array(X, chunks=(250, -1)), labels)
        np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
        np.testing.assert_allclose(model.confidence_.compute(), local.confidence_, atol=1e-6)
    assert model.choice_.weights.keys() == local.choice_.weights.keys()


@pytest.mark.parametrize(("per_class", "n_workers"), [(1, 1), (5, 2), (50, 4)])
def test_the_answer_on_mnist_is_that_of_a_local_fit(data_home, per_class, n_workers):
    # benchmarks/dask_equality.py compares all of them, and in blocks.
    with np.load(Path(data_home) / "mnist70k.npz") as file:
        X, y = file["x"][:2_000].reshape(2_000, -1), file["y"][:2_000].astype(int)
    labels = pl.datasets.sample_labels(y, per_class, random_state=0)
    arm, _, confidence, *_ = local_fit(X, labels, "auto")
    cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pl.GinzburgLandauClassifier(dask_options={"client": client})
        model.fit(da.from_array(X, chunks=(600, -1)), labels)
        np.testing.assert_array_equal(model.transduction_.compute(), arm)
        np.testing.assert_allclose(model.confidence_.compute(), confidence, atol=1e-6)


def local_fit(X, labels, evidence=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pl.GinzburgLandauClassifier(evidence=evidence, **settings).fit(X, labels)
    return model.transduction_, model.solution_.height, model.confidence_, model.class_sizes_, model.remarks_


def test_a_metric_without_centres(client):
    X, y = overlapping(800)
    labels = pl.datasets.sample_labels(y, 5, random_state=3)
    options = {"metric": "manhattan", "evidence": None}
    model = pl.GinzburgLandauClassifier(dask_options={"client": client, "in_blocks": True}, **options)
    model.fit(da.from_array(X, chunks=(300, -1)), labels)
    gathered, neighbors = model.gathered(), pl.nearest_neighbors(X, 10, metric="manhattan")
    difference = gathered.graph_.weights - pl.similarity_graph(neighbors).weights
    assert abs(difference).max() < 1e-6
    assert model._fitted.outcome.graph.partition.n_blocks == 4
    assert model.predict(X[:5] + 0.01).shape == (5,)


@pytest.mark.parametrize("in_blocks", ["auto", True])
def test_rows_of_a_class_without_a_label_are_found(client, monkeypatch, in_blocks):
    monkeypatch.setattr(plan, "MIN_ROWS_FOR_CELLS", 500)
    rng = np.random.default_rng(1)
    y = np.arange(1_200) % 4
    X = (rng.normal(size=(1_200, 3)) + 5 * np.eye(4, 3, -1)[y]).astype(np.float32)
    labels = np.where(y == 3, -1, pl.datasets.sample_labels(y, 8, random_state=0))
    local = pl.GinzburgLandauClassifier(10, evidence=None).fit(X, labels)
    options = {"client": client, "in_blocks": in_blocks}
    model = pl.GinzburgLandauClassifier(10, evidence=None, abstain_below=0.6, dask_options=options)
    model.fit(da.from_array(X, chunks=(300, -1)), labels)
    assert model._fitted.outcome.in_blocks is (in_blocks is True)
    assert model._fitted.outcome.graph.n_cut > 0
    np.testing.assert_array_equal(model.novel_.compute(), local.novel_)
    assert local.novel_.sum() > 250
    assert any("rows look like none of the labelled ones" in remark for remark in model.remarks_)
    assert model.confidence_.compute()[local.novel_].max() <= 0.5
    assert (model.transduction_.compute()[local.novel_] == -1).all()
    np.testing.assert_array_equal(model.gathered().novel_, local.novel_)


def test_given_class_sizes_by_name(client):
    X, y = overlapping()
    labels = np.where(pl.datasets.sample_labels(y, 5, random_state=3) >= 0, np.array(["a", "b", "c"])[y], "")
    sizes = {"b": 0.5, "a": 0.25, "c": 0.25}
    options = {"class_sizes": sizes, "unlabeled": "", "evidence": None}
    model = pl.GinzburgLandauClassifier(dask_options={"client": client}, **options)
    model.fit(da.from_array(X, chunks=(600, -1)), labels)
    arm, *_ = local_fit(X, labels, **options)
    np.testing.assert_array_equal(model.transduction_.compute(), arm)


@pytest.mark.parametrize(("evidence", "remark"), [(None, FROM_THE_HUB), ("auto", NOT_SPREAD)])
def test_few_labels_that_no_worker_can_spread_are_remarked_upon(client, monkeypatch, evidence, remark):
    X, y = overlapping(600)
    few, many = (pl.datasets.sample_labels(y, n, random_state=3) for n in (2, 60))
    rows = da.from_array(X, chunks=(300, -1))
    model = pl.GinzburgLandauClassifier(10, evidence=evidence, dask_options={"client": client})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert remark not in model.fit(rows, few).remarks_
    for name in ("needed_bytes", "needed_for_evidence"):
        monkeypatch.setattr(f"phaselabel.distributed.job.{name}", lambda *sizes: 10**15)
    with pytest.warns(UserWarning, match="Labels are few, and a local fit would"):
        model.fit(rows, few)
    assert model._fitted.outcome.in_blocks
    assert remark in model.remarks_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert remark not in model.fit(rows, many).remarks_


def test_given_class_sizes_that_no_worker_can_meet_are_refused(client, monkeypatch):
    X, y = overlapping(600)
    monkeypatch.setattr("phaselabel.distributed.job.needed_bytes", lambda *sizes: 10**15)
    model = pl.GinzburgLandauClassifier(evidence=None, class_sizes=[0.5, 0.25, 0.25])
    model.dask_options = {"client": client}
    with pytest.raises(ValueError, match="larger memory_limit, or use evidence, which meets class_sizes in"):
        model.fit(da.from_array(X, chunks=(300, -1)), pl.datasets.sample_labels(y, 60, random_state=3))


def test_an_interrupt_in_a_callback_lets_the_worker_go(client, digits):
    def interrupt(sweep, state, energy):
        raise KeyboardInterrupt

    X, truth = digits
    rows = da.from_array(X, chunks=(600, -1))
    y = pl.datasets.sample_labels(truth, 5, random_state=0)
    model = pl.GinzburgLandauClassifier(evidence=None, callbacks=interrupt, dask_options={"client": client})
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, y)
    model.callbacks = ()
    assert (model.fit(rows, y).transduction_.compute() == truth).mean() > 0.9


def test_callbacks_of_a_flow_on_one_worker_are_called_here(client, digits):
    X, y = digits
    labels = pl.datasets.sample_labels(y, 5, random_state=0)
    seen = []

    def watch(sweep, state, energy):
        seen.append((sweep, int(state.sizes(10).sum()), energy.total, state.arm.compute().shape))
        return sweep == 10

    model = pl.GinzburgLandauClassifier(evidence=None, callbacks=watch, dask_options={"client": client})
    model.fit(da.from_array(X, chunks=(600, -1)), labels)
    assert model.solution_.reason == "callback"
    assert [sweep for sweep, *_ in seen] == [0, 5, 10]
    assert {(reached, shape) for _, reached, _, shape in seen} == {(len(X), (len(X),))}
    np.testing.assert_array_equal(model.energy_["total"], [total for *_, total, _ in seen])


def watched(X, labels):
    """The local solver from the hub, with the watch of class sizes."""
    labels, k = labels.astype(np.int32), int(labels.max()) + 1
    sizes = class_sizes("estimate", np.arange(k))
    graph = pl.Graph(local_weights(X))
    problem = Problem(graph, labels, k, checked_fidelity(30.0, labels), sizes, FlowSettings())
    solution = solve(problem, HUB)
    return solution.arm, solution.height, solution.n_iter, solution.reason


def local_weights(X):
    return pl.similarity_graph(pl.nearest_neighbors(X, 10)).weights


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"affinity": "precomputed"}, "affinity must be"),
        ({"init": "random"}, "init must be"),
        ({"evidence": np.full((400, 5), 0.2)}, "evidence must have one row per row of X"),
        ({"evidence": "model"}, "evidence must be 'auto', None"),
        ({"class_sizes": [0.5, 0.5]}, "class_sizes must hold"),
        (
            {"class_sizes": [(0.1, 0.5)] * 5, "evidence": None, "dask_options": {"in_blocks": True}},
            "class_sizes are met on the whole graph, by one worker, where evidence is None; leave in_blocks",
        ),
        ({"dask_options": {"in_blocks": "no"}}, "in_blocks"),
        ({"metric": "nearby"}, "metric must be one of"),
        ({"dask_options": {"speed": 1}}, "got 'speed'"),
        ({"dask_options": ["client"]}, "dask_options must be a dict"),
        ({"dask_options": {"client": "tcp://scheduler:8786"}}, r"client must be a dask\.distributed\.Client"),
        ({"dask_options": {"progress": 3}}, "progress must be a function"),
        ({"dask_options": {"sweeps_per_round": 0}}, "sweeps_per_round"),
        ({"n_neighbors": 9_999}, "n_neighbors=9999"),
        ({"fidelity": np.ones(400)}, "fidelity must be one number or one per row, 500"),
    ],
)
def test_what_can_not_be_done_is_refused_in_a_sentence(client, change, words):
    X, y = blobs(500)
    with pytest.raises(ValueError, match=words):
        pl.GinzburgLandauClassifier(**change).fit(da.from_array(X, chunks=(200, -1)), y)


def test_frames_and_labels_of_a_wrong_shape_are_refused_in_a_sentence(client):
    import dask.dataframe as dd
    import pandas as pd

    X, y = blobs(500)
    frame = dd.from_pandas(pd.DataFrame({"length": X[:, 0], "colour": "red"}), npartitions=2)
    with pytest.raises(ValueError, match="Column 'colour' of X holds no numbers"):
        pl.GinzburgLandauClassifier().fit(frame, y)
    rows = frame[["length"]]
    with pytest.raises(ValueError, match=r"y must be one column; got an array of shape \(500, 2\)"):
        pl.GinzburgLandauClassifier().fit(rows, da.from_array(np.c_[y, y], chunks=200))
    with pytest.raises(ValueError, match="fit needs y; pass one label per row"):
        pl.GinzburgLandauClassifier().fit(rows, None)
    with pytest.raises(ValueError, match="of rows and features; got Series of 1 dimensions"):
        pl.GinzburgLandauClassifier().fit(frame["length"], y)
    with pytest.raises(ValueError, match="n_neighbors must be a whole number of at least 1; got 'many'"):
        pl.GinzburgLandauClassifier("many").fit(rows, y)
    with pytest.raises(ValueError, match="X must have at least two rows; got 1"):
        pl.GinzburgLandauClassifier().fit(da.ones((1, 3)), [0])


def test_one_column_of_parquet_files_of_which_some_are_empty(client, tmp_path):
    import dask.dataframe as dd
    import pandas as pd

    length = np.concatenate([np.arange(40.0), np.arange(100.0, 140.0)])
    kind = np.where(np.arange(80) % 40 < 2, np.repeat(["short", "long"], 40), "")
    table = pd.DataFrame({"a": 0.0, "b": 1.0, "c": 2.0, "length": length, "kind": kind})
    for number, (start, stop) in enumerate([(0, 0), (0, 30), (30, 31), (31, 31), (31, 80)]):
        table[start:stop].to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    settings = {"unlabeled": "", "evidence": None, "n_neighbors": 3}
    model = pl.GinzburgLandauClassifier(dask_options={"client": client}, **settings)
    model.fit(frame[["length"]], frame["kind"])
    assert (model.transduction_.compute() == np.repeat(["short", "long"], 40)).all()
    assert model.predict(frame[["length"]]).compute().shape == (80,)


def test_a_strange_number_is_refused_with_its_row(client):
    X, y = blobs(500)
    X[321, 2] = np.nan
    with pytest.raises(ValueError, match="Row 321 of X"):
        pl.GinzburgLandauClassifier().fit(da.from_array(X, chunks=(200, -1)), y)
