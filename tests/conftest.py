import contextlib
import io
import os
import signal
import subprocess
import sys

import numba
import pytest
from hypothesis import settings

import phaselabel as pl
from phaselabel.cli import main
from tablefiles import write_customers

#: The fixtures that drive the studio in a browser, and that start a cluster.
pytest_plugins = ("driving", "firefox", "clusters")

# Dask's workers look at the frames of all threads a hundred times a second. In Python 3.11 that may stand
# still for ever if garbage is collected meanwhile (python/cpython#106883). Dask reads this when imported.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")

settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what is in the background so; the commands that tests start would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

if "PYTEST_XDIST_WORKER" in os.environ:  # one of several workers, which have a core each
    numba.set_num_threads(1)  # a test of threads may ask for as many as there are cores


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Vectors of texts and pictures are kept in a folder of the tests, not in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PHASELABEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


@pytest.fixture(scope="session")
def digits_graph(digits):
    return pl.similarity_graph(pl.nearest_neighbors(digits[0], 10))


@pytest.fixture(scope="session")
def data_home():
    home = os.environ.get("PHASELABEL_DATA")
    if not home:
        pytest.skip("real data sets are not here: set PHASELABEL_DATA to their folder")
    return home


@pytest.fixture
def run(tmp_path):
    """The command as a process, in a folder of its own."""

    def call(*words, **options):
        return subprocess.run(
            [sys.executable, "-m", "phaselabel", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=300,
            **options,
        )

    return call


@pytest.fixture
def command(tmp_path):
    """The command in this process, which spares loading all libraries again; what `run` returns."""

    def call(*words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([str(word) for word in words])
            except SystemExit as end:  # --help
                code = end.code
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def customers(tmp_path):
    path = tmp_path / "customers.csv"
    return path, write_customers(path)
