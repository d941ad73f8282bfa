"""The flow on a local cluster of processes: the same bits, whatever happens to the workers."""

import os
import signal
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import blobs
from phaselabel.distributed.assembly import group_cells
from phaselabel.distributed.flow import minimize
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.pieces import split


@pytest.fixture(scope="session")
def problem():
    X, y = blobs()
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    return graph, pl.datasets.sample_labels(y, 20, random_state=0), y


def whole(weights, labels, **settings):
    """The local flow, in one process that has loaded its kernels."""
    found = pl.minimize(pl.Graph(weights), labels, **settings)
    return found.arm, found.height, found.energy, found.status


@pytest.fixture(scope="session")
def reference(client, problem):
    return client.submit(whole, problem[0].weights, problem[1]).result()


def assert_same(solution, reference):
    arm, height, energy, status = reference
    np.testing.assert_array_equal(solution.arm.compute(), arm)
    np.testing.assert_array_equal(solution.height.compute(), height)
    np.testing.assert_array_equal(solution.energy["sweep"], energy["sweep"])
    np.testing.assert_allclose(solution.energy["total"], energy["total"], rtol=1e-12)
    assert solution.status == status


def some_workers(client, n):
    return sorted(client.scheduler_info(n_workers=-1)["workers"])[:n]


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_same_bits_on_any_number_of_workers(client, problem, reference, n_workers):
    graph, labels, _ = problem
    workers = some_workers(client, n_workers)
    assert_same(minimize(graph, labels, client, workers=workers, sweeps_per_round=1), reference)


def test_the_same_bits_with_a_schedule_and_a_fixed_step(client, problem):
    graph, labels, _ = problem
    settings = {"epsilon": pl.Geometric(1.0, 0.5, factor=0.7, sweeps=15), "step": 0.1}
    expected = client.submit(whole, graph.weights, labels, **settings).result()
    found = minimize(graph, labels, client, workers=some_workers(client, 2), sweeps_per_round=1, **settings)
    assert_same(found, expected)


@pytest.mark.parametrize("sweeps", [4, "auto"])
def test_several_sweeps_a_round_find_the_same_labels(client, problem, reference, sweeps):
    graph, labels, _ = problem
    found = minimize(graph, labels, client, workers=some_workers(client, 2), sweeps_per_round=sweeps)
    assert np.mean(found.arm.compute() == reference[0]) >= 0.999


def test_mnist_bit_for_bit(client, data_home):
    with np.load(Path(data_home) / "mnist70k.npz") as file:
        X, y = file["x"].reshape(len(file["x"]), -1), file["y"].astype(int)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    labels = pl.datasets.sample_labels(y, 250, random_state=0)
    expected = client.submit(whole, graph.weights, labels).result()
    for n_workers in (1, 2, 4):
        workers = some_workers(client, n_workers)
        assert_same(minimize(graph, labels, client, workers=workers, sweeps_per_round=1), expected)


def test_every_worker_may_be_killed_once(problem, reference):
    graph, labels, _ = problem
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None)
    with cluster, Client(cluster) as client:
        victims = list(client.run(os.getpid).values())

        def kill(sweep, state, energy):
            if sweep in (15, 30):
                os.kill(victims.pop(), signal.SIGKILL)

        found = minimize(
            graph, labels, client, sweeps_per_round=1, interval=10, callbacks=kill, max_iter=45, tol=0
        )
        assert not victims
        arm, height, *_ = whole_until(client, graph, labels)
        np.testing.assert_array_equal(found.arm.compute(), arm)
        np.testing.assert_array_equal(found.height.compute(), height)


def whole_until(client, graph, labels):
    return client.submit(whole, graph.weights, labels, max_iter=45, tol=0).result()


class Stop(Exception):
    pass


def test_a_run_goes_on_from_its_checkpoint(client, problem, reference, tmp_path):
    graph, labels, _ = problem
    options = {"sweeps_per_round": 1, "interval": 10, "folder": tmp_path, "workers": some_workers(client, 2)}

    def stop(sweep, state, energy):
        if sweep == 15:
            raise Stop

    with pytest.raises(Stop):
        minimize(graph, labels, client, callbacks=stop, **options)
    kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert kept
    assert not [name for name in kept if name.endswith(".part")]
    seen = []
    found = minimize(
        graph,
        labels,
        client,
        callbacks=lambda s, state, e: seen.append(state.sizes(5).sum()),
        resume=True,
        **options,
    )
    assert_same(found, reference)
    assert len(seen) == len(reference[2])


def test_pieces_hold_every_edge_once(problem):
    graph, *_ = problem
    folder = Folder()
    deal = split(graph, 3, folder)
    total = 0
    for block in range(3):
        owners = folder.load(f"blocks/{block:05d}/owners.npy")
        indptr = folder.load(f"blocks/{block:05d}/indptr.npy")
        total += int(indptr[-1]) - int(indptr[len(owners)])
    assert total == graph.weights.nnz
    rows = np.arange(graph.n_vertices)
    blocks, positions = deal.places(deal.ids_in(0, rows))
    assert len(set(zip(blocks.tolist(), positions.tolist()))) == len(rows)


def test_grouped_cells_cut_few_edges():
    rng = np.random.default_rng(0)
    home = rng.permutation(np.repeat(np.arange(3), 8))
    edges = np.where(home[:, None] == home[None], 100, 1)
    block = group_cells(edges, np.full(24, 50), 3)
    assert sorted(np.bincount(block)) == [8, 8, 8]
    assert sum(len(set(block[home == h])) for h in range(3)) <= 6


# -- from rows to labels


def test_a_dask_array_in_dask_arrays_out(client):
    X, y = blobs(30_000, seed=1)
    labels = np.where(pl.datasets.sample_labels(y, 60, random_state=0) >= 0, y, -1)
    names = np.array(["ant", "bee", "cow", "dog", "eel"], object)
    given = np.where(labels >= 0, names[labels], None)
    rows = da.from_array(X, chunks=(7_000, 5))
    model = pl.GinzburgLandauClassifier(unlabeled=None, dask_options={"client": client}).fit(rows, given)
    local = pl.GinzburgLandauClassifier(unlabeled=None).fit(X, given)
    assert isinstance(model.transduction_, da.Array)
    assert model.neighbor_recall_ >= 0.98
    found = model.transduction_.compute()
    assert np.mean(found == local.transduction_) >= 0.995
    assert np.mean(found == names[y]) >= np.mean(local.transduction_ == names[y]) - 0.002
    confidence = model.confidence_.compute()
    assert np.mean(np.abs(confidence - local.confidence_)) < 0.01
    np.testing.assert_allclose(model.class_sizes_, local.class_sizes_, atol=0.005)
    with pytest.raises(ValueError, match="Dask array"):
        model.predict(X[:5])


def test_the_whole_way_equals_the_local_one_where_neighbours_do(client):
    # Few rows, far-reaching cells: both searches are exact, so that the graphs are equal to the last bit.
    X, y = blobs(3_000, seed=2)
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    model = pl.GinzburgLandauClassifier(dask_options={"client": client, "sweeps_per_round": 1})
    model.fit(da.from_array(X, chunks=(1_100, -1)), labels)
    graph = client.submit(local_weights, X).result()
    expected = client.submit(whole, graph, labels).result()
    np.testing.assert_array_equal(model.solution_.height.compute(), expected[1])


def local_weights(X):
    return pl.similarity_graph(pl.nearest_neighbors(X, 10)).weights


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"affinity": "precomputed"}, "affinity must be"),
        ({"init": "random"}, "init must be"),
        ({"class_sizes": [0.5, 0.5]}, "class_sizes must be"),
        ({"metric": "manhattan"}, "metric must be one of"),
        ({"dask_options": {"speed": 1}}, "got 'speed'"),
        ({"dask_options": {"sweeps_per_round": 0}}, "sweeps_per_round"),
        ({"n_neighbors": 9_999}, "n_neighbors=9999"),
    ],
)
def test_what_can_not_be_done_is_refused_in_a_sentence(client, change, words):
    X, y = blobs(500)
    with pytest.raises(ValueError, match=words):
        pl.GinzburgLandauClassifier(**change).fit(da.from_array(X, chunks=(200, -1)), y)


def test_a_strange_number_is_refused_with_its_row(client):
    X, y = blobs(500)
    X[321, 2] = np.nan
    with pytest.raises(ValueError, match="Row 321 of X"):
        pl.GinzburgLandauClassifier().fit(da.from_array(X, chunks=(200, -1)), y)


def test_blocks_may_be_renumbered_for_the_cache(problem, monkeypatch):
    graph, labels, _ = problem
    monkeypatch.setattr("phaselabel.distributed.blocks.FITS_CACHE", 100)
    # In this very process, so that the patch is seen.
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        found = minimize(graph, labels, client, sweeps_per_round=1, n_blocks=3)
        expected = pl.minimize(graph, labels)
        np.testing.assert_array_equal(found.height.compute(), expected.height)
        np.testing.assert_array_equal(found.arm.compute(), expected.arm)
