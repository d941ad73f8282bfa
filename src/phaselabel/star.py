"""The state of every vertex as a point on a star: an arm (its class) and a height above the hub.

The paper writes a state as a real number u; its tree distance only sees the nearest integer (the arm) and the
distance to the nearest half-integer (the height). All half-integers are one point, the hub; each integer is
the leaf at the end of its arm, at height ½.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel._kernels import STATE, STATE64

LEAF = 0.5


@dataclass(frozen=True, eq=False)
class State:
    """Where every vertex stands: ``arm`` in {-1, 0 … K-1} and ``height`` in [0, ½].

    A vertex at the hub, whom no label has reached, has arm -1 and height 0.

    Examples
    --------
    >>> state = State.from_u([0.1, 1.0, 1.5])
    >>> state.arm.tolist(), state.height.round(2).tolist()
    ([0, 1, 2], [0.4, 0.5, 0.0])
    """

    arm: NDArray[np.integer[Any]]
    height: NDArray[np.floating[Any]]

    @classmethod
    def at_hub(cls, n: int) -> "State":
        """Nobody has a class yet."""
        return cls(np.full(n, -1, np.int32), np.zeros(n))

    @classmethod
    def at_random(cls, n: int, n_classes: int, rng: np.random.Generator) -> "State":
        """The paper's start: u uniform in (-½, K - ½)."""
        return cls.from_u(rng.uniform(0, n_classes, n) - 0.5)

    @classmethod
    def from_u(cls, u: ArrayLike) -> "State":
        """Read the paper's real-valued state."""
        u = np.asarray(u, np.float64)
        arm = np.floor(u + 0.5)
        return cls(arm.astype(np.int32), LEAF - np.abs(u - arm))

    def to_u(self) -> NDArray[np.float64]:
        """The paper's real-valued state, on the lower side of each integer; NaN where there is no class."""
        u = self.arm - (LEAF - np.asarray(self.height, np.float64))
        return np.where(self.arm >= 0, u, np.nan)

    def with_labels(self, labels: NDArray[np.integer[Any]]) -> "State":
        """The same state with every known label (``labels >= 0``) at its leaf."""
        known = labels >= 0
        return State(np.where(known, labels, self.arm), np.where(known, LEAF, self.height))

    def confidence(self, n_classes: int) -> NDArray[np.float64]:
        """½ + r: 1 at the leaf, ½ at the hub between two classes, and 0 for whom no label reached.

        With two classes the star is a segment and this is the position on it. Nothing is ever less than
        even odds on its own class, so the class and the highest probability agree.
        """
        if n_classes == 1:
            return (self.arm >= 0).astype(np.float64)
        return np.where(self.arm >= 0, LEAF + np.asarray(self.height, np.float64), 0.0)

    def sizes(self, n_classes: int) -> NDArray[np.int64]:
        """How many vertices stand on each arm.

        Examples
        --------
        >>> State.from_u([0.1, 1.0, 1.5]).sizes(3).tolist()
        [1, 1, 1]
        """
        return np.bincount(self.arm + 1, minlength=n_classes + 1)[1:]

    def packed(self, dtype: Any = np.float32) -> NDArray[np.void]:
        """Arm and height side by side, as the kernels take them."""
        out = np.empty(len(self.arm), STATE64 if np.dtype(dtype) == np.float64 else STATE)
        out["arm"], out["height"] = self.arm, self.height
        return out

    @classmethod
    def from_packed(cls, packed: NDArray[np.void]) -> "State":
        """Undo :meth:`packed`; the result is a copy."""
        return cls(packed["arm"].astype(np.int32), packed["height"].copy())


def checked_state(state: Any, n_vertices: int, n_classes: int, name: str = "state") -> State:
    """A state, or anything with an arm and a height, that fits the graph and the classes."""
    if not (hasattr(state, "arm") and hasattr(state, "height")):
        raise ValueError(f"{name} must have an arm and a height per vertex, like a State; got {state!r}.")
    arm, height = np.asarray(state.arm), np.asarray(state.height)
    if not arm.shape == height.shape == (n_vertices,):
        raise ValueError(
            f"{name} must have one arm and one height per vertex, shape ({n_vertices},); "
            f"got {arm.shape} and {height.shape}."
        )
    if not np.issubdtype(arm.dtype, np.integer):
        raise ValueError(f"{name} must have whole numbers as arms; got {arm.dtype}.")
    if n_vertices and (arm.min() < -1 or arm.max() >= n_classes):
        raise ValueError(
            f"{name} has arms from {arm.min()} to {arm.max()}; with {n_classes} classes they must lie "
            f"between -1 (none) and {n_classes - 1}."
        )
    if n_vertices and not (height.min() >= 0 and height.max() <= LEAF):
        raise ValueError(f"{name} must have heights between 0 (the hub) and 0.5 (the leaf).")
    return State(arm, height)


def checked_labels(
    labels: ArrayLike, n_vertices: int, n_classes: int | None = None
) -> tuple[NDArray[np.int32], int]:
    """Known classes as int32 and the number of classes, or an error that says what is wrong."""
    found = np.asarray(labels)
    if found.shape != (n_vertices,):
        raise ValueError(f"labels must have one entry per vertex, shape ({n_vertices},); got {found.shape}.")
    if not np.issubdtype(found.dtype, np.integer):
        raise ValueError(
            f"labels must be whole numbers with -1 for unknown; got {found.dtype}. "
            "GinzburgLandauClassifier takes labels of any type."
        )
    highest, lowest = int(found.max(initial=-1)), int(found.min(initial=0))
    if highest < 0:
        raise ValueError("labels has no known label; give at least one entry a class of 0 or more.")
    if lowest < -1:
        raise ValueError(f"labels must be -1 (unknown) or 0 and above; got {lowest}.")
    if n_classes is None:
        n_classes = highest + 1
    elif isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or highest >= n_classes:
        raise ValueError(
            f"n_classes must be a whole number above the highest label, {highest}; got {n_classes!r}."
        )
    if n_classes > max(n_vertices, 1_000_000):
        raise ValueError(
            f"labels go up to {highest} for {n_vertices} vertices; number the classes 0, 1, 2 … without gaps."
        )
    return found.astype(np.int32), int(n_classes)


def checked_fidelity(fidelity: Any, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """μ_i for every vertex, 0 where there is no label."""
    try:
        mu = np.asarray(fidelity, np.float64)
    except (TypeError, ValueError, OverflowError):
        mu = np.asarray(np.nan)
    if mu.ndim and mu.shape != labels.shape:
        raise ValueError(
            f"fidelity must be one number or one per vertex, shape {labels.shape}; got {mu.shape}."
        )
    mu = np.where(labels >= 0, mu, 0.0)
    if not (np.isfinite(mu).all() and mu.min(initial=0) >= 0 and mu.max(initial=0) <= 1e12):
        raise ValueError(f"fidelity must be between 0 and 1e12; got {fidelity!r}.")
    if not (mu > 0).any():
        raise ValueError("fidelity is 0 for every known label, so none counts; give at least one some trust.")
    return mu
