"""A graph in blocks on disk in, the same graph in one process out; and results back to the blocks' files."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.distributed.build.block_files import block_file
from phaselabel.distributed.build.partition import Partition, neighbors_file, order_file
from phaselabel.distributed.build.row_cells import points_file
from phaselabel.distributed.build.row_files import load_rows, stacked, stored_bytes
from phaselabel.graph import Graph, Neighbors


def gather_graph(partition: Partition) -> Graph:
    """The whole graph, its vertices in the order of the rows."""
    folder, n_blocks = partition.folder, partition.n_blocks
    rows = [folder.load(block_file(block, "rows")) for block in range(n_blocks)]
    ends = [folder.load(block_file(block, "raw_indptr")) for block in range(n_blocks)]
    counts = np.zeros(partition.n_rows, np.int64)
    for own, indptr in zip(rows, ends):
        counts[own] = np.diff(indptr)
    whole = np.concatenate([[0], np.cumsum(counts)])
    columns, weights = np.empty(whole[-1], np.int32), np.empty(whole[-1], np.float32)
    for block, (own, indptr) in enumerate(zip(rows, ends)):
        owners, positions, of_block, values = (
            folder.load(block_file(block, f"raw_{name}"))
            for name in ("owners", "positions", "columns", "weights")
        )
        numbers = np.empty(len(owners), np.int32)
        for owner in np.unique(owners):
            here = owners == owner
            numbers[here] = rows[owner][positions[here]]
        place = np.arange(len(values)) + np.repeat(whole[own] - indptr[:-1], np.diff(indptr))
        columns[place], weights[place] = numbers[of_block], values
    indptr = whole.astype(np.int32) if whole[-1] < np.iinfo(np.int32).max else whole
    shape = partition.n_rows, partition.n_rows
    return Graph.from_symmetric(sparse.csr_array((weights, columns, indptr), shape=shape))


def gather_neighbors(partition: Partition) -> Neighbors:
    """The neighbours that the search found, in the order of the rows."""
    cells = np.flatnonzero(partition.counts.sum(axis=0))
    # Ids are consecutive from cell to cell.
    rows_of = [partition.rows_of(int(cell)) for cell in cells]
    row_of_id = np.concatenate(rows_of)
    indices: NDArray[np.int32] = np.empty((0, 0), np.int32)
    distances: NDArray[Any] = np.empty((0, 0))
    for cell, rows in zip(cells, rows_of):
        ids, found = (partition.folder.load(neighbors_file(int(cell), n)) for n in ("ids", "distances"))
        if not len(indices):
            indices = np.empty((partition.n_rows, ids.shape[1]), np.int32)
            distances = np.empty(indices.shape, found.dtype)
        indices[rows], distances[rows] = row_of_id[ids], found
    return Neighbors(indices, distances)


def gather_points(partition: Partition) -> Any:
    """The features of all rows, in their order."""
    if sparse.issparse(first := load_rows(partition.folder, points_file(0), mapped=True)):
        parts = [
            first,
            *(load_rows(partition.folder, points_file(c)) for c in range(1, len(partition.counts))),
        ]
        orders = [partition.folder.load(order_file(chunk)) for chunk in range(len(parts))]
        return stacked([part[np.argsort(order)] for part, order in zip(parts, orders)])
    out = None
    for chunk in range(len(partition.counts)):
        stored = partition.folder.load(points_file(chunk), mapped=True)
        if out is None:
            out = np.empty((partition.n_rows, stored.shape[1]), stored.dtype)
        out[partition.first_rows[chunk] + partition.folder.load(order_file(chunk))] = stored
    assert out is not None
    return out


def points_bytes(partition: Partition) -> int:
    """The size of the features of all rows."""
    first = load_rows(partition.folder, points_file(0), mapped=True)
    return int(partition.n_rows * stored_bytes(first) / max(first.shape[0], 1))


def gather_rows(partition: Partition, pattern: str, dtype: Any) -> NDArray[Any]:
    """A result that every block wrote to ``pattern.format(block)``, in the order of the rows."""
    out: NDArray[Any] = np.empty(0, dtype)
    for block in range(partition.n_blocks):
        rows = partition.folder.load(block_file(block, "rows"))
        values = partition.folder.load(pattern.format(block))
        if not block:
            out = np.empty((partition.n_rows, *values.shape[1:]), dtype)
        out[rows] = values
    return out


def scatter_rows(partition: Partition, pattern: str, values: NDArray[Any]) -> None:
    """Write a result of all rows to the files of the blocks."""
    for block in range(partition.n_blocks):
        rows = partition.folder.load(block_file(block, "rows"))
        partition.folder.save(pattern.format(block), values[rows])
