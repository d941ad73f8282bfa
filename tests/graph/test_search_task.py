"""A search task: blocks that fit the memory, shortlists sorted by distance, comparison with all points."""

import numpy as np
import pytest

from made import cloud
from phaselabel._kernels.graph import MISSING
from phaselabel.graph.scaled_rows import ScaledRows
from phaselabel.graph.search_task import MIN_BLOCK_ROWS, SearchTask


def task(points, queries=None, n_neighbors=4, working_memory=2**20):
    rows = ScaledRows.take(points, "euclidean")
    sought = rows if queries is None else ScaledRows.take(queries, "euclidean", "queries", like=rows)
    return SearchTask(rows, sought, n_neighbors, queries is None, working_memory, lambda rows: None)


def naive_nearest(points, query, allowed, count):
    squares = np.square(points[allowed] - query).sum(axis=1)
    order = np.lexsort((allowed, squares))[:count]
    return np.asarray(allowed)[order]


@pytest.mark.parametrize("bytes_per_row", [0, 1, 1000, 1e9])
def test_blocks_fit_the_memory_or_have_the_least_size(bytes_per_row):
    rows = task(cloud(20)).block_rows(bytes_per_row)
    assert rows >= MIN_BLOCK_ROWS
    assert rows == MIN_BLOCK_ROWS or rows * bytes_per_row <= 2**20


def test_shortlists_are_sorted_by_distance_and_gaps_are_skipped():
    points = cloud(60, 7)
    search = task(points)
    rng = np.random.default_rng(0)
    shortlists = rng.permuted(np.tile(np.arange(-3, 63), (60, 1)), axis=1)[:, :30]  # some are no rows at all
    nearest = search.empty()
    search.rerank(np.arange(60), shortlists, nearest)
    for q, shortlist in enumerate(shortlists):
        allowed = [j for j in shortlist if 0 <= j < 60 and j != q]
        np.testing.assert_array_equal(nearest[0][q], naive_nearest(points, points[q], allowed, 4))


def test_a_shortlist_that_is_too_short_leaves_marked_gaps():
    search = task(cloud(10, 3))
    nearest = search.empty()
    search.rerank(np.arange(10), np.tile([0, 1], (10, 1)), nearest)
    assert (nearest[0][5, 2:] == MISSING).all()
    assert np.isinf(nearest[1][5, 2:]).all()


def test_a_scan_compares_with_all_points():
    points, queries = cloud(50, 5), cloud(8, 5, seed=1)
    search = task(points, queries)
    nearest = search.empty()
    search.scan(np.arange(8), nearest)
    for q in range(8):
        np.testing.assert_array_equal(nearest[0][q], naive_nearest(points, queries[q], np.arange(50), 4))
