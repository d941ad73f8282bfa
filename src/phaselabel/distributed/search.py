"""Rows dealt to cells in; the nearest neighbours of every row, cell by cell, out."""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.distributed.cells import Sample, Truth, guests_file, points_file
from phaselabel.distributed.deal import Deal, order_file
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
) -> Searched:
    """Search every cell's rows among its own and its guests; what is on disk already is not sought again."""
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
        [(deal, int(c), reach, k, scale_neighbor, metric, within) for c in cells],
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
) -> dict[str, Any]:
    from time import perf_counter

    folder = deal.folder
    done = near_file(cell, "answer").replace(".npy", ".json")
    if folder.has(done):
        answer = folder.facts(done)
        return {**answer, "edges": np.array(answer["edges"])}
    with whole_worker():
        start = perf_counter()
        points, ids, own, rows = _around(deal, cell, reach)
        if len(points) <= 2 * k:  # a cell so small looks farther
            points, ids, own, rows = _around(deal, cell, np.inf)
        neighbors = _nearest(points, own, k, metric, recall)
        del points
        folder.save(near_file(cell, "ids"), ids[neighbors.indices])
        folder.save(near_file(cell, "distances"), neighbors.distances)
        folder.save(near_file(cell, "tau"), local_scales(neighbors, scale_neighbor))
        seconds = perf_counter() - start
    here = np.searchsorted(deal.first_ids, ids[neighbors.indices].ravel(), side="right") - 1
    answer = {
        "edges": np.bincount(here, minlength=deal.counts.shape[1]),
        "guests": len(ids) - len(own),
        "seconds": seconds,
        **_hits(neighbors, rows[own], Sample.load(folder), Truth.load(folder), metric),
    }
    folder.note(done, {**answer, "edges": answer["edges"].tolist()})
    return answer


def _around(
    deal: Deal, cell: int, reach: float
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.intp], NDArray[np.int64]]:
    """A cell's rows and its guests in the order of their row numbers, so that ties fall as everywhere.

    Answers the points, their ids, which of them are the cell's own, and the row numbers.
    """
    places, rows, ids = [], [], []
    ends = np.cumsum(deal.counts, axis=1)
    for chunk in range(len(deal.counts)):
        last, size = int(ends[chunk, cell]), int(deal.counts[chunk, cell])
        own = np.arange(last - size, last)
        cuts = deal.folder.load(guests_file(chunk, "ends"))
        listed = deal.folder.load(guests_file(chunk), mapped=True)[cuts[cell] : cuts[cell + 1]]
        guests = np.sort(listed["place"][listed["reach"] <= reach])
        both = np.concatenate([own, guests]).astype(np.int64)
        order = deal.folder.load(order_file(chunk), mapped=True)
        home = np.searchsorted(ends[chunk], both, side="right")
        before = deal.counts[:chunk].sum(axis=0) - (ends[chunk] - deal.counts[chunk])
        places.append(both)
        rows.append(deal.first_rows[chunk] + order[both])
        ids.append(deal.first_ids[home] + before[home] + both)
    all_rows, all_ids = np.concatenate(rows), np.concatenate(ids)
    sort = np.argsort(all_rows)
    rank = np.empty_like(sort)
    rank[sort] = np.arange(len(sort))
    points, done = None, 0
    for chunk, both in enumerate(places):
        stored = deal.folder.load(points_file(chunk), mapped=True)
        if points is None:
            points = np.empty((len(sort), stored.shape[1]), stored.dtype)
        for start in range(0, len(both), 4096):
            part = both[start : start + 4096]
            points[rank[done : done + len(part)]] = stored[part]
            done += len(part)
        del stored
    assert points is not None
    ids_sorted = all_ids[sort]
    own = np.flatnonzero((ids_sorted >= deal.first_ids[cell]) & (ids_sorted < deal.first_ids[cell + 1]))
    # The cell's own in the order of their ids, which is that of their rows.
    return points, ids_sorted, own[np.argsort(ids_sorted[own])], all_rows[sort]


def _nearest(points: NDArray[Any], own: NDArray[np.intp], k: int, metric: str, recall: float) -> Neighbors:
    """The nearest others of the cell's own rows, by the local search."""
    if len(points) <= k:
        raise ValueError(f"A cell of {len(points)} rows is too small for n_neighbors={k}; lower n_neighbors.")
    if len(own) == len(points):
        return nearest_neighbors(points, k, metric=metric, recall=recall)
    more = min(k + 1, len(points))
    near = nearest_neighbors(points, more, queries=points[own], metric=metric, recall=recall)
    itself = near.indices == own[:, None]
    itself[~itself.any(axis=1), -1] = True  # among many equal rows it may not have found itself
    shape = len(own), more - 1
    return Neighbors(
        near.indices[~itself].reshape(shape), near.distances[~itself].reshape(shape), near.method, near.recall
    )


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
