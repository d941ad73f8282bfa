"""A cluster on this machine, and points of several classes to label on it."""

import os

import numpy as np
import pytest

from processes import start_method

# A machine that stands still for minutes must not end a cluster. Dask reads this in every process.
os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "1 hour"
os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP"] = "1 hour"
os.environ["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "1 hour"


@pytest.fixture(scope="session")
def client():
    """Four workers in this process. They talk by TCP, as others do: what they send is pickled."""
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=4, threads_per_worker=1, processes=False, protocol="tcp://", memory_limit=0,
        dashboard_address=None,
    )  # fmt: skip
    with cluster, Client(cluster) as client:
        yield client


def cluster_of(n_workers, memory_limit="2GiB"):
    """A cluster of processes on this machine, which can be killed, and know no variable that a test has set.

    A process that compiles kernels may differ in the last bit from one that loads them: a test that compares
    bits has a local flow compile them first.
    """
    import dask
    from dask.distributed import LocalCluster

    with dask.config.set({"distributed.worker.multiprocessing-method": start_method()}):
        return LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=None
        )


@pytest.fixture(scope="module")
def bucket():
    """The address of a bucket, and an environment in which new processes find its server."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()  # others were made for a server that is gone
        store = s3fs.S3FileSystem(skip_instance_cache=True)
        store.mkdir("jobs")
        yield "s3://jobs"
        store.rm("jobs", recursive=True)  # the buckets of a server outlive it in this process
    server.stop()


def local_flow(weights, labels, **settings):
    """The flow of one process; submitted to a worker, so that the kernels are loaded there, not compiled."""
    import phaselabel as pl

    solution = pl.minimize(pl.Graph(weights), labels, **settings)
    return solution.arm, solution.height, solution.energy, solution.status


def blobs(n=12_000, seed=0, n_classes=5, width=12, dtype=np.float32, apart=2.5):
    """Classes of several small clusters each, some of them touching."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(8 * n_classes, width))
    part = rng.integers(0, len(centres), n)
    return (centres[part] + rng.normal(size=(n, width))).astype(dtype), part % n_classes


def overlapping(n=2_000, seed=0, n_classes=3, width=5):
    """Gaussian classes so close together that class sizes drift in a long flow."""
    rng = np.random.default_rng(seed)
    y, noise = rng.integers(0, n_classes, n), rng.normal(size=(n, width))
    centres = 1.2 * rng.normal(size=(n_classes, width))
    return (noise + centres[y]).astype(np.float32), y
