"""Rows of a graph and the boundary around them in, their state one sweep further out: what the flow runs on.

A patch may be a whole graph, with no boundary, or one block of a graph whose other blocks live elsewhere.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phaselabel import _kernels

#: Sweeps are dealt out in this many blocks of rows, whatever the number of threads: sums stay the same.
N_BLOCKS = 64

#: Row ends and columns, both unsigned, and normalised weights.
Csr = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Patch:
    """The arrays of one flow: two buffers that take turns, and what every vertex knows.

    Parameters
    ----------
    csr : (indptr, indices, weights)
        The edges. The first ``boundary`` rows belong to others: their states are read and never moved, and
        their edges say only whom they wake here.
    row_sums : ndarray
        Σ_j ŵ_ij of every row, in double precision.
    n_classes : int
        K.
    boundary : int, default=0
        How many rows belong to others.
    size : int, optional
        The largest array of the whole graph. It decides which flavour of the kernels runs, so that the rows
        of a block move by the same bits as in the whole graph.
    """

    def __init__(
        self,
        csr: Csr,
        row_sums: NDArray[np.float64],
        n_classes: int,
        *,
        boundary: int = 0,
        size: int | None = None,
    ) -> None:
        self.csr, self.boundary, self._row_sums = csr, boundary, row_sums
        number, n = csr[2].dtype, len(row_sums)
        self.front = np.zeros(n, _kernels.STATE64 if number == np.float64 else _kernels.STATE)
        self.front["arm"] = -1
        self.back = self.front.copy()
        self._site = np.zeros(n, _kernels.SITE64 if number == np.float64 else _kernels.SITE)
        self._site["row_sum"], self._fidelity = row_sums, np.zeros(n)
        self._blocks = boundary + balanced_blocks(csr[0][boundary:], N_BLOCKS)
        self._tally = np.zeros(N_BLOCKS, _kernels.TALLY)
        self._ballots = np.zeros((N_BLOCKS, n_classes + 1), number)
        self._awake = np.zeros(n, np.bool_)
        self._size = largest_array(n, len(csr[1]), n_classes) if size is None else size

    def start(self, state: NDArray[np.void], labels: NDArray[np.int32], fidelity: NDArray[Any]) -> None:
        """Begin at a state, packed, with these labels (-1 where not known)."""
        self.front[:] = state
        self._site["label"], self._site["fidelity"], self._fidelity = labels, fidelity, fidelity

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every vertex; answer their lengths beside automatic ones, added up."""
        self._epsilon = self.front["height"].dtype.type(epsilon)
        pull = epsilon * self._row_sums
        if step == "auto":
            # (½ - r)(εD̂ + r(1 + 2r)/ε) bounds the pull towards the leaf, so that nobody passes it, and the
            # energy cannot rise (docs/method.md has the proof). Who has no neighbours stays where he is.
            stiffness, bend = np.maximum(pull, np.finfo(np.float32).tiny), 1 / epsilon
            pace = float(len(pull) - self.boundary)
        else:
            stiffness, bend = np.full(len(pull), 1 / float(step)), 0.0
            pace = float(np.sum(step * (pull[self.boundary :] + 1 / epsilon)))
        self._bend = self._epsilon.dtype.type(bend)
        # Fidelity is stiff (the paper's COIL run has dt μ = 2), so it is treated implicitly; that is the
        # same as shortening the step of the labelled vertices.
        self._site["stiffness"] = stiffness + self._fidelity
        return pace

    def watched_sweep(self, climb: float) -> dict[str, float]:
        """Move every row once; answer the energy before, and how many are not at rest."""
        run = _kernels.watched_sweep.sized(self._size)
        run(*self.arguments(), self._epsilon.dtype.type(climb), self._tally)
        self._turn()
        return {name: self._tally[name].sum().item() for name in _kernels.TALLY.names or ()}

    def sweep(self) -> None:
        """Move every row once, unobserved."""
        _kernels.sweep.sized(self._size)(*self.arguments())
        self._turn()

    def wake(self) -> int:
        """Find who moved in the last sweep, and whom they shift; answer how many rows that are."""
        self._awake[:] = False
        return self._rouse(self.back)

    def wake_around_boundary(self, before: NDArray[np.void]) -> int:
        """Wake also the rows beside those of the boundary who moved from ``before`` to where they are now."""
        return self._rouse(before)

    def _rouse(self, old: NDArray[np.void]) -> int:
        _kernels.wake_around.sized(self._size)(*self.csr, old, self.front, self._awake)
        return self.n_awake

    @property
    def n_awake(self) -> int:
        """How many rows the next :meth:`sweep_awake` will move."""
        return int(np.count_nonzero(self._awake[self.boundary :]))

    def sweep_awake(self) -> None:
        """Move in place only those who are awake; who moves, and whom that shifts, is awake for the next."""
        rows = np.flatnonzero(self._awake[self.boundary :]) + self.boundary
        rows = rows.astype(self.csr[1].dtype)
        cuts = np.linspace(0, len(rows), N_BLOCKS + 1).astype(np.int64)
        vertex = self._site, self._epsilon, self._bend
        move, accept = (k.sized(self._size) for k in (_kernels.partial_sweep, _kernels.accept))
        move(*self.csr, *vertex, self.front, rows, self.back, cuts, self._ballots)
        self._awake[:] = False
        accept(*self.csr, self.front, rows, self.back, cuts, self._awake)

    def undo(self) -> None:
        """Take the last sweep of all rows back."""
        self.front, self.back = self.back, self.front

    def arguments(self) -> tuple[Any, ...]:
        """What a sweep takes."""
        return (
            *self.csr,
            self._site,
            self._epsilon,
            self._bend,
            self.front,
            self.back,
            self._blocks,
            self._ballots,
        )

    def _turn(self) -> None:
        if self.boundary:
            self.back[: self.boundary] = self.front[: self.boundary]
        self.front, self.back = self.back, self.front


def largest_array(n_vertices: int, n_edges: int, n_classes: int) -> int:
    """The size of the largest array that the kernels see, by which their flavour is chosen."""
    return max(n_vertices + 1, n_edges, N_BLOCKS * n_classes)


def balanced_blocks(indptr: NDArray[Any], n_blocks: int) -> NDArray[np.int64]:
    """Cut the rows into blocks of about equal numbers of edges."""
    edges_and_rows = indptr.astype(np.int64) - int(indptr[0]) + np.arange(len(indptr))
    cuts = np.linspace(0, edges_and_rows[-1], n_blocks + 1)
    blocks = np.searchsorted(edges_and_rows, cuts).astype(np.int64)
    blocks[0], blocks[-1] = 0, len(indptr) - 1
    return blocks
