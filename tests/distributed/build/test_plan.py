"""More data than memory: a cluster with small limits, and the errors where they are too small."""

import os
import sys
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import blobs
from phaselabel.distributed.build.plan import Plan, free_bytes
from phaselabel.distributed.sources import open_source

MIB = 2**20


def peak_and_pid():
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) * 1024, os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_data_of_eight_times_the_memory_that_a_worker_has_free(tmp_path):
    limit = 640 * MIB
    narrow, y = blobs(20_000, seed=6, apart=3.0)
    # Wide rows with the distances of the narrow ones: a local run on those gives the expected labels.
    turn = np.linalg.qr(np.random.default_rng(7).normal(size=(9_600, narrow.shape[1])))[0].T
    folder = tmp_path / "rows.npy"
    folder.mkdir()
    for i, part in enumerate(np.array_split(narrow, 8)):
        np.save(folder / f"{i}.npy", part @ turn.astype(np.float32))
    free = free_bytes({"memory_limit": limit})
    assert sum(file.stat().st_size for file in folder.iterdir()) >= max(limit, 7.9 * free)
    labels = pl.datasets.sample_labels(y, 60, random_state=0)
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=limit, dashboard_address=None)
    with cluster, Client(cluster) as client:
        before = client.run(peak_and_pid)
        options = {"client": client, "checkpoint": tmp_path / "kept"}
        model = pl.GinzburgLandauClassifier(evidence=None, dask_options=options).fit(
            open_source(folder).X, labels
        )
        labelled = model.transduction_.compute()
        after = client.run(peak_and_pid)
    assert [pid for _, pid in after.values()] == [pid for _, pid in before.values()]
    assert max(peak for peak, _ in after.values()) <= limit
    local = pl.GinzburgLandauClassifier(evidence=None).fit(narrow, labels)
    assert np.mean(labelled == local.transduction_) >= 0.999
    assert np.mean(labelled == y) >= np.mean(local.transduction_ == y) - 0.001


def workers(n, limit, in_use=0):
    return {str(i): {"memory_limit": limit, "nthreads": 1, "in_use": in_use} for i in range(n)}


@pytest.mark.parametrize(
    ("shape", "rows", "given", "message"),
    [
        ((10_000, 100), 1_000, workers(1, 256 * MIB), "memory_limit of 256.00 MiB is too small"),
        ((10_000, 100), 1_000, workers(1, 600 * MIB, 450 * MIB), "libraries take 4"),
        ((10_000, 100_000), 10, workers(1, 512 * MIB), "rows of 100,000 features"),
        ((10_000_000, 32), 10_000, workers(2, 1024 * MIB), "The graph of 10,000,000 rows takes 2.51 GiB"),
        ((200_000, 1_000), 200_000, workers(2, 1024 * MIB), "largest chunk of X takes 762.94 MiB"),
    ],
)
def test_too_little_memory_is_refused_at_once(shape, rows, given, message):
    X = da.zeros(shape, chunks=(rows, -1), dtype=np.float32)
    with pytest.raises(ValueError, match=message) as refused:
        Plan.of(X, 10, given)
    enough = str(refused.value).split("at least ")[1].rstrip(".")
    larger = dask.utils.parse_bytes(enough)
    assert Plan.of(X, 10, {k: {**w, "memory_limit": larger} for k, w in given.items()}).n_cells > 0


def test_evidence_must_fit_too():
    X = da.zeros((10_000_000, 32), chunks=(10_000, -1), dtype=np.float32)
    given = workers(2, 4096 * MIB)
    assert Plan.of(X, 10, given).n_blocks == 4
    with pytest.raises(
        ValueError, match=r"The graph of 10,000,000 rows takes 8\.\d\d GiB with evidence, and 2"
    ):
        Plan.of(X, 10, given, table_bytes=8 * 4 * 20)


def test_plans_follow_the_memory():
    X = da.zeros((3_000_000, 400), chunks=(1_000, -1), dtype=np.float32)
    small, large = (Plan.of(X, 10, workers(2, limit * MIB)) for limit in (1_024, 8_192))
    assert small.n_cells > large.n_cells >= 30
    assert small.chunk_rows < large.chunk_rows
    assert small.n_blocks > large.n_blocks == 2
    # A few bytes more or less in use change nothing, so that a run can be repeated.
    assert Plan.of(X, 10, workers(2, 1_024 * MIB, 150 * MIB)) == small


def test_sparse_rows_must_fit_every_worker():
    X = da.zeros((1_000_000, 50_000), chunks=(1_000, -1), dtype=np.float32)
    assert Plan.of(X, 10, workers(2, 8_192 * MIB), row_bytes=500).whole
    with pytest.raises(ValueError, match=r"one has room for 119,712 of 1,000,000; .*TruncatedSVD") as refused:
        Plan.of(X, 10, workers(2, 1_024 * MIB), row_bytes=500)
    enough = dask.utils.parse_bytes(str(refused.value).split("at least ")[1].split(",")[0])
    assert Plan.of(X, 10, workers(2, enough), row_bytes=500).whole
