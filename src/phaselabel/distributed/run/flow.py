"""A whole graph and a few known labels in, the flow's solution out, in blocks on a cluster."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from distributed import Client
from numpy.typing import ArrayLike

from phaselabel.distributed.build.block_files import split
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.folder import open_folder
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.checkpointed_rows import CHECKPOINT_INTERVAL, CheckpointedRows
from phaselabel.distributed.run.known_labels import KnownLabels
from phaselabel.distributed.run.remote_rows import RemoteRows, check_sweeps_per_round
from phaselabel.flow.block import largest_array
from phaselabel.flow.descent import Descent
from phaselabel.flow.minimize import Solution, checked_callbacks, descend
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity, checked_labels
from phaselabel.graph import Graph


def minimize(
    graph: Graph,
    labels: ArrayLike,
    client: Client,
    *,
    workers: Sequence[str] | None = None,
    fidelity: ArrayLike = 30.0,
    n_classes: int | None = None,
    n_blocks: int | None = None,
    sweeps_per_round: int | Literal["auto"] = "auto",
    folder: Any = None,
    resume: bool = False,
    callbacks: Any = (),
    interval: int = CHECKPOINT_INTERVAL,
    **settings: Any,
) -> Solution:
    """:func:`phaselabel.minimize` from the hub, in blocks on the workers of a Dask cluster.

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    labels : array-like of int, shape (n,)
        The known classes; -1 where not known.
    client : distributed.Client
        The cluster.
    workers : sequence of str, optional
        Addresses of the workers that may be used; all by default.
    fidelity, n_classes, callbacks
        As for :func:`phaselabel.minimize`; a callback's state has ``sizes``, and its ``arm`` and ``height``
        are Dask arrays.
    n_blocks : int, optional
        One per worker by default.
    sweeps_per_round : int or "auto", default="auto"
        Sweeps between two exchanges of what changed at the blocks' boundaries. With 1 the result equals that
        of :func:`phaselabel.minimize` bit for bit.
    folder : path-like, optional
        The files of blocks and checkpoints; every worker must be able to open it. A temporary one by default.
    resume : bool, default=False
        Continue from the checkpoint in the folder.
    interval : int, default=50
        Sweeps from one checkpoint to the next.
    **settings
        ``epsilon``, ``step``, ``max_iter``, ``tol`` and ``every`` of :func:`phaselabel.minimize`.

    Returns
    -------
    Solution
        Its ``arm`` and ``height`` are Dask arrays.
    """
    known, k = checked_labels(labels, graph.n_vertices, n_classes)
    mu = checked_fidelity(fidelity, known)
    flow = FlowSettings(**settings)
    check_sweeps_per_round(sweeps_per_round)
    watchers: Sequence[Any] = checked_callbacks(callbacks)
    files = open_folder(folder)
    n_blocks = n_blocks or len(workers or client.scheduler_info(n_workers=-1)["workers"])
    partition = Partition.load(files) if resume else None
    partition = partition or split(graph, max(1, min(n_blocks, graph.n_vertices)), files)
    labelled = np.flatnonzero(known >= 0)
    places = partition.locate(partition.ids_in(0, labelled))
    given = KnownLabels(*places, known[labelled], mu[labelled], partition.n_blocks)
    size = largest_array(graph.n_vertices, graph.weights.nnz, k)
    actors = ActorGroup(client, files, partition.n_blocks, k, size, workers)
    try:
        blocks = RemoteRows(actors, sweeps_per_round)
        rows = CheckpointedRows(blocks, partition, given, resume=resume, interval=interval)
        return descend(Descent(rows, rows.n_vertices), flow, watchers)
    finally:
        actors.release()
