"""A graph and a state in, the share of every class in the vote of each row's neighbours out.

The vote by which a vertex chooses its class in a sweep is ``_vote`` in ``_kernels/flow.py``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import flow as kernels
from phaselabel.flow.star import State
from phaselabel.graph import Graph

#: A table of votes has at most this many entries; more rows are counted in batches.
LARGEST_TABLE = 10_000_000


def vote_shares(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[Any],
    packed: NDArray[np.void],
    n_classes: int,
) -> NDArray[np.float64]:
    """Σ_{y_j = k} w_ij r_j / Σ_j w_ij r_j for every row and class; zeros where there is no vote."""
    shares = np.zeros((len(indptr) - 1, n_classes))
    kernels.vote_shares(indptr, indices, weights, packed, shares)
    return shares


def votes_on(
    graph: Graph, state: State, rows: NDArray[np.integer[Any]] | None, n_classes: int
) -> NDArray[np.float64]:
    """The share of every class in the neighbours' vote on each of the rows; None stands for all of them."""
    edges = graph.normalized if rows is None else graph.normalized[rows]
    return vote_shares(edges.indptr, edges.indices, edges.data, state.packed(), n_classes)


def own_shares(
    graph: Graph, state: State, n_classes: int, rows: NDArray[np.integer[Any]] | None = None
) -> NDArray[np.float64]:
    """The share of each row's own class in its neighbours' vote, some rows at a time; all by default."""
    n = graph.n_vertices if rows is None else len(rows)
    share = np.empty(n)
    step = max(1, LARGEST_TABLE // n_classes)
    for some in (slice(start, min(start + step, n)) for start in range(0, n, step)):
        whole = rows is None and some == slice(0, n)
        here = None if whole else np.arange(n)[some] if rows is None else rows[some]
        votes = votes_on(graph, state, here, n_classes)
        share[some] = votes[np.arange(len(votes)), state.arm if here is None else state.arm[here]]
    return share
