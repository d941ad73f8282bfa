"""A sharpened graph and its present labelling in, the rows whose labels would help most out.

On the sharpened graph a walk stays in its cluster. On the plain graph of MNIST a label counted as much in
other classes as in its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import spread as kernels
from phaselabel.few_labels.conjugate_gradients import padded
from phaselabel.few_labels.poisson import solve_damped
from phaselabel.graph import Graph

#: Votes are averaged over walks of this many steps around a row: its region.
REGION_STEPS = 10

#: A walk from a label has at most this many steps on average; so has one from a candidate.
LONGEST_WALK = 200

#: The residual at which walks end, beside their sources.
WALK_TOLERANCE = 1e-2

#: Iterations at the most until then.
WALK_STEPS = 200


@dataclass(frozen=True, eq=False)
class Support:
    """How the region of every row votes, and how much the known labels support that vote.

    Attributes
    ----------
    votes : ndarray
        The share of the strongest class in the region of every row.
    labels_near : ndarray
        How often walks from the known labels visit a row; 1 on average.
    n_known, n_classes : int
        The number of labels and of classes.
    """

    votes: NDArray[np.float32]
    labels_near: NDArray[np.float32]
    n_known: int
    n_classes: int

    @property
    def backing(self) -> NDArray[np.float32]:
        """The chance that a region's vote is right, by the labels near it.

        The labels near count as votes, and one more vote is spread over all classes and one that has no
        label yet.
        """
        return (self.labels_near * self.votes + 1 / (self.n_classes + 1)) / (self.labels_near + 1)


def support(graph: Graph, labels: NDArray[np.int32], arm: NDArray[np.integer], n_classes: int) -> Support:
    """What the known labels say about every region."""
    known = np.flatnonzero(labels >= 0)
    near = labels_near(graph, known, len(known))
    return Support(_region_votes(graph, arm, n_classes), near, len(known), n_classes)


def choose_queries(
    graph: Graph,
    labels: NDArray[np.int32],
    arm: NDArray[np.integer],
    n_classes: int,
    n: int,
    *,
    known_support: Support | None = None,
    asked: Sequence[int] = (),
) -> NDArray[np.intp]:
    """Choose ``n`` unlabelled rows: one per component without a label, then where most is left open.

    What is open at a row is the chance that the vote of its region is wrong (:class:`Support`). The gain of a
    row is what is open around it, so it is typical of its region. Each choice counts as a label for the next
    ones, and so do the rows in ``asked``: the choices are diverse.

    Parameters
    ----------
    graph : Graph
        The sharpened graph.
    labels : ndarray of int
        The known classes; -1 where not known.
    arm : ndarray of int
        The present class of every row.
    n_classes : int
        K.
    n : int
        How many rows to choose.
    known_support : Support, optional
        The present support, if it has been computed.
    asked : sequence of int
        Rows that are already being asked about.

    Returns
    -------
    ndarray of int
        The rows, the best first.
    """
    now = support(graph, labels, arm, n_classes) if known_support is None else known_support
    closed = labels >= 0
    if len(asked):
        closed[list(asked)] = True
        now = _with_labels_at(graph, now, list(asked))
    n = min(n, int(np.count_nonzero(~closed)))
    chosen: list[int] = _one_per_component(graph, closed)[:n]
    if 0 < len(chosen) < n:
        now = _with_labels_at(graph, now, chosen)
    closed[chosen] = True
    while len(chosen) < n:
        source = (graph.degrees * (1 - now.backing)).astype(np.float32)[:, None]
        gain = solve_damped(graph, source, 1 / LONGEST_WALK, tol=WALK_TOLERANCE)[:, 0]
        gain[closed] = -1
        chosen.append(int(gain.argmax()))
        closed[chosen[-1]] = True
        if len(chosen) < n:
            now = _with_labels_at(graph, now, chosen[-1:])
    return np.array(chosen, np.intp)


def _with_labels_at(graph: Graph, now: Support, rows: list[int]) -> Support:
    """The support once some rows have labels too; 1 on average again."""
    n_known = now.n_known + len(rows)
    near = now.labels_near * np.float32(now.n_known / n_known) + labels_near(graph, np.array(rows), n_known)
    return replace(now, labels_near=near, n_known=n_known)


def _region_votes(graph: Graph, arm: NDArray[np.integer], n_classes: int) -> NDArray[np.float32]:
    """The share of the strongest class in the region of every row."""
    indptr, indices, _ = graph.csr
    table = padded(np.zeros((graph.n_vertices, n_classes), np.float32))
    table[arm >= 0, arm[arm >= 0]] = 1
    other = np.empty_like(table)
    for _ in range(REGION_STEPS):
        kernels.multiply(indptr, indices, graph.walk, table, other)
        table, other = other, table
    return np.asarray(table.max(axis=1))


def labels_near(graph: Graph, rows: NDArray[np.intp], n_known: int) -> NDArray[np.float32]:
    """How often walks from some labelled rows visit every row; 1 on average if they are all the labels."""
    damping, share = walk_settings(n_known, graph.n_vertices)
    source = np.zeros((graph.n_vertices, 1), np.float32)
    source[rows, 0] = graph.degrees[rows]
    return share * solve_damped(graph, source, damping, tol=WALK_TOLERANCE, max_iter=WALK_STEPS)[:, 0]


def walk_settings(n_known: int, n_rows: int) -> tuple[float, float]:
    """How much walks from so many labels are damped, and the factor of their visits."""
    damping = max(n_known / n_rows, 1 / LONGEST_WALK)
    return damping, damping * n_rows / max(n_known, 1)


def _one_per_component(graph: Graph, closed: NDArray[np.bool_]) -> list[int]:
    """The best connected row of every component without a closed one, large components first."""
    lost = ~graph.reached(closed)
    if not lost.any():
        return []
    rows = np.flatnonzero(lost)
    rows = rows[np.lexsort((-graph.degrees[rows], graph.components[rows]))]
    first = rows[np.unique(graph.components[rows], return_index=True)[1]]
    size = np.bincount(graph.components)
    return [int(row) for row in first[np.argsort(-size[graph.components[first]], kind="stable")]]
