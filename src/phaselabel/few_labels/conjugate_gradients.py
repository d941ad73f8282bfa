"""A damped linear system on a graph in, its solution out: the loop of conjugate gradients."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import spread as kernels
from phaselabel.graph.graph import Csr

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
    """

    def __init__(
        self,
        multiply: Callable[[Table, Table], None],
        damping: float | np.float32,
        solution: Table,
        residual: Table,
        *,
        free: Table | None = None,
    ) -> None:
        self.solution, self.direction = np.ascontiguousarray(solution), residual.copy()
        self._multiply, self._grown = multiply, np.float32(1 + damping)
        self._free = np.ones(len(residual), np.float32) if free is None else free.ravel()
        self._residual, self._image = np.ascontiguousarray(residual), np.empty_like(residual)
        # Sums over rows in double precision: those of blocks are added up.
        self._sums = np.empty((-(-len(residual) // kernels.ROWS_PER_SUM), residual.shape[1]))

    def square(self) -> Sums:
        """The square of the residual, column by column."""
        return squares(self._residual, self._residual)

    def curvature(self) -> Sums:
        """Multiply the direction by the system; return their product, column by column."""
        self._multiply(self.direction, self._image)
        kernels.damp(self.direction, self._image, self._grown, self._free, self._sums)
        return np.asarray(self._sums.sum(axis=0))

    def advance(self, rate: Table) -> Sums:
        """Go along the direction; return the square of the residual."""
        kernels.advance(rate, self.direction, self._image, self.solution, self._residual, self._sums)
        return np.asarray(self._sums.sum(axis=0))

    def turn(self, ratio: Table) -> None:
        """Take the next direction."""
        kernels.turn(ratio, self._residual, self.direction)


def product_with(csr: Csr) -> Callable[[Table, Table], None]:
    """The function that multiplies a table by ŵ."""
    indptr, indices, weights = csr
    weights = weights.astype(np.float32, copy=False)

    def multiply(table: Table, out: Table) -> None:
        kernels.multiply(indptr, indices, weights, table, out)

    return multiply


def squares(a: Table, b: Table) -> Sums:
    """Σ_i a_ik b_ik for every column k."""
    return np.asarray(np.einsum("ik,ik->k", a, b, dtype=np.float64))


def padded(table: Table) -> Table:
    """With columns of zeros up to a multiple of four, for which products are up to three times as fast."""
    extra = -table.shape[1] % 4 if table.shape[1] > 1 else 0
    return np.pad(table, ((0, 0), (0, extra))) if extra else table
