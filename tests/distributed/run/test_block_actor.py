"""The rows of one block on a worker."""

import numpy as np
from dask.distributed import Client

import phaselabel as pl
from phaselabel.distributed.run.flow import minimize


def test_blocks_may_be_renumbered_for_the_cache(problem, monkeypatch):
    graph, labels, _ = problem
    monkeypatch.setattr("phaselabel.distributed.run.block_actor.FITS_CACHE", 100)
    # In this process, so that the workers see the changed constant.
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        solution = minimize(graph, labels, client, sweeps_per_round=1, n_blocks=3)
        expected = pl.minimize(graph, labels)
        np.testing.assert_array_equal(solution.height.compute(), expected.height)
        np.testing.assert_array_equal(solution.arm.compute(), expected.arm)
