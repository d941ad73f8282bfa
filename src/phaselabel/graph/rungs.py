"""One search for neighbours in, graphs of several numbers of neighbours out."""

from dataclasses import replace
from typing import Any

from phaselabel.graph.graph import Graph
from phaselabel.graph.neighbors import Neighbors, check_n_neighbors
from phaselabel.graph.weights import similarity_graph

#: Numbers of neighbours that are tried; the graphs are prefixes of one search.
RUNGS = (3, 10, 40)

#: The number that is taken where nothing can be chosen.
USUAL_RUNG = 10

#: The longest rung is shortened where its graph would have more edges than this.
MOST_EDGES = 1_000_000

#: A rung shorter than this is no longer worth a search beyond the usual one.
LEAST_LONG_RUNG = 20


def asked_neighbors(n_neighbors: Any, n_rows: int) -> int:
    """The number of neighbours that a user asks for; where nothing is chosen "auto" is the usual one.

    Examples
    --------
    >>> asked_neighbors("auto", 1000), asked_neighbors("auto", 5), asked_neighbors(3, 1000)
    (10, 4, 3)
    """
    if isinstance(n_neighbors, str) and n_neighbors == "auto":
        return max(1, min(USUAL_RUNG, n_rows - 1))
    check_n_neighbors(n_neighbors, n_rows)
    return int(n_neighbors)


def longest_rung(n_rows: int) -> int:
    """How many neighbours to search for.

    Examples
    --------
    >>> longest_rung(1000), longest_rung(30_000), longest_rung(1_000_000), longest_rung(5)
    (40, 33, 10, 4)
    """
    most = min(RUNGS[-1], MOST_EDGES // n_rows)
    return max(1, min(n_rows - 1, most if most >= LEAST_LONG_RUNG else USUAL_RUNG))


def nearest(neighbors: Neighbors, k: int) -> Neighbors:
    """The first ``k`` neighbours of every row."""
    if k >= neighbors.n_neighbors:
        return neighbors
    return replace(neighbors, indices=neighbors.indices[:, :k], distances=neighbors.distances[:, :k])


def rungs(neighbors: Neighbors, most_graphs: int = len(RUNGS)) -> dict[str, Graph]:
    """A graph for every rung that the search reaches, by its number of neighbours; the usual one first.

    Not more than ``most_graphs`` are made.
    """
    most = neighbors.n_neighbors
    numbers = {min(k, most) for k in RUNGS}
    order = sorted(numbers, key=lambda k: (k != min(USUAL_RUNG, most), k))
    return {str(k): similarity_graph(nearest(neighbors, k)) for k in order[:most_graphs]}
