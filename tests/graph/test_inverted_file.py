"""Cells of rows, groups of cells, and the lists that are updated while cells are opened."""

import numpy as np
import pytest

from phaselabel.graph import inverted_file, nearest_neighbors
from phaselabel.graph.inverted_file import InvertedFile, Means, NearestLists


def blobs(n=6000, width=16, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(40, width))
    return (centres[rng.integers(40, size=n)] + rng.normal(size=(n, width))).astype(np.float32)


def naive_nearest(rows, query, allowed, count):
    """The nearest of the allowed rows, and their squared distances."""
    squares = np.square(rows[allowed].astype(float) - query).sum(axis=1)
    order = np.argsort(squares)[:count]
    return allowed[order], squares[order]


@pytest.mark.parametrize("n_queries", [7, 5000])
@pytest.mark.parametrize("probes", [1, 5])
def test_cells_opened_together_equal_cells_opened_one_by_one(probes, n_queries):
    rng = np.random.default_rng(probes)
    sizes = np.array([1, 0, 40, 1300, 7, 33])  # an empty cell, and one that needs two products
    first = np.concatenate([[0], np.cumsum(sizes)])
    means = 3 * rng.normal(size=(6, 9)).astype(np.float32)
    points = (np.repeat(means, sizes, axis=0) + rng.normal(size=(sizes.sum(), 9))).astype(np.float32)
    numbers = rng.permutation(len(points)).astype(np.int32)
    queries = rng.normal(size=(n_queries, 9)).astype(np.float32)
    opened = rng.permuted(np.tile(np.arange(6, dtype=np.int32), (n_queries, 1)), axis=1)[:, :probes].copy()
    opened[::3, 1:] = -1  # these open one cell only
    lists, again = NearestLists(n_queries, 60), NearestLists(n_queries, 60)
    for one in (lists, again):
        one.update(points, numbers, first, means, queries, opened)
    for q in range(0, n_queries, 1 + n_queries // 50):
        allowed = np.concatenate([np.arange(first[c], first[c + 1]) for c in opened[q] if c >= 0])
        rows, squares = naive_nearest(points, queries[q], allowed, 60)
        np.testing.assert_array_equal(lists.ids[q, : len(rows)], numbers[rows])
        np.testing.assert_allclose(lists.squares[q, : len(rows)], squares, rtol=1e-4)
        assert (lists.ids[q, len(rows) :] == -1).all()
    np.testing.assert_array_equal(lists.ids, again.ids)
    np.testing.assert_array_equal(lists.squares, again.squares)


def test_a_list_is_updated_block_by_block():
    rows, queries = blobs(900), blobs(50, seed=1)
    lists = NearestLists(50, 8)
    for start in range(0, 900, 300):
        block, numbers = rows[start : start + 300], np.arange(start, start + 300, dtype=np.int32)
        mean = block.mean(axis=0, keepdims=True)
        lists.update(block, numbers, np.array([0, 300]), mean, queries, np.zeros((50, 1), np.int32))
    for q in range(50):
        np.testing.assert_array_equal(lists.ids[q], naive_nearest(rows, queries[q], np.arange(900), 8)[0])


def test_every_row_is_in_the_cell_of_the_nearest_mean():
    rows = blobs()
    file = InvertedFile(rows, 60)
    np.testing.assert_array_equal(np.sort(file.order), np.arange(len(rows)))
    np.testing.assert_array_equal(file.rows, rows[file.order])
    assert (np.diff(file.first) > 0).all()
    own = np.square(rows[:, None] - file.means.values).sum(2)
    chosen = own[np.arange(len(rows)), file.cell]
    np.testing.assert_allclose(chosen, own.min(axis=1), rtol=1e-4)


def test_with_all_cells_opened_the_search_is_exact():
    rows, queries = blobs(2000), blobs(100, seed=1)
    file = InvertedFile(rows, 30)
    nearest = file.nearest(queries, 7, len(file.means))
    for q in range(100):
        np.testing.assert_array_equal(nearest[q], naive_nearest(rows, queries[q], np.arange(2000), 7)[0])


def test_groups_find_the_means_that_a_full_comparison_finds(monkeypatch):
    values = Means.by_kmeans(blobs(), 300).values
    queries = blobs(400, seed=2)
    all_compared = Means(values).nearest(queries, 9)
    monkeypatch.setattr(inverted_file, "MAX_UNGROUPED_MEANS", 50)
    grouped = Means(values)
    assert grouped.groups is not None
    everything = grouped.nearest(queries, 9, len(grouped.groups.means))
    np.testing.assert_array_equal(everything, all_compared)
    some = grouped.nearest(queries, 9, 8)
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(some, all_compared, strict=True)]) > 8.5
    alone = grouped.nearest(queries, 60, 1)
    assert (alone[:, 0] >= 0).all()  # no group is empty
    assert (alone == -1).any()  # but one group has fewer than sixty means


def test_neighbours_are_found_through_groups(monkeypatch):
    X = blobs(5000)
    truth = nearest_neighbors(X, 10, method="exact")
    monkeypatch.setattr(inverted_file, "MAX_UNGROUPED_MEANS", 8)
    found = nearest_neighbors(X, 10, method="shortlist", recall=0.97)
    hits = [len(np.intersect1d(a, b)) for a, b in zip(found.indices, truth.indices, strict=True)]
    assert np.mean(hits) / 10 > 0.96
    assert found.recall == pytest.approx(np.mean(hits) / 10, abs=0.02)


def test_many_equal_rows_in_groups(monkeypatch):
    monkeypatch.setattr(inverted_file, "MAX_UNGROUPED_MEANS", 8)
    X = blobs(3000)
    X[500:2500] = X[0]
    truth = nearest_neighbors(X, 5, method="exact")
    # The recall is that of all rows, and equal ones are never missed: half a percent is 1.5 % of the rest.
    found = nearest_neighbors(X, 5, method="shortlist", recall=0.995)
    rest = np.r_[1:500, 2500:3000]
    assert (found.distances[500:2500] == 0).all()
    assert np.isclose(found.distances[rest], truth.distances[rest]).mean() > 0.98
