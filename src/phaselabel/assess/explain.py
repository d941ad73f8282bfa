"""A graph, known labels and one row in, what decided it out: which labelled rows, and its own columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.evidence.opinion import Opinion
from phaselabel.flow.star import State
from phaselabel.graph import Graph

#: A walk that has met no label after this many steps is given up.
LONGEST_WALK = 500


class Explanation(list[tuple[int, Any, float]]):
    """The labelled rows that decided a row: row, label and share of the influence, the largest first.

    Attributes
    ----------
    by_columns, by_neighbors : float
        The shares of the decision that are due to the row's own columns and to its neighbours, 1 together;
        both are 0 for a row that is labelled.

    Examples
    --------
    >>> Explanation([(4, "cat", 0.9)], 0.25, 0.75).by_columns
    0.25
    """

    def __init__(self, rows: list[tuple[int, Any, float]], by_columns: float, by_neighbors: float) -> None:
        super().__init__(rows)
        self.by_columns, self.by_neighbors = by_columns, by_neighbors


def decision_shares(
    graph: Graph, state: State, opinion: Opinion | None, row: int, epsilon: float
) -> tuple[float, float]:
    """How much of a decision is due to the columns of the row, and how much to its neighbours.

    The decision is the lead of the row's class on the next one in the vote. The neighbours' arms are one part
    of that vote, the evidence is the other: due to the models of the columns and to the graphs
    in proportion to what they add to its log-odds. What speaks against the class is no part of the decision.

    Parameters
    ----------
    graph : Graph
        The graph of the flow.
    state : State
        Where the flow ended.
    opinion : Opinion or None
        The evidence, if there is any.
    row : int
        A vertex with a class.
    epsilon : float
        The ε at which the flow ended: the smaller, the more the evidence counts.

    Returns
    -------
    by_columns, by_neighbors : float
        Two shares that add up to 1.
    """
    if opinion is None:
        return 0.0, 1.0
    indptr, indices, weights = graph.csr
    edges = slice(indptr[row], indptr[row + 1])
    near, q = indices[edges], opinion.probabilities[row].astype(np.float64)
    votes = np.bincount(
        state.arm[near].clip(0), weights[edges] * state.height[near] * (state.arm[near] >= 0), len(q)
    )
    own, voice = int(state.arm[row]), opinion.voice / (2 * epsilon)
    total = votes + voice * q
    total[own] = -np.inf
    other = int(total.argmax()) if len(q) > 1 else own

    def lead(table: NDArray[Any]) -> float:
        return max(float(table[own] - table[other]), 0.0)

    of_graphs = opinion.graph_logits[row].astype(np.float64)
    of_columns = np.log(np.maximum(q, 1e-30)) - of_graphs - opinion.offsets
    columns = lead(of_columns) / max(lead(of_columns) + lead(of_graphs), 1e-30)
    evidence, neighbors = voice * lead(q), lead(votes)
    share = float(evidence * columns / max(evidence + neighbors, 1e-30))
    return share, 1 - share


def influences(graph: Graph, labeled: NDArray[np.bool_], row: int) -> NDArray[np.float64]:
    """How much every labelled row decides of ``row``: where a random walk from there first meets a label.

    Examples
    --------
    >>> path = Graph.from_weights([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    >>> influences(path, np.array([True, False, False, True]), 1).round(2).tolist()
    [0.67, 0.0, 0.0, 0.33]
    """
    met, here = np.zeros(graph.n_vertices), np.zeros(graph.n_vertices)
    here[row] = 1.0
    if labeled[row]:
        return here
    degrees = np.maximum(graph.degrees, 1e-30)
    onward = sparse.csr_array((sparse.diags_array(1 / degrees) @ graph.weights).T)
    for _ in range(LONGEST_WALK):
        here = onward @ here
        met += np.where(labeled, here, 0.0)
        here[labeled] = 0.0
        if here.sum() < 1e-3:
            break
    return met
