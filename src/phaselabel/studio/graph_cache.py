"""Features in, their graphs and map out, from a file beside the project if it is of the same features."""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import __version__
from phaselabel.graph import Graph, nearest_neighbors
from phaselabel.graph.rungs import USUAL_RUNG, longest_rung, rungs
from phaselabel.io.atomic import replacing
from phaselabel.io.npy import read_npz
from phaselabel.studio.map_layout import map_layout, with_opentsne

log = logging.getLogger(__name__)

#: More items are compared by the usual graph only: experts on three graphs would take too long per answer.
MAX_ITEMS_SEVERAL_GRAPHS = 20_000

#: Graphs with fewer items are built in a few seconds and not kept.
MIN_ITEMS = 5000

#: Changes when what the file holds changes.
FORMAT = "2"

#: The arrays of a sparse matrix.
PARTS = ("indptr", "indices", "data")


#: Graphs by their number of neighbours; the usual one is the first.
Graphs = dict[str, Graph]


def graphs_and_map(
    X: NDArray[np.floating], path: Path | None, progress: Callable[[str], None] = lambda status: None
) -> tuple[Graphs, NDArray[np.float32]]:
    """Build the graphs and the map of items, or read them from a file.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The features.
    path : Path or None
        The file. It is used only if it was written for the same features by the same version.
    progress : callable
        Called with what is being done.

    Returns
    -------
    graphs : dict of str to Graph
        Similarity graphs by their number of neighbours, the usual one first.
    places : ndarray of shape (n, 2)
        The place of every item on the map.
    """
    if path is None or len(X) < MIN_ITEMS:
        return _built(X, progress)
    progress("reading the graph")
    digest = _digest(X)
    kept = _read(path, digest, len(X))
    if kept is not None:
        return kept
    graphs, places = _built(X, progress)
    try:
        _write(path, digest, graphs, places)
    except OSError as error:
        log.warning("The graph could not be kept in %s (%s); the next opening builds it again.", path, error)
    return graphs, places


def _built(X: NDArray[np.floating], progress: Callable[[str], None]) -> tuple[Graphs, NDArray[np.float32]]:
    progress("comparing the items")
    graphs = rungs(nearest_neighbors(X, _longest(len(X))))
    progress("drawing the map")
    return graphs, map_layout(next(iter(graphs.values())), X)


def _longest(n: int) -> int:
    """The number of neighbours in the largest graph."""
    return longest_rung(n) if n <= MAX_ITEMS_SEVERAL_GRAPHS else USUAL_RUNG


def _digest(X: NDArray[np.floating]) -> str:
    """What the graphs depend on."""
    rows = np.ascontiguousarray(X)
    head = f"{FORMAT} {__version__} {_longest(len(rows))} {rows.shape} {rows.dtype.str} {with_opentsne()} "
    digest = hashlib.sha256(head.encode())
    digest.update(rows.data)
    return digest.hexdigest()


def _write(path: Path, digest: str, graphs: Graphs, places: NDArray[np.float32]) -> None:
    arrays: dict[str, NDArray[Any]] = {"digest": np.array(digest), "places": places}
    arrays["rungs"] = np.array(list(graphs))
    for name, graph in graphs.items():
        for part in PARTS:
            arrays[f"{part} {name}"] = getattr(graph.weights, part)
    with replacing(path, overwrite=True) as written, written.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _read(path: Path, digest: str, n: int) -> tuple[Graphs, NDArray[np.float32]] | None:
    """The graphs and the map of a file; None if it is not there, damaged, or for something else."""
    try:
        kept = read_npz(path)
        if str(kept["digest"]) != digest:
            return None
        places = kept["places"]
        if places.shape != (n, 2) or places.dtype != np.float32 or not np.isfinite(places).all():
            return None
        graphs = {}
        for name in kept["rungs"].tolist():
            parts = kept[f"data {name}"], kept[f"indices {name}"], kept[f"indptr {name}"]
            # The kernels trust these numbers: everything is checked as if it came from a user.
            graphs[name] = Graph.from_weights(sparse.csr_array(parts, shape=(n, n)), parts[0].dtype)
        return (graphs, places) if graphs else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
