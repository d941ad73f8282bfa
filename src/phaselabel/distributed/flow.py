"""A whole graph and a few known labels in, the flow's solution out, in blocks on a cluster."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from distributed import Client
from numpy.typing import ArrayLike

from phaselabel.distributed.crew import Crew
from phaselabel.distributed.deal import Deal
from phaselabel.distributed.descent import INTERVAL, DistributedDescent, Labels, check_sweeps_per_round
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.pieces import split
from phaselabel.flow import Solution, check_numbers, checked_callbacks, descend
from phaselabel.graph import Graph
from phaselabel.patch import largest_array
from phaselabel.star import checked_fidelity, checked_labels


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
    interval: int = INTERVAL,
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
        As for :func:`phaselabel.minimize`; a callback's state answers ``sizes``, and its ``arm`` and
        ``height`` are Dask arrays.
    n_blocks : int, optional
        One per worker by default.
    sweeps_per_round : int or "auto", default="auto"
        Sweeps between two exchanges of what changed at the blocks' boundaries. With 1 the result equals that
        of :func:`phaselabel.minimize` bit for bit.
    folder : path-like, optional
        Where blocks and checkpoints are kept; every worker must see it. A temporary one by default.
    resume : bool, default=False
        Go on from the checkpoint in the folder.
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
    check_numbers(**{"epsilon": 1.0, "max_iter": 2000, "tol": 1e-4, **settings})
    check_sweeps_per_round(sweeps_per_round)
    watchers: Sequence[Any] = checked_callbacks(callbacks)
    place = folder if isinstance(folder, Folder) else Folder(folder)
    n_blocks = n_blocks or len(workers or client.scheduler_info(n_workers=-1)["workers"])
    deal = Deal.load(place) if resume else None
    deal = deal or split(graph, max(1, min(n_blocks, graph.n_vertices)), place)
    rows = np.flatnonzero(known >= 0)
    given = Labels(*deal.places(deal.ids_in(0, rows)), known[rows], mu[rows], deal.n_blocks)
    size = largest_array(graph.n_vertices, graph.weights.nnz, k)
    crew = Crew(client, place, deal.n_blocks, k, size, workers)
    try:
        descent = DistributedDescent(
            crew, deal, given, sweeps_per_round=sweeps_per_round, resume=resume, interval=interval
        )
        return descend(descent, callbacks=watchers, **settings)
    finally:
        crew.dismiss()
