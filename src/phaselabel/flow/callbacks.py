"""What to do while the flow runs: remember, show progress, keep snapshots.

A callback is any callable that takes (sweep, state, energy); a true answer stops the flow.
"""

from collections.abc import Iterable
from typing import Any

from phaselabel.counts import check_count
from phaselabel.flow.energy import Energy
from phaselabel.flow.star import State


class History:
    """Record the energy at every look.

    Attributes
    ----------
    sweeps : list of int
        The sweep before which each look was taken.
    energies : list of Energy
        The energy at each look.

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
        """Record one look."""
        self.sweeps.append(sweep)
        self.energies.append(energy)


class Snapshots:
    """Keep the state at chosen sweeps, each at the first look at or after it.

    Parameters
    ----------
    sweeps : iterable of int
        The sweeps at which to keep the state.

    Attributes
    ----------
    states : dict of int to State
        The states, by requested sweep.

    Examples
    --------
    >>> from phaselabel import Graph, minimize
    >>> snapshots = Snapshots([0, 8])
    >>> solution = minimize(Graph.from_weights([[0, 1], [1, 0]]), [0, -1], callbacks=snapshots)
    >>> {sweep: state.arm.tolist() for sweep, state in snapshots.states.items()}
    {0: [0, -1], 8: [0, 0]}
    """

    def __init__(self, sweeps: Iterable[int]) -> None:
        sweeps = list(sweeps) if isinstance(sweeps, Iterable) else [sweeps]
        for sweep in sweeps:
            check_count(sweep, 0, "A sweep of Snapshots")
        self._pending = sorted(sweeps, reverse=True)
        self.states: dict[int, State] = {}

    def __call__(self, sweep: int, state: State, energy: Energy) -> None:
        """Keep the state if a requested sweep is reached."""
        while self._pending and self._pending[-1] <= sweep:
            self.states[self._pending.pop()] = state


class Progress:
    """Show a progress bar with the energy.

    Parameters
    ----------
    total : int, optional
        The expected number of sweeps. Without it the bar shows only a count.
    description : str, default="flow"
        The text in front of the bar.

    Examples
    --------
    >>> from phaselabel import Graph, minimize
    >>> progress = Progress(total=100)
    >>> solution = minimize(Graph.from_weights([[0, 1], [1, 0]]), [0, -1], callbacks=progress)
    >>> progress.close()
    """

    def __init__(self, total: int | None = None, description: str = "flow") -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError(
                "A progress bar needs tqdm; install it with: pip install phaselabel[progress]"
            ) from None
        if total is not None:
            check_count(total, 0, "total")
        self._bar: Any = tqdm(total=total, desc=description, unit="sweep")

    def __call__(self, sweep: int, state: State, energy: Energy) -> None:
        """Update the bar."""
        self._bar.update(sweep - self._bar.n)
        self._bar.set_postfix(energy=f"{energy.total:.4g}")

    def close(self) -> None:
        """Close the bar and end its line.

        Examples
        --------
        >>> Progress().close()
        """
        self._bar.close()
