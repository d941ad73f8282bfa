"""Actors of all blocks in, sweeps of the whole graph out: the rows that a descent moves on a cluster."""

import logging
from math import fsum
from statistics import median
from time import perf_counter
from typing import Any, Literal

import numpy as np

from phaselabel._kernels.flow import TALLY
from phaselabel.counts import is_whole
from phaselabel.distributed.run.actor_group import ActorGroup

log = logging.getLogger(__name__)

#: The numbers of sweeps of a round among which "auto" chooses.
ROUND_LENGTHS = (1, 2, 3, 5)

#: "auto" takes the shortest round in which the exchange costs less than this share of the sweeps' time.
EXCHANGE_SHARE = 0.2

#: Seconds, sweeps and bytes of one round, and its slowest block.
Round = dict[str, float]


class RemoteRows:
    """The blocks of a graph on their workers, moved together.

    A round is some sweeps of all blocks, after which they exchange what changed at their boundaries. A method
    raises :class:`~phaselabel.distributed.run.actor_group.WorkerLost` where a worker is lost.

    Parameters
    ----------
    actors : ActorGroup
        The blocks.
    sweeps_per_round : int or "auto"
        The number of sweeps from one exchange to the next.
    voice : float, optional
        The weight of the evidence in the files of the blocks; without it there is none.

    Attributes
    ----------
    n_iter : int
        The number of sweeps that the blocks have made.
    rounds : list of dict
        The cost of every round: ``sweep``, ``sweeps``, ``seconds``, ``computing`` and ``bytes``; ``slowest``
        is the block that computed longest.
    is_decided : bool
        Whether the length of a round is fixed.
    """

    def __init__(
        self, actors: ActorGroup, sweeps_per_round: int | Literal["auto"], voice: float | None = None
    ) -> None:
        self.actors, self._voice = actors, voice
        self.is_decided = sweeps_per_round != "auto"
        self.sweeps_per_round = 1 if sweeps_per_round == "auto" else sweeps_per_round
        self.n_iter = self._since_exchange = 0
        self.rounds: list[Round] = []

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every vertex; return the sum of the steps relative to automatic ones."""
        return float(sum(self.actors.call("set_epsilon", epsilon, step)))

    def watched_sweep(self, climb: float) -> dict[str, float]:
        """Move every vertex once; return the sums of the tally."""
        self.exchange()
        parts = self._round("watched_sweep", climb, sweeps=1, last=False)
        self.n_iter += 1
        # Counts add up exactly; sums of energies are rounded once, whatever the order of the blocks.
        return {name: fsum(part[name] for part in parts) for name in TALLY.names or ()}

    def sweep(self, most: int) -> int:
        """Move every vertex, at most until the next exchange; return how often."""
        times = min(self.sweeps_per_round - self._since_exchange, most)
        self._round("sweep", times, sweeps=times, last=times == most)
        self.n_iter += times
        return times

    def wake(self) -> int:
        """Mark the vertices that moved in the last sweep and those that they shift; return their number."""
        return int(sum(self.actors.call("wake")))

    def sweep_awake(self, most: int) -> tuple[int, int]:
        """Move the marked vertices; return how often, and how many are marked for the next sweep."""
        times = min(self.sweeps_per_round - self._since_exchange, most)
        parts = self._round("sweep_awake", times, sweeps=times, last=times == most)
        self.n_iter += times
        if self._since_exchange:
            return times, int(sum(part["awake"] for part in parts))
        return times, int(sum(self.actors.call("wake_around_boundary")))

    def undo(self) -> None:
        """Take the last full sweep back."""
        self.actors.call("undo")
        self._since_exchange = 0
        self.n_iter -= 1

    def hold(self) -> list[int]:
        """Let every block keep a copy of its state, and of the one before; return the classes' sizes."""
        return [int(size) for size in np.sum(self.actors.call("hold", self.n_iter), axis=0)]

    def exchange(self) -> None:
        """Publish what changed at the boundaries since the last exchange."""
        if self._since_exchange:
            self.actors.call("publish")
            self._since_exchange = 0

    def save_checkpoint(self, flow: str) -> None:
        """Let every block write its state."""
        self.exchange()
        self.actors.call("save_checkpoint", flow, self.n_iter)

    def restart(self, labels: list[tuple[Any, ...]], flow: str, sweep: int) -> None:
        """Return to the start, or to the checkpoint of a flow at a sweep."""
        self.actors.call("start", self._voice, each=labels)
        if sweep:
            self.actors.call("load_checkpoint", flow, sweep)
        self.n_iter, self._since_exchange = sweep, 0

    def decide(self) -> bool:
        """Fix the length of a round by the cost of the rounds so far; false where there are too few."""
        full = [r for r in self.rounds if r["sweeps"] == 1 and r["sweep"] > 0]
        if not full:
            return False
        sweep = max(median(r["computing"] for r in full), 1e-6)
        exchange = max(median(r["seconds"] - r["computing"] for r in full), 0.0)
        cheap = [length for length in ROUND_LENGTHS if exchange / length <= EXCHANGE_SHARE * sweep]
        self.sweeps_per_round, self.is_decided = (cheap or ROUND_LENGTHS[-1:])[0], True
        log.info(
            "A sweep takes %.2g s and an exchange %.2g s: %d sweeps a round.",
            sweep, exchange, self.sweeps_per_round,
        )  # fmt: skip
        return True

    def _round(self, method: str, argument: Any, *, sweeps: int, last: bool) -> list[dict[str, float]]:
        """Some sweeps of all blocks; at the end of a round, and before a watched sweep, they publish."""
        publish = last or self._since_exchange + sweeps >= self.sweeps_per_round
        start = perf_counter()
        parts = self.actors.call(method, argument, publish)
        self._since_exchange = 0 if publish else self._since_exchange + sweeps
        self.rounds.append(
            {
                "sweep": self.n_iter,
                "sweeps": sweeps,
                "seconds": perf_counter() - start,
                "computing": max(part["seconds"] for part in parts),
                "slowest": max(range(len(parts)), key=lambda number: parts[number]["seconds"]),
                "bytes": sum(part["bytes"] for part in parts),
            }
        )
        return parts


def check_sweeps_per_round(given: Any) -> None:
    """Refuse a value that is neither "auto" nor a number of sweeps."""
    if given != "auto" and not (is_whole(given) and given >= 1):
        raise ValueError(f"sweeps_per_round must be 'auto' or a whole number of at least 1; got {given!r}.")
