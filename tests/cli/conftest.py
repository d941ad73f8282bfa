import subprocess
import sys

import pytest

from tablefiles import write_customers


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
def customers(tmp_path):
    path = tmp_path / "customers.csv"
    return path, write_customers(path)
