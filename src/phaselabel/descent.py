"""A graph, known labels and a start in; a state that goes downhill sweep by sweep out."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phaselabel import _kernels
from phaselabel.energy import Energy
from phaselabel.graph import Graph
from phaselabel.star import State

#: Sweeps are dealt out in this many blocks of rows, whatever the number of threads: sums stay the same.
N_BLOCKS = 64

#: Where no more than a fraction FEW of the vertices moves, the flow visits only them and their neighbours
#: until the next look, as long as these are no more than a fraction MANY of all.
FEW, MANY = 0.05, 0.3


class Descent:
    """The arrays of one flow: two buffers that take turns, and what every vertex knows."""

    def __init__(
        self,
        graph: Graph,
        labels: NDArray[np.int32],
        fidelity: NDArray[np.float64],
        start: State,
        n_classes: int,
    ) -> None:
        _kernels.announce_compilation()
        # Vertices are renumbered for the cache; nobody outside this class sees it.
        self._order, self._csr = graph.layout
        number = self._csr[2].dtype
        double = number == np.float64
        self.n_iter = 0
        self._front = start.packed(number)[self._order]
        self._back = np.empty_like(self._front)
        self._row_sums, self._fidelity = graph.row_sums[self._order], fidelity[self._order]
        self._site = np.empty(graph.n_vertices, _kernels.SITE64 if double else _kernels.SITE)
        self._site["row_sum"], self._site["fidelity"] = self._row_sums, self._fidelity
        self._site["label"] = labels[self._order]
        self._blocks = balanced_blocks(self._csr[0], N_BLOCKS)
        self._tally = np.zeros(N_BLOCKS, _kernels.TALLY)
        self._ballots = np.zeros((N_BLOCKS, n_classes), number)
        self._awake = np.zeros(graph.n_vertices, np.bool_)
        self._moving = graph.n_vertices

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        """Set ε and the step of every vertex."""
        self.epsilon = self._front["height"].dtype.type(epsilon)
        pull = epsilon * self._row_sums
        if step == "auto":
            # (½ - r)(εD̂ + r(1 + 2r)/ε) bounds the pull towards the leaf, so that nobody passes it, and the
            # energy cannot rise (docs/method.md has the proof). Who has no neighbours stays where he is.
            stiffness, bend = np.maximum(pull, np.finfo(np.float32).tiny), 1 / epsilon
            self.pace = 1.0
        else:
            stiffness, bend = np.full(len(pull), 1 / float(step)), 0.0
            #: How long the step is beside the automatic one; slow motion must not be taken for rest.
            self.pace = float(np.mean(step * (pull + 1 / epsilon)))
        self._bend = self.epsilon.dtype.type(bend)
        # Fidelity is stiff (the paper's COIL run has dt μ = 2), so it is treated implicitly; that is the
        # same as shortening the step of the labelled vertices.
        self._site["stiffness"] = stiffness + self._fidelity

    def look(self) -> tuple[Energy, dict[str, int]]:
        """Make one sweep; answer the energy before it, and how many vertices are not at rest."""
        climb = 1 + 0.01 * min(self.pace, 1.0)
        _kernels.watched_sweep(*self._arguments(), self.epsilon.dtype.type(climb), self._tally)
        self._turn()
        terms = {
            name: max(float(self._tally[name].sum()), 0.0) for name in ("smoothing", "potential", "fidelity")
        }
        counts = {name: int(self._tally[name].sum()) for name in ("changed", "climbing", "moving", "waiting")}
        self._moving = counts["moving"]
        return Energy(**terms), counts

    def energy(self) -> Energy:
        """The energy of the present state."""
        now, _ = self.look()
        self.undo()
        return now

    def advance(self, sweeps: int) -> None:
        """Make sweeps, unobserved; while few vertices move, only of those and their neighbours."""
        if self._moving <= FEW * len(self._awake):
            indptr, indices, _ = self._csr
            self._awake[:] = False
            _kernels.wake_around(indptr, indices, self._back, self._front, self._awake)
            while sweeps and (rows := np.flatnonzero(self._awake)).size <= MANY * len(self._awake):
                self._sweep_rows(rows.astype(indices.dtype))
                sweeps -= 1
        for _ in range(sweeps):
            _kernels.sweep(*self._arguments())
            self._turn()

    def _sweep_rows(self, rows: NDArray[np.unsignedinteger[Any]]) -> None:
        """Move some rows in place; ``_awake`` tells whom to visit next."""
        self._awake[rows] = False
        cuts = np.linspace(0, len(rows), N_BLOCKS + 1).astype(np.int64)
        scratch = self._ballots, self._awake
        _kernels.partial_sweep(
            *self._csr, self._site, self.epsilon, self._bend, self._front, rows, self._back, cuts, *scratch
        )
        self.n_iter += 1

    def _arguments(self) -> tuple[Any, ...]:
        return (
            *self._csr,
            self._site,
            self.epsilon,
            self._bend,
            self._front,
            self._back,
            self._blocks,
            self._ballots,
        )

    def _turn(self) -> None:
        self._front, self._back = self._back, self._front
        self.n_iter += 1

    def undo(self) -> None:
        """Take the last sweep back."""
        self._front, self._back = self._back, self._front
        self.n_iter -= 1

    def state(self) -> State:
        """A copy of the present state."""
        state = np.empty_like(self._front)
        state[self._order] = self._front
        return State.from_packed(state)


def balanced_blocks(indptr: NDArray[Any], n_blocks: int) -> NDArray[np.int64]:
    """Cut the rows into blocks of about equal numbers of edges."""
    edges_and_rows = indptr.astype(np.int64) + np.arange(len(indptr))
    cuts = np.linspace(0, edges_and_rows[-1], n_blocks + 1)
    blocks = np.searchsorted(edges_and_rows, cuts).astype(np.int64)
    blocks[0], blocks[-1] = 0, len(indptr) - 1
    return blocks
