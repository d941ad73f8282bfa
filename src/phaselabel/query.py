"""A sharpened graph and its present labelling in, the rows whose labels would help most out.

Sharpened (:func:`~phaselabel.spread.sharpened`), because there a walk stays in its cluster: on MNIST's plain
graph a label was heard as loud in the other classes as in its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from phaselabel import _few_label_kernels as kernels
from phaselabel.graph import Graph
from phaselabel.spread import fading, padded

#: Steps over which the votes of a region are averaged.
REGION = 10

#: A label is heard over at most so many steps, and a row speaks for a region of so many.
REACH = 200


@dataclass(frozen=True, eq=False)
class Hearing:
    """How the region of every row votes, and how loud the known labels are heard there.

    Attributes
    ----------
    votes : ndarray
        The share of the strongest class in the region of every row.
    heard : ndarray
        How loud the known labels are heard; 1 on average.
    n_known, n_classes : int
        How many labels and classes there are.
    """

    votes: NDArray[np.float32]
    heard: NDArray[np.float32]
    n_known: int
    n_classes: int

    @property
    def backing(self) -> NDArray[np.float32]:
        """The chance that a region's vote is right, by the labels heard there.

        These count as much as they are heard, and one more vote is spread over all classes and one that
        nobody has seen yet.
        """
        return (self.heard * self.votes + 1 / (self.n_classes + 1)) / (self.heard + 1)


def hearing(graph: Graph, labels: NDArray[np.int32], arm: NDArray[np.integer], n_classes: int) -> Hearing:
    """What the known labels say about every region."""
    known = np.flatnonzero(labels >= 0)
    heard = _heard(graph, known, len(known))
    return Hearing(_region_votes(graph, arm, n_classes), heard, len(known), n_classes)


def choose_queries(
    graph: Graph,
    labels: NDArray[np.int32],
    arm: NDArray[np.integer],
    n_classes: int,
    n: int,
    *,
    ear: Hearing | None = None,
    asked: Sequence[int] = (),
) -> NDArray[np.intp]:
    """``n`` unlabelled rows: one per unreached component first, then where most is left open.

    What is open at a row is the chance that its region's vote is wrong (:class:`Hearing`, in ``ear`` if it is
    known already). A row gains what is open around it, so it is typical of its region; each choice is heard
    in its turn, and so are those that are ``asked`` already: the choices are diverse.
    """
    ear = hearing(graph, labels, arm, n_classes) if ear is None else ear
    closed = labels >= 0
    if len(asked):
        closed[list(asked)] = True
        ear = _with(graph, ear, list(asked))
    n = min(n, int(np.count_nonzero(~closed)))
    chosen: list[int] = _unreached(graph, closed)[:n]
    if 0 < len(chosen) < n:
        ear = _with(graph, ear, chosen)
    closed[chosen] = True
    while len(chosen) < n:
        source = (graph.degrees * (1 - ear.backing)).astype(np.float32)[:, None]
        gain = fading(graph, source, 1 / REACH, tol=1e-2)[:, 0]
        gain[closed] = -1
        chosen.append(int(gain.argmax()))
        closed[chosen[-1]] = True
        if len(chosen) < n:
            ear = _with(graph, ear, chosen[-1:])
    return np.array(chosen, np.intp)


def _with(graph: Graph, ear: Hearing, rows: list[int]) -> Hearing:
    """The same, once some rows have labels too: all together are 1 on average again."""
    n_known = ear.n_known + len(rows)
    heard = ear.heard * np.float32(ear.n_known / n_known) + _heard(graph, np.array(rows), n_known)
    return replace(ear, heard=heard, n_known=n_known)


def _region_votes(graph: Graph, arm: NDArray[np.integer], n_classes: int) -> NDArray[np.float32]:
    """The share of the strongest class in the region of every row."""
    indptr, indices, _ = graph.csr
    table = padded(np.zeros((graph.n_vertices, n_classes), np.float32))
    table[arm >= 0, arm[arm >= 0]] = 1
    other = np.empty_like(table)
    for _ in range(REGION):
        kernels.multiply(indptr, indices, graph.walk, table, other)
        table, other = other, table
    return np.asarray(table.max(axis=1))


def _heard(graph: Graph, rows: NDArray[np.intp], n_known: int) -> NDArray[np.float32]:
    """How loud some labelled rows are heard everywhere; 1 on average if they are all that are known."""
    damping = max(n_known / graph.n_vertices, 1 / REACH)
    source = np.zeros((graph.n_vertices, 1), np.float32)
    source[rows, 0] = graph.degrees[rows]
    share = damping * graph.n_vertices / max(n_known, 1)
    return share * fading(graph, source, damping, tol=1e-2)[:, 0]


def _unreached(graph: Graph, closed: NDArray[np.bool_]) -> list[int]:
    """The best connected row of every component without a closed one, large components first."""
    lost = ~graph.reached(closed)
    if not lost.any():
        return []
    rows = np.flatnonzero(lost)
    rows = rows[np.lexsort((-graph.degrees[rows], graph.components[rows]))]
    first = rows[np.unique(graph.components[rows], return_index=True)[1]]
    size = np.bincount(graph.components)
    return [int(row) for row in first[np.argsort(-size[graph.components[first]], kind="stable")]]
