"""Evidence in blocks: the same opinion, and the same labels, as on the whole graph."""

import os
import signal
import warnings

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import cluster_of, overlapping
from phaselabel.distributed import job
from phaselabel.distributed.run import blocked_opinion, blocked_solve
from phaselabel.evidence.believing import believe
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.policy import EVIDENCE
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity


@pytest.fixture(scope="module")
def threads(request):
    """A client of so many workers; of two where a test does not say."""
    cluster = LocalCluster(
        n_workers=getattr(request, "param", 2), processes=False, threads_per_worker=1, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        yield client


def in_blocks(client, X, labels, checkpoint=None, **settings):
    options = {"client": client, "in_blocks": True, "sweeps_per_round": 1, "checkpoint": checkpoint}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pl.GinzburgLandauClassifier(dask_options=options, **settings).fit(
            da.from_array(X, chunks=(400, -1)), labels
        )


def whole(X, graph, labels, evidence, sizes="estimate"):
    """The local steps on the very graph that the blocks had."""
    labels, k = labels.astype(np.int32), int(labels.max()) + 1
    sizes = class_sizes(sizes, np.arange(k))
    problem = Problem(graph, labels, k, checked_fidelity(30.0, labels), sizes, FlowSettings())
    problem, opinion = believe(X, {"10": graph}, problem, evidence)
    return solve(problem, EVIDENCE, init=opinion.start()), opinion


@pytest.mark.parametrize(
    ("threads", "data", "per_class"),
    [
        (2, "digits", 2), (2, "gaussians", 1), (2, "gaussians", 50), (2, "apart", 60),
        (4, "digits", 1), (4, "gaussians", 5),
    ],
    indirect=["threads"],
)  # fmt: skip
def test_labels_are_those_of_the_whole_graph(threads, digits, data, per_class):
    X, y = digits if data == "digits" else overlapping(1200)
    if data == "apart":  # several components, and labels in all of them
        X = X + 1000 * (np.arange(len(X)) % 3)[:, None].astype(np.float32)
    labels = pl.datasets.sample_labels(y, per_class, random_state=3)
    model = in_blocks(threads, X, labels)
    partition = model._fitted.outcome.graph.partition
    assert partition.n_blocks == len(threads.scheduler_info(n_workers=-1)["workers"])
    assert model._fitted.outcome.in_blocks
    assert model._fitted.outcome.graph.n_cut > 0 or data == "apart"
    gathered = model.gathered()
    assert gathered.graph_.n_components >= (3 if data == "apart" else 1)
    solution, opinion = whole(X, gathered.graph_, labels, "auto")
    found = gathered._believed
    assert model.choice_.weights.keys() == opinion.choice.weights.keys()
    np.testing.assert_allclose(
        list(model.choice_.weights.values()), list(opinion.choice.weights.values()), atol=2e-3
    )
    np.testing.assert_allclose(found.graph_logits, opinion.graph_logits, atol=0.02)
    np.testing.assert_allclose(found.probabilities, opinion.probabilities, atol=5e-3)
    np.testing.assert_array_equal(found.hidden_rows, opinion.hidden_rows)
    np.testing.assert_array_equal(model.transduction_.compute(), solution.arm)
    assert model.solution_.policy == "evidence"
    believed = opinion.confidence[np.arange(len(X)), solution.arm]
    unlabelled = labels < 0
    np.testing.assert_allclose(model.confidence_.compute()[unlabelled], believed[unlabelled], atol=5e-3)
    assert len(model.query(2)) == 2
    assert len(model.hold_out().rows) == len(opinion.hidden_rows)


def test_given_class_sizes_are_met_in_blocks(threads):
    X, y = overlapping(1200)
    labels, sizes = pl.datasets.sample_labels(y, 5, random_state=3), [0.6, 0.2, 0.2]
    model = in_blocks(threads, X, labels, class_sizes=sizes)
    graph = model.gathered().graph_
    solution, _ = whole(X, graph, labels, "auto", sizes)
    np.testing.assert_array_equal(model.transduction_.compute(), solution.arm)
    assert (solution.arm != whole(X, graph, labels, "auto")[0].arm).any(), "sizes must matter here"


def test_where_one_walk_is_affordable_the_flow_is_asked_and_nothing_sharpened(threads, monkeypatch):
    X, y = overlapping(1200)
    labels = pl.datasets.sample_labels(y, 60, random_state=3)
    monkeypatch.setattr("phaselabel.evidence.experts.MOST_ENTRIES", 1)
    monkeypatch.setattr("phaselabel.distributed.job.sharpen_blocks", None)  # a call would fail
    model = in_blocks(threads, X, labels)
    solution, opinion = whole(X, model.gathered().graph_, labels, "auto")
    assert model.choice_.weights.keys() == opinion.choice.weights.keys()
    assert [name for name in opinion.choice.weights if name.endswith(" 10")] == ["harmonic 10", "flow 10"]
    np.testing.assert_allclose(
        list(model.choice_.weights.values()), list(opinion.choice.weights.values()), atol=2e-3
    )
    np.testing.assert_allclose(model.gathered()._believed.graph_logits, opinion.graph_logits, atol=0.02)
    assert opinion.choice.weights["flow 10"] > 0
    np.testing.assert_array_equal(model.transduction_.compute(), solution.arm)


def test_files_in_a_bucket_change_nothing(threads, monkeypatch, bucket):
    X, y = overlapping(600)
    labels = pl.datasets.sample_labels(y, 60, random_state=3)
    monkeypatch.setattr("phaselabel.evidence.experts.MOST_ENTRIES", 1)
    here, there = (in_blocks(threads, X, labels, job) for job in (None, f"{bucket}/asked"))
    assert "flow 10" in here.choice_.weights
    assert there.choice_.weights == here.choice_.weights
    np.testing.assert_array_equal(there.confidence_.compute(), here.confidence_.compute())


STEPS = {
    "the flow is asked": (blocked_solve, "solve_in_blocks"),
    "a walk is asked": (blocked_opinion._Walks, "_harmonic"),
    "far rows are looked for": (job, "far_rows_in_blocks"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_may_be_lost_while(step, monkeypatch):
    X, y = overlapping(1200)
    labels = pl.datasets.sample_labels(y, 60, random_state=3)
    monkeypatch.setattr("phaselabel.evidence.experts.MOST_ENTRIES", 1)
    owner, name = STEPS[step]
    take, calls, victims = getattr(owner, name), [], []

    def killing(*given, **options):
        calls.append(name)
        if victims and calls.count(name) == n_calls + min(2, n_calls):
            os.kill(victims.pop(), signal.SIGKILL)
        return take(*given, **options)

    monkeypatch.setattr(owner, name, killing)
    with cluster_of(2) as cluster, Client(cluster) as client:
        expected = in_blocks(client, X, labels)
        labelled, n_calls = expected.transduction_.compute(), len(calls)
        victims.append(client.run(os.getpid).popitem()[1])
        model = in_blocks(client, X, labels)
        assert not victims
        assert model._fitted.outcome.losses == 1
        np.testing.assert_array_equal(model.transduction_.compute(), labelled)
        assert model.novel_.shape == expected.novel_.shape
    assert model.choice_.weights == pytest.approx(expected.choice_.weights, abs=1e-4)
    if step == "the flow is asked":
        assert len(calls) == 2 * n_calls, "what was asked is not asked again"


class Stop(Exception):
    pass


def test_a_flow_with_evidence_continues_although_the_flow_is_asked_again(threads, tmp_path):
    X = np.linspace(0, 1, 900)[:, None]
    labels = np.repeat([0, -1, 1], [60, 780, 60])
    options = {"client": threads, "checkpoint": tmp_path, "in_blocks": True, "sweeps_per_round": 1}

    def fit(resume=False, callbacks=()):
        model = pl.GinzburgLandauClassifier(
            2, tol=0, max_iter=120, callbacks=callbacks, dask_options=options | {"resume": resume}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(da.from_array(X, chunks=(400, -1)), labels)

    def stop(sweep, state, energy):
        if sweep == 105:
            raise Stop

    with pytest.raises(Stop):
        fit(callbacks=stop)
    first = {path: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()}
    assert first
    model = fit(resume=True)
    assert not list(tmp_path.rglob("asked*"))
    assert {path.name[:4] for path in first} == {"flow"}
    options.pop("checkpoint")
    whole = fit()
    assert "flow 2" in model.choice_.weights
    np.testing.assert_array_equal(model.solution_.height.compute(), whole.solution_.height.compute())


def test_given_probabilities_in_blocks(threads):
    X, y = overlapping(1200)
    labels = pl.datasets.sample_labels(y, 20, random_state=3)
    evidence = np.where(y[:, None] == np.arange(3), 0.8, 0.1)
    evidence[::5] = np.nan
    model = in_blocks(threads, X, labels, evidence=evidence, n_neighbors=10)
    solution, _ = whole(X, model.gathered().graph_, labels, evidence)
    assert "given" in model.choice_.weights
    assert np.mean(model.transduction_.compute() == y) > 0.9
    np.testing.assert_array_equal(model.transduction_.compute(), solution.arm)
