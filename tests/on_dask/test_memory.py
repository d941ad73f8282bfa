"""Data that does not fit: twice the memory of the whole cluster."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import phaselabel as pl

LIMIT, WIDTH, CHUNK = 450 << 20, 16_384, 250


def rows(block_info=None):
    """Forty blurred patterns, four to a class."""
    (start, stop), _ = block_info[None]["array-location"]
    patterns = np.random.default_rng(0).random((40, WIDTH), np.float32)
    rng = np.random.default_rng(start)
    blur = rng.random((stop - start, WIDTH), np.float32)
    return patterns[np.arange(start, stop) % 40] + blur


def test_twice_the_memory_of_the_cluster(tmp_path):
    n = -(-2 * LIMIT // (4 * WIDTH * CHUNK)) * CHUNK
    X = da.map_blocks(rows, chunks=((CHUNK,) * (n // CHUNK), (WIDTH,)), dtype=np.float32)
    assert X.nbytes >= 2 * LIMIT
    y = np.where(np.arange(n) < 200, np.arange(n) % 10, -1)
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None)
    with cluster, Client(cluster) as client:
        options = {"client": client, "checkpoint": tmp_path / "work"}
        model = pl.GinzburgLandauClassifier(dask_options=options).fit(X, y)
        assert np.mean(model.transduction_.compute() == np.arange(n) % 10) > 0.99
        assert model._fitted.outcome.losses == 0
        peak = client.run(peak_bytes)
    assert max(peak.values()) <= LIMIT


def peak_bytes():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
