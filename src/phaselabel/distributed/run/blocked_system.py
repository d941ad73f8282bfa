"""The actors of all blocks in; components of the graph, and linear systems that all of them solve, out."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.few_labels.conjugate_gradients import conjugate_gradients


class BlockedSystem:
    """Linear systems on a graph in blocks, the plain one or its sharpened twin: ``prefixes`` says which."""

    def __init__(self, actors: ActorGroup, prefixes: tuple[str, ...]) -> None:
        self._actors = actors
        self._volumes = self._number_components(prefixes)

    @property
    def n_components(self) -> int:
        """The number of components."""
        return len(next(iter(self._volumes.values())))

    def _solve(
        self,
        begin: str,
        each: Sequence[tuple[Any, ...]],
        prefix: str,
        inflow: NDArray[np.float64],
        damping: float,
        goal: float,
        most: int,
    ) -> None:
        """Let all blocks begin at the means of the components, and iterate to a squared residual."""
        volume = self._volumes[prefix][:, None]
        means = np.divide(inflow, damping * volume, out=np.zeros_like(inflow), where=volume > 0)
        parts = self._actors.call(begin, damping, means.astype(np.float32), each=each)
        square, source = (np.sum([part[i] for part in parts], axis=0) for i in (0, 1))
        conjugate_gradients(self, square, goal * source, most)

    # -- the steps of conjugate gradients, each made by all blocks

    def curvature(self) -> NDArray[np.float64]:
        """Multiply the direction by the system; return their product, column by column."""
        return self.sum("curvature")

    def advance(self, rate: NDArray[np.float32]) -> NDArray[np.float64]:
        """Go along the direction; return the square of the residual."""
        return self.sum("advance", rate)

    def turn(self, ratio: NDArray[np.float32]) -> None:
        """Take the next direction."""
        self._actors.call("turn", ratio)

    def sum(self, method: str, *arguments: Any) -> NDArray[np.float64]:
        """Call a method of all blocks; add up what they return."""
        return np.asarray(np.sum(self._actors.call(method, *arguments), axis=0))

    def _number_components(self, prefixes: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
        """Number the components of the whole graph; return the volume of each in the graphs of some names."""
        counts, read = zip(*self._actors.call("local_components"))
        first = np.concatenate([[0], np.cumsum(counts)])
        touching = self._actors.call("boundary_components")
        ends: list[list[NDArray[np.int64]]] = [[], []]
        for block, listed in enumerate(read):
            for peer, parts in listed:
                # The rows that a peer reads here are its boundary, in the same order.
                ends[0].append(parts + first[block])
                ends[1].append(touching[peer][block][0] + first[peer])
        heads, tails = (np.concatenate([*end, np.zeros(0, np.int64)]) for end in ends)
        joined = sparse.coo_array((np.ones(len(heads), np.int8), (heads, tails)), shape=(first[-1],) * 2)
        n, number = connected_components(joined.tocsr(), directed=False)
        each = [(number[a:b].astype(np.int64),) for a, b in pairwise(first)]
        parts = self._actors.call("set_components", prefixes, each=each)
        return {
            prefix: np.sum([np.pad(p[prefix], (0, n - len(p[prefix]))) for p in parts], axis=0)
            for prefix in prefixes
        }
