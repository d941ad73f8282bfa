"""Tasks on a cluster that dies or comes to a standstill."""

import os
import time
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, Future

from clusters import cluster_of
from phaselabel.distributed.job import Job, Settings
from phaselabel.distributed.tasks import StallTimeout, Tasks


def die():
    os._exit(1)


@pytest.fixture(scope="module")
def elsewhere():
    """A worker in a process of its own, which may die."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster = cluster_of(1)
    with cluster, Client(cluster) as client:
        yield client


def test_a_folder_that_a_worker_does_not_see_is_refused(elsewhere):
    with pytest.raises(ValueError, match="can't read what is written to memory://job here; give a folder"):
        Job(elsewhere, "memory://job").run(da.ones((10, 2)), np.arange(2), np.arange(2), 2, Settings())


def test_a_task_that_kills_its_workers_ends_the_run(elsewhere):
    with pytest.raises(RuntimeError, match=r"Workers died again and again .* 'search'"):
        Tasks(elsewhere).run("search", die, [()])


def test_tasks_that_somebody_cancels_end_the_run_in_a_sentence(client):
    ended = pytest.raises(
        RuntimeError, match="The tasks of the stage 'cells' were cancelled: the scheduler has"
    )

    def cancel():
        client.cancel([Future(key, client) for key in client.futures if "phaselabel-cells" in str(key)])

    with ended:
        Tasks(client).run_once("cells", time.sleep, 2, meanwhile=cancel)


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ({}, "no worker for 0 seconds"),
        ({"a": {"status": "paused", "metrics": {}}}, "their memory is full"),
        ({"a": {"status": "paused", "metrics": {"task_counts": {"executing": 1}}}}, None),
        ({"a": {"status": "running", "metrics": {}}}, None),
    ],
)
def test_a_standstill_ends_the_wait(workers, message, monkeypatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("phaselabel.distributed.tasks.monotonic", lambda: next(clock))
    stall = StallTimeout(SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers}), 0.5)
    if message is None:
        stall.wait()
        return
    with pytest.raises(RuntimeError, match=message):
        stall.wait()
