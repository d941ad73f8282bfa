"""The blocks of a graph, sharpened, are the blocks of the sharpened graph."""

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import phaselabel as pl
from clusters import overlapping
from phaselabel.distributed.build import plan
from phaselabel.distributed.build.block_files import block_file
from phaselabel.distributed.build.sharpening import SHARP, sharpen_blocks
from phaselabel.distributed.tasks import Tasks
from phaselabel.few_labels.sharpen import sharpened


def test_a_sharpened_block_has_the_rows_of_the_sharpened_graph(monkeypatch):
    monkeypatch.setattr(plan, "MIN_ROWS_FOR_CELLS", 500)
    X, y = overlapping(900)
    cluster = LocalCluster(n_workers=2, processes=False, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        options = {"client": client, "in_blocks": True}
        model = pl.GinzburgLandauClassifier(evidence=None, dask_options=options)
        model.fit(da.from_array(X, chunks=(400, -1)), np.where(np.arange(900) < 30, y, -1))
        partition = model._fitted.outcome.graph.partition
        sharpen_blocks(Tasks(client), partition)
    sharp = sharpened(model.gathered().graph_)
    assert partition.n_blocks == 2
    for block in range(2):
        rows = partition.folder.load(block_file(block, "rows"))
        degrees = partition.folder.load(block_file(block, f"{SHARP}degrees"))
        np.testing.assert_array_equal(degrees, sharp.degrees[rows])
        weights, sums = (partition.folder.load(block_file(block, SHARP + n)) for n in ("weights", "row_sums"))
        own = sharp.normalized[rows].data
        np.testing.assert_array_equal(weights[-len(own) :], own)
        np.testing.assert_array_equal(sums[-len(rows) :], sharp.row_sums[rows])
