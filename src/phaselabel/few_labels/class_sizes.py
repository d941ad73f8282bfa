"""What is known of the classes' sizes in, the pressure that makes a labelling respect it out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import spread as kernels

#: Pressure per factor e of deviation, in shares of a vote, where sizes are estimated.
SOFT = 0.1

#: The same where sizes are given.
HARD = 10.0

#: Where sizes are given, the pressure grows from this to HARD in the course of the competition.
FIRST_HARD = 0.3

#: The least pressure in the first choice, when whole clusters change class.
LEAST_AT_FIRST = 1.0


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """The proportion of every class lies between ``low`` and ``high``; ``strength`` says how strictly.

    Proportions are counted among all rows, or among ``sample`` of them if that is not None.
    Outside its interval a class is under the pressure ``-strength · log(size / nearest bound)``. For exact
    sizes (low = high), a labelling in which every row has the class of highest share plus pressure maximises
    ``Σ_i share_i - strength · n · Σ_k size_k log(size_k / low_k)``, which is concave in the sizes.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    strength: float
    sample: int | None = None

    @property
    def are_given(self) -> bool:
        """Whether the sizes are given rather than estimated."""
        return self.strength == HARD

    def firm(self) -> "ClassSizes":
        """The same sizes, held as strictly as in the first choice at least."""
        return replace(self, strength=max(self.strength, LEAST_AT_FIRST))

    def softened(self, progress: float) -> "ClassSizes":
        """The same sizes, held softly at first: a hard hold in every round freezes early mistakes."""
        strength = min(self.strength, FIRST_HARD * (HARD / FIRST_HARD) ** progress)
        return replace(self, strength=strength)

    def pressure(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The pressure on every class at these proportions."""
        tiny = 1e-6
        now = np.log(np.maximum(sizes, tiny))
        low, high = np.log(np.maximum(self.low, tiny)), np.log(np.maximum(self.high, tiny))
        return self.strength * (np.clip(now, low, high) - now)

    def choose(
        self, table: NDArray[np.float32], offsets: NDArray[np.float64], rounds: int = 40
    ) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64]]:
        """The class of every row, its margin, and the offsets at which sizes and pressure agree.

        Each offset moves towards the pressure by its own step, which shrinks when it overshoots: plain dual
        ascent swings and can hand everything to one class.
        """
        n, k = table.shape
        if self.sample is not None and n > 2 * self.sample:
            some = np.ascontiguousarray(table[:: n // self.sample])
            offsets = replace(self, sample=None).choose(some, offsets, rounds)[2]
            rounds = 1
        arm, margin = np.empty(n, np.int32), np.empty(n, np.float32)
        step, last = np.full(k, 0.5), np.zeros(k)
        for _ in range(rounds):
            kernels.choose(table, offsets.astype(np.float32), arm, margin)
            gap = self.pressure(np.bincount(arm, minlength=k) / max(n, 1)) - offsets
            if np.abs(gap).max(initial=0) <= 0.01 * self.strength:
                break
            step = np.where(gap * last < 0, 0.4 * step, np.minimum(1.2 * step, 0.7))
            offsets, last = offsets + step * np.clip(gap, -0.5, 0.5), gap
        return arm, margin, offsets


def class_sizes(given: Any, classes: NDArray[Any]) -> ClassSizes:
    """Read ``class_sizes=``: "estimate", proportions, or intervals; by position or by class name."""
    k = len(classes)
    if isinstance(given, str):
        if given != "estimate":
            raise ValueError(
                f'class_sizes must be "estimate", proportions, or (low, high) pairs; got {given!r}.'
            )
        even = np.full(k, 1 / k)
        return ClassSizes(even, even, SOFT)
    if isinstance(given, dict):
        missing = [c for c in classes.tolist() if c not in given]
        extra = [c for c in given if c not in classes.tolist()]
        if missing or extra:
            faults = f"; {missing} is missing" if missing else ""
            faults += f"; {extra} has no label in y, so label a row of it or leave it out" if extra else ""
            raise ValueError(
                f"class_sizes must name exactly the {k} classes that have a label, {classes.tolist()}"
                f"{faults}."
            )
        given = [given[c] for c in classes.tolist()]
    try:
        bounds = np.array([np.broadcast_to(np.asarray(one, np.float64), 2) for one in given])
    except (TypeError, ValueError):
        bounds = np.empty((0, 2))
    if (bounds < 0).any():
        raise ValueError(f"class_sizes must not be negative; got {given!r}.")
    if len(bounds) != k or not np.isfinite(bounds).all():
        raise ValueError(
            f"class_sizes must hold one proportion, or one (low, high) pair, for each of the {k} classes "
            f"that have a label, {classes.tolist()}; got {given!r}."
        )
    if (bounds == bounds[:, :1]).all():
        bounds = bounds / bounds[:, 0].sum() if bounds[:, 0].sum() else bounds  # counts are welcome too
    low, high = bounds.T
    if (low > high).any() or low.sum() > 1 + 1e-9 or high.sum() < 1 - 1e-9 or not high.all():
        raise ValueError(
            f"class_sizes can't be met: lows must not exceed highs, lows sum to at most 1 ({low.sum():.3g}), "
            f"highs to at least 1 ({high.sum():.3g}), and no class may be empty."
        )
    return ClassSizes(low, high, HARD)


def refuse_smaller(
    sizes: ClassSizes, counts: NDArray[np.integer[Any]], n_rows: int, names: list[Any]
) -> None:
    """Refuse given sizes that leave a class fewer rows than it has known labels.

    Examples
    --------
    >>> refuse_smaller(class_sizes([0.9, 0.1], np.arange(2)), np.array([5, 5]), 20, ["a", "b"])
    Traceback (most recent call last):
    ...
    ValueError: class_sizes leave 2 of 20 rows to class 'b', which has 5 known labels; give it a larger size.
    """
    if not sizes.are_given:
        return
    most = np.ceil(np.round(sizes.high * n_rows, 6))
    for k in np.flatnonzero(most < counts)[:1]:
        raise ValueError(
            f"class_sizes leave {most[k]:.0f} of {n_rows:,} rows to class {names[k]!r}, which has "
            f"{counts[k]:,} known labels; give it a larger size."
        )
