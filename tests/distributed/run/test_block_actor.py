"""The rows of one block on a worker."""

import numpy as np

from phaselabel.distributed.run.flow import minimize


def test_blocks_may_be_renumbered_for_the_cache(client, problem, reference, monkeypatch):
    graph, labels, _ = problem
    monkeypatch.setattr("phaselabel.distributed.run.block_actor.FITS_CACHE", 100)
    solution = minimize(graph, labels, client, sweeps_per_round=1, n_blocks=3)
    arm, height, *_ = reference
    np.testing.assert_array_equal(solution.height.compute(), height)
    np.testing.assert_array_equal(solution.arm.compute(), arm)
