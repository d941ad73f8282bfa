"""The sizes of the data and of the workers in; how a job is cut up so that every part fits a worker out."""

from dataclasses import dataclass
from typing import Any

from dask.utils import format_bytes

#: Rows a cell should have: large enough that few neighbours are outside, small enough to be searched soon.
CELL_ROWS = 100_000

#: Above this share of its memory_limit a Dask worker starts nothing new; at 0.95 it is killed.
PAUSE = 0.8

#: What a worker's process takes with all libraries and kernels loaded, before it holds anything.
PROCESS_BYTES = 230e6

#: What one worker's room is shared out as: to the chunks being dealt, to a cell's search, to a block in the
#: making. None of them are there at the same time, but for the sample, which is there while chunks are dealt.
CHUNK_SHARE, SEARCH_SHARE, BLOCK_SHARE, SAMPLE_SHARE = 0.5, 0.8, 0.8, 0.2

#: Bytes that a row takes besides its features while its chunk is dealt, and while it is sought.
DEAL_BYTES, SEARCH_BYTES = 700, 1300

#: Rows of the sample that a cell must have, lest its centre be a row itself and nobody seem near to that row;
#: and bytes that the sample may take in any case.
SAMPLED, SAMPLE_BYTES = 8, 64e6

#: A search with fewer rows at a time than this would never end.
LEAST_ROWS = 256


@dataclass
class Plan:
    """How a job is cut up.

    Attributes
    ----------
    chunk_rows, sample_rows : int
        Rows of a chunk, and of the sample that gives the cells, at most.
    search_bytes : float
        Memory that the search of a cell may take; a cell that needs more is searched piece by piece.
    """

    n_rows: int
    width: int
    n_neighbors: int
    n_cells: int
    n_blocks: int
    chunk_rows: int
    sample_rows: int
    search_bytes: float

    @classmethod
    def of(cls, X: Any, n_neighbors: int, workers: dict[str, dict[str, Any]], cosine: bool = False) -> "Plan":
        """By the sizes of the data and of the smallest worker; refuses what can't fit."""
        if not workers:
            raise RuntimeError("The cluster has no workers; start some first.")
        n, width = int(X.shape[0]), int(X.shape[1])
        tightest = min(workers.values(), key=_room)
        room, threads = _room(tightest), max(w["nthreads"] for w in workers.values())
        _refuse_too_small(X, n_neighbors, tightest, len(workers))
        search = SEARCH_SHARE * room
        n_cells = -(-n // min(CELL_ROWS, int(most_rows(search, width, X.dtype)) // 3))
        if n_cells > 1 or n > 20_000:
            n_cells = max(n_cells, 2 * len(workers))
        row = width * X.dtype.itemsize
        sample_rows = int(min(SAMPLE_SHARE * room, max(SAMPLE_BYTES, SAMPLED * n_cells * row)) // row)
        n_cells = min(n_cells, max(sample_rows // SAMPLED, 1))
        least = -(-n * _block_bytes(n_neighbors) // int(BLOCK_SHARE * room))
        n_blocks = len(workers) * int(max(1, -(-least // len(workers))))
        # Every thread holds a chunk, one more is on its way; one thread at a time sorts and converts its own.
        copies = threads + 2 + (4 / X.dtype.itemsize) * ((X.dtype != "f4") + 2 * cosine)
        chunk_rows = max(1, int(CHUNK_SHARE * room // (copies * row + DEAL_BYTES * threads)))
        n_blocks = min(n_blocks, n_cells)
        return cls(n, width, n_neighbors, n_cells, n_blocks, chunk_rows, sample_rows, search)


def most_rows(budget: float, width: int, dtype: Any) -> float:
    """How many rows, queries counted too, may be in a search that takes ``budget`` bytes."""
    # The rows themselves and, for a moment, a sample of them twice, or all of them once, as floats.
    return budget / (width * (dtype.itemsize + 2 * max(dtype.itemsize, 4)) + SEARCH_BYTES)


def _room(worker: dict[str, Any]) -> float:
    """What a worker has left for us."""
    # Beyond the usual it is counted in steps, so that a plan does not depend on a few bytes more or less.
    others = -(-max(worker.get("taken", 0) - PROCESS_BYTES, 0) // 64e6) * 64e6
    return float(PAUSE * (worker["memory_limit"] or 5e9) - PROCESS_BYTES - others)


def _block_bytes(n_neighbors: int) -> int:
    """Bytes of a row while its block is made."""
    return 100 + 50 * n_neighbors


def _flow_bytes(n_neighbors: int) -> int:
    """Bytes of a row while its block flows."""
    return 110 + 16 * n_neighbors


def _refuse_too_small(X: Any, n_neighbors: int, tightest: dict[str, Any], n_workers: int) -> None:
    room, limit = _room(tightest), tightest["memory_limit"] or 0

    def enough(needed: float) -> str:
        return format_bytes(int(limit + (needed - room) / PAUSE) + 2**20)

    search = LEAST_ROWS / most_rows(SEARCH_SHARE, X.shape[1], X.dtype)
    if room < max(search, 3e7):
        raise ValueError(
            f"A worker's memory_limit of {format_bytes(limit)} is too small for rows of {X.shape[1]:,} "
            f"features: Python and its libraries take {format_bytes(int(PAUSE * limit - room))} of it; give "
            f"each worker at least {enough(max(search, 3e7))}."
        )
    graph = X.shape[0] * _flow_bytes(n_neighbors)
    if graph > room * n_workers:
        raise ValueError(
            f"The graph of {X.shape[0]:,} rows takes {format_bytes(graph)} while it flows, and {n_workers} "
            f"workers have room for {format_bytes(int(room * n_workers))}; add workers, or give each a "
            f"memory_limit of at least {enough(graph / n_workers)}."
        )
    largest = max(X.chunks[0]) * max(X.chunks[1]) * X.dtype.itemsize
    if largest > room:
        raise ValueError(
            f"The largest chunk of X takes {format_bytes(largest)} and a worker has room for "
            f"{format_bytes(int(room))}; keep X in smaller chunks or row groups, or give each worker a "
            f"memory_limit of at least {enough(largest)}."
        )
