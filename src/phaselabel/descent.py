"""A graph, known labels and a start in; a state that goes downhill sweep by sweep out."""

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phaselabel import _kernels
from phaselabel.energy import Energy
from phaselabel.graph import Graph
from phaselabel.patch import Patch
from phaselabel.star import State

#: Where no more than a fraction FEW of the vertices moves, the flow visits only them and whom they shift
#: until the next look, as long as these are no more than a fraction MANY of all.
FEW, MANY = 0.05, 0.3


class Descent(ABC):
    """When to look, when to visit all and when only some: the same whether a graph is here or in pieces.

    Attributes
    ----------
    n_vertices, n_iter : int
        How many vertices there are, and how many sweeps were made.
    pace : float
        How long the step is beside the automatic one; slow motion must not be taken for rest.
    """

    def __init__(self, n_vertices: int) -> None:
        self.n_vertices = self._moving = n_vertices
        self.n_iter = 0
        self.pace = 1.0

    @abstractmethod
    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        """Set ε and the step of every vertex."""

    @abstractmethod
    def _watched_sweep(self, climb: float) -> dict[str, float]:
        """Move every vertex once; the sums of the tally."""

    @abstractmethod
    def _sweep(self, most: int) -> None:
        """Move every vertex, once or several times."""

    @abstractmethod
    def _wake(self) -> int:
        """How many vertices moved in the last sweep, or are shifted by one who did."""

    @abstractmethod
    def _sweep_awake(self, most: int) -> int:
        """Move those who are awake, once or several times; how many are awake then."""

    @abstractmethod
    def undo(self) -> None:
        """Take the last sweep back."""

    @abstractmethod
    def state(self) -> Any:
        """The present state: a :class:`State`, or what answers like one."""

    def look(self) -> tuple[Energy, dict[str, int]]:
        """Make one sweep; answer the energy before it, and how many vertices are not at rest."""
        found = self._watched_sweep(1 + 0.01 * min(self.pace, 1.0))
        terms = {name: max(float(found[name]), 0.0) for name in ("smoothing", "potential", "fidelity")}
        counts = {name: int(found[name]) for name in ("changed", "climbing", "moving", "waiting")}
        self._moving = counts["moving"]
        return Energy(**terms), counts

    def energy(self) -> Energy:
        """The energy of the present state."""
        now, _ = self.look()
        self.undo()
        return now

    def advance(self, sweeps: int) -> None:
        """Make sweeps, unobserved; while few vertices move, only of those and whom they shift."""
        end = self.n_iter + sweeps
        if self._moving <= FEW * self.n_vertices:
            awake = self._wake()
            while self.n_iter < end and awake <= MANY * self.n_vertices:
                awake = self._sweep_awake(end - self.n_iter)
        while self.n_iter < end:
            self._sweep(end - self.n_iter)


class LocalDescent(Descent):
    """A whole graph in this process."""

    def __init__(
        self,
        graph: Graph,
        labels: NDArray[np.int32],
        fidelity: NDArray[np.float64],
        start: State,
        n_classes: int,
    ) -> None:
        super().__init__(graph.n_vertices)
        _kernels.announce_compilation()
        # Vertices are renumbered for the cache; nobody outside this class sees it.
        order, csr = graph.layout
        self._order = order.astype(np.intp)
        self.patch = Patch(csr, graph.row_sums[self._order], n_classes)
        packed = start.packed(csr[2].dtype)
        self.patch.start(packed[self._order], labels[self._order], fidelity[self._order])

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        """Set ε and the step of every vertex."""
        self.pace = self.patch.set_epsilon(epsilon, step) / max(self.n_vertices, 1)

    def _watched_sweep(self, climb: float) -> dict[str, float]:
        self.n_iter += 1
        return self.patch.watched_sweep(climb)

    def _sweep(self, most: int) -> None:
        self.n_iter += 1
        self.patch.sweep()

    def _wake(self) -> int:
        return self.patch.wake()

    def _sweep_awake(self, most: int) -> int:
        self.n_iter += 1
        self.patch.sweep_awake()
        return self.patch.n_awake

    def undo(self) -> None:
        """Take the last sweep back."""
        self.n_iter -= 1
        self.patch.undo()

    def state(self) -> State:
        """A copy of the present state."""
        state = np.empty_like(self.patch.front)
        state[self._order] = self.patch.front
        return State.from_packed(state)
