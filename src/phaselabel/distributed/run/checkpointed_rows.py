"""Rows on the workers of a cluster in; the same rows, which survive lost workers and a restart, out."""

import logging
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from phaselabel._kernels.flow import STATE
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.run.actor_group import MAX_LOSSES_IN_A_ROW, TOO_MANY_LOSSES, WorkerLost
from phaselabel.distributed.run.known_labels import KnownLabels
from phaselabel.distributed.run.remote_rows import RemoteRows

log = logging.getLogger(__name__)

#: Sweeps from one checkpoint to the next.
CHECKPOINT_INTERVAL = 50

#: The fields of a tally that count vertices; the others are terms of the energy.
COUNTS = ("changed", "climbing", "moving", "waiting")

#: The topic of the events that a flow sends to the scheduler.
EVENTS = "phaselabel"


class RemoteState:
    """A state that stays with its blocks; arms and heights are Dask arrays in the order of the rows."""

    def __init__(self, rows: "CheckpointedRows", sweep: int, sizes: list[int]) -> None:
        self._rows, self.sweep, self._sizes = rows, sweep, np.array(sizes)

    def sizes(self, n_classes: int) -> NDArray[np.int64]:
        """The number of vertices on each arm."""
        return self._sizes

    @property
    def arm(self) -> Any:
        """The class of every row, -1 where it has none."""
        return self._rows.field(self.sweep, "arm", np.int32)

    @property
    def height(self) -> Any:
        """The height of every row above the hub."""
        return self._rows.field(self.sweep, "height", np.float32)


class CheckpointedRows:
    """The rows of :class:`RemoteRows`; a lost worker changes no bit of what they return.

    The calls since the last checkpoint are recorded. When a worker is lost its blocks are made again from the
    checkpoint, all others return to it too, and the recorded calls are repeated: every step is determined by
    the one before. After a restart of the whole job, calls before the checkpoint are answered from what the
    earlier process recorded.

    Parameters
    ----------
    rows : RemoteRows
        The blocks.
    partition : Partition
        The block of every row.
    labels : KnownLabels
        The known labels.
    name : str
        Distinguishes the checkpoints and results of this flow from those of others in the same folder.
    interval : int
        Sweeps from one checkpoint to the next.
    resume : bool
        Continue from the checkpoint of that name, if there is one.

    Attributes
    ----------
    n_iter : int
        The number of sweeps that the caller has seen.
    n_vertices : int
        The number of rows.
    """

    def __init__(
        self,
        rows: RemoteRows,
        partition: Partition,
        labels: KnownLabels,
        *,
        name: str = "flow",
        interval: int = CHECKPOINT_INTERVAL,
        resume: bool = False,
    ) -> None:
        self._rows, self._partition, self._labels = rows, partition, labels
        self._name, self._interval = name, interval
        self.n_iter, self.n_vertices = 0, partition.n_rows
        self._calls: list[tuple[str, tuple[Any, ...]]] = []
        self._tallies: dict[int, dict[str, float]] = {}
        self._sizes: dict[int, list[int]] = {}
        self._held: list[int] = []
        self._checkpoint = 0
        facts = partition.folder.load_facts(self._facts_file) if resume else None
        if facts is not None:
            self._continue_from(facts)
        self._resumed_at = self._checkpoint
        log.info("The flow %r starts at sweep %d in %d blocks.", name, self._checkpoint, partition.n_blocks)
        self._with_recovery(self._restart)

    # -- what a descent calls

    def set_epsilon(self, epsilon: float, step: Literal["auto"] | float) -> float:
        """Set ε and the step of every vertex; return the sum of the steps relative to automatic ones."""
        return float(self._call("set_epsilon", epsilon, step))

    def watched_sweep(self, climb: float) -> dict[str, float]:
        """Move every vertex once; return the sums of the tally."""
        if not self._is_replaying:
            decided = not self._rows.is_decided and self._rows.decide()
            # Later sweeps depend on the length of a round, so what is repeated must start after the choice.
            if decided or self.n_iter >= self._checkpoint + self._interval:
                self._with_recovery(self._save_checkpoint)
            self._tallies[self.n_iter] = self._call("watched_sweep", climb)
            self._send_event()
        tally = self._tallies[self.n_iter]
        self.n_iter += 1
        return tally

    def sweep(self, most: int) -> int:
        """Move every vertex, at most until the next exchange; return how often."""
        done: int = most if self._is_replaying else self._call("sweep", most)
        self.n_iter += done
        return done

    def wake(self) -> int:
        """Mark the vertices that moved in the last sweep and those that they shift; return their number."""
        return 0 if self._is_replaying else int(self._call("wake"))

    def sweep_awake(self, most: int) -> tuple[int, int]:
        """Move the marked vertices; return how often, and how many are marked for the next sweep."""
        done, awake = (most, 0) if self._is_replaying else self._call("sweep_awake", most)
        self.n_iter += done
        return done, awake

    def undo(self) -> None:
        """Take the last full sweep back."""
        self._call("undo")
        self.n_iter -= 1

    def state(self) -> RemoteState:
        """The present state, which the blocks keep, and the one before it."""
        if not self._is_replaying:
            self._sizes[self.n_iter] = self._call("hold")
            self._held = [*[s for s in self._held if s < self.n_iter][-1:], self.n_iter]
        return RemoteState(self, self.n_iter, self._sizes[self.n_iter])

    # -- results

    def field(self, sweep: int, field: str, dtype: DTypeLike) -> Any:
        """One field of the state of a sweep, as a Dask array in the order of the rows."""
        pattern, folder = state_pattern(self._name, sweep), self._partition.folder
        blocks = range(self._partition.n_blocks)
        if not all(folder.has(pattern.format(block)) for block in blocks):
            if sweep not in self._held:
                raise ValueError(
                    f"The state of sweep {sweep} is gone: the workers keep the last two looks only. Read arm "
                    "and height of a state while its callback runs."
                )
            self._with_recovery(lambda: self._rows.actors.call("write_held", sweep, pattern))
        return self._partition.as_dask_array(pattern, dtype, read_field, field)

    def sizes(self, sweep: int) -> NDArray[np.int64]:
        """The classes' sizes in the state of a sweep."""
        return np.array(self._sizes[sweep])

    # -- losses and checkpoints

    @property
    def _is_replaying(self) -> bool:
        """Whether the caller is at a sweep that an earlier process made."""
        return self.n_iter < self._resumed_at

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the rows, and record it."""
        result = self._with_recovery(lambda: getattr(self._rows, method)(*arguments))
        self._calls.append((method, arguments))
        return result

    def _with_recovery(self, do: Callable[[], Any]) -> Any:
        """Call a function again, after recovery, as often as a worker is lost meanwhile."""
        lost = False
        for _ in range(MAX_LOSSES_IN_A_ROW):
            try:
                if lost:
                    self._recover()
                return do()
            except WorkerLost:
                lost = True
        raise RuntimeError(TOO_MANY_LOSSES)

    def _recover(self) -> None:
        self._rows.actors.replace_lost()
        log.info(
            "The flow %r returns to sweep %d, with all %d blocks.",
            self._name, self._checkpoint, self._partition.n_blocks,
        )  # fmt: skip
        self._restart()
        for method, arguments in self._calls:
            getattr(self._rows, method)(*arguments)

    def _restart(self) -> None:
        self._rows.restart(self._labels.of_blocks, self._name, self._checkpoint)

    @property
    def _facts_file(self) -> str:
        return f"{self._name}.json"

    def _save_checkpoint(self) -> None:
        """Let every block write its state; one small file, written last, makes them the checkpoint."""
        self._rows.save_checkpoint(self._name)
        before, self._checkpoint = self._checkpoint, self.n_iter
        self._partition.folder.save_facts(
            self._facts_file,
            {
                "sweep": self.n_iter,
                "vertices": self.n_vertices,
                "sweeps_per_round": self._rows.sweeps_per_round,
                "tallies": self._tallies,
                "sizes": self._sizes,
                "held": self._held,
            },
        )
        # ε at the checkpoint is not part of the blocks' files.
        self._calls = [call for call in self._calls if call[0] == "set_epsilon"][-1:]
        if before and before != self.n_iter:
            self._rows.actors.call("remove_checkpoint", self._name, before)

    def _continue_from(self, facts: dict[str, Any]) -> None:
        """Take over what an earlier process recorded."""
        self._checkpoint = facts["sweep"]
        self._rows.sweeps_per_round, self._rows.is_decided = facts["sweeps_per_round"], True
        self._tallies = {int(sweep): tally for sweep, tally in facts["tallies"].items()}
        self._sizes = {int(sweep): sizes for sweep, sizes in facts["sizes"].items()}
        self._held = facts["held"]

    def _send_event(self) -> None:
        """Show the energy and the cost of the last look: as an event, and as a task of the task stream."""
        tally, cost = self._tallies[self.n_iter], self._rows.rounds[-1]
        energy = sum(value for name, value in tally.items() if name not in COUNTS)
        event = {"flow": self._name, "sweep": self.n_iter, "energy": energy, "changed": int(tally["changed"])}
        log.info(
            "Flow %r, sweep %d in %d blocks: energy %.6g, %d changed; block %d was the slowest, %.2g s.",
            self._name, self.n_iter, self._partition.n_blocks, energy, event["changed"], cost["slowest"],
            cost["computing"],
        )  # fmt: skip
        cost = {name: cost[name] for name in ("seconds", "computing", "bytes", "slowest")}
        actors = self._rows.actors
        # The dashboard's page of events draws the topic "all", by action.
        actors.client.log_event([EVENTS, "all"], event | cost | {"action": f"phaselabel {self._name}"})
        actors.mark(f"{self._name}-{self.n_iter}")


def remove_flow(folder: Folder, name: str) -> None:
    """Remove the checkpoints and results of a flow."""
    for pattern in (f"{name}.json", f"{name}-*", f"checkpoints/{name}-*"):
        folder.remove(pattern)


def state_pattern(name: str, sweep: int) -> str:
    """The files of the blocks' states at a sweep of a flow."""
    return f"{name}-{sweep}/" + "{:05d}.npy"


def read_field(partition: Partition, chunk: int, pattern: str, field: str) -> NDArray[Any]:
    """One field of the states of a chunk's rows."""
    values: NDArray[Any] = partition.gather(chunk, pattern, STATE)[field]
    return values
