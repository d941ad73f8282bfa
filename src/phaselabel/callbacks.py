"""What to do while the flow runs: remember, show progress, keep snapshots.

A callback is any callable that takes (sweep, state, energy); a true answer stops the flow.
"""

from collections.abc import Iterable
from typing import Any

from phaselabel.energy import Energy
from phaselabel.star import State


class History:
    """Remember the energy at every look.

    Examples
    --------
    >>> from phaselabel import Graph, minimize
    >>> history = History()
    >>> solution = minimize(Graph.from_weights([[0, 1], [1, 0]]), [0, -1], callbacks=history)
    >>> history.sweeps[:3]
    [0, 5, 10]
    """

    def __init__(self) -> None:
        self.sweeps: list[int] = []
        self.energies: list[Energy] = []

    def __call__(self, sweep: int, state: State, energy: Energy) -> None:
        """Take note."""
        self.sweeps.append(sweep)
        self.energies.append(energy)


class Snapshots:
    """Keep the state at chosen sweeps, each at the first look at or after it.

    Attributes
    ----------
    states : dict of int to State
        The states kept, by the sweep that was asked for.
    """

    def __init__(self, sweeps: Iterable[int]) -> None:
        self._pending = sorted(sweeps, reverse=True)
        self.states: dict[int, State] = {}

    def __call__(self, sweep: int, state: State, energy: Energy) -> None:
        """Keep the state if its time has come."""
        while self._pending and self._pending[-1] <= sweep:
            self.states[self._pending.pop()] = state


class Progress:
    """Show a progress bar with the energy; ``total`` is the number of sweeps to expect."""

    def __init__(self, total: int | None = None, description: str = "flow") -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError(
                "A progress bar needs tqdm; install it with: pip install phaselabel[progress]"
            ) from None
        self._bar: Any = tqdm(total=total, desc=description, unit="sweep")

    def __call__(self, sweep: int, state: State, energy: Energy) -> None:
        """Move the bar."""
        self._bar.update(sweep - self._bar.n)
        self._bar.set_postfix(energy=f"{energy.total:.4g}")

    def close(self) -> None:
        """End the line."""
        self._bar.close()
