"""The state of every vertex as a point on a star: an arm (its class) and a height above the hub.

The paper writes a state as a real number u; its tree distance only sees the nearest integer (the arm) and the
distance to the nearest half-integer (the height). All half-integers are one point, the hub; each integer is
the leaf at the end of its arm, at height ½.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel._kernels.flow import STATE, STATE64

LEAF = 0.5


@dataclass(frozen=True, eq=False)
class State:
    """The state of every vertex: an arm (its class) and a height above the hub.

    A vertex that no label has reached is at the hub: it has arm -1 and height 0.

    Parameters
    ----------
    arm : ndarray of int, shape (n,)
        The class of every vertex, from 0 to K - 1; -1 without a class.
    height : ndarray of float, shape (n,)
        The position on the arm, from 0 (the hub) to ½ (the leaf).

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
        """Put every vertex at the hub, without a class.

        Parameters
        ----------
        n : int
            The number of vertices.

        Returns
        -------
        State
            A new state.

        Examples
        --------
        >>> State.at_hub(2)
        State(arm=array([-1, -1], dtype=int32), height=array([0., 0.]))
        """
        return cls(np.full(n, -1, np.int32), np.zeros(n))

    @classmethod
    def at_random(cls, n: int, n_classes: int, rng: np.random.Generator) -> "State":
        """Draw the paper's start: u uniform in (-½, K - ½).

        Parameters
        ----------
        n : int
            The number of vertices.
        n_classes : int
            The number K of classes.
        rng : numpy.random.Generator
            The source of the random numbers.

        Returns
        -------
        State
            A new state.

        Examples
        --------
        >>> State.at_random(4, 3, np.random.default_rng(0)).arm.tolist()
        [1, 0, 0, 0]
        """
        return cls.from_u(rng.uniform(0, n_classes, n) - 0.5)

    @classmethod
    def from_u(cls, u: ArrayLike) -> "State":
        """Convert the paper's real-valued state.

        Parameters
        ----------
        u : array-like of float, shape (n,)
            One number per vertex; the nearest integer is the class.

        Returns
        -------
        State
            A new state.

        Examples
        --------
        >>> State.from_u([0.25, 1.0]).height.tolist()
        [0.25, 0.5]
        """
        u = np.asarray(u, np.float64)
        if not (u.min(initial=0) >= -LEAF and u.max(initial=0) < 2**31 - 1):
            raise ValueError("u must be numbers of at least -0.5, whose nearest whole number is the class.")
        arm = np.floor(u + 0.5)
        return cls(arm.astype(np.int32), LEAF - np.abs(u - arm))

    def to_u(self) -> NDArray[np.float64]:
        """Convert to the paper's real-valued state.

        Returns
        -------
        ndarray of float, shape (n,)
            One number per vertex, on the lower side of each integer; NaN without a class.

        Examples
        --------
        >>> State(np.array([1, -1]), np.array([0.25, 0.0])).to_u().tolist()
        [0.75, nan]
        """
        u = self.arm - (LEAF - np.asarray(self.height, np.float64))
        return np.where(self.arm >= 0, u, np.nan)

    def with_labels(self, labels: NDArray[np.integer[Any]]) -> "State":
        """Put every vertex with a known label at the leaf of that label.

        Parameters
        ----------
        labels : ndarray of int, shape (n,)
            The known classes; -1 where not known.

        Returns
        -------
        State
            A new state; vertices without a known label are unchanged.

        Examples
        --------
        >>> State.at_hub(2).with_labels(np.array([1, -1])).height.tolist()
        [0.5, 0.0]
        """
        known = labels >= 0
        return State(np.where(known, labels, self.arm), np.where(known, LEAF, self.height))

    def confidence(self, n_classes: int) -> NDArray[np.float64]:
        """Compute ½ + r: 1 at the leaf, near ½ close to the hub, and 0 without a class.

        With two classes the star is a segment and this is the position on it. The value is at least ½ for
        the vertex's own class, so the class and the highest probability agree.

        Parameters
        ----------
        n_classes : int
            The number K of classes. With one class the confidence is 1 wherever a label reaches.

        Returns
        -------
        ndarray of float, shape (n,)
            The confidence of every vertex.

        Examples
        --------
        >>> State(np.array([1, 0, -1]), np.array([0.5, 0.25, 0.0])).confidence(2).tolist()
        [1.0, 0.75, 0.0]
        """
        if n_classes == 1:
            return (self.arm >= 0).astype(np.float64)
        return np.where(self.arm >= 0, LEAF + np.asarray(self.height, np.float64), 0.0)

    def sizes(self, n_classes: int) -> NDArray[np.int64]:
        """Count the vertices of each class.

        Parameters
        ----------
        n_classes : int
            The number K of classes.

        Returns
        -------
        ndarray of int, shape (n_classes,)
            The counts; vertices without a class are not counted.

        Examples
        --------
        >>> State.from_u([0.1, 1.0, 1.5]).sizes(3).tolist()
        [1, 1, 1]
        """
        return np.bincount(self.arm + 1, minlength=n_classes + 1)[1:]

    def packed(self, dtype: Any = np.float32) -> NDArray[np.void]:
        """Store arm and height side by side, as the kernels read them.

        Parameters
        ----------
        dtype : dtype, default=float32
            The type of the heights: float32 or float64.

        Returns
        -------
        structured ndarray, shape (n,)
            A copy with the fields ``height`` and ``arm``.

        Examples
        --------
        >>> State.at_hub(2).packed()["arm"].tolist()
        [-1.0, -1.0]
        """
        out = np.empty(len(self.arm), STATE64 if np.dtype(dtype) == np.float64 else STATE)
        out["arm"], out["height"] = self.arm, self.height
        return out

    @classmethod
    def from_packed(cls, packed: NDArray[np.void]) -> "State":
        """Convert from the layout of :meth:`packed`.

        Parameters
        ----------
        packed : structured ndarray, shape (n,)
            An array with the fields ``arm`` and ``height``.

        Returns
        -------
        State
            A new state; the arrays are copies.

        Examples
        --------
        >>> State.from_packed(State.at_hub(2).packed()).arm.tolist()
        [-1, -1]
        """
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
    most = max(n_vertices, 1_000_000)
    if n_classes is None:
        n_classes = highest + 1
        if n_classes > most:
            raise ValueError(
                f"labels go up to {highest} for {n_vertices} vertices; number the classes 0, 1, 2 … without "
                "gaps."
            )
    elif isinstance(n_classes, bool) or not isinstance(n_classes, int | np.integer) or highest >= n_classes:
        raise ValueError(
            f"n_classes must be a whole number above the highest label, {highest}; got {n_classes!r}."
        )
    elif n_classes > most:
        raise ValueError(f"n_classes must be at most {most} for {n_vertices} vertices; got {n_classes}.")
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
