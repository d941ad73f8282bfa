"""A flow's states in, a stop before one class takes over the rows of others out."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow.energy import Energy
from phaselabel.flow.minimize import Solution
from phaselabel.flow.star import State

#: Above this drift of the class sizes from their reference (total variation) the reason is "collapse".
COLLAPSE = 0.05


class DriftWatch:
    """A callback that stops the flow when class sizes drift by more than ``limit`` from what they were.

    Where a graph separates classes badly nothing pins the interface, and the long flow ends with one class
    everywhere, its energy falling all the while. Sizes show it: on healthy graphs they hardly move once every
    vertex has a class. The reference is the start, or the first state in which no vertex waits at the hub.

    Parameters
    ----------
    n_classes : int
        K.
    limit : float or None
        The largest drift, in total variation; None watches nothing.
    start : State, optional
        The state whose sizes are the reference.
    """

    def __init__(self, n_classes: int, limit: float | None, start: State | None = None) -> None:
        self.n_classes, self.limit = n_classes, limit
        self.kept: tuple[int, State] | None = None
        self.tripped = False
        self.drift = 0.0
        self._reference = None if start is None else _shares(start.sizes(n_classes))
        self._decided = -1

    def __call__(self, sweep: int, state: State, energy: Energy) -> bool:
        """Look at the sizes; true if they have drifted."""
        assert self.limit is not None
        sizes = state.sizes(self.n_classes)
        shares = _shares(sizes)
        if self._reference is None:
            decided, self._decided = self._decided, int(sizes.sum())
            # Every vertex that can be reached has a class when the number at the hub stands still.
            if decided == self._decided:
                self._reference = shares
        else:
            self.drift = 0.5 * float(np.abs(shares - self._reference).sum())
            if self.drift > self.limit:
                self.tripped = True
                return True
        self.kept = sweep, state
        return False

    def held(self, solution: Solution) -> Solution:
        """The solution, or the last state whose sizes were still sound."""
        if not self.tripped or self.kept is None:
            return solution
        sweep, state = self.kept
        status = f"Held at sweep {sweep}: further on class sizes drift."
        if self.drift > COLLAPSE:
            status = (
                f"Held at sweep {sweep}: further on one class takes over the rows of others, for the graph "
                "pins no interface."
            )
        return replace(
            solution,
            arm=state.arm,
            height=state.height,
            energy=solution.energy[solution.energy["sweep"] <= sweep],
            n_iter=sweep,
            status=status,
            reason="collapse" if self.drift > COLLAPSE else "drift",
        )


def _shares(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    return sizes / max(int(sizes.sum()), 1)
