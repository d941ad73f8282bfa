"""Cells grouped into blocks."""

import numpy as np

from phaselabel.distributed.build.assembly import group_cells


def test_grouped_cells_cut_few_edges():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(3), 8))
    edges = np.where(group[:, None] == group[None], 100, 1)
    block = group_cells(edges, np.full(24, 50), 3)
    assert sorted(np.bincount(block)) == [8, 8, 8]
    assert sum(len(set(block[group == h])) for h in range(3)) <= 6
