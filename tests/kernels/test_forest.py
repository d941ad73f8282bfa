"""The kernels that grow and follow trees equal their slow twins."""

import numpy as np
import pytest

import naive
from phaselabel._kernels import forest as kernels


def grown(grow, rows, classes, weights, seeds, n_tried, extra):
    shape, k = (len(seeds), 2 * len(rows)), int(classes.max()) + 1
    feature, left, right = (np.full(shape, -9, np.int32) for _ in range(3))
    threshold, value = np.zeros(shape), np.zeros((*shape, k), np.float32)
    n_nodes = np.zeros(len(seeds), np.int64)
    grow(rows, classes, weights, seeds, n_tried, extra, feature, threshold, left, right, value, n_nodes)
    return feature, threshold, left, right, value, n_nodes


def continuous(rng):
    return rng.normal(size=(30, 7))


def whole_numbers(rng):
    """Many equal values, columns without any difference, zeros of both signs."""
    rows = rng.integers(-2, 3, size=(30, 7)) * 1.0
    rows[:, 2] = 5
    return np.where((rows == 0) & (rng.random(rows.shape) < 0.5), -0.0, rows)


def twice(rng):
    """Rows that no column tells apart, most of them of several classes."""
    return np.repeat(rng.normal(size=(10, 7)), 3, axis=0)


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("make", [continuous, whole_numbers, twice])
@pytest.mark.parametrize("flavour", ["serial", "parallel"])
def test_trees_are_those_of_the_twin(make, extra, flavour):
    rng = np.random.default_rng(3)
    rows, classes = make(rng).astype(np.float32), rng.integers(0, 4, 30)
    weights = rng.choice([0.25, 1.0, 2.0], 30)
    seeds = np.random.SeedSequence(1).generate_state(12, np.uint64)
    made = grown(getattr(kernels.grow_trees, flavour), rows, classes, weights, seeds, 2, extra)
    for seed, n_nodes, *nodes in zip(seeds, made[-1], *made[:-1]):
        twin = naive.tree(rows, classes, weights, 4, seed, 2, extra)
        assert n_nodes == len(twin)
        for name, ours in zip(("column", "threshold", "left", "right", "shares"), nodes):
            expected = [node[name] for node in twin]
            np.testing.assert_allclose(ours[:n_nodes], expected, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("extra", [False, True])
def test_numbers_that_are_none_end_in_leaves(extra):
    rng = np.random.default_rng(0)
    rows = rng.choice([0.0, 1.0, np.nan, np.inf, -np.inf, 3e38, -3e38], (40, 3)).astype(np.float32)
    seeds = np.arange(50, dtype=np.uint64)
    made = grown(kernels.grow_trees.serial, rows, rng.integers(0, 2, 40), np.ones(40), seeds, 2, extra)
    assert made[-1].max() < 2 * 40
    for left, n_nodes in zip(made[2], made[-1]):
        assert left[:n_nodes].max() < n_nodes
        assert (left[n_nodes:] == -9).all()  # nothing is written behind the last node


def test_a_row_has_the_mean_of_its_leaves():
    rng = np.random.default_rng(5)
    rows, classes = rng.normal(size=(30, 4)).astype(np.float32), rng.integers(0, 3, 30)
    seeds = np.arange(9, dtype=np.uint64)
    feature, threshold, left, right, value, _ = grown(
        kernels.grow_trees.serial, rows, classes, np.ones(30), seeds, 2, False
    )
    new = rng.normal(size=(20, 4)).astype(np.float32)
    expected = np.zeros((20, 3))
    for t in range(9):
        for i, row in enumerate(new):
            node = 0
            while left[t, node] >= 0:
                node = left[t, node] if row[feature[t, node]] <= threshold[t, node] else right[t, node]
            expected[i] += value[t, node] / 9
    most = left.shape[1]
    shift = (np.arange(9) * most)[:, None]
    ends = [np.where(side >= 0, side + shift, -1).ravel() for side in (left, right)]
    out = np.empty((20, 3), np.float32)
    roots = np.arange(9) * most
    kernels.leaf_means(new, roots, feature.ravel(), threshold.ravel(), *ends, value.reshape(-1, 3), out)
    np.testing.assert_allclose(out, expected, atol=1e-6)
