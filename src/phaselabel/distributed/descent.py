"""Blocks of a graph on the workers of a cluster in; a state that goes downhill sweep by sweep out."""

import logging
from collections.abc import Callable
from math import fsum
from statistics import median
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels import STATE, TALLY
from phaselabel.descent import Descent
from phaselabel.distributed.crew import LOST_TOO_OFTEN, MOST_LOSSES, Crew, WorkerLost
from phaselabel.distributed.deal import Deal
from phaselabel.energy import Energy

log = logging.getLogger(__name__)

#: How many sweeps a boundary may be frozen: one of these, the smallest that keeps exchanging below SHARE of
#: the time.
STALENESS, SHARE = (1, 2, 3, 5), 0.2

#: Sweeps from one checkpoint to the next.
INTERVAL = 50


class Labels:
    """The known labels of every block: positions, classes, trust."""

    def __init__(
        self, blocks: NDArray[Any], positions: NDArray[Any], arms: Any, fidelity: Any, n: int
    ) -> None:
        self.each = []
        for block in range(n):
            here = np.flatnonzero(blocks == block)
            self.each.append((positions[here], arms[here].astype(np.int32), fidelity[here]))


class RemoteState:
    """A state that stays with its blocks; arms and heights are Dask arrays in the order of the rows."""

    def __init__(self, descent: "DistributedDescent", sweep: int, sizes: NDArray[np.int64]) -> None:
        self._descent, self.sweep, self._sizes = descent, sweep, sizes

    def sizes(self, n_classes: int) -> NDArray[np.int64]:
        """How many vertices stand on each arm."""
        return self._sizes

    @property
    def arm(self) -> Any:
        """The class of every row, -1 where no label reaches."""
        return self._descent.written(self.sweep, "arm", np.int32)

    @property
    def height(self) -> Any:
        """How far every row stands above the hub."""
        return self._descent.written(self.sweep, "height", np.float32)


class DistributedDescent(Descent):
    """A graph in blocks on the workers of a cluster.

    Whatever is asked of it is noted until the next checkpoint. When a worker is lost its blocks are made anew
    from the checkpoint, all others go back to it too, and what was noted is done again: since every step is
    determined by the one before, nobody outside can tell.

    Parameters
    ----------
    crew : Crew
        The blocks.
    deal : Deal
        Which row is where.
    labels : Labels
        The known ones.
    n_classes : int
        K.
    sweeps_per_round : int or "auto"
        How many sweeps the blocks make before they exchange what changed at their boundaries.
    name : str
        Tells the checkpoints and answers of this flow from those of others in the same folder.
    resume : bool
        Go on from the checkpoint of that name, if there is one.
    """

    def __init__(
        self,
        crew: Crew,
        deal: Deal,
        labels: Labels,
        *,
        sweeps_per_round: int | Literal["auto"] = "auto",
        name: str = "flow",
        interval: int = INTERVAL,
        resume: bool = False,
    ) -> None:
        super().__init__(deal.n_rows)
        self._crew, self._deal, self._labels, self._name = crew, deal, labels, name
        self._interval = interval
        self.sweeps_per_round: int = 1 if sweeps_per_round == "auto" else sweeps_per_round
        self._undecided = sweeps_per_round == "auto"
        self._stale = 0
        self._rounds: list[dict[str, float]] = []
        self._setting: tuple[Any, ...] = ()
        self._todo: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self._looks: dict[int, dict[str, float]] = {}
        self._sizes: dict[int, list[int]] = {}
        self._saved: dict[str, Any] = {"sweep": 0}
        self._past = 0
        note = deal.folder.facts(self._note) if resume else None
        if note is not None:
            self._take_up(note)
        self._counters(0, self.n_vertices, 0)
        self._surely(self._return_to_checkpoint, noted=False)
        self._counters(0, self.n_vertices, 0)

    # -- what the flow asks for

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        """Set ε and the step of every vertex."""
        self._setting = epsilon, step
        self._surely(self._set_epsilon, epsilon, step)

    def look(self) -> tuple[Energy, dict[str, int]]:
        """Make one sweep; answer the energy before it, and how many vertices are not at rest."""
        if self.n_iter >= self._past and self.n_iter >= self._saved["sweep"] + self._interval:
            self._surely(self._checkpoint, noted=False)
        return self._surely(super().look)

    def advance(self, sweeps: int) -> None:
        """Make sweeps, unobserved."""
        if self.n_iter < self._past:
            self.n_iter += sweeps
            return
        self._surely(super().advance, sweeps)
        if self._undecided:
            self._decide()

    def undo(self) -> None:
        """Take the last sweep back."""
        self._surely(self._undo)

    def state(self) -> RemoteState:
        """The present state, kept by the blocks; so is the one before."""
        if self.n_iter not in self._sizes or self.n_iter >= self._past:
            self._sizes[self.n_iter] = self._surely(self._hold)
        return RemoteState(self, self.n_iter, np.array(self._sizes[self.n_iter]))

    def written(self, sweep: int, field: str, dtype: Any) -> Any:
        """One field of a state that is held, as a Dask array in the order of the rows."""
        pattern = f"{self._name}-{sweep}/" + "{:05d}.npy"
        if not self._deal.folder.has(pattern.format(self._deal.n_blocks - 1)):
            self._surely(self._write, sweep, pattern)
        return self._deal.array(pattern, dtype, _field, field)

    def settle(self, sweep: int) -> None:
        """Go back to a state that is held."""
        self._surely(self._settle, sweep)

    def shares(self, pattern: str) -> None:
        """Have every block write the votes for its rows' own classes."""
        self._surely(self._crew.everyone, "shares", pattern)

    @property
    def rounds(self) -> list[dict[str, float]]:
        """Seconds, sweeps and bytes of every exchange so far."""
        return list(self._rounds)

    @property
    def losses(self) -> int:
        """How many workers were lost."""
        return self._crew.losses

    # -- steps

    def _set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> None:
        self.pace = sum(self._crew.everyone("set_epsilon", epsilon, step)) / max(self.n_vertices, 1)

    def _watched_sweep(self, climb: float) -> dict[str, float]:
        if self.n_iter < self._past:
            found = self._looks[self.n_iter]
        else:
            if self._stale:
                self._crew.everyone("publish")
                self._stale = 0
            parts = self._round("look", climb, sweeps=1, last=False)
            # Whole numbers add up exactly; sums of energies, correctly rounded, depend on no order of blocks.
            found = {name: fsum(part[name] for part in parts) for name in TALLY.names or ()}
            self._looks[self.n_iter] = found
        self.n_iter += 1
        return found

    def _sweep(self, most: int) -> None:
        times = min(self.sweeps_per_round - self._stale, most)
        self._round("sweep", times, sweeps=times, last=times == most)
        self.n_iter += times

    def _wake(self) -> int:
        return int(sum(self._crew.everyone("wake")))

    def _sweep_awake(self, most: int) -> int:
        times = min(self.sweeps_per_round - self._stale, most)
        parts = self._round("sweep_awake", times, sweeps=times, last=times == most)
        self.n_iter += times
        if self._stale:
            return int(sum(part["awake"] for part in parts))
        return int(sum(self._crew.everyone("rouse")))

    def _round(self, method: str, argument: Any, *, sweeps: int, last: bool) -> list[dict[str, float]]:
        """Some sweeps of all blocks; at the end of a round, and before a look, they lay out their news."""
        publish = last or self._stale + sweeps >= self.sweeps_per_round
        start = perf_counter()
        parts = self._crew.everyone(method, argument, publish)
        self._stale = 0 if publish else self._stale + sweeps
        self._rounds.append(
            {
                "sweep": self.n_iter,
                "sweeps": sweeps,
                "seconds": perf_counter() - start,
                "computing": max(part["seconds"] for part in parts),
                "bytes": sum(part["bytes"] for part in parts),
            }
        )
        return parts

    def _undo(self) -> None:
        self._crew.everyone("undo")
        self._stale = 0
        self.n_iter -= 1

    def _hold(self) -> list[int]:
        return [int(size) for size in np.sum(self._crew.everyone("hold", self.n_iter), axis=0)]

    def _write(self, sweep: int, pattern: str) -> None:
        self._crew.everyone("write", sweep, pattern)

    def _settle(self, sweep: int) -> None:
        self._crew.everyone("settle", sweep)
        self._stale = 0

    def _decide(self) -> None:
        """How many sweeps a round shall have, from what the first rounds cost."""
        full = [r for r in self._rounds if r["sweeps"] == 1 and r["sweep"] > 0]
        if not full:
            return
        sweep = max(median(r["computing"] for r in full), 1e-6)
        around = max(median(r["seconds"] - r["computing"] for r in full), 0.0)
        fits = [s for s in STALENESS if around / s <= SHARE * sweep]
        self.sweeps_per_round, self._undecided = (fits or STALENESS[-1:])[0], False
        log.info(
            "A sweep takes %.2g s and an exchange %.2g s: %d sweeps a round.",
            sweep, around, self.sweeps_per_round,
        )  # fmt: skip
        # From here on sweeps depend on this choice, so what is done again must start behind it.
        self._surely(self._checkpoint, noted=False)

    # -- losses and checkpoints

    def _surely(self, do: Callable[..., Any], *arguments: Any, noted: bool = True) -> Any:
        """Do something however many workers are lost meanwhile."""
        counters = self.n_iter, self._moving, self._stale
        lost = False
        for _ in range(MOST_LOSSES):
            try:
                if lost:
                    self._recover()
                    self._counters(*counters)
                found = do(*arguments)
            except WorkerLost:
                lost = True
                continue
            if noted:
                self._todo.append((do, arguments))
            return found
        raise RuntimeError(LOST_TOO_OFTEN)

    def _recover(self) -> None:
        self._crew.complete()
        self._return_to_checkpoint()
        for do, arguments in self._todo:
            do(*arguments)

    def _return_to_checkpoint(self) -> None:
        self._crew.everyone("start", each=self._labels.each)
        if self._saved["sweep"]:
            self._crew.everyone("restore", self._saved["sweep"])
        if self._setting:
            self._set_epsilon(*self._setting)
        self._counters(self._saved["sweep"], self._saved.get("moving", self.n_vertices), 0)

    def _counters(self, n_iter: int, moving: int, stale: int) -> None:
        self.n_iter, self._moving, self._stale = n_iter, moving, stale

    @property
    def _note(self) -> str:
        return f"{self._name}.json"

    def _checkpoint(self) -> None:
        """Every block writes its state; then, and only then, one note makes them the checkpoint."""
        if self._stale:
            self._crew.everyone("publish")
            self._stale = 0
        self._crew.everyone("save", self.n_iter)
        before, self._saved = self._saved["sweep"], {"sweep": self.n_iter, "moving": self._moving}
        self._deal.folder.note(
            self._note,
            self._saved
            | {
                "vertices": self.n_vertices,
                "sweeps_per_round": self.sweeps_per_round,
                "looks": self._looks,
                "sizes": self._sizes,
            },
        )
        self._todo = [step for step in self._todo if step[0] == self._set_epsilon][-1:]
        if before and before != self.n_iter:
            self._crew.everyone("forget", before)

    def _take_up(self, note: dict[str, Any]) -> None:
        """Go on where another process stopped: until there, looks are answered from its notes."""
        self._past = note["sweep"]
        self._saved = {"sweep": note["sweep"], "moving": note["moving"]}
        self.sweeps_per_round, self._undecided = note["sweeps_per_round"], False
        self._looks = {int(sweep): found for sweep, found in note["looks"].items()}
        self._sizes = {int(sweep): sizes for sweep, sizes in note["sizes"].items()}
        log.info("Going on from sweep %d.", self._past)


def _field(deal: Deal, chunk: int, pattern: str, field: str) -> NDArray[Any]:
    return deal.collected(chunk, pattern, STATE)[field]


def check_sweeps_per_round(given: Any) -> None:
    """Refuse a number of sweeps that can't be."""
    if given != "auto" and (isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1):
        raise ValueError(f"sweeps_per_round must be 'auto' or a whole number of at least 1; got {given!r}.")
