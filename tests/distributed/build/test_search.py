"""The search of a cell's neighbours."""

import dask.array as da
import numpy as np
from dask.distributed import Client

from clusters import blobs
from phaselabel.distributed.build.cells import row_chunks, sample_cells, shuffle_rows
from phaselabel.distributed.build.plan import Plan, max_search_rows
from phaselabel.distributed.build.search import SearchSet, search_own_rows
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.tasks import Tasks


def test_a_cell_that_does_not_fit_is_searched_in_parts():
    X, _ = blobs(3_000, seed=8)
    X[1_500] = X[7]  # equal rows are neighbours at distance zero, whatever part they are in
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        tasks, folder = Tasks(client), Folder()
        chunks, sizes = row_chunks(da.from_array(X, chunks=(1_100, -1)), 700)
        assert max(sizes) <= 700
        plan = Plan(3_000, X.shape[1], 10, 2, 1, 700, 1_000, 1e9)
        sample_cells(tasks, folder, chunks, sizes, plan, False)
        partition, _ = shuffle_rows(tasks, folder, chunks, sizes, plan, False)
    searched = SearchSet.of(partition, 0, 1.5)
    np.testing.assert_array_equal(searched.points(np.arange(len(searched.rows))), X[searched.rows])
    assert 0 < len(searched.own) < len(searched.rows)
    whole = search_own_rows(searched, 10, "euclidean", 0.99, 1e9)
    small = 400 / max_search_rows(1, X.shape[1], X.dtype)
    parts = search_own_rows(searched, 10, "euclidean", 0.99, small)
    np.testing.assert_array_equal(parts.indices, whole.indices)
    np.testing.assert_allclose(parts.distances, whole.distances, rtol=1e-12)
