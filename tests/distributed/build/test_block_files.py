"""A graph cut into the files of blocks."""

import numpy as np

from phaselabel.distributed.build.block_files import block_file, split
from phaselabel.distributed.folder import Folder


def test_blocks_hold_every_edge_once(problem):
    graph, *_ = problem
    folder = Folder()
    partition = split(graph, 3, folder)
    total = 0
    for block in range(3):
        owners = folder.load(block_file(block, "owners"))
        indptr = folder.load(block_file(block, "indptr"))
        total += int(indptr[-1]) - int(indptr[len(owners)])
    assert total == graph.weights.nnz
    rows = np.arange(graph.n_vertices)
    blocks, positions = partition.locate(partition.ids_in(0, rows))
    assert len(set(zip(blocks.tolist(), positions.tolist()))) == len(rows)
