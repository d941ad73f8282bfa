"""Neighbours of every row, cell by cell, in; blocks of a symmetric, normalised graph out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.distributed.deal import Deal
from phaselabel.distributed.pieces import piece_file, save_piece
from phaselabel.distributed.search import near_file
from phaselabel.distributed.tasks import Tasks, whole_worker
from phaselabel.graph import Neighbors
from phaselabel.graph.graph import normalized_rows, row_totals
from phaselabel.graph.weights import similarities, symmetric

#: An edge as it is told to the block where it ends.
EDGE = np.dtype([("tail", np.int64), ("head", np.int64), ("distance", np.float64)])


def group_cells(edges: NDArray[np.int64], sizes: NDArray[np.int64], n_blocks: int) -> NDArray[np.int64]:
    """The block of every cell: about equally many rows each, few edges between them.

    Cells are put in a line by the second eigenvector of their own graph's Laplacian, which keeps together
    what hangs together, and the line is cut into equal parts.
    """
    if n_blocks == 1 or len(sizes) <= n_blocks:
        return np.minimum(np.arange(len(sizes)), n_blocks - 1)
    joined = (edges + edges.T).astype(np.float64)
    np.fill_diagonal(joined, 0)
    degrees = np.maximum(joined.sum(axis=1), 1e-12)
    walk = joined / np.sqrt(degrees[:, None] * degrees[None])
    line = np.argsort(np.linalg.eigh(walk)[1][:, -2] / np.sqrt(degrees), kind="stable")
    middle = np.cumsum(sizes[line]) - sizes[line] / 2
    block = np.minimum((middle / max(sizes.sum(), 1) * n_blocks).astype(np.int64), n_blocks - 1)
    out = np.empty(len(sizes), np.int64)
    # A cell may be larger than a part: numbers without a cell are left out.
    out[line] = np.unique(block, return_inverse=True)[1]
    return out


def assemble(tasks: Tasks, deal: Deal) -> tuple[int, int]:
    """Make the graph symmetric by a shuffle, weigh and normalise it; how many edges it has, and cut."""
    blocks = range(deal.n_blocks)
    tasks.run("edges", _tell_edges, [(deal, b) for b in blocks])
    counts = tasks.run("weights", _weigh, [(deal, b) for b in blocks])
    tasks.run("normalize", _normalize, [(deal, b) for b in blocks])
    return sum(c[0] for c in counts), sum(c[1] for c in counts)


def _mail_file(sender: int, receiver: int) -> str:
    return f"mail/{sender:05d}-{receiver:05d}.npy"


def _own(deal: Deal, block: int, what: str) -> NDArray[Any]:
    """Something of all rows of a block, in the order of their positions."""
    return np.concatenate([deal.folder.load(near_file(int(c), what)) for c in deal.cells_of(block)])


@whole_worker()
def _tell_edges(deal: Deal, block: int) -> None:
    """Tell every other block which of its rows are neighbours of rows here; and keep what others ask for."""
    folder = deal.folder
    owner, position = deal.places(_own(deal, block, "ids"))
    distance = _own(deal, block, "distances")
    head = np.broadcast_to(np.arange(len(owner))[:, None], owner.shape)
    for other in range(deal.n_blocks):
        there = owner == other
        if other != block:
            edges = np.empty(int(there.sum()), EDGE)
            edges["tail"], edges["head"] = position[there], head[there]
            edges["distance"] = distance[there]
            folder.save(_mail_file(block, other), edges)
    folder.save(piece_file(block, "tau"), _own(deal, block, "tau"))
    folder.save(
        piece_file(block, "rows"), np.concatenate([deal.rows_of(int(c)) for c in deal.cells_of(block)])
    )


class _Boundary:
    """Vertices of other blocks that have edges here, numbered after the block's own."""

    def __init__(self, deal: Deal, n_own: int, owner: NDArray[Any], position: NDArray[Any]) -> None:
        self._deal, self._n_own = deal, n_own
        self.keys = np.unique(owner.astype(np.int64) << 40 | position)

    def __len__(self) -> int:
        return len(self.keys)

    def number(self, owner: NDArray[Any], position: NDArray[Any]) -> NDArray[np.int64]:
        return self._n_own + np.searchsorted(self.keys, owner.astype(np.int64) << 40 | position)

    def fetch(self, what: str) -> NDArray[Any]:
        """What the owners keep of these vertices."""
        owner, position = self.keys >> 40, self.keys & ((1 << 40) - 1)
        parts = [
            self._deal.folder.load(piece_file(int(b), what), mapped=True)[position[owner == b]]
            for b in np.unique(owner)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def _weigh(deal: Deal, block: int) -> tuple[int, int]:
    """The rows of the symmetric matrix of similarities, every row's edges in the order of row numbers."""
    folder = deal.folder
    with whole_worker():
        owner, position = deal.places(_own(deal, block, "ids"))
        others = [b for b in range(deal.n_blocks) if b != block]
        told = {b: folder.load(_mail_file(b, block)) for b in others}
        told_owner = np.concatenate([np.full(len(e), b) for b, e in told.items()] or [np.zeros(0, np.int64)])
        mail = np.concatenate([*told.values(), np.zeros(0, EDGE)])
        n, cut = len(owner), owner != block
        beyond = _Boundary(
            deal, n, np.concatenate([owner[cut], told_owner]), np.concatenate([position[cut], mail["head"]])
        )
        indices = position.astype(np.int32)
        indices[cut] = beyond.number(owner[cut], position[cut])
        del owner, position, cut
        neighbors = Neighbors(indices, _own(deal, block, "distances"))
        tau = np.concatenate([folder.load(piece_file(block, "tau")), beyond.fetch("tau")])
        values = similarities(neighbors, tau[:n], tau).astype(np.float32)
        matrix = symmetric(indices, values, n + len(beyond))
        matrix = matrix + _told(mail, beyond.number(told_owner, mail["head"]), indices, tau, matrix.shape)
        # Sums are taken in the order of the row numbers, as in a graph that was never cut.
        rows = np.concatenate([folder.load(piece_file(block, "rows")), beyond.fetch("rows")])
        order = np.argsort(rows)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        matrix = sparse.csr_array((matrix.data, rank[matrix.indices], matrix.indptr), shape=matrix.shape)
        matrix.sort_indices()
        columns = order.astype(np.int32)[matrix.indices]
    owners, positions = np.full(len(order), block, np.int32), np.arange(len(order), dtype=np.int32)
    owners[n:], positions[n:] = beyond.keys >> 40, beyond.keys & ((1 << 40) - 1)
    for name, array in {
        "raw_indptr": matrix.indptr, "raw_columns": columns, "raw_weights": matrix.data,
        "raw_owners": owners, "raw_positions": positions, "degrees": row_totals(matrix),
    }.items():  # fmt: skip
        folder.save(piece_file(block, name), array)
    return int(matrix.nnz), int((columns >= n).sum())


def _told(
    mail: NDArray[Any], head: NDArray[np.int64], indices: NDArray[np.int32], tau: NDArray[Any], shape: Any
) -> sparse.csr_array:
    """Edges that rows of other blocks have to rows here, where those are not neighbours themselves."""
    tail = mail["tail"]
    new = ~(indices[tail] == head[:, None]).any(axis=1)
    tail, head = tail[new], head[new]
    lone = Neighbors(head[:, None].astype(np.int32), mail["distance"][new][:, None])
    values = similarities(lone, tau[tail], tau).astype(np.float32).ravel()
    return sparse.csr_array((values, (tail, head)), shape=shape)


@whole_worker()
def _normalize(deal: Deal, block: int) -> None:
    """ŵ, now that all degrees are known; the block as the flow takes it."""
    folder = deal.folder
    names = ("indptr", "columns", "weights", "owners", "positions")
    indptr, columns, weights, owners, positions = (
        folder.load(piece_file(block, f"raw_{name}")) for name in names
    )
    n = len(indptr) - 1
    keys = owners[n:], positions[n:]
    degrees = folder.load(piece_file(block, "degrees"))
    beyond = _Boundary(deal, n, *keys)
    everyone = np.concatenate([degrees, beyond.fetch("degrees")])
    matrix = sparse.csr_array((weights, columns, indptr), shape=(n, len(owners)))
    normal = normalized_rows(matrix, degrees, everyone)
    save_piece(folder, block, indptr, owners[columns], positions[columns], normal.data, row_totals(normal))


def forget_scaffolding(deal: Deal) -> None:
    """Remove what was needed only to make the blocks."""
    for pattern in ("mail/*", "guests/*", "points/*", "near/*", "blocks/*/raw_*"):
        deal.folder.remove(pattern)
