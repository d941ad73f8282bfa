"""Workers that share nothing but a network and an object store: each in a network namespace of its own."""

import os
import shutil
import subprocess
import sys
import warnings
from contextlib import closing, suppress

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import overlapping
from network import changing_network
from phaselabel.distributed.build import plan

HERE = "10.213.77.1"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True)


class Network:
    """A bridge on this machine, and a namespace for every worker: 1 ms away, 100 Mbit/s if possible."""

    def __init__(self):
        self._name, self._spaces, self._processes = f"pl{os.getpid() % 100_000}", [], []
        ip("link", "add", f"{self._name}br", "type", "bridge")
        ip("addr", "add", f"{HERE}/24", "dev", f"{self._name}br")
        ip("link", "set", f"{self._name}br", "up")

    def start_worker(self, scheduler):
        """Start a worker in a new namespace; return its process."""
        number = len(self._spaces)
        space, inside, outside = (f"{self._name}{end}{number}" for end in "nio")
        address = f"10.213.77.{10 + number}"
        ip("netns", "add", space)
        self._spaces.append(space)
        ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space)
        ip("link", "set", outside, "master", f"{self._name}br", "up")
        ip("-n", space, "addr", "add", f"{address}/24", "dev", inside)
        ip("-n", space, "link", "set", inside, "up")
        ip("-n", space, "link", "set", "lo", "up")
        slow = ["tc", "qdisc", "add", "dev", inside, "root", "netem", "delay", "1ms", "rate", "100mbit"]
        with suppress(subprocess.CalledProcessError):  # not every kernel has netem
            ip("netns", "exec", space, *slow)
        words = [
            "--no-nanny",
            "--no-dashboard",
            "--nthreads",
            "1",
            "--memory-limit",
            "2GiB",
            "--host",
            address,
        ]
        self._processes.append(
            subprocess.Popen(
                [
                    "ip",
                    "netns",
                    "exec",
                    space,
                    sys.executable,
                    "-m",
                    "distributed.cli.dask_worker",
                    scheduler,
                    *words,
                ],
                stderr=subprocess.DEVNULL,
            )
        )
        return self._processes[-1]

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait(20)
        for space in self._spaces:
            ip("netns", "del", space)
        ip("link", "del", f"{self._name}br")


@pytest.fixture
def network(tmp_path_factory):
    if shutil.which("ip") is None or shutil.which("tc") is None:
        pytest.skip("there is no ip or no tc on this machine")
    with changing_network(tmp_path_factory):
        try:
            network = Network()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
        with closing(network):
            yield network


def fit(client, X, labels, **options):
    options |= {"client": client, "in_blocks": True, "sweeps_per_round": 1}
    callbacks = options.pop("callbacks", ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pl.GinzburgLandauClassifier(10, dask_options=options, callbacks=callbacks)
        model.fit(da.from_array(X, chunks=(400, -1)), labels)
    return model, model.transduction_.compute()


def test_a_worker_killed_and_a_late_one_change_no_label(network, monkeypatch):
    import s3fs
    from moto.server import ThreadedMotoServer

    monkeypatch.setattr(plan, "MIN_ROWS_FOR_CELLS", 500)
    X, y = overlapping(900)
    labels = pl.datasets.sample_labels(y, 20, random_state=3)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as here,
        Client(here) as client,
    ):
        _, expected = fit(client, X, labels)
    server = ThreadedMotoServer(ip_address=HERE, port=0)
    server.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nothing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir("far")
    with LocalCluster(
        n_workers=0, host=HERE, processes=False, protocol="tcp://", dashboard_address=None
    ) as far:
        address = far.scheduler_address
        victim, _ = network.start_worker(address), network.start_worker(address)
        with Client(address) as client:
            client.wait_for_workers(2, timeout=120)
            seen = []

            def kill(sweep, state, energy):
                if not seen:
                    victim.kill()
                    network.start_worker(address)
                seen.append(sweep)

            model, found = fit(client, X, labels, checkpoint="s3://far/job", callbacks=kill)
    server.stop()
    assert len(seen) > 1
    assert model._fitted.outcome.losses == 1
    assert model._fitted.outcome.graph.n_cut > 0
    np.testing.assert_array_equal(found, expected)
