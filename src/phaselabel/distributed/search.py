"""Rows dealt to cells in; the nearest neighbours of every row, cell by cell, out."""

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.cells import Sample, Truth, guests_file, points_file
from phaselabel.distributed.deal import Deal, order_file
from phaselabel.distributed.plan import most_rows
from phaselabel.distributed.tasks import Tasks, whole_worker
from phaselabel.graph import Neighbors, nearest_neighbors
from phaselabel.graph.weights import local_scales

log = logging.getLogger(__name__)

#: Of the neighbours that may be missed, this share may be missed because a cell does not reach far enough.
BEYOND = 0.3


@dataclass(frozen=True)
class Searched:
    """What the search found out: the recall on rows on trial, edges between cells, rows sought per row."""

    recall: float
    edges: NDArray[np.int64]
    guests: float
    seconds: float


def near_file(cell: int, what: str) -> str:
    """Where a cell's neighbours are kept."""
    return f"near/{cell:06d}-{what}.npy"


def search_cells(
    tasks: Tasks,
    deal: Deal,
    truth: Truth,
    k: int,
    scale_neighbor: int | None,
    metric: str,
    recall: float,
    budget: float,
) -> Searched:
    """Search every cell's rows among its own and its guests; what is on disk already is not sought again.

    ``budget`` is the memory in bytes that the search of one cell may take.
    """
    known = truth.reach[: max(1, len(truth.reach) // 3)]
    missed = BEYOND * (1 - recall)
    reach = float(np.quantile(known[np.isfinite(known)], 1 - missed, method="higher"))
    # The other half of the misses is left to the search within; exactly 1 would ask for everybody's distance.
    within = 1 - (1 - BEYOND) * (1 - recall)
    cells = np.flatnonzero(deal.counts.sum(axis=0))
    log.info("%d cells, which reach to %.3f times the distance of their centres.", len(cells), reach**0.5)
    answers = tasks.run(
        "search",
        _search_cell,
        [(deal, int(c), reach, k, scale_neighbor, metric, within, budget) for c in cells],
    )
    edges = np.zeros((deal.counts.shape[1],) * 2, np.int64)
    for cell, answer in zip(cells, answers):
        edges[cell] = answer["edges"]
    asked, hits = sum(a["asked"] for a in answers), sum(a["hits"] for a in answers)
    guests = sum(a["guests"] for a in answers) / max(deal.n_rows, 1)
    share = hits / asked if asked else 1.0
    log.info("Recall %.4f on a sample; %.2f rows of other cells were looked at per row.", share, guests)
    return Searched(share, edges, guests, sum(a["seconds"] for a in answers))


def _search_cell(
    deal: Deal,
    cell: int,
    reach: float,
    k: int,
    scale_neighbor: int | None,
    metric: str,
    recall: float,
    budget: float,
) -> dict[str, Any]:
    from time import perf_counter

    folder = deal.folder
    done = near_file(cell, "answer").replace(".npy", ".json")
    if folder.has(done):
        answer = folder.facts(done)
        return {**answer, "edges": np.array(answer["edges"])}
    with whole_worker():
        start = perf_counter()
        around = _Around.of(deal, cell, reach)
        if len(around.rows) <= 2 * k:  # a cell so small looks farther
            around = _Around.of(deal, cell, np.inf)
        neighbors = _nearest(around, k, metric, recall, budget)
        ids, own = around.ids, around.own
        folder.save(near_file(cell, "ids"), ids[neighbors.indices])
        folder.save(near_file(cell, "distances"), neighbors.distances)
        folder.save(near_file(cell, "tau"), local_scales(neighbors, scale_neighbor))
        seconds = perf_counter() - start
    here = np.searchsorted(deal.first_ids, ids[neighbors.indices].ravel(), side="right") - 1
    answer = {
        "edges": np.bincount(here, minlength=deal.counts.shape[1]),
        "guests": len(ids) - len(own),
        "seconds": seconds,
        **_hits(neighbors, around.rows[own], Sample.load(folder), Truth.load(folder), metric),
    }
    folder.note(done, {**answer, "edges": answer["edges"].tolist()})
    return answer


@dataclass(frozen=True, eq=False)
class _Around:
    """A cell's rows and its guests in the order of their row numbers, so that ties fall as everywhere.

    ``own`` says which of them are the cell's, in the order of their ids, which is that of their rows;
    ``places`` where each stands in the file of its chunk.
    """

    deal: Deal
    rows: NDArray[np.int64]
    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    own: NDArray[np.intp]

    @classmethod
    def of(cls, deal: Deal, cell: int, reach: float) -> "_Around":
        places, rows, ids = [], [], []
        ends = np.cumsum(deal.counts, axis=1)
        for chunk in range(len(deal.counts)):
            last, size = int(ends[chunk, cell]), int(deal.counts[chunk, cell])
            cuts = deal.folder.load(guests_file(chunk, "ends"))
            listed = deal.folder.load(guests_file(chunk), mapped=True)[cuts[cell] : cuts[cell + 1]]
            guests = listed["place"][listed["reach"] <= reach]
            both = np.concatenate([np.arange(last - size, last), guests]).astype(np.int64)
            order = deal.folder.load(order_file(chunk), mapped=True)[both]
            both = both[np.argsort(order)]
            home = np.searchsorted(ends[chunk], both, side="right")
            before = deal.counts[:chunk].sum(axis=0) - (ends[chunk] - deal.counts[chunk])
            places.append(both)
            rows.append(deal.first_rows[chunk] + np.sort(order))
            ids.append(deal.first_ids[home] + before[home] + both)
        all_ids = np.concatenate(ids)
        own = np.flatnonzero((all_ids >= deal.first_ids[cell]) & (all_ids < deal.first_ids[cell + 1]))
        return cls(deal, np.concatenate(rows), all_ids, np.concatenate(places), own)

    def points(self, some: NDArray[np.intp]) -> NDArray[Any]:
        """The features of some of them, which are in order."""
        out = None
        cuts = np.searchsorted(self.rows[some], self.deal.first_rows)
        for chunk, (start, stop) in enumerate(pairwise(cuts)):
            if start == stop and out is not None:
                continue
            # Mapped pages count as the worker's own, so no file is kept open for longer than it is read.
            stored = self.deal.folder.load(points_file(chunk), mapped=True)
            if out is None:
                out = np.empty((len(some), stored.shape[1]), stored.dtype)
            places = self.places[some[start:stop]]
            np.take(stored, places, axis=0, out=out[start:stop], mode="clip")
            del stored
        assert out is not None
        return out


def _nearest(around: _Around, k: int, metric: str, recall: float, budget: float) -> Neighbors:
    """The nearest others of the cell's own rows, by the local search, piece by piece if need be."""
    n, own = len(around.rows), around.own
    if n <= k:
        raise ValueError(f"A cell of {n} rows is too small for n_neighbors={k}; lower n_neighbors.")
    one = around.points(own[:1])
    most = most_rows(budget, one.shape[1], one.dtype)
    options: dict[str, Any] = {"metric": metric, "recall": recall, "working_memory": budget / 4 / 2**20}
    if len(own) == n and n <= most:
        return nearest_neighbors(around.points(own), k, **options)
    batches = _pieces(own, max(1, int(most) // 2))
    asked = max(k + 1, int(most) - len(batches[0]))
    found = []
    for some in batches:
        queries = around.points(some)
        near: tuple[Any, Any] = np.empty((len(some), 0), np.int64), np.empty((len(some), 0))
        for piece in _pieces(np.arange(n), asked):
            there = nearest_neighbors(
                around.points(piece), min(k + 1, len(piece)), queries=queries, **options
            )
            both = np.append(near[0], there.indices + piece[0], 1), np.append(near[1], there.distances, 1)
            order = np.argsort(both[1], axis=1, kind="stable")[:, : k + 1]
            near = np.take_along_axis(both[0], order, 1), np.take_along_axis(both[1], order, 1)
        itself = near[0] == some[:, None]
        itself[~itself.any(axis=1), -1] = True  # among many equal rows it may not have found itself
        found.append([part[~itself].reshape(len(some), k) for part in near])
    indices, distances = (np.concatenate(parts) for parts in zip(*found))
    return Neighbors(indices, distances)


def _pieces(rows: NDArray[np.intp], most: int) -> list[NDArray[np.intp]]:
    """Rows in as few pieces of about equal size as may be."""
    return np.array_split(rows, -(-len(rows) // most))


def _hits(
    neighbors: Neighbors, rows: NDArray[np.int64], found: Sample, truth: Truth, metric: str
) -> dict[str, int]:
    """How many true neighbours of the rows on trial that live here were found."""
    measured = slice(max(1, len(found.rows) // 3), None)
    trial, squares = found.rows[measured], truth.squares[measured]
    place = np.searchsorted(rows, trial)
    here = (place < len(rows)) & (rows[np.minimum(place, len(rows) - 1)] == trial)
    got = neighbors.distances[place[here]]
    last = squares[here][:, -1:] / 2 if metric == "cosine" else np.sqrt(squares[here][:, -1:])
    return {"asked": int(got.size), "hits": int((got <= last * (1 + 1e-6)).sum())}
