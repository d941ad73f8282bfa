"""The search of a cell's neighbours."""

import dask.array as da
import numpy as np
from dask.distributed import Client

from clusters import blobs
from phaselabel import nearest_neighbors
from phaselabel.distributed.build import plan
from phaselabel.distributed.build.gather import gather_neighbors
from phaselabel.distributed.build.graph import GraphSettings, build_graph
from phaselabel.distributed.build.plan import Plan, free_bytes, max_search_rows
from phaselabel.distributed.build.row_cells import row_chunks, sample_cells, shuffle_rows
from phaselabel.distributed.build.search import SearchSet, search_own_rows
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.tasks import Tasks


def test_rows_that_do_not_fit_a_worker_are_searched_in_cells(monkeypatch):
    X, _ = blobs(2_000, seed=8)
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        tasks, folder = Tasks(client), Folder()
        free = free_bytes(next(iter(tasks.workers().values())))
        monkeypatch.setattr(plan, "SEARCH_BYTES", plan.SEARCH_SHARE * free / 1_500)  # room for 1,500 rows
        graph = build_graph(
            tasks, folder, da.from_array(X, chunks=(700, -1)), GraphSettings(), "a job", keep_neighbors=True
        )
    assert folder.load_facts("plan.json")["whole"] is False
    assert graph.partition.counts.shape == (3, 5)
    assert graph.recall >= 0.98
    local = nearest_neighbors(X, 10)
    found = gather_neighbors(graph.partition)
    assert np.mean(found.distances <= local.distances[:, -1:] * (1 + 1e-9)) >= 0.98


def test_a_cell_that_does_not_fit_is_searched_in_parts():
    X, _ = blobs(3_000, seed=8)
    X[1_500] = X[7]  # equal rows are neighbours at distance zero, whatever part they are in
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        tasks, folder = Tasks(client), Folder()
        chunks, sizes = row_chunks(da.from_array(X, chunks=(1_100, -1)), 700)
        assert max(sizes) <= 700
        two_cells = Plan(3_000, X.shape[1], 10, 2, 1, 700, 1_000, 1e9)
        sample_cells(tasks, folder, chunks, sizes, two_cells, False)
        partition, _ = shuffle_rows(tasks, folder, chunks, sizes, two_cells, False)
    searched = SearchSet.of(partition, 0, 1.5)
    np.testing.assert_array_equal(searched.points(np.arange(len(searched.rows))), X[searched.rows])
    assert 0 < len(searched.own) < len(searched.rows)
    whole = search_own_rows(searched, 10, "euclidean", 0.99, 1e9)
    small = 400 / max_search_rows(1, X.shape[1], X.dtype)
    parts = search_own_rows(searched, 10, "euclidean", 0.99, small)
    np.testing.assert_array_equal(parts.indices, whole.indices)
    np.testing.assert_allclose(parts.distances, whole.distances, rtol=1e-12)
