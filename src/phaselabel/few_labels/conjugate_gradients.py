"""A damped linear system on a graph in, its solution out: the loop of conjugate gradients."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import spread as kernels
from phaselabel.graph import Graph

Table = NDArray[np.float32]
Sums = NDArray[np.floating]

#: Smallest square that a sum is divided by.
LEAST_SQUARE = 1e-30


class Steps(Protocol):
    """The three steps of an iteration; a graph in blocks has each one done by all blocks."""

    def curvature(self) -> Sums:
        """Multiply the direction by the system; return their product, column by column."""

    def advance(self, rate: Table) -> Sums:
        """Go along the direction; return the square of the residual."""

    def turn(self, ratio: Table) -> None:
        """Take the next direction."""


def conjugate_gradients(steps: Steps, square: Sums, goal: Sums, most: int) -> None:
    """Iterate until the squared residual of every column is at most its goal, ``most`` times at most.

    Parameters
    ----------
    steps : Steps
        The system at its start.
    square, goal : ndarray of shape (n_columns,)
        The squared residual at the start, and the one to reach.
    most : int
        The largest number of iterations.
    """
    for _ in range(most):
        rate = square / np.maximum(steps.curvature(), LEAST_SQUARE)
        before, square = square, steps.advance(rate.astype(np.float32, copy=False))
        if (square <= goal).all():
            break
        steps.turn((square / np.maximum(before, LEAST_SQUARE)).astype(np.float32, copy=False))


class DampedSystem:
    """The system (1 + damping - ŵ) u = b, one column per right-hand side, with what is found so far.

    Parameters
    ----------
    multiply : callable
        Called with (table, out); writes ŵ table into ``out``.
    damping : float
        How much a walk is damped at every step.
    solution, residual : ndarray of shape (n, n_columns)
        The start, and what it leaves of b. Both are changed in place.
    free : ndarray of shape (n, 1), optional
        0 where a row is fixed, 1 elsewhere; all rows are free by default.
    dtype : dtype, default=float32
        The precision of sums over rows.
    """

    def __init__(
        self,
        multiply: Callable[[Table, Table], None],
        damping: float | np.float32,
        solution: Table,
        residual: Table,
        *,
        free: Table | None = None,
        dtype: type[np.floating] = np.float32,
    ) -> None:
        self.solution, self.direction = solution, residual.copy()
        self._multiply, self._damping, self._free, self._dtype = multiply, damping, free, dtype
        self._residual, self._image = residual, np.empty_like(residual)

    def square(self) -> Sums:
        """The square of the residual, column by column."""
        return squares(self._residual, self._residual, self._dtype)

    def curvature(self) -> Sums:
        """Multiply the direction by the system; return their product, column by column."""
        self._multiply(self.direction, self._image)
        np.subtract((1 + self._damping) * self.direction, self._image, out=self._image)
        if self._free is not None:
            self._image *= self._free
        return squares(self.direction, self._image, self._dtype)

    def advance(self, rate: Table) -> Sums:
        """Go along the direction; return the square of the residual."""
        self.solution += rate * self.direction
        self._residual -= rate * self._image
        return self.square()

    def turn(self, ratio: Table) -> None:
        """Take the next direction."""
        self.direction *= ratio
        self.direction += self._residual


def product_with(graph: Graph) -> Callable[[Table, Table], None]:
    """The function that multiplies a table by ŵ of a graph."""
    indptr, indices, weights = graph.csr
    weights = weights.astype(np.float32, copy=False)

    def multiply(table: Table, out: Table) -> None:
        kernels.multiply(indptr, indices, weights, table, out)

    return multiply


def squares(a: Table, b: Table, dtype: type[np.floating] = np.float32) -> Sums:
    """Σ_i a_ik b_ik for every column k."""
    return np.asarray(np.einsum("ik,ik->k", a, b, dtype=dtype))


def padded(table: Table) -> Table:
    """With columns of zeros up to a multiple of four, for which products are up to three times as fast."""
    extra = -table.shape[1] % 4 if table.shape[1] > 1 else 0
    return np.pad(table, ((0, 0), (0, extra))) if extra else table
