"""A chunk of rows whose blocks wrote their states in; how sure each label of it is out."""

import numpy as np
from numpy.typing import NDArray

from phaselabel._kernels.flow import STATE
from phaselabel.assess.calibration import Calibration, confidence
from phaselabel.assess.novelty import doubted
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.run.opinion_files import NOVEL


def believed_confidence(
    partition: Partition,
    chunk: int,
    tables: str,
    states: str,
    n_classes: int,
    rows: NDArray[np.int64],
    arms: NDArray[np.int32],
    some_far: bool,
) -> NDArray[np.float64]:
    """The confidence of a chunk's labels: what experts believe of the class of each row."""
    arm, agrees = _arms_and_agreement(partition, chunk, states, rows, arms)
    believed = partition.gather(chunk, tables, np.float32)[np.arange(len(arm)), arm].astype(np.float64)
    sure = confidence(believed, arm, agrees, None, n_classes)
    return doubted(sure, partition.gather(chunk, NOVEL, bool), n_classes) if some_far else sure


def _arms_and_agreement(
    partition: Partition, chunk: int, states: str, rows: NDArray[np.int64], arms: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The class of every row of a chunk, and whether it is that of a known label."""
    arm = partition.gather(chunk, states, STATE)["arm"].astype(np.int32)
    first, last = partition.first_rows[chunk : chunk + 2]
    here = slice(*np.searchsorted(rows, [first, last]))
    own = rows[here] - first
    agrees = np.zeros(len(arm), bool)
    agrees[own] = arm[own] == arms[here]
    return arm, agrees


def voted_confidence(
    partition: Partition,
    chunk: int,
    shares: str,
    states: str,
    calibration: Calibration,
    n_classes: int,
    rows: NDArray[np.int64],
    arms: NDArray[np.int32],
    some_far: bool,
) -> NDArray[np.float64]:
    """The probability that each label of a chunk is right; 0 where a row has no class."""
    share = partition.gather(chunk, shares, np.float64)
    arm, agrees = _arms_and_agreement(partition, chunk, states, rows, arms)
    sure = confidence(share, arm, agrees, calibration, n_classes)
    return doubted(sure, partition.gather(chunk, NOVEL, bool), n_classes) if some_far else sure
