"""Rows whose edges end in several blocks in, arrays on which one block can run by itself out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import graph as kernels
from phaselabel.distributed.build.partition import Partition, order_file
from phaselabel.distributed.folder import Folder
from phaselabel.flow.block import balanced_ranges
from phaselabel.graph import Graph

#: A block and a position are packed into one 64-bit key: the position takes the lower bits.
POSITION_BITS = 40


def pack(block: NDArray[np.integer], position: NDArray[np.integer]) -> NDArray[np.int64]:
    """Blocks and positions as keys, which sort by block first.

    Examples
    --------
    >>> blocks, positions = unpack(pack(np.array([2]), np.array([7])))
    >>> blocks.tolist(), positions.tolist()
    ([2], [7])
    """
    return (block.astype(np.int64) << POSITION_BITS) | position.astype(np.int64)


def unpack(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The blocks and positions of keys."""
    return keys >> POSITION_BITS, keys & ((1 << POSITION_BITS) - 1)


def block_file(block: int, name: str) -> str:
    """The file of one array of a block."""
    return f"blocks/{block:05d}/{name}.npy"


def write_block(
    folder: Folder,
    block: int,
    indptr: NDArray[np.integer],
    owner: NDArray[np.integer],
    position: NDArray[np.integer],
    weights: NDArray[np.floating],
    row_sums: NDArray[np.float64],
    prefix: str = "",
) -> None:
    """Number a block's boundary and its rows, and write its edges to files whose names begin by ``prefix``.

    An edge ends at ``position`` of block ``owner``. The boundary, vertices of other blocks, comes first, in
    the order of owners and positions. Its rows hold the same cut edges from the other end, so that a boundary
    vertex that moves can wake its neighbours in this block. Within a row the edges keep their order.
    """
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    cut = np.flatnonzero(owner != block)
    boundary, number = np.unique(pack(owner[cut], position[cut]), return_inverse=True)
    h = len(boundary)
    indices = (position + h).astype(np.uint32)
    indices[cut] = number
    reverse = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=h)) if h else np.zeros(0, np.int64)
    arrays = {
        "indptr": np.concatenate([[0], ends, len(cut) + indptr[1:]]).astype(np.uint32),
        "indices": np.concatenate([(rows[cut][reverse] + h).astype(np.uint32), indices]),
        "weights": np.concatenate([weights[cut][reverse], weights]),
        "row_sums": np.concatenate([np.zeros(h), row_sums]),
        "owners": unpack(boundary)[0],
    }
    for name, array in arrays.items():
        folder.save(block_file(block, prefix + name), array)


def split(graph: Graph, n_blocks: int, folder: Folder) -> Partition:
    """Cut a graph of this process into blocks of about equal work: runs of a breadth-first walk."""
    indptr, indices, _ = graph.csr
    walk = kernels.breadth_first_order(indptr, indices)
    ends = np.concatenate([[0], np.cumsum(np.diff(indptr)[walk], dtype=np.int64)])
    part = np.empty(graph.n_vertices, np.int64)
    part[walk] = np.repeat(np.arange(n_blocks), np.diff(balanced_ranges(ends, n_blocks)))
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part, minlength=n_blocks)
    folder.save(order_file(0), order)
    partition = Partition(folder, sizes[None], np.arange(n_blocks))
    position = np.empty(graph.n_vertices, np.int64)
    position[order] = np.arange(graph.n_vertices) - (np.cumsum(sizes) - sizes)[part[order]]
    for block in range(n_blocks):
        rows = order[partition.first_ids[block] : partition.first_ids[block + 1]]
        own = graph.normalized[rows]
        write_block(
            folder,
            block,
            own.indptr,
            part[own.indices],
            position[own.indices],
            own.data,
            graph.row_sums[rows],
        )
    partition.save()
    return partition
