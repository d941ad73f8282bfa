"""Workers that share nothing but a network and an object store: each in a network namespace of its own.

The test runs in a process with a network of its own too: Chromium, which other tests drive, drops its
requests whenever an interface of its network comes or goes.
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import warnings
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event, Thread, Timer
from time import monotonic

import dask.array as da
import numpy as np
import pytest
import yaml
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import overlapping
from phaselabel.distributed.build import plan

fcntl = pytest.importorskip("fcntl")

HERE, *THERE = (f"10.213.0.{number}" for number in range(1, 5))
#: How the process ends where it may not make namespaces.
NOT_ALLOWED = 77
#: Seconds for which a worker can reach nobody.
CUT_SECONDS = 10

ROOT = Path(__file__).parents[2]
SWITCH = ROOT / "tests" / "support" / "switch.py"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=True)


def command_of(service):
    """The command of a service in the compose file of the handbook."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    compose = yaml.safe_load(re.search("```text\n(services:.*?)```", text, re.DOTALL)[1])
    program, *words = compose["services"][service]["command"].split()
    assert program == "dask"
    return [sys.executable, "-m", program, *(word.replace("//scheduler:", f"//{HERE}:") for word in words)]


class Network:
    """Four namespaces, one of them this process's own; packets take 1 ms more, at 100 Mbit/s."""

    def __init__(self):
        self._name, self._processes, files = f"pl{os.getpid() % 100_000}", [], {}
        self._n_workers = 0
        with ExitStack() as devices:
            for number, address in enumerate((HERE, *THERE)):
                files[address] = os.open("/dev/net/tun", os.O_RDWR)
                devices.callback(os.close, files[address])
                device = f"{self._name}t{number}"
                # TUNSETIFF; a device of plain packets (IFF_TUN, IFF_NO_PI)
                fcntl.ioctl(files[address], 0x400454CA, struct.pack("16sH22x", device.encode(), 0x1001))
                inside = []
                if number:
                    inside = ["-n", self._space(number - 1)]
                    ip("netns", "add", inside[1])
                    ip("link", "set", device, "netns", inside[1])
                    ip(*inside, "link", "set", "lo", "up")
                ip(*inside, "addr", "add", f"{address}/24", "dev", device)
                ip(*inside, "link", "set", device, "up")
            words = [str(word) for pair in files.items() for word in pair]
            self._switch = subprocess.Popen(
                [sys.executable, SWITCH, *words], stdin=subprocess.PIPE, pass_fds=list(files.values())
            )

    def _space(self, number):
        return f"{self._name}n{number}"

    def start_scheduler(self):
        """Start the scheduler of the handbook beside this process."""
        words = [*command_of("scheduler"), "--host", HERE, "--no-dashboard"]
        self._processes.append(subprocess.Popen(words, stderr=subprocess.DEVNULL))

    def start_worker(self):
        """Start a worker of the handbook in the next namespace; return its process."""
        words = ["ip", "netns", "exec", self._space(self._n_workers), *command_of("worker")]
        # Without a nanny, so that what is killed or held up is the worker itself.
        words += ["--host", THERE[self._n_workers], "--no-nanny", "--no-dashboard"]
        self._processes.append(subprocess.Popen(words, stderr=subprocess.DEVNULL))
        self._n_workers += 1
        return self._processes[-1]

    def cut_off(self, address=""):
        """Pass nothing on from or to an address, or everything again."""
        self._switch.stdin.write(f"{address}\n".encode())
        self._switch.stdin.flush()

    def close(self):
        for process in (*self._processes, self._switch):
            process.kill()
            process.wait(20)
        for number in range(len(THERE)):
            ip("netns", "del", self._space(number))


@contextmanager
def slow(process):
    """Let a process run for half of the time."""
    ended = Event()

    def hold_up():
        while not ended.wait(0.1):
            process.send_signal(signal.SIGSTOP)
            ended.wait(0.1)
            process.send_signal(signal.SIGCONT)

    thread = Thread(target=hold_up)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def fit(client, X, labels, **options):
    options |= {"client": client, "in_blocks": True, "sweeps_per_round": 1}
    callbacks = options.pop("callbacks", ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pl.GinzburgLandauClassifier(10, dask_options=options, callbacks=callbacks)
        model.fit(da.from_array(X, chunks=(400, -1)), labels)
    return model, model.transduction_.compute()


def test_a_slow_worker_a_cut_a_kill_and_a_late_worker_change_no_label():
    if shutil.which("ip") is None or shutil.which("unshare") is None or not os.path.exists("/dev/net/tun"):
        pytest.skip("there is no ip, no unshare or no /dev/net/tun on this machine")
    path = os.pathsep.join(filter(None, [str(SWITCH.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        ["unshare", "--net", sys.executable, __file__],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    if done.returncode == NOT_ALLOWED or "unshare failed" in done.stderr:
        pytest.skip(f"network namespaces are not allowed here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr


def main():
    """Run the test in the network of this process; exit with ``NOT_ALLOWED`` where there can be none."""
    ip("link", "set", "lo", "up")
    try:
        network = Network()
    except (subprocess.CalledProcessError, PermissionError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(NOT_ALLOWED)
    with closing(network), pytest.MonkeyPatch.context() as patch:
        disturbed(network, patch)


def disturbed(network, monkeypatch):
    """Fit on workers that are slow, cut off, killed and late; compare with a fit where nothing happens."""
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
    network.start_scheduler()
    victim, other = network.start_worker(), network.start_worker()
    with Client(f"tcp://{HERE}:8786", timeout=60) as client, slow(other):
        client.wait_for_workers(2, timeout=120)
        seen = []

        def disturb(sweep, state, energy):
            if not seen:
                network.cut_off(THERE[1])
                Timer(CUT_SECONDS, network.cut_off).start()
            elif len(seen) == 1:
                victim.kill()
                network.start_worker()
            seen.append(monotonic())

        model, found = fit(client, X, labels, checkpoint="s3://far/job", callbacks=disturb)
    server.stop()
    assert len(seen) > 2
    assert seen[1] - seen[0] > CUT_SECONDS
    assert model._fitted.outcome.losses == 1
    assert model._fitted.outcome.graph.n_cut > 0
    np.testing.assert_array_equal(found, expected)


if __name__ == "__main__":
    main()
