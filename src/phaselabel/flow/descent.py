"""Rows that can move in; sweeps, looks and the energy at each look out."""

from typing import Any, Literal, Protocol

from phaselabel.flow.energy import ENERGY_TERMS, Energy

#: Where at most this fraction of the vertices moves, a sweep visits only them and the vertices they shift.
FEW_MOVE = 0.05

#: A partial sweep that would visit more than this fraction of the vertices is made a full one.
MANY_AWAKE = 0.3


class Rows(Protocol):
    """What moves: a :class:`~phaselabel.flow.block.Block` in this process, or blocks on workers."""

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every vertex; return the sum of the steps relative to automatic ones."""

    def watched_sweep(self, climb: float) -> dict[str, float]:
        """Move every vertex once; return the energy before, and how many vertices are not at rest."""

    def sweep(self, most: int) -> int:
        """Move every vertex at least once and at most ``most`` times; return how often."""

    def wake(self) -> int:
        """Mark the vertices that moved in the last sweep and those that they shift; return their number."""

    def sweep_awake(self, most: int) -> tuple[int, int]:
        """Move the marked vertices; return how often, and how many are marked for the next sweep."""

    def undo(self) -> None:
        """Take the last full sweep back."""

    def state(self) -> Any:
        """The present state: a :class:`~phaselabel.flow.star.State`, or an object with the same fields."""


class Descent:
    """When to look, when to visit all vertices and when only some.

    Parameters
    ----------
    rows : Rows
        What moves.
    n_vertices : int
        The number of vertices.
    n_unreachable : int, optional
        The number of vertices in components with neither label nor evidence, where it is known.

    Attributes
    ----------
    n_iter : int
        The number of sweeps made.
    pace : float
        The mean step relative to the automatic one; slow motion must not be taken for rest.
    """

    def __init__(self, rows: Rows, n_vertices: int, n_unreachable: int | None = None) -> None:
        self.rows, self.n_unreachable = rows, n_unreachable
        self.n_vertices = self._moving = n_vertices
        self.n_iter = 0
        self.pace = 1.0

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        """Set ε and the step of every vertex."""
        self.pace = self.rows.set_epsilon(epsilon, step) / max(self.n_vertices, 1)

    def look(self) -> tuple[Energy, dict[str, int]]:
        """Make one sweep; return the energy before it, and how many vertices are not at rest."""
        tally = self.rows.watched_sweep(1 + 0.01 * min(self.pace, 1.0))
        self.n_iter += 1
        terms = {name: max(float(tally[name]), 0.0) for name in ENERGY_TERMS}
        counts = {name: int(tally[name]) for name in ("changed", "climbing", "moving", "waiting")}
        self._moving = counts["moving"]
        return Energy(**terms), counts

    def advance(self, sweeps: int, *, skip: bool = True) -> None:
        """Make sweeps without a tally; with ``skip``, while few vertices move, only of those they shift."""
        end = self.n_iter + sweeps
        if skip and self._moving <= FEW_MOVE * self.n_vertices:
            awake = self.rows.wake()
            while self.n_iter < end and awake <= MANY_AWAKE * self.n_vertices:
                done, awake = self.rows.sweep_awake(end - self.n_iter)
                self.n_iter += done
        while self.n_iter < end:
            self.n_iter += self.rows.sweep(end - self.n_iter)

    def undo(self) -> None:
        """Take the last look's sweep back."""
        self.rows.undo()
        self.n_iter -= 1

    def energy(self) -> Energy:
        """The energy of the present state."""
        now, _ = self.look()
        self.undo()
        return now

    def state(self) -> Any:
        """The present state."""
        return self.rows.state()
