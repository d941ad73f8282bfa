"""A flow's states in, a stop before classes swallow each other out."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.energy import Energy
from phaselabel.flow import Solution, minimize
from phaselabel.graph import Graph
from phaselabel.star import State

#: A drift between two looks, in total variation, that says the graph is bad.
BAD = 0.05


class SizeWatch:
    """A callback that stops the flow when class sizes drift by more than ``limit`` from what they were.

    Where a graph separates classes badly nothing pins the interface, and the long flow ends with one class
    everywhere, its energy falling all the while. Sizes tell: on healthy graphs they hardly move once every
    vertex has a class. The reference is the start, or the first state in which nobody waits at the hub.
    """

    def __init__(self, n_classes: int, limit: float = 0.05, start: State | None = None) -> None:
        self.n_classes, self.limit = n_classes, limit
        self.kept: tuple[int, State] | None = None
        self.tripped = False
        self.drift = 0.0
        self._reference = None if start is None else _shares(start.sizes(n_classes))
        self._decided = -1

    def __call__(self, sweep: int, state: State, energy: Energy) -> bool:
        """Look at the sizes; true if they have drifted."""
        sizes = state.sizes(self.n_classes)
        shares = _shares(sizes)
        if self._reference is None:
            decided, self._decided = self._decided, int(sizes.sum())
            # Everybody whom a label reaches has a class when the number at the hub stands still.
            if decided == self._decided:
                self._reference = shares
        else:
            self.drift = 0.5 * float(np.abs(shares - self._reference).sum())
            if self.drift > self.limit:
                self.tripped = True
                return True
        self.kept = sweep, state
        return False


def _shares(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    return sizes / max(int(sizes.sum()), 1)


def guarded(
    graph: Graph, labels: NDArray[np.int32], n_classes: int, limit: float, **settings: Any
) -> Solution:
    """``minimize``, taken back to where the sizes were still sound if they drift."""
    init = settings.get("init")
    watch = SizeWatch(n_classes, limit, init if isinstance(init, State) else None)
    given = settings.pop("callbacks", ())
    watchers = [*([given] if callable(given) else given), watch]
    solution = minimize(graph, labels, n_classes=n_classes, callbacks=watchers, **settings)
    return held(solution, watch)


def held(solution: Solution, watch: SizeWatch) -> Solution:
    """The solution, or the last one that the watch thought sound."""
    if not watch.tripped or watch.kept is None:
        return solution
    sweep, state = watch.kept
    status = f"Held at sweep {sweep}: further on class sizes drift."
    if watch.drift > BAD:
        status = (
            f"Held at sweep {sweep}: further on classes swallow each other, for the graph pins no interface."
        )
    return replace(
        solution,
        arm=state.arm,
        height=state.height,
        energy=solution.energy[solution.energy["sweep"] <= sweep],
        n_iter=sweep,
        status=status,
        reason="collapse" if watch.drift > BAD else "drift",
    )
