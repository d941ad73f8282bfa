"""Tasks on a cluster that dies or comes to a standstill."""

import os
from types import SimpleNamespace

import dask
import pytest
from dask.distributed import Client

from clusters import cluster_of
from phaselabel.distributed.tasks import StallTimeout, Tasks


def die():
    os._exit(1)


def test_a_task_that_kills_its_workers_ends_the_run():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster = cluster_of(1)
    ended = pytest.raises(RuntimeError, match=r"Workers died again and again .* 'search'")
    with cluster, Client(cluster) as client, ended:
        Tasks(client).run("search", die, [()])


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
