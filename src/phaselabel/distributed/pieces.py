"""Rows whose edges end in several blocks in, arrays that one block can run on by itself out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel import _graph_kernels as kernels
from phaselabel.distributed.deal import Deal, order_file
from phaselabel.distributed.folder import Folder
from phaselabel.graph import Graph
from phaselabel.patch import balanced_blocks

#: An owner and a position in one number.
_SHIFT = 40


def piece_file(block: int, name: str) -> str:
    """Where an array of a block is kept."""
    return f"blocks/{block:05d}/{name}.npy"


def save_piece(
    folder: Folder,
    block: int,
    indptr: NDArray[np.integer],
    owner: NDArray[np.integer],
    position: NDArray[np.integer],
    weights: NDArray[np.floating],
    row_sums: NDArray[np.float64],
) -> None:
    """Number a block's boundary and its rows, and keep its edges.

    An edge ends at ``position`` of block ``owner``. The boundary, vertices of others, comes first, in the
    order of owners and positions; its rows hold the same cut edges from the other end, so that a vertex of
    the boundary that moves can wake its neighbours here. Within a row the edges keep their order.
    """
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    cut = np.flatnonzero(owner != block)
    keys = (owner[cut].astype(np.int64) << _SHIFT) | position[cut].astype(np.int64)
    boundary, beyond = np.unique(keys, return_inverse=True)
    h = len(boundary)
    indices = (position + h).astype(np.uint32)
    indices[cut] = beyond
    back = np.argsort(beyond, kind="stable")
    ends = np.cumsum(np.bincount(beyond, minlength=h)) if h else np.zeros(0, np.int64)
    parts = {
        "indptr": np.concatenate([[0], ends, len(cut) + indptr[1:]]).astype(np.uint32),
        "indices": np.concatenate([(rows[cut][back] + h).astype(np.uint32), indices]),
        "weights": np.concatenate([weights[cut][back], weights]),
        "row_sums": np.concatenate([np.zeros(h), row_sums]),
        "owners": boundary >> _SHIFT,
    }
    for name, array in parts.items():
        folder.save(piece_file(block, name), array)


def split(graph: Graph, n_blocks: int, folder: Folder) -> Deal:
    """Cut a graph that is here into blocks of about equal work: runs of a breadth-first walk."""
    indptr, indices, _ = graph.csr
    walk = kernels.breadth_first_order(indptr, indices)
    ends = np.concatenate([[0], np.cumsum(np.diff(indptr)[walk], dtype=np.int64)])
    part = np.empty(graph.n_vertices, np.int64)
    part[walk] = np.repeat(np.arange(n_blocks), np.diff(balanced_blocks(ends, n_blocks)))
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part, minlength=n_blocks)
    folder.save(order_file(0), order)
    deal = Deal(folder, sizes[None], np.arange(n_blocks))
    position = np.empty(graph.n_vertices, np.int64)
    position[order] = np.arange(graph.n_vertices) - (np.cumsum(sizes) - sizes)[part[order]]
    for block in range(n_blocks):
        rows = order[deal.first_ids[block] : deal.first_ids[block + 1]]
        own = graph.normalized[rows]
        save_piece(
            folder,
            block,
            own.indptr,
            part[own.indices],
            position[own.indices],
            own.data,
            graph.row_sums[rows],
        )
    deal.save()
    return deal
