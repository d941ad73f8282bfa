"""Tests that change the network of this machine, and tests with a browser, one after the other.

Chromium drops its requests, also those to this machine, whenever a network interface comes or goes.
"""

from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows, where no test changes the network
    fcntl = None


@contextmanager
def _locked(tmp_path_factory, operation):
    if fcntl is None:
        yield
        return
    with open(tmp_path_factory.getbasetemp().parent / "network.lock", "a") as file:
        fcntl.flock(file, operation)
        yield


def unchanged_network(tmp_path_factory):
    """As many as like, while nobody changes the network."""
    return _locked(tmp_path_factory, fcntl and fcntl.LOCK_SH)


def changing_network(tmp_path_factory):
    """One alone."""
    return _locked(tmp_path_factory, fcntl and fcntl.LOCK_EX)
