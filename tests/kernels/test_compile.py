"""The switch that makes kernels check every index, and how threads wait."""

import os
import subprocess
import sys

import pytest

CODE = """
import numpy as np
from phaselabel._kernels import compile as switch

def beyond(values):
    return values[5]

kernel = switch._compiled(beyond, parallel=False, fastmath=set())
try:
    kernel(np.zeros(3))
    print("read")
except IndexError:
    print("refused")
"""


def test_an_index_beyond_an_array_is_found_when_bounds_are_checked(tmp_path):
    script = tmp_path / "script.py"  # numba's cache needs a file
    script.write_text(CODE)
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert done.stdout.strip() == "refused", done.stderr


WAITING = """
import os
from phaselabel._kernels import compile as kernels
before = dict(os.environ)
kernels.n_threads()
import numba
print(numba.threading_layer(), dict(os.environ) == before)
"""


@pytest.mark.parametrize(("chosen", "expected"), [(None, "PASSIVE"), ("active", "ACTIVE")])
def test_threads_sleep_until_there_is_work_unless_the_user_wants_otherwise(chosen, expected):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_DISPLAY_ENV": "true"} | ({"OMP_WAIT_POLICY": chosen} if chosen else {})
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, env=environment)
    layer, unchanged = done.stdout.split()
    assert unchanged == "True"
    if layer != "omp":
        pytest.skip(f"numba's threads are those of {layer}")
    assert f"OMP_WAIT_POLICY = '{expected}'" in done.stderr
