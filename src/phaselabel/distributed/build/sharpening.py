"""Blocks of a graph in; the same blocks with edges weighted by shared neighbours out.

The weights are those of :func:`~phaselabel.few_labels.sharpen.sharpened` on the whole graph.
"""

import numpy as np
from scipy import sparse

from phaselabel._kernels import spread as kernels
from phaselabel.distributed.build.assembly import normalize, raw_block
from phaselabel.distributed.build.block_files import block_file, pack
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.tasks import Tasks, exclusive_worker
from phaselabel.few_labels.sharpen import LARGE
from phaselabel.graph.graph import row_totals

#: Stands before the names of a sharpened block's arrays.
SHARP = "sharp_"


def sharpen_blocks(tasks: Tasks, partition: Partition) -> None:
    """Write the sharpened twin of every block, unless it is there."""
    blocks = range(partition.n_blocks)
    if all(partition.folder.has(block_file(block, f"{SHARP}owners")) for block in blocks):
        return
    arguments = [(partition, block) for block in blocks]
    tasks.run("sharpen", _sharpen, arguments)
    tasks.run("normalize", normalize, [(*given, SHARP) for given in arguments])


@exclusive_worker()
def _sharpen(partition: Partition, block: int) -> None:
    """Weigh the edges of a block; edges of boundary vertices are read from the files of their blocks."""
    indptr, columns, weights, owners, positions = raw_block(partition, block)
    n, keys = len(indptr) - 1, pack(owners, positions)
    ends, listed = [indptr], [keys[columns]]
    for owner in np.unique(owners[n:]):
        its_indptr, its_columns, _, its_owners, its_positions = raw_block(partition, int(owner))
        rows = positions[n:][owners[n:] == owner]
        counts = np.diff(its_indptr)[rows]
        place = np.arange(counts.sum()) + np.repeat(its_indptr[rows] - (np.cumsum(counts) - counts), counts)
        ends.append(ends[-1][-1] + np.cumsum(counts))
        listed.append(pack(its_owners, its_positions)[its_columns[place]])
    # Boundary vertices are in the order of owners and positions, as their rows are here; vertices two steps
    # away have columns and no rows.
    beyond = np.setdiff1d(np.concatenate(listed), keys)
    number = np.concatenate([keys, beyond])
    order = np.argsort(number, kind="stable")
    numbered = order[np.searchsorted(number[order], np.concatenate(listed))]
    pointers = np.concatenate(ends)
    pointers = np.concatenate([pointers, np.full(len(beyond), pointers[-1])])
    # The kernel needs sorted columns; ``back`` finds the edge that was there before.
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    back = np.lexsort((numbered, rows))
    overlap, shared = np.empty(len(back)), np.empty(len(back))
    kernels.shared_neighbors(pointers.astype(np.uint32), numbered[back].astype(np.uint32), overlap)
    shared[back] = overlap
    power = 1 if partition.n_rows < LARGE else 2
    sharp = (weights * shared[: len(weights)] ** power).astype(weights.dtype)
    matrix = sparse.csr_array((sharp, columns, indptr), shape=(n, len(owners)))
    partition.folder.save(block_file(block, f"raw_{SHARP}weights"), sharp)
    partition.folder.save(block_file(block, f"{SHARP}degrees"), row_totals(matrix))
