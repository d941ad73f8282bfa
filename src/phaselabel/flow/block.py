"""Rows of a graph and the boundary around them in, their state one sweep further out: what the flow runs on.

A block is a whole graph without a boundary, or the part of a graph whose other blocks live elsewhere.
"""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import flow as kernels
from phaselabel.flow.evidence import Evidence
from phaselabel.flow.star import State
from phaselabel.graph import Graph

#: Sweeps are cut into this many ranges of rows, whatever the number of threads: sums stay the same.
N_RANGES = 64

#: Row ends and columns, both unsigned, and normalised weights.
Csr = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Block:
    """The arrays of one flow: two buffers for the state that take turns, and the constants of every vertex.

    Parameters
    ----------
    csr : (indptr, indices, weights)
        The edges. The first ``boundary`` rows belong to other blocks: their states are read and never
        moved, and their edges only say which rows here they touch.
    row_sums : ndarray
        Σ_j ŵ_ij of every row, in double precision.
    n_classes : int
        K.
    boundary : int, default=0
        The number of rows that belong to other blocks.
    size : int, optional
        The size of the largest array of the whole graph. It decides which flavour of the kernels runs, so
        that the rows of a block move by the same bits as in the whole graph.
    order : ndarray of int, optional
        The vertex that every row stands for; row i is vertex i by default.
    """

    def __init__(
        self,
        csr: Csr,
        row_sums: NDArray[np.float64],
        n_classes: int,
        *,
        boundary: int = 0,
        size: int | None = None,
        order: NDArray[np.intp] | None = None,
    ) -> None:
        self.csr, self.boundary, self._row_sums = csr, boundary, row_sums
        number, n = csr[2].dtype, len(row_sums)
        self._order: Any = slice(None) if order is None else order
        self.front = np.zeros(n, kernels.STATE64 if number == np.float64 else kernels.STATE)
        self.front["arm"] = -1
        self.back = self.front.copy()
        self._site = np.zeros(n, kernels.SITE64 if number == np.float64 else kernels.SITE)
        self._site["row_sum"], self._fidelity, self._voice = row_sums, np.zeros(n), np.zeros(n)
        self._opinions = np.zeros((1, n_classes), number)
        self._ranges = boundary + balanced_ranges(csr[0][boundary:], N_RANGES)
        self._tally = np.zeros(N_RANGES, kernels.TALLY)
        self._ballots = np.zeros((N_RANGES, n_classes + 1), number)
        self._awake = np.zeros(n, np.bool_)
        self._size = largest_array(n, len(csr[1]), n_classes) if size is None else size

    @classmethod
    def of_graph(
        cls,
        graph: Graph,
        labels: NDArray[np.int32],
        fidelity: NDArray[np.float64],
        start: State,
        n_classes: int,
        evidence: Evidence | None = None,
    ) -> Self:
        """A whole graph, its vertices renumbered for the cache; nothing outside this class sees that."""
        kernels.announce_compilation()
        order, csr = graph.layout
        order = order.astype(np.intp)
        block = cls(csr, graph.row_sums[order], n_classes, order=order)
        block.start(start.packed(csr[2].dtype)[order], labels[order], fidelity[order])
        if evidence is not None:
            block.listen(evidence.probabilities[order], evidence.voice[order])
        return block

    def start(self, state: NDArray[np.void], labels: NDArray[np.int32], fidelity: NDArray[Any]) -> None:
        """Begin at a packed state, with these labels (-1 where not known)."""
        self.front[:] = state
        self._site["label"], self._site["fidelity"], self._fidelity = labels, fidelity, fidelity

    def listen(self, probabilities: NDArray[np.floating[Any]], voice: NDArray[np.floating[Any]]) -> None:
        """Take evidence: the probability of every class at every row, and the weight θ of each row's."""
        self._opinions = np.ascontiguousarray(probabilities, self.csr[2].dtype)
        self._site["voice"], self._voice = voice, np.asarray(voice, np.float64)

    def state(self) -> State:
        """A copy of the present state, in the order of the vertices."""
        state = np.empty_like(self.front)
        state[self._order] = self.front
        return State.from_packed(state)

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every vertex; return the sum of the steps relative to automatic ones."""
        self._epsilon = self.front["height"].dtype.type(epsilon)
        pull = epsilon * self._row_sums
        if step == "auto":
            # (½ - r)(εD̂ + r(1 + 2r)/ε) bounds the pull towards the leaf, so that no vertex passes it, and the
            # energy cannot rise (docs/method.md has the proof). A vertex without neighbours does not move.
            stiffness, bend = np.maximum(pull, np.finfo(np.float32).tiny), 1 / epsilon
            pace = float(len(pull) - self.boundary)
        else:
            stiffness, bend = np.full(len(pull), 1 / float(step)), 0.0
            pace = float(np.sum(step * (pull[self.boundary :] + 1 / epsilon)))
        self._bend = self._epsilon.dtype.type(bend)
        # Fidelity is stiff (the paper's COIL run has dt μ = 2), so it is treated implicitly, as is evidence;
        # that is the same as shortening the step of these vertices.
        self._site["stiffness"] = stiffness + self._fidelity + self._voice
        return pace

    def watched_sweep(self, climb: float) -> dict[str, float]:
        """Move every row once; return the energy before, and how many rows are not at rest."""
        run = kernels.watched_sweep.sized(self._size)
        run(*self.arguments(), self._epsilon.dtype.type(climb), self._tally)
        self._turn()
        return {name: self._tally[name].sum().item() for name in kernels.TALLY.names or ()}

    def sweep(self, most: int = 1) -> int:
        """Move every row once, without a tally; return the number of sweeps made, which is 1."""
        kernels.sweep.sized(self._size)(*self.arguments())
        self._turn()
        return 1

    def wake(self) -> int:
        """Mark the rows that moved in the last sweep and the rows that they shift; return their number."""
        self._awake[:] = False
        return self._wake_around(self.back)

    def wake_around_boundary(self, before: NDArray[np.void]) -> int:
        """Mark also the rows beside boundary rows that moved from ``before`` to where they are now."""
        return self._wake_around(before)

    def _wake_around(self, old: NDArray[np.void]) -> int:
        kernels.wake_around.sized(self._size)(*self.csr, old, self.front, self._awake)
        return self.n_awake

    @property
    def n_awake(self) -> int:
        """The number of rows that the next :meth:`sweep_awake` will move."""
        return int(np.count_nonzero(self._awake[self.boundary :]))

    def sweep_awake(self, most: int = 1) -> tuple[int, int]:
        """Move in place only the marked rows, and mark those that move now and those that they shift.

        Returns
        -------
        int, int
            The number of sweeps made, which is 1, and the number of rows marked for the next.
        """
        rows = np.flatnonzero(self._awake[self.boundary :]) + self.boundary
        rows = rows.astype(self.csr[1].dtype)
        cuts = np.linspace(0, len(rows), N_RANGES + 1).astype(np.int64)
        vertex = self._site, self._epsilon, self._bend, self._opinions
        move, accept = (k.sized(self._size) for k in (kernels.partial_sweep, kernels.accept))
        move(*self.csr, *vertex, self.front, rows, self.back, cuts, self._ballots)
        self._awake[:] = False
        accept(*self.csr, self.front, rows, self.back, cuts, self._awake)
        return 1, self.n_awake

    def undo(self) -> None:
        """Take the last sweep of all rows back."""
        self.front, self.back = self.back, self.front

    def arguments(self) -> tuple[Any, ...]:
        """What the kernel of a sweep takes."""
        vertex = self._site, self._epsilon, self._bend, self._opinions
        return (*self.csr, *vertex, self.front, self.back, self._ranges, self._ballots)

    def _turn(self) -> None:
        if self.boundary:
            self.back[: self.boundary] = self.front[: self.boundary]
        self.front, self.back = self.back, self.front


def largest_array(n_vertices: int, n_edges: int, n_classes: int) -> int:
    """The size of the largest array that the kernels see, by which their flavour is chosen."""
    return max(n_vertices + 1, n_edges, N_RANGES * n_classes)


def balanced_ranges(indptr: NDArray[Any], n_ranges: int) -> NDArray[np.int64]:
    """Cut the rows into ranges of about equal numbers of edges."""
    edges_and_rows = indptr.astype(np.int64) - int(indptr[0]) + np.arange(len(indptr))
    cuts = np.linspace(0, edges_and_rows[-1], n_ranges + 1)
    ranges = np.searchsorted(edges_and_rows, cuts).astype(np.int64)
    ranges[0], ranges[-1] = 0, len(indptr) - 1
    return ranges
