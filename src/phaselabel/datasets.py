"""The paper's generated problems: a random state in, points and their classes out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Points = tuple[NDArray[np.float64], NDArray[np.int64]]


def make_three_moons(
    n_per_class: int = 500, *, dimension: int = 100, noise: float = 0.02, random_state: Any = None
) -> Points:
    """Three half circles in the plane, embedded in ``dimension`` dimensions with noise in each of them.

    Two upper half circles of radius 1 at (0, 0) and (3, 0), and a lower one of radius 1.5 at (1.5, 0.4).

    Parameters
    ----------
    n_per_class : int, default=500
        Points on each half circle.
    dimension : int, default=100
        Dimension of the space.
    noise : float, default=0.02
        Variance of the Gaussian noise on every component.
    random_state : int, Generator, SeedSequence or None
        Where the randomness comes from.

    Returns
    -------
    X : ndarray of shape (3 n_per_class, dimension)
        The points.
    y : ndarray of shape (3 n_per_class,)
        Which half circle each lies on.
    """
    arcs = [(0.0, 0.0, 1.0), (3.0, 0.0, 1.0), (1.5, 0.4, -1.5)]
    return _half_circles(arcs, n_per_class, dimension, noise, random_state)


def _half_circles(
    arcs: list[tuple[float, float, float]], n: int, dimension: int, noise: float, random_state: Any
) -> Points:
    """Half circles given as (x, y, radius), the lower half where the radius is negative."""
    if dimension < 2:
        raise ValueError(f"dimension must be at least 2, half circles are plane; got {dimension}.")
    rng = np.random.default_rng(random_state)
    X = np.zeros((len(arcs) * n, dimension))
    for k, (x, y, radius) in enumerate(arcs):
        angle = rng.uniform(0, np.pi, n)
        rows = slice(k * n, (k + 1) * n)
        X[rows, 0] = x + abs(radius) * np.cos(angle)
        X[rows, 1] = y + radius * np.sin(angle)
    X += rng.normal(0, np.sqrt(noise), X.shape)
    return X, np.repeat(np.arange(len(arcs)), n)


def sample_labels(y: Any, n_per_class: int, *, random_state: Any = None) -> NDArray[np.int64]:
    """Hide all but ``n_per_class`` random labels of each class.

    Returns
    -------
    ndarray of shape (n,)
        The kept labels; -1 elsewhere.

    Examples
    --------
    >>> (sample_labels([0, 0, 0, 1, 1], 1, random_state=0) >= 0).sum()
    np.int64(2)
    """
    rng = np.random.default_rng(random_state)
    y = np.asarray(y)
    labels = np.full(len(y), -1, np.int64)
    for k in np.unique(y):
        members = np.flatnonzero(y == k)
        if len(members) < n_per_class:
            raise ValueError(f"Class {k} has {len(members)} rows but n_per_class={n_per_class}.")
        labels[rng.choice(members, n_per_class, replace=False)] = k
    return labels
