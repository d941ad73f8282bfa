"""The kernels of the spread equal the formulas in their docstrings."""

import numpy as np

from phaselabel._kernels.spread import anchor


def test_shares_are_drawn_to_the_own_class_and_to_the_label():
    rng = np.random.default_rng(0)
    table = rng.random((4, 3)).astype(np.float32)
    arm, labels = np.array([2, -1, 1, 0], np.int32), np.array([-1, -1, 1, 2], np.int32)
    trust = np.array([0.9, 0.9, 0.5, 0.25], np.float32)  # without a label it says nothing
    expected = 0.75 * table
    for i, k in ((0, 2), (2, 1), (3, 0)):
        expected[i, k] += 0.25
    for i, k in ((2, 1), (3, 2)):
        expected[i] *= 1 - trust[i]
        expected[i, k] += trust[i]
    anchor(np.float32(0.75), arm, labels, trust, table)
    np.testing.assert_allclose(table, expected, rtol=1e-6)
