"""The switch that makes kernels check every index."""

import os
import subprocess
import sys

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
