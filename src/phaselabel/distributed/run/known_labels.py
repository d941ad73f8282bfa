"""The known labels in; what each block needs of them out."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The known labels of a graph in blocks.

    Attributes
    ----------
    blocks, positions : ndarray of int
        The block of every labelled row, and its position there.
    arms : ndarray of int
        Its class.
    fidelity : ndarray
        The trust μ in it.
    n_blocks : int
        The number of blocks.
    """

    blocks: NDArray[np.int64]
    positions: NDArray[np.int64]
    arms: NDArray[np.int32]
    fidelity: NDArray[np.float64]
    n_blocks: int

    def only(self, some: NDArray[np.intp]) -> "KnownLabels":
        """Some of the labels."""
        return KnownLabels(
            self.blocks[some], self.positions[some], self.arms[some], self.fidelity[some], self.n_blocks
        )

    @cached_property
    def of_blocks(self) -> list[tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]]:
        """Positions, classes and trust, block by block."""
        parts = []
        for block in range(self.n_blocks):
            here = np.flatnonzero(self.blocks == block)
            parts.append((self.positions[here], self.arms[here].astype(np.int32), self.fidelity[here]))
        return parts
