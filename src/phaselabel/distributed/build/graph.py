"""A Dask array in, the blocks of its similarity graph on disk out: plan, shuffle, search, assembly."""

import logging
from dataclasses import dataclass
from typing import Any

from phaselabel.distributed.build.assembly import assemble, group_cells, remove_intermediate_files
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.build.plan import Plan
from phaselabel.distributed.build.row_cells import TrueNeighbors, row_chunks, sample_cells, shuffle_rows
from phaselabel.distributed.build.search import search_cells
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.tasks import Tasks
from phaselabel.graph.neighbors import FAST, check_metric

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GraphSettings:
    """What the graph is made by; the names are those of the classifier."""

    n_neighbors: int = 10
    scale_neighbor: int | None = None
    metric: str = "euclidean"
    recall: float = 0.99

    def __post_init__(self) -> None:
        check_metric(self.metric)

    @property
    def cosine(self) -> bool:
        """Whether rows are compared by their directions."""
        return FAST.get(self.metric) == "cosine"


@dataclass(frozen=True, eq=False)
class BlockedGraph:
    """A similarity graph in blocks on disk.

    Attributes
    ----------
    partition : Partition
        The block of every row.
    recall : float
        The share of the true neighbours that the search found, measured on a sample.
    n_edges, n_cut : int
        The edges, and those that join two blocks.
    """

    partition: Partition
    recall: float
    n_edges: int
    n_cut: int


def build_graph(
    tasks: Tasks,
    folder: Folder,
    X: Any,
    settings: GraphSettings,
    digest: str,
    *,
    resume: bool = False,
    in_blocks: bool = False,
    row_bytes: float | None = None,
    table_bytes: int = 0,
    keep_whole: bool = False,
    keep_neighbors: bool = False,
) -> BlockedGraph:
    """Build the graph of the rows, or what is missing of it in the folder.

    ``digest`` identifies the job: with ``resume`` the folder must hold a job of the same digest. With
    ``in_blocks`` few rows are divided, too; ``row_bytes`` is the size of a sparse row, ``table_bytes`` what
    evidence takes for each row. With ``keep_whole`` the files stay from which the graph can be gathered in
    one process, with ``keep_neighbors`` those of rows and neighbours.
    """
    plan = _plan(tasks, folder, X, settings, digest, resume, in_blocks, row_bytes, table_bytes)
    facts = folder.load_facts("graph.json")
    if facts is None:
        partition, truth = _shuffle(tasks, folder, X, plan, settings)
        search = search_cells(
            tasks, partition, truth, plan.n_neighbors, settings.scale_neighbor,
            FAST.get(settings.metric, settings.metric), settings.recall, plan.search_bytes,
        )  # fmt: skip
        sizes = partition.counts.sum(axis=0)
        partition = Partition(folder, partition.counts, group_cells(search.edges, sizes, plan.n_blocks))
        edges, cut = assemble(tasks, partition)
        partition.save()
        facts = {"recall": search.recall, "edges": edges, "cut": cut}
        folder.save_facts("graph.json", facts)
        remove_intermediate_files(partition, keep_whole, keep_neighbors)
    loaded = Partition.load(folder)
    assert loaded is not None
    # Both ends of an edge are counted.
    return BlockedGraph(loaded, facts["recall"], facts["edges"] // 2, facts["cut"] // 2)


def _plan(
    tasks: Tasks,
    folder: Folder,
    X: Any,
    settings: GraphSettings,
    digest: str,
    resume: bool,
    in_blocks: bool,
    row_bytes: float | None,
    table_bytes: int,
) -> Plan:
    """The plan of the job: the one in the folder, if there is one."""
    earlier = folder.load_facts("plan.json")
    if earlier is not None and not resume:
        raise FileExistsError(
            f"{folder.path} holds a checkpoint already; go on from it (resume=True or --resume), or choose "
            "an empty folder."
        )
    if earlier is not None and earlier.pop("digest") != digest:
        raise ValueError(
            f"The checkpoint in {folder.path} is of other data, labels or settings; repeat what it was made "
            "with, or start anew in another folder."
        )
    if earlier:
        plan = Plan(**earlier)
    else:
        workers = tasks.workers()
        plan = Plan.of(X, settings.n_neighbors, workers, settings.cosine, in_blocks, row_bytes, table_bytes)
    if settings.metric not in FAST and not plan.whole:
        raise ValueError(
            f"metric={settings.metric!r} needs all rows on every worker, and they do not fit; give each more "
            f"memory, or use {' or '.join(map(repr, FAST))}."
        )
    folder.save_facts("plan.json", {**vars(plan), "digest": digest})
    log.info("%d rows in %d cells and %d blocks.", plan.n_rows, plan.n_cells, plan.n_blocks)
    return plan


def _shuffle(
    tasks: Tasks, folder: Folder, X: Any, plan: Plan, settings: GraphSettings
) -> tuple[Partition, TrueNeighbors | None]:
    """The rows in the folder, sorted by cell; what their search must know of true neighbours."""
    if folder.has("partition/counts.npy"):
        truth = None if plan.whole else TrueNeighbors.load(folder)
        return Partition(folder, folder.load("partition/counts.npy")), truth
    chunks, sizes = row_chunks(X, plan.chunk_rows)
    sample_cells(tasks, folder, chunks, sizes, plan, settings.cosine)
    partition, truth = shuffle_rows(tasks, folder, chunks, sizes, plan, settings.cosine)
    if truth is not None:
        truth.save(folder)
    folder.save("partition/counts.npy", partition.counts)
    return partition, truth
