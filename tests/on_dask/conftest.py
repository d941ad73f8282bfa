import subprocess
import sys

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
