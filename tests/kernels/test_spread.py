"""The kernels of the spread equal the formulas in their docstrings."""

import numpy as np
import pytest

from phaselabel._kernels.spread import ROWS_PER_SUM, advance, anchor, damp, turn


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


@pytest.mark.parametrize("n", [5, 2 * ROWS_PER_SUM + 3])  # one block, and several of which the last is short
def test_a_step_of_conjugate_gradients_is_its_formula(n):
    rng = np.random.default_rng(0)
    direction, image, solution, residual = rng.normal(size=(4, n, 3)).astype(np.float32)
    free = (rng.random(n) < 0.8).astype(np.float32)
    rate, sums = np.array([0.1, -0.2, 0.3], np.float32), np.empty((-(-n // ROWS_PER_SUM), 3))

    damped = free[:, None] * (np.float32(1.5) * direction - image)
    damp(direction, image, np.float32(1.5), free, sums)
    np.testing.assert_allclose(image, damped, atol=1e-6)
    np.testing.assert_allclose(sums.sum(axis=0), (direction * damped).sum(axis=0), rtol=1e-3)

    ahead, rest = solution + rate * direction, residual - rate * image
    advance(rate, direction, image, solution, residual, sums)
    np.testing.assert_allclose(solution, ahead, atol=1e-6)
    np.testing.assert_allclose(residual, rest, atol=1e-6)
    np.testing.assert_allclose(sums.sum(axis=0), (rest**2).sum(axis=0), rtol=1e-3)

    turned = rate * direction + residual
    turn(rate, residual, direction)
    np.testing.assert_allclose(direction, turned, atol=1e-6)
