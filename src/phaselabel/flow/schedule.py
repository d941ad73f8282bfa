"""ε, the step and the limits of a descent in, checked; the stages of ε with their sweeps out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from phaselabel.counts import check_count
from phaselabel.flow.energy import check_epsilon

#: Values of ε that a schedule may have; a factor next to 1 would mean more than can be held.
MOST_VALUES = 1_000_000


@dataclass(frozen=True)
class Geometric:
    """A shrinking ε: ``start``, ``start·factor``, … down to ``stop``, ``sweeps`` sweeps at each value.

    The paper's adaptive ε is the default.

    Parameters
    ----------
    start : float, default=2.0
        The first value.
    stop : float, default=0.01
        No value is smaller.
    factor : float, default=0.9
        The ratio of each value to the one before, between 0 and 1.
    sweeps : int, default=40
        The number of sweeps at each value.

    Examples
    --------
    >>> [round(epsilon, 2) for epsilon in Geometric(start=1.0, stop=0.25, factor=0.5)]
    [1.0, 0.5, 0.25]
    """

    start: float = 2.0
    stop: float = 0.01
    factor: float = 0.9
    sweeps: int = 40

    def __post_init__(self) -> None:
        check_epsilon(self.start)
        check_epsilon(self.stop)
        if self.stop > self.start:
            raise ValueError(f"An epsilon schedule needs stop <= start; got {self.start} to {self.stop}.")
        if not (_is_number(self.factor) and 0 < self.factor < 1):
            raise ValueError(
                f"The factor of an epsilon schedule must lie between 0 and 1; got {self.factor}."
            )
        values = 1 + np.log(self.stop / self.start) / np.log(self.factor)
        if values > MOST_VALUES:
            raise ValueError(
                f"An epsilon schedule may have {MOST_VALUES:,} values at most; this one has {values:.3g}, "
                f"so choose a factor further below 1 than {self.factor}."
            )
        check_count(self.sweeps, 1, "The sweeps per value of an epsilon schedule")

    def __iter__(self) -> Iterator[float]:
        epsilon = self.start
        while epsilon >= self.stop * (1 - 1e-9):
            yield epsilon
            epsilon *= self.factor


@dataclass(frozen=True)
class FlowSettings:
    """What a descent is told: ε, the step, and when to stop; checked when made.

    Attributes
    ----------
    epsilon : float or Geometric
        Interface width, or a schedule of shrinking values.
    step : "auto" or float
        Time step.
    max_iter : int
        The largest number of sweeps.
    tol : float
        When labels count as quiet and the energy as flat; 0 never stops early.
    every : int
        Sweeps from one look to the next.
    """

    epsilon: float | Geometric = 1.0
    step: Literal["auto"] | float = "auto"
    max_iter: int = 2000
    tol: float = 1e-4
    every: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Geometric):
            check_epsilon(self.epsilon)
        step, tol = self.step, self.tol
        if not (isinstance(step, str) and step == "auto") and not (_is_number(step) and 1e-12 <= step <= 1e6):
            raise ValueError(f"step must be 'auto' or a number between 1e-12 and 1e6; got {step!r}.")
        if not (_is_number(tol) and 0 <= tol <= 1):
            raise ValueError(f"tol must be a number between 0 and 1; got {tol!r}.")
        for name, value in (("max_iter", self.max_iter), ("every", self.every)):
            check_count(value, 1, name)

    @property
    def stages(self) -> list[tuple[float, int]]:
        """The values of ε and how many sweeps each gets."""
        if isinstance(self.epsilon, Geometric):
            return [(value, self.epsilon.sweeps) for value in self.epsilon]
        return [(float(self.epsilon), self.max_iter)]

    @property
    def last_epsilon(self) -> float:
        """The value of ε at which the flow ends."""
        return self.stages[-1][0]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
