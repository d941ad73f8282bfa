"""More data than memory: a cluster with small limits, and what is said where they are too small."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import blobs
from phaselabel.distributed.cells import chunks_of, deal_rows, sample
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.plan import Plan, most_rows
from phaselabel.distributed.search import _Around, _nearest
from phaselabel.distributed.sources import open_source
from phaselabel.distributed.tasks import Patience, Tasks

MIB = 2**20


def peak_and_pid():
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) * 1024, os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_data_of_twice_the_clusters_memory(tmp_path):
    limit = 400 * MIB
    narrow, y = blobs(20_000, seed=6, apart=3.0)
    # Wide rows that are as far apart as the narrow ones, so that a local run on those tells what is right.
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(10_500, narrow.shape[1])))[0].T
    folder = tmp_path / "rows.npy"
    folder.mkdir()
    for i, part in enumerate(np.array_split(narrow, 8)):
        np.save(folder / f"{i}.npy", part @ turn.astype(np.float32))
    assert sum(file.stat().st_size for file in folder.iterdir()) >= 2 * limit
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=limit, dashboard_address=None)
    with cluster, Client(cluster) as client:
        before = client.run(peak_and_pid)
        options = {"client": client, "checkpoint": tmp_path / "kept"}
        model = pl.GinzburgLandauClassifier(dask_options=options).fit(open_source(folder).X, labels)
        found = model.transduction_.compute()
        after = client.run(peak_and_pid)
    assert [pid for _, pid in after.values()] == [pid for _, pid in before.values()]
    assert max(peak for peak, _ in after.values()) <= limit
    local = pl.GinzburgLandauClassifier().fit(narrow, labels)
    assert np.mean(found == local.transduction_) >= 0.999
    assert np.mean(found == y) >= np.mean(local.transduction_ == y) - 0.001


def test_a_cell_that_does_not_fit_is_searched_piece_by_piece():
    X, _ = blobs(3_000, seed=8)
    X[1_500] = X[7]  # equal rows are neighbours at distance zero, whichever piece they are in
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        tasks, folder = Tasks(client), Folder()
        chunks, sizes = chunks_of(da.from_array(X, chunks=(1_100, -1)), 700)
        assert max(sizes) <= 700
        sample(tasks, folder, chunks, sizes, 2, 1_000, False)
        deal, _ = deal_rows(tasks, folder, chunks, sizes, 10, False)
    around = _Around.of(deal, 0, 1.5)
    np.testing.assert_array_equal(around.points(np.arange(len(around.rows))), X[around.rows])
    assert 0 < len(around.own) < len(around.rows)
    whole = _nearest(around, 10, "euclidean", 0.99, 1e9)
    small = 400 / most_rows(1, X.shape[1], X.dtype)
    pieces = _nearest(around, 10, "euclidean", 0.99, small)
    np.testing.assert_array_equal(pieces.indices, whole.indices)
    np.testing.assert_allclose(pieces.distances, whole.distances, rtol=1e-12)


# -- where it can't be done


def workers(n, limit, taken=0):
    return {str(i): {"memory_limit": limit, "nthreads": 1, "taken": taken} for i in range(n)}


@pytest.mark.parametrize(
    ("shape", "rows", "given", "said"),
    [
        ((10_000, 100), 1_000, workers(1, 256 * MIB), "memory_limit of 256.00 MiB is too small"),
        ((10_000, 100), 1_000, workers(1, 600 * MIB, 450 * MIB), "libraries take 4"),
        ((10_000, 100_000), 10, workers(1, 512 * MIB), "rows of 100,000 features"),
        ((10_000_000, 32), 10_000, workers(2, 1024 * MIB), "The graph of 10,000,000 rows takes 2.51 GiB"),
        ((100_000, 1_000), 100_000, workers(2, 512 * MIB), "largest chunk of X takes 381.47 MiB"),
    ],
)
def test_too_little_memory_is_said_at_once(shape, rows, given, said):
    X = da.zeros(shape, chunks=(rows, -1), dtype=np.float32)
    with pytest.raises(ValueError, match=said) as refused:
        Plan.of(X, 10, given)
    enough = str(refused.value).split("at least ")[1].rstrip(".")
    larger = dask.utils.parse_bytes(enough)
    assert Plan.of(X, 10, {k: {**w, "memory_limit": larger} for k, w in given.items()}).n_cells > 0


def test_plans_follow_the_memory():
    X = da.zeros((3_000_000, 400), chunks=(1_000, -1), dtype=np.float32)
    small, large = (Plan.of(X, 10, workers(2, limit * MIB)) for limit in (1_024, 8_192))
    assert small.n_cells > large.n_cells >= 30
    assert small.chunk_rows < large.chunk_rows
    assert small.n_blocks > large.n_blocks == 2
    # A few bytes more or less in use change nothing, so that a run can be repeated.
    assert Plan.of(X, 10, workers(2, 1_024 * MIB, 150 * MIB)) == small


def die():
    os._exit(1)


def test_a_task_that_kills_its_workers_ends_the_run():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    said = pytest.raises(RuntimeError, match=r"Workers died again and again .* 'search'")
    with cluster, Client(cluster) as client, said:
        Tasks(client).run("search", die, [()])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "no worker for 0 seconds"),
        ({"a": {"status": "paused", "metrics": {}}}, "their memory is full"),
        ({"a": {"status": "paused", "metrics": {"task_counts": {"executing": 1}}}}, None),
        ({"a": {"status": "running", "metrics": {}}}, None),
    ],
)
def test_nobody_waits_for_workers_that_are_stuck(found, said, monkeypatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("phaselabel.distributed.tasks.monotonic", lambda: next(clock))
    patience = Patience(SimpleNamespace(scheduler_info=lambda n_workers: {"workers": found}), 0.5)
    if said is None:
        patience.wait()
        return
    with pytest.raises(RuntimeError, match=said):
        patience.wait()
