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

    def packed(self, dtype: Any = np.float32) -> NDArray[np.void]:
        """Arm and height side by side, as the kernels take them."""
        out = np.empty(len(self.arm), STATE64 if np.dtype(dtype) == np.float64 else STATE)
        out["arm"], out["height"] = self.arm, self.height
        return out

    @classmethod
    def from_packed(cls, packed: NDArray[np.void]) -> "State":
        """Undo :meth:`packed`; the result is a copy."""
        return cls(packed["arm"].copy(), packed["height"].copy())
