"""Processes that share what takes longest to load.

They are forked from a process that has imported the libraries, and nothing of `phaselabel`: half a second of
processor time each instead of three. Tests of how a command starts use `run`, which starts Python anew.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import forkserver, get_context

LIBRARIES = [
    "PIL.Image",
    "dask.array",
    "distributed",
    "faiss",
    "numba",
    "pandas",
    "pyarrow.parquet",
    "scipy.io",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.neighbors",
    "starlette.applications",
    "tifffile",
    "uvicorn",
]
_context = get_context("forkserver" if sys.platform == "linux" else None)
_context.set_forkserver_preload(LIBRARIES)


def start_method():
    """How processes of a Dask cluster start: forked from the one with the libraries where that is safe."""
    if sys.platform != "linux":
        return "spawn"
    forkserver.ensure_running()  # before Dask chooses what it has loaded
    return "forkserver"


def _command(words, folder, environment, out, err):
    for stream, end in ((1, out), (2, err)):
        os.dup2(end.fileno(), stream)
        end.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    from phaselabel.cli import main

    sys.exit(main(words))


def _answer(function, values, end):
    end.send(function(*values))
    end.close()


def forked(function, *values):
    """What a function of a module returns in a process that has loaded the libraries, and nothing else."""
    answer, end = _context.Pipe(duplex=False)
    process = _context.Process(target=_answer, args=(function, values, end))
    process.start()
    end.close()
    try:
        found = answer.recv()
    except EOFError:
        found = None
    process.join(300)
    assert process.exitcode == 0, f"{function.__name__} ended with {process.exitcode}"
    return found


class ForkedCommand:
    """`phaselabel …` in a folder, with what `subprocess.Popen` would offer."""

    def __init__(self, folder, *words):
        ends = [_context.Pipe(duplex=False) for _ in ("stdout", "stderr")]
        written = [end for _, end in ends]
        self._process = _context.Process(
            target=_command, args=([str(word) for word in words], str(folder), dict(os.environ), *written)
        )
        self._process.start()
        self.pid = self._process.pid
        self.stdout, self.stderr = (os.fdopen(os.dup(end.fileno()), encoding="utf-8") for end, _ in ends)
        for end in (end for pair in ends for end in pair):
            end.close()

    def send_signal(self, number):
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it may have ended, and its exit code not have come yet
                os.kill(self.pid, number)

    def kill(self):
        """End it as the power would."""
        self.send_signal(signal.SIGKILL)

    def poll(self):
        """The exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self, seconds=None):
        """The exit code, once it has ended."""
        self._process.join(seconds)
        return self.poll()


def start_command(folder, *words):
    """Start `phaselabel …` in a folder: forked where that is safe, else as Python anew."""
    if sys.platform == "linux":
        return ForkedCommand(folder, *words)
    return subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
    )  # fmt: skip
