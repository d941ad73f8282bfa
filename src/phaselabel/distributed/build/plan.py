"""The sizes of the data and of the workers in; a plan in which every part fits a worker out."""

from dataclasses import dataclass
from typing import Any

from dask.utils import format_bytes

#: Rows of a cell: large enough that few neighbours are outside, small enough to be searched quickly.
CELL_ROWS = 100_000

#: Cells are used from this number of rows on, even where one cell would fit.
MIN_ROWS_FOR_CELLS = 20_000

#: The share of its memory_limit above which a Dask worker starts no task; at 0.95 it is killed.
PAUSE_FRACTION = 0.8

#: Memory of a worker's process with all libraries and kernels loaded, before it holds any data. Half of it is
#: pages of the libraries' files, of which a system maps more or fewer.
PROCESS_BYTES = 440e6

#: Memory in use beyond PROCESS_BYTES is counted in steps of this size.
IN_USE_STEP_BYTES = 64e6

#: Memory of a worker whose scheduler knows no memory_limit.
DEFAULT_MEMORY_LIMIT = 5e9

#: Shares of a worker's free memory: chunks that are being sorted into cells, the search of a cell, a block
#: that is being built. Of these only the sample is in memory at the same time as chunks.
CHUNK_SHARE, SEARCH_SHARE, BLOCK_SHARE, SAMPLE_SHARE = 0.5, 0.8, 0.8, 0.2

#: Bytes of a row besides its features while its chunk is sorted.
SHUFFLE_BYTES = 700

#: Bytes of a row besides its features while it is searched.
SEARCH_BYTES = 1300

#: Rows of the sample per cell, at least: with two or three a centre is nearly a row itself.
MIN_SAMPLE_ROWS_PER_CELL = 8

#: Bytes that the sample may take in any case.
MIN_SAMPLE_BYTES = 64e6

#: Rows of a search, at least: with fewer it would take too long.
MIN_SEARCH_ROWS = 256

#: Free memory that a worker needs in any case.
MIN_FREE_BYTES = 3e7


@dataclass
class Plan:
    """How a job is divided.

    Attributes
    ----------
    n_rows, width, n_neighbors : int
        The rows, their features, and the neighbours of each row.
    n_cells, n_blocks : int
        Cells of near rows, in which neighbours are searched, and blocks of cells, in which the flow runs.
    chunk_rows, sample_rows : int
        The largest number of rows of a chunk, and of the sample that gives the cells.
    search_bytes : float
        Memory that the search of a cell may take; a cell that needs more is searched in parts.
    whole : bool
        Whether every worker can hold all rows: then it searches among all of them, as a local fit does.
    """

    n_rows: int
    width: int
    n_neighbors: int
    n_cells: int
    n_blocks: int
    chunk_rows: int
    sample_rows: int
    search_bytes: float
    whole: bool = False

    @classmethod
    def of(
        cls,
        X: Any,
        n_neighbors: int,
        workers: dict[str, dict[str, Any]],
        cosine: bool = False,
        in_blocks: bool = False,
        row_bytes: float | None = None,
        table_bytes: int = 0,
    ) -> "Plan":
        """The plan for these rows on these workers; raise where a part cannot fit the smallest of them.

        With ``in_blocks`` few rows are divided, too. ``row_bytes`` is the size of a sparse row, and
        ``table_bytes`` what evidence in blocks takes for each.
        """
        if not workers:
            raise RuntimeError("The cluster has no workers; start some first.")
        n, width = int(X.shape[0]), int(X.shape[1])
        smallest = min(workers.values(), key=free_bytes)
        free, threads = free_bytes(smallest), max(w["nthreads"] for w in workers.values())
        search, row = SEARCH_SHARE * free, width * X.dtype.itemsize
        if row_bytes is None:
            most = int(max_search_rows(search, width, X.dtype))
        else:
            row, most = max(int(row_bytes), 1), int(search / (3 * row_bytes + SEARCH_BYTES))
        _check_memory(X, n_neighbors, smallest, len(workers), row, row_bytes and most, table_bytes)
        n_cells = -(-n // min(CELL_ROWS, most // 3))
        if n_cells > 1 or n > MIN_ROWS_FOR_CELLS or (in_blocks and n <= most):
            n_cells = max(n_cells, min(2 * len(workers), n // MIN_SAMPLE_ROWS_PER_CELL))
        wanted = max(MIN_SAMPLE_BYTES, MIN_SAMPLE_ROWS_PER_CELL * n_cells * row)
        sample_rows = int(min(SAMPLE_SHARE * free, wanted) // row)
        n_cells = min(n_cells, max(sample_rows // MIN_SAMPLE_ROWS_PER_CELL, 1))
        min_blocks = -(-n * _block_bytes(n_neighbors) // int(BLOCK_SHARE * free))
        n_blocks = len(workers) * int(max(1, -(-min_blocks // len(workers))))
        # Every thread holds a chunk and one more is read; one thread at a time sorts and converts its chunk.
        copies = threads + 2 + (4 / X.dtype.itemsize) * ((X.dtype != "f4") + 2 * cosine)
        chunk_rows = max(1, int(CHUNK_SHARE * free // (copies * row + SHUFFLE_BYTES * threads)))
        n_blocks = min(n_blocks, n_cells)
        return cls(n, width, n_neighbors, n_cells, n_blocks, chunk_rows, sample_rows, search, n <= most)


def max_search_rows(budget: float, width: int, dtype: Any) -> float:
    """The number of rows, queries included, that a search of ``budget`` bytes may hold."""
    # The rows themselves and, for a moment, a sample of them twice, or all of them once, as floats.
    return budget / float(width * (dtype.itemsize + 2 * max(dtype.itemsize, 4)) + SEARCH_BYTES)


def free_bytes(worker: dict[str, Any]) -> float:
    """The memory of a worker that a job may use."""
    # Other data is counted in steps, so that the plan does not depend on a few bytes.
    others = max(worker.get("in_use", 0) - PROCESS_BYTES, 0)
    others = -(-others // IN_USE_STEP_BYTES) * IN_USE_STEP_BYTES
    return float(PAUSE_FRACTION * (worker["memory_limit"] or DEFAULT_MEMORY_LIMIT) - PROCESS_BYTES - others)


def _block_bytes(n_neighbors: int) -> int:
    """Bytes of a row while its block is built."""
    return 100 + 50 * n_neighbors


def _flow_bytes(n_neighbors: int) -> int:
    """Bytes of a row while the flow runs."""
    return 110 + 16 * n_neighbors


def _check_memory(
    X: Any,
    n_neighbors: int,
    smallest: dict[str, Any],
    n_workers: int,
    row: int,
    most_sparse: float | None,
    table_bytes: int,
) -> None:
    """Refuse data of which a part cannot fit the workers, with the limit that would do.

    A row takes ``row`` bytes, and ``table_bytes`` where there is evidence; of sparse rows a worker can hold
    ``most_sparse``.
    """
    free, limit = free_bytes(smallest), smallest["memory_limit"] or 0

    def limit_for(needed: float) -> str:
        # A little more: two decimals are printed, which is half a hundredth of 1 GiB at the most.
        return format_bytes(int(1.006 * (limit + (needed - free) / PAUSE_FRACTION)) + 2**20)

    if most_sparse is not None and X.shape[0] > most_sparse:
        raise ValueError(
            f"Sparse rows must fit every worker, and one has room for {int(most_sparse):,} of "
            f"{X.shape[0]:,}; give each a memory_limit of at least "
            f"{limit_for(X.shape[0] * (3 * row + SEARCH_BYTES) / SEARCH_SHARE)}, or reduce the columns first "
            "(TruncatedSVD)."
        )
    dense = MIN_SEARCH_ROWS / max_search_rows(SEARCH_SHARE, X.shape[1], X.dtype)
    search = dense if most_sparse is None else 0.0
    if free < max(search, MIN_FREE_BYTES):
        raise ValueError(
            f"A worker's memory_limit of {format_bytes(limit)} is too small for rows of {X.shape[1]:,} "
            f"features: Python and its libraries take {format_bytes(int(PAUSE_FRACTION * limit - free))} of "
            f"it; give each worker at least {limit_for(max(search, MIN_FREE_BYTES))}."
        )
    graph = X.shape[0] * (_flow_bytes(n_neighbors) + table_bytes)
    if graph > free * n_workers:
        what = "with evidence" if table_bytes else "while it flows"
        raise ValueError(
            f"The graph of {X.shape[0]:,} rows takes {format_bytes(graph)} {what}, and {n_workers} "
            f"workers have room for {format_bytes(int(free * n_workers))}; add workers, or give each a "
            f"memory_limit of at least {limit_for(graph / n_workers)}."
        )
    largest = max(X.chunks[0]) * row * max(X.chunks[1]) // max(X.shape[1], 1)
    if largest > free:
        raise ValueError(
            f"The largest chunk of X takes {format_bytes(largest)} and a worker has room for "
            f"{format_bytes(int(free))}; keep X in smaller chunks or row groups, or give each worker a "
            f"memory_limit of at least {limit_for(largest)}."
        )
