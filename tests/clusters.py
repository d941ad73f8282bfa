"""A cluster of processes on this machine, and points of several classes to label on it."""

import subprocess
import sys

import numpy as np
import pytest

WARM = """
import numpy as np, phaselabel as pl
n = 8000
near = (np.arange(n)[:, None] + np.arange(1, 11)) % n
graph = pl.similarity_graph((near, np.full((n, 10), 1.0)))
pl.minimize(graph, np.where(np.arange(n) < 2, np.arange(n), -1), max_iter=40)
"""


@pytest.fixture(scope="session")
def client():
    # A process that compiles kernels may differ in the last bit from those that load them: all shall load.
    subprocess.run([sys.executable, "-c", WARM], check=True)
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=4, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client


def blobs(n=12_000, seed=0, n_classes=5, width=12, dtype=np.float32, apart=2.5):
    """Classes of several small clusters each, some of them touching."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(8 * n_classes, width))
    part = rng.integers(0, len(centres), n)
    return (centres[part] + rng.normal(size=(n, width))).astype(dtype), part % n_classes
