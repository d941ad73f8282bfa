"""Neighbours of every row, cell by cell, in; blocks of a symmetric, normalised graph out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.distributed.build.block_files import block_file, pack, unpack, write_block
from phaselabel.distributed.build.partition import Partition, neighbors_file
from phaselabel.distributed.tasks import Tasks, exclusive_worker
from phaselabel.graph import Neighbors
from phaselabel.graph.graph import normalized_rows, row_totals
from phaselabel.graph.weights import similarities, symmetric

#: An edge that ends in another block: ``source`` is a position here, ``target`` one there.
CUT_EDGE = np.dtype([("target", np.int64), ("source", np.int64), ("distance", np.float64)])

#: Files that are needed only until the blocks are written.
INTERMEDIATE = ("cut_edges/*", "candidates/*")

#: What the search found, from which graphs of fewer neighbours can be made.
NEIGHBORS = ("neighbors/*",)

#: Files from which the whole graph, and a model of it, can be made in one process.
WHOLE = ("points/*", "blocks/*/raw_*")


def group_cells(edges: NDArray[np.int64], sizes: NDArray[np.int64], n_blocks: int) -> NDArray[np.int64]:
    """The block of every cell: blocks of about equally many rows, with few edges between them.

    Cells are sorted by the second eigenvector of the Laplacian of their own graph, so that cells with many
    edges between them are near each other, and the sorted list is cut into equal parts.
    """
    if n_blocks == 1 or len(sizes) <= n_blocks:
        return np.minimum(np.arange(len(sizes)), n_blocks - 1)
    joined = (edges + edges.T).astype(np.float64)
    np.fill_diagonal(joined, 0)
    degrees = np.maximum(joined.sum(axis=1), 1e-12)
    walk = joined / np.sqrt(degrees[:, None] * degrees[None])
    order = np.argsort(np.linalg.eigh(walk)[1][:, -2] / np.sqrt(degrees), kind="stable")
    middle = np.cumsum(sizes[order]) - sizes[order] / 2
    block = np.minimum((middle / max(sizes.sum(), 1) * n_blocks).astype(np.int64), n_blocks - 1)
    out = np.empty(len(sizes), np.int64)
    # A cell may be larger than a part, which leaves a block without cells: blocks are numbered anew.
    out[order] = np.unique(block, return_inverse=True)[1]
    return out


def assemble(tasks: Tasks, partition: Partition) -> tuple[int, int]:
    """Make the graph symmetric by a shuffle, weigh and normalise it; return its edges, and the cut ones."""
    arguments = [(partition, block) for block in range(partition.n_blocks)]
    tasks.run("edges", _write_cut_edges, arguments)
    counts = tasks.run("weights", _weigh, arguments)
    tasks.run("normalize", normalize, arguments)
    return sum(edges for edges, _ in counts), sum(cut for _, cut in counts)


def remove_intermediate_files(partition: Partition, keep_whole: bool, keep_neighbors: bool = False) -> None:
    """Remove what was needed only to build the blocks.

    With ``keep_whole`` the graph can be gathered, with ``keep_neighbors`` rows and neighbours can.
    """
    rest = () if keep_neighbors else NEIGHBORS
    for pattern in (*INTERMEDIATE, *rest, *(() if keep_whole else WHOLE)):
        partition.folder.remove(pattern)


def _cut_edges_file(source: int, target: int) -> str:
    return f"cut_edges/{source:05d}-{target:05d}.npy"


def _of_block(partition: Partition, block: int, what: str) -> NDArray[Any]:
    """An array of the search for all rows of a block, in the order of their positions."""
    cells = partition.cells_of(block)
    return np.concatenate([partition.folder.load(neighbors_file(int(cell), what)) for cell in cells])


@exclusive_worker()
def _write_cut_edges(partition: Partition, block: int) -> None:
    """Write the edges from this block to every other one, and what other blocks need of this one."""
    folder = partition.folder
    owner, position = partition.locate(_of_block(partition, block, "ids"))
    distance = _of_block(partition, block, "distances")
    source = np.broadcast_to(np.arange(len(owner))[:, None], owner.shape)
    for other in range(partition.n_blocks):
        there = owner == other
        if other != block:
            edges = np.empty(int(there.sum()), CUT_EDGE)
            edges["target"], edges["source"] = position[there], source[there]
            edges["distance"] = distance[there]
            folder.save(_cut_edges_file(block, other), edges)
    folder.save(block_file(block, "tau"), _of_block(partition, block, "tau"))
    rows = np.concatenate([partition.rows_of(int(cell)) for cell in partition.cells_of(block)])
    folder.save(block_file(block, "rows"), rows)


class Boundary:
    """Vertices of other blocks that have edges to this one, numbered after the block's own."""

    def __init__(self, partition: Partition, n_own: int, owner: NDArray[Any], position: NDArray[Any]) -> None:
        self._partition, self._n_own = partition, n_own
        self._keys = np.unique(pack(owner, position))
        self.owners, self.positions = unpack(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def number(self, owner: NDArray[Any], position: NDArray[Any]) -> NDArray[np.int64]:
        """The numbers of vertices, by their blocks and positions there."""
        return self._n_own + np.searchsorted(self._keys, pack(owner, position))

    def load(self, what: str) -> NDArray[Any]:
        """An array of the owners, for these vertices."""
        parts = [
            self._partition.folder.load(block_file(int(owner), what), mapped=True)[
                self.positions[self.owners == owner]
            ]
            for owner in np.unique(self.owners)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def _weigh(partition: Partition, block: int) -> tuple[int, int]:
    """The rows of the symmetric matrix of similarities, every row's edges in the order of row numbers."""
    folder = partition.folder
    with exclusive_worker():
        owner, position = partition.locate(_of_block(partition, block, "ids"))
        incoming, incoming_owner = _incoming_edges(partition, block)
        n, cut = len(owner), owner != block
        boundary = Boundary(
            partition,
            n,
            np.concatenate([owner[cut], incoming_owner]),
            np.concatenate([position[cut], incoming["source"]]),
        )
        indices = position.astype(np.int32)
        indices[cut] = boundary.number(owner[cut], position[cut])
        del owner, position, cut
        neighbors = Neighbors(indices, _of_block(partition, block, "distances"))
        tau = np.concatenate([folder.load(block_file(block, "tau")), boundary.load("tau")])
        values = similarities(neighbors, tau[:n], tau).astype(np.float32)
        matrix = symmetric(indices, values, n + len(boundary))
        sources = boundary.number(incoming_owner, incoming["source"])
        matrix = matrix + _reversed_edges(incoming, sources, indices, tau, matrix.shape)
        # Sums are taken in the order of the row numbers, as in a graph that was never cut.
        rows = np.concatenate([folder.load(block_file(block, "rows")), boundary.load("rows")])
        order = np.argsort(rows)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        matrix = sparse.csr_array((matrix.data, rank[matrix.indices], matrix.indptr), shape=matrix.shape)
        matrix.sort_indices()
        columns = order.astype(np.int32)[matrix.indices]
    owners, positions = np.full(len(order), block, np.int32), np.arange(len(order), dtype=np.int32)
    owners[n:], positions[n:] = boundary.owners, boundary.positions
    for name, array in {
        "raw_indptr": matrix.indptr, "raw_columns": columns, "raw_weights": matrix.data,
        "raw_owners": owners, "raw_positions": positions, "degrees": row_totals(matrix),
    }.items():  # fmt: skip
        folder.save(block_file(block, name), array)
    return int(matrix.nnz), int((columns >= n).sum())


def _incoming_edges(partition: Partition, block: int) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """The cut edges that end in this block, and the blocks they come from."""
    others = [other for other in range(partition.n_blocks) if other != block]
    parts = [partition.folder.load(_cut_edges_file(other, block)) for other in others]
    owners = [np.full(len(part), other) for other, part in zip(others, parts)]
    return np.concatenate([*parts, np.zeros(0, CUT_EDGE)]), np.concatenate([*owners, np.zeros(0, np.int64)])


def _reversed_edges(
    incoming: NDArray[Any],
    sources: NDArray[np.int64],
    indices: NDArray[np.int32],
    tau: NDArray[Any],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """The edges back to rows of other blocks that have a neighbour here and are not its neighbours."""
    target = incoming["target"]
    new = ~(indices[target] == sources[:, None]).any(axis=1)
    target, source = target[new], sources[new]
    single = Neighbors(source[:, None].astype(np.int32), incoming["distance"][new][:, None])
    values = similarities(single, tau[target], tau).astype(np.float32).ravel()
    return sparse.csr_array((values, (target, source)), shape=shape)


def raw_block(partition: Partition, block: int, prefix: str = "") -> list[NDArray[Any]]:
    """A block before it is normalised, with weights of some name: CSR, and where its columns are."""
    names = ("indptr", "columns", f"{prefix}weights", "owners", "positions")
    return [partition.folder.load(block_file(block, f"raw_{name}")) for name in names]


@exclusive_worker()
def normalize(partition: Partition, block: int, prefix: str = "") -> None:
    """Compute ŵ, now that all degrees are known, and write the block as the flow reads it."""
    indptr, columns, weights, owners, positions = raw_block(partition, block, prefix)
    folder, n = partition.folder, len(indptr) - 1
    degrees = folder.load(block_file(block, f"{prefix}degrees"))
    boundary = Boundary(partition, n, owners[n:], positions[n:])
    of_columns = np.concatenate([degrees, boundary.load(f"{prefix}degrees")])
    matrix = sparse.csr_array((weights, columns, indptr), shape=(n, len(owners)))
    normal = normalized_rows(matrix, degrees, of_columns)
    write_block(
        folder, block, indptr, owners[columns], positions[columns], normal.data, row_totals(normal), prefix
    )
