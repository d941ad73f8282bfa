"""Rows sorted into cells in; the nearest neighbours of every row, cell by cell, out."""

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.build.partition import Partition, neighbors_file, order_file
from phaselabel.distributed.build.plan import max_search_rows
from phaselabel.distributed.build.row_cells import Sample, TrueNeighbors, candidates_file, points_file
from phaselabel.distributed.build.whole_search import WholeSearch, forget_index
from phaselabel.distributed.tasks import Tasks, exclusive_worker
from phaselabel.graph import Neighbors, nearest_neighbors
from phaselabel.graph.weights import local_scales

log = logging.getLogger(__name__)

#: The share of the allowed misses that may come from neighbours outside a cell and its candidates.
OUTSIDE_SHARE = 0.3


@dataclass(frozen=True)
class SearchResult:
    """What the search measured.

    Attributes
    ----------
    recall : float
        The share of the trial rows' true neighbours that was found.
    edges : ndarray of shape (n_cells, n_cells)
        The number of edges between every two cells.
    """

    recall: float
    edges: NDArray[np.int64]


def search_cells(
    tasks: Tasks,
    partition: Partition,
    truth: TrueNeighbors | None,
    k: int,
    scale_neighbor: int | None,
    metric: str,
    recall: float,
    budget: float,
) -> SearchResult:
    """Search the neighbours of every cell's rows among its own rows and its candidates.

    Without ``truth`` every worker can hold all rows, and searches among all of them. Cells whose result is on
    disk are not searched again. ``budget`` is the memory in bytes that a search may take.
    """
    cells = np.flatnonzero(partition.counts.sum(axis=0))
    reach, within = (None, recall) if truth is None else _reach(truth, recall)
    arguments = [(partition, int(cell), reach, k, scale_neighbor, metric, within, budget) for cell in cells]
    try:
        results = tasks.run("search", _search_cell, arguments)
    finally:
        if truth is None:
            tasks.client.run(forget_index, on_error="ignore")
    edges = np.zeros((partition.counts.shape[1],) * 2, np.int64)
    for cell, result in zip(cells, results):
        edges[cell] = result["edges"]
    sought, hits = sum(r["sought"] for r in results), sum(r["hits"] for r in results)
    candidates = sum(r["candidates"] for r in results) / max(partition.n_rows, 1)
    measured = hits / sought if sought else min((r["recall"] for r in results), default=1.0)
    log.info("Recall %.4f on a sample; %.2f rows of other cells searched per row.", measured, candidates)
    return SearchResult(measured, edges)


def _reach(truth: TrueNeighbors, recall: float) -> tuple[float, float]:
    """How far cells reach for candidates, and the recall of the search within a cell and its candidates."""
    known = truth.reach[: _n_reach_trials(len(truth.reach))]
    missed = OUTSIDE_SHARE * (1 - recall)
    reach = float(np.quantile(known[np.isfinite(known)], 1 - missed, method="higher"))
    log.info("Cells reach to %.3f times the distance of their centres.", reach**0.5)
    # The other misses are left to the search within a cell; a recall of 1 would compute all distances.
    return reach, 1 - (1 - OUTSIDE_SHARE) * (1 - recall)


def _n_reach_trials(n_trials: int) -> int:
    """The trial rows that set the reach of the cells: a third; the recall is measured on the others."""
    return max(1, n_trials // 3)


def _search_cell(
    partition: Partition,
    cell: int,
    reach: float | None,
    k: int,
    scale_neighbor: int | None,
    metric: str,
    recall: float,
    budget: float,
) -> dict[str, Any]:
    folder = partition.folder
    summary = neighbors_file(cell, "summary").replace(".npy", ".json")
    if (done := folder.load_facts(summary)) is not None:
        return {**done, "edges": np.array(done["edges"])}
    with exclusive_worker():
        if reach is None:
            index = WholeSearch.of(partition, k, metric, recall, budget)
            neighbors, ids = index.neighbors_in(partition, cell)
            facts = {"candidates": 0, "sought": 0, "hits": 0, "recall": index.search.recall}
        else:
            neighbors, ids, facts = _search_candidates(partition, cell, reach, k, metric, recall, budget)
        folder.save(neighbors_file(cell, "ids"), ids)
        folder.save(neighbors_file(cell, "distances"), neighbors.distances)
        folder.save(neighbors_file(cell, "tau"), local_scales(neighbors, scale_neighbor))
    cells = np.searchsorted(partition.first_ids, ids.ravel(), side="right") - 1
    edges = np.bincount(cells, minlength=partition.counts.shape[1])
    result: dict[str, Any] = {"edges": edges, **facts}
    folder.save_facts(summary, {**result, "edges": edges.tolist()})
    return result


def _search_candidates(
    partition: Partition, cell: int, reach: float, k: int, metric: str, recall: float, budget: float
) -> tuple[Neighbors, NDArray[np.int64], dict[str, Any]]:
    """The neighbours of a cell's rows among its own rows and its candidates, their ids, and the recall."""
    searched = SearchSet.of(partition, cell, reach)
    if len(searched.rows) <= 2 * k:  # so small a cell has too few candidates within the usual reach
        searched = SearchSet.of(partition, cell, np.inf)
    neighbors = search_own_rows(searched, k, metric, recall, budget)
    folder, ids, own = partition.folder, searched.ids, searched.own
    hits = _hits(neighbors, searched.rows[own], Sample.load(folder), TrueNeighbors.load(folder), metric)
    return neighbors, ids[neighbors.indices], {"candidates": len(ids) - len(own), **hits}


@dataclass(frozen=True, eq=False)
class SearchSet:
    """A cell's rows and its candidates in the order of their row numbers, so that ties fall as elsewhere.

    Attributes
    ----------
    rows, ids : ndarray
        Row numbers and ids.
    places : ndarray
        The place of every row in the file of its chunk.
    own : ndarray
        Which of them belong to the cell, in the order of their ids, which is that of their row numbers.
    """

    partition: Partition
    rows: NDArray[np.int64]
    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    own: NDArray[np.intp]

    @classmethod
    def of(cls, partition: Partition, cell: int, reach: float) -> "SearchSet":
        """The rows of a cell, and its candidates up to ``reach``."""
        places, rows, ids = [], [], []
        ends = np.cumsum(partition.counts, axis=1)
        for chunk in range(len(partition.counts)):
            last, size = int(ends[chunk, cell]), int(partition.counts[chunk, cell])
            cuts = partition.folder.load(candidates_file(chunk, "ends"))
            listed = partition.folder.load(candidates_file(chunk), mapped=True)[cuts[cell] : cuts[cell + 1]]
            candidates = listed["place"][listed["reach"] <= reach]
            both = np.concatenate([np.arange(last - size, last), candidates]).astype(np.int64)
            order = partition.folder.load(order_file(chunk), mapped=True)[both]
            both = both[np.argsort(order)]
            cells = np.searchsorted(ends[chunk], both, side="right")
            before = partition.counts[:chunk].sum(axis=0) - (ends[chunk] - partition.counts[chunk])
            places.append(both)
            rows.append(partition.first_rows[chunk] + np.sort(order))
            ids.append(partition.first_ids[cells] + before[cells] + both)
        all_ids = np.concatenate(ids)
        first, last = partition.first_ids[cell : cell + 2]
        own = np.flatnonzero((all_ids >= first) & (all_ids < last))
        return cls(partition, np.concatenate(rows), all_ids, np.concatenate(places), own)

    def points(self, some: NDArray[np.intp]) -> NDArray[Any]:
        """The features of some of the rows, given in order."""
        out = None
        cuts = np.searchsorted(self.rows[some], self.partition.first_rows)
        for chunk, (start, stop) in enumerate(pairwise(cuts)):
            if start == stop and out is not None:
                continue
            # Mapped pages count as the worker's memory, so no file stays open longer than it is read.
            stored = self.partition.folder.load(points_file(chunk), mapped=True)
            if out is None:
                out = np.empty((len(some), stored.shape[1]), stored.dtype)
            places = self.places[some[start:stop]]
            np.take(stored, places, axis=0, out=out[start:stop], mode="clip")
            del stored
        assert out is not None
        return out


def search_own_rows(searched: SearchSet, k: int, metric: str, recall: float, budget: float) -> Neighbors:
    """The neighbours of the cell's own rows, by the local search; in parts where it exceeds ``budget``."""
    n, own = len(searched.rows), searched.own
    if n <= k:
        raise ValueError(f"A cell of {n} rows is too small for n_neighbors={k}; lower n_neighbors.")
    one = searched.points(own[:1])
    max_rows = max_search_rows(budget, one.shape[1], one.dtype)
    options: dict[str, Any] = {"metric": metric, "recall": recall, "working_memory": budget / 4 / 2**20}
    if len(own) == n and n <= max_rows:
        return nearest_neighbors(searched.points(own), k, **options)
    batches = _parts(own, max(1, int(max_rows) // 2))
    part_rows = max(k + 1, int(max_rows) - len(batches[0]))
    merged = []
    for batch in batches:
        queries = searched.points(batch)
        indices: NDArray[Any] = np.empty((len(batch), 0), np.int64)
        distances: NDArray[Any] = np.empty((len(batch), 0))
        for part in _parts(np.arange(n), part_rows):
            near = nearest_neighbors(searched.points(part), min(k + 1, len(part)), queries=queries, **options)
            indices = np.append(indices, near.indices + part[0], axis=1)
            distances = np.append(distances, near.distances, axis=1)
            order = np.argsort(distances, axis=1, kind="stable")[:, : k + 1]
            indices = np.take_along_axis(indices, order, 1)
            distances = np.take_along_axis(distances, order, 1)
        itself = indices == batch[:, None]
        itself[~itself.any(axis=1), -1] = True  # among many equal rows a row may not be its own neighbour
        merged.append([array[~itself].reshape(len(batch), k) for array in (indices, distances)])
    all_indices, all_distances = (np.concatenate(arrays) for arrays in zip(*merged))
    return Neighbors(all_indices, all_distances)


def _parts(rows: NDArray[np.intp], max_rows: int) -> list[NDArray[np.intp]]:
    """Rows in as few parts of about equal size as possible."""
    return np.array_split(rows, -(-len(rows) // max_rows))


def _hits(
    neighbors: Neighbors, rows: NDArray[np.int64], sample: Sample, truth: TrueNeighbors, metric: str
) -> dict[str, int]:
    """How many true neighbours of the trial rows in this cell were found."""
    measured = slice(_n_reach_trials(len(sample.rows)), None)
    trial, squares = sample.rows[measured], truth.squares[measured]
    place = np.searchsorted(rows, trial)
    here = (place < len(rows)) & (rows[np.minimum(place, len(rows) - 1)] == trial)
    distances = neighbors.distances[place[here]]
    last = squares[here][:, -1:] / 2 if metric == "cosine" else np.sqrt(squares[here][:, -1:])
    return {"sought": int(distances.size), "hits": int((distances <= last * (1 + 1e-6)).sum())}
