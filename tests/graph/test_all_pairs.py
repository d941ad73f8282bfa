"""Comparisons of all pairs by faiss, in this process and in a forked child of it."""

import os
import subprocess
import sys

import numpy as np
import pytest

from made import cloud
from phaselabel.graph.all_pairs import nearest_pairs, squared_distances


def test_squared_distances_and_the_nearest_of_them():
    queries, points = (cloud(n, 9, seed=n).astype(np.float32) for n in (20, 50))
    expected = np.square(queries[:, None].astype(float) - points).sum(axis=2)
    np.testing.assert_allclose(squared_distances(queries, points), expected, rtol=1e-4, atol=1e-4)
    squares, numbers = nearest_pairs(queries, points, 5)
    np.testing.assert_array_equal(numbers, np.argsort(expected, axis=1)[:, :5])
    np.testing.assert_allclose(squares, np.sort(expected, axis=1)[:, :5], rtol=1e-4, atol=1e-4)


FIT_FORK_FIT = """
import faulthandler, os, sys, warnings
import numpy as np
import phaselabel as pl

warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(4000, 12))
y = np.where(np.arange(4000) < 20, np.arange(4000) % 2, -1)

def work():
    if {metric!r} == "fit":
        return pl.GinzburgLandauClassifier().fit(X, y).transduction_
    return pl.nearest_neighbors(X, 5, metric={metric!r}).indices

first = work()
child = os.fork()
if not child:
    faulthandler.dump_traceback_later(50, exit=True)
    os._exit(0 if (work() == first).all() else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("metric", ["fit", "sqeuclidean"])
def test_a_forked_child_of_a_process_that_searched_can_search(metric):
    code = FIT_FORK_FIT.format(metric=metric)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
