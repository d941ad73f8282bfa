"""Blocks that wrote their states in; how sure each label is, and how that was calibrated, out."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels.flow import STATE
from phaselabel.assess.calibration import Calibration, calibrate, confidence
from phaselabel.assess.hidden import rows_to_calibrate_on
from phaselabel.assess.novelty import doubted
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.checkpointed_rows import state_pattern
from phaselabel.distributed.run.known_labels import KnownLabels
from phaselabel.distributed.run.opinion_files import CONFIDENCE, NOVEL
from phaselabel.flow.minimize import Solution

#: The files of the blocks' shares: of the solution, and of the second flow that calibrates them.
SHARES, HIDDEN_SHARES = "shares/{:05d}.npy", "hidden_shares/{:05d}.npy"


def calibrate_in_blocks(
    actors: ActorGroup,
    partition: Partition,
    known: KnownLabels,
    n_classes: int,
    states: str,
    flow: Callable[[KnownLabels, str], Solution],
) -> Calibration:
    """Write the shares of the solution; return how they turn into probabilities, by a second flow.

    ``flow`` lets some of the labels flow, on the same actors, under a name.
    """
    hidden = rows_to_calibrate_on(known.arms)
    actors.call_in_turn(("load_state", states), ("write_own_shares", SHARES))
    if not len(hidden) or n_classes < 2:
        return calibrate(np.zeros(0), np.zeros(0, bool))
    second = flow(known.only(np.setdiff1d(np.arange(len(known.arms)), hidden)), "second")
    states = state_pattern("second", second.n_iter)
    actors.call_in_turn(("load_state", states), ("write_own_shares", HIDDEN_SHARES))
    arm, share = np.empty(len(hidden), np.int32), np.empty(len(hidden))
    blocks, positions = known.blocks[hidden], known.positions[hidden]
    for block in np.unique(blocks):
        here = blocks == block
        arm[here] = partition.folder.load(states.format(block), mapped=True)["arm"][positions[here]]
        share[here] = partition.folder.load(HIDDEN_SHARES.format(block), mapped=True)[positions[here]]
    reached = arm >= 0
    return calibrate(share[reached], (arm == known.arms[hidden])[reached])


def confidence_of_labels(partition: Partition, calibration: Calibration | None, *described: Any) -> Any:
    """The confidence of all labels, a Dask array: by the votes, or, without calibration, by the experts.

    ``described`` are the files of the states, the number of classes, the rows with a known label, their
    classes, and whether some rows look like none of them.
    """
    pattern = CONFIDENCE if calibration is None else SHARES
    return partition.as_dask_array(pattern, np.float64, _confidence_of_chunk, calibration, *described)


def _confidence_of_chunk(
    partition: Partition,
    chunk: int,
    pattern: str,
    calibration: Calibration | None,
    states: str,
    n_classes: int,
    rows: NDArray[np.int64],
    arms: NDArray[np.int32],
    some_far: bool,
) -> NDArray[np.float64]:
    """The probability that each label of a chunk is right; 0 where a row has no class."""
    arm = partition.gather(chunk, states, STATE)["arm"].astype(np.int32)
    first, last = partition.first_rows[chunk : chunk + 2]
    here = slice(*np.searchsorted(rows, [first, last]))
    own = rows[here] - first
    agrees = np.zeros(len(arm), bool)
    agrees[own] = arm[own] == arms[here]
    if calibration is None:
        said = partition.gather(chunk, pattern, np.float32)[np.arange(len(arm)), arm].astype(np.float64)
    else:
        said = partition.gather(chunk, pattern, np.float64)
    sure = confidence(said, arm, agrees, calibration, n_classes)
    return doubted(sure, partition.gather(chunk, NOVEL, bool), n_classes) if some_far else sure
