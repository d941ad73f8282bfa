"""The cell of every row and the block of every cell in; results in the order of the rows out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from phaselabel.distributed.folder import Folder


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows in chunks, cells of near rows, and blocks of cells.

    A row has a number in the order of the input, and an id: ids are consecutive within a cell. A block holds
    some cells; the position of a row counts the rows of its block.

    Attributes
    ----------
    folder : Folder
        The files of the job; ``order/T.npy`` holds the rows of chunk T in the order of their cells.
    counts : ndarray of shape (n_chunks, n_cells)
        The number of rows of every chunk in every cell.
    block_of : ndarray of shape (n_cells,)
        The block of every cell.
    """

    folder: Folder
    counts: NDArray[np.int64]
    block_of: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def save(self) -> None:
        """Write it, so that another process can continue."""
        self.folder.save("partition/counts.npy", self.counts)
        self.folder.save("partition/block_of.npy", self.block_of)

    @classmethod
    def load(cls, folder: Folder) -> "Partition | None":
        """Read what :meth:`save` wrote; None if there is nothing."""
        if not folder.has("partition/block_of.npy"):
            return None
        return cls(folder, folder.load("partition/counts.npy"), folder.load("partition/block_of.npy"))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """The number of the first row of every chunk, and the number of rows."""
        return np.concatenate([[0], np.cumsum(self.counts.sum(axis=1))])

    @cached_property
    def first_ids(self) -> NDArray[np.int64]:
        """The first id of every cell, and the number of rows."""
        return np.concatenate([[0], np.cumsum(self.counts.sum(axis=0))])

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return int(self.block_of.max(initial=-1)) + 1

    def cells_of(self, block: int) -> NDArray[np.int64]:
        """The cells of a block that are not empty, in the order of their positions."""
        return np.flatnonzero((self.block_of == block) & (self.counts.sum(axis=0) > 0))

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The position of every cell's first row in its block."""
        sizes, out = self.counts.sum(axis=0), np.zeros(self.counts.shape[1], np.int64)
        for block in range(self.n_blocks):
            cells = self.cells_of(block)
            out[cells] = np.cumsum(sizes[cells]) - sizes[cells]
        return out

    def locate(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The block of every id, and its position there."""
        cells = np.searchsorted(self.first_ids, ids, side="right") - 1
        return self.block_of[cells], ids - self.first_ids[cells] + self.offsets[cells]

    def rows_of(self, cell: int) -> NDArray[np.int64]:
        """The row numbers of a cell, in the order of its ids."""
        parts = [
            self.first_rows[chunk] + self.folder.load(order_file(chunk), mapped=True)[part]
            for chunk, part in self.slices(cell)
        ]
        return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)

    def slices(self, cell: int) -> list[tuple[int, slice]]:
        """The chunks that have rows of a cell, and where these are when a chunk is sorted by cell."""
        ends = np.cumsum(self.counts[:, : cell + 1], axis=1)[:, -1]
        sizes = self.counts[:, cell]
        return [(int(t), slice(int(ends[t] - sizes[t]), int(ends[t]))) for t in np.flatnonzero(sizes)]

    def by_chunk(self, rows: NDArray[np.integer[Any]]) -> list[tuple[int, NDArray[np.int64]]]:
        """Rows, which are in order, by chunk, counted from its first row."""
        cuts = np.searchsorted(rows, self.first_rows)
        return [
            (chunk, rows[a:b] - self.first_rows[chunk])
            for chunk, (a, b) in enumerate(pairwise(cuts))
            if b > a
        ]

    def ids_in(self, chunk: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ids of some rows of a chunk, counted from its first row."""
        order = self.folder.load(order_file(chunk))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        ends = np.cumsum(self.counts[chunk])
        cells = np.searchsorted(ends, rank[rows], side="right")
        before = self.counts[:chunk].sum(axis=0)
        within = rank[rows] - (ends - self.counts[chunk])[cells]
        return np.asarray(self.first_ids[cells] + before[cells] + within)

    def gather(self, chunk: int, pattern: str, dtype: DTypeLike) -> NDArray[Any]:
        """One chunk of a result that every block wrote to ``pattern.format(block)``, in the rows' order."""
        order = self.folder.load(order_file(chunk))
        out, done = np.empty(0, dtype), 0
        before = self.counts[:chunk].sum(axis=0)
        for cell in np.flatnonzero(self.counts[chunk]):
            size = int(self.counts[chunk, cell])
            start = int(self.offsets[cell] + before[cell])
            of_block = self.folder.load(pattern.format(self.block_of[cell]), mapped=True)
            if not done:
                out = np.empty((len(order), *of_block.shape[1:]), dtype)
            out[order[done : done + size]] = of_block[start : start + size]
            done += size
        return out

    def as_dask_array(
        self, pattern: str, dtype: DTypeLike, read: Callable[..., NDArray[Any]] | None = None, *rest: Any
    ) -> Any:
        """A result of the blocks as a Dask array with the chunks of the rows.

        ``read(partition, chunk, pattern, *rest)`` returns one chunk; :meth:`gather` by default.
        """
        import dask
        import dask.array as da

        fetch = dask.delayed(_read_chunk, name=f"phaselabel-read-{pattern.split('/')[0]}", pure=False)
        dtype = np.dtype(dtype)
        sizes = self.counts.sum(axis=1)
        # Two results of one key would be one and the same, on the cluster and in one call of dask.compute.
        name = f"phaselabel-{pattern.split('/')[0]}-{uuid4().hex[:8]}"
        parts = [
            da.from_delayed(
                fetch(self, chunk, pattern, dtype, read, rest, dask_key_name=f"{name}-{chunk}"),
                (int(sizes[chunk]),),
                dtype,
            )
            for chunk in range(len(sizes))
        ]
        return da.concatenate(parts)


def _read_chunk(
    partition: Partition, chunk: int, pattern: str, dtype: DTypeLike, read: Any, rest: tuple[Any, ...]
) -> NDArray[Any]:
    if read is None:
        return partition.gather(chunk, pattern, dtype)
    return np.asarray(read(partition, chunk, pattern, *rest), dtype)


def order_file(chunk: int) -> str:
    """The file with the order of a chunk's rows."""
    return f"order/{chunk:06d}.npy"


def neighbors_file(cell: int, what: str) -> str:
    """The file of one array of a cell's neighbours."""
    return f"neighbors/{cell:06d}-{what}.npy"
