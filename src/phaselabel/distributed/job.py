"""A Dask array and a few labels in; labels, confidence and what the flow did, as Dask arrays, out."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from dask.utils import format_bytes
from distributed import Client
from numpy.typing import NDArray

from phaselabel.assess.calibration import Calibration
from phaselabel.distributed.build.graph import BlockedGraph, GraphSettings, build_graph
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.build.plan import free_bytes
from phaselabel.distributed.build.row_cells import is_sparse, row_chunks
from phaselabel.distributed.build.row_files import stored_bytes
from phaselabel.distributed.build.sharpening import sharpen_blocks
from phaselabel.distributed.cluster import on_this_machine
from phaselabel.distributed.folder import Folder, open_folder
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.block_actor import BlockActor
from phaselabel.distributed.run.blocked_novelty import far_rows_in_blocks
from phaselabel.distributed.run.blocked_opinion import ids_of, opinion_in_blocks
from phaselabel.distributed.run.blocked_solve import solve_in_blocks
from phaselabel.distributed.run.checkpointed_rows import state_pattern
from phaselabel.distributed.run.confidence import SHARES, calibrate_in_blocks, confidence_of_labels
from phaselabel.distributed.run.known_labels import KnownLabels
from phaselabel.distributed.run.one_worker import (
    LocalProblem,
    calibrate_on_one_worker,
    needed_bytes,
    needed_for_evidence,
    solve_on_one_worker,
)
from phaselabel.distributed.run.peer_actor import PeerActor
from phaselabel.distributed.run.propagation_actor import PropagationActor
from phaselabel.distributed.run.remote_rows import RemoteRows, Round
from phaselabel.distributed.tasks import Progress, Tasks
from phaselabel.evidence.experts import affordable_walks, is_spread
from phaselabel.evidence.opinion import Opinion
from phaselabel.few_labels.class_sizes import ClassSizes, class_sizes
from phaselabel.few_labels.policy import EVIDENCE, FIT, Policy
from phaselabel.flow.block import largest_array
from phaselabel.flow.minimize import Solution
from phaselabel.flow.schedule import FlowSettings
from phaselabel.graph.rungs import USUAL_RUNG, longest_rung

log = logging.getLogger(__name__)

#: Tables of rows times classes that evidence holds at a time, in all blocks together.
TABLES_IN_BLOCKS = 8

#: The remark where a local fit without evidence would spread few labels, and the blocks do not.
FROM_THE_HUB = (
    "Labels are few, and a local fit would spread them over the whole graph before the flow; in blocks the "
    "flow started from the hub, so labels differ. Give one worker the memory for the whole graph and leave "
    "in_blocks out, or use evidence."
)

#: The remark where a local fit with evidence would ask a spread of few labels, and the blocks do not.
NOT_SPREAD = (
    "Labels are few, and a local fit would also spread them over the whole graph; no worker has the memory "
    "for that, so labels differ. Give one worker a larger memory_limit."
)


@dataclass
class Settings:
    """Graph and flow; the names are those of the classifier."""

    n_neighbors: int | Literal["auto"] = 10
    scale_neighbor: int | None = None
    metric: str = "euclidean"
    recall: float = 0.99
    fidelity: Any = 30.0
    flow: FlowSettings = field(default_factory=FlowSettings)
    class_sizes: Any = "estimate"
    policy: Policy = FIT
    evidence: Any = None
    model_columns: NDArray[np.intp] | None = None
    callbacks: Sequence[Any] = ()
    sweeps_per_round: int | Literal["auto"] = "auto"
    in_blocks: bool | Literal["auto"] = "auto"

    def sizes(self, n_classes: int) -> ClassSizes:
        """What is known of the classes' sizes."""
        return class_sizes(self.class_sizes, np.arange(n_classes))

    @property
    def graph(self) -> GraphSettings:
        """The part that decides the graph."""
        assert self.n_neighbors != "auto", "the job decides before it searches"
        return GraphSettings(self.n_neighbors, self.scale_neighbor, self.metric, self.recall)


@dataclass
class Outcome:
    """The result of a job.

    Attributes
    ----------
    graph : BlockedGraph
        The graph in blocks.
    solution : Solution
        Its ``arm`` and ``height`` are Dask arrays.
    class_sizes : ndarray of int
        The number of rows of every class.
    rounds : list of dict
        The cost of every round of the flow.
    sweeps_per_round, losses : int
        Sweeps between two exchanges, and workers that were lost.
    remarks : list of str
        What is wrong with the graph, in sentences.
    in_blocks : bool
        Whether the flow ran in blocks; on one worker otherwise.
    n_neighbors : int
        The neighbours of a row in the graph of the flow.
    opinion : Opinion, optional
        With evidence what experts believe; its tables are in the files of the blocks.
    far : (int, int)
        The number of rows that look like none of the labelled ones, and the first of them.
    confidence, calibration
        The probability that each label is right, and how votes turn into it, once computed.
    """

    graph: BlockedGraph
    solution: Solution
    class_sizes: NDArray[np.int64]
    rounds: list[Round]
    sweeps_per_round: int
    losses: int = 0
    remarks: list[str] = field(default_factory=list)
    in_blocks: bool = True
    n_neighbors: int = USUAL_RUNG
    opinion: Opinion | None = None
    far: tuple[int, int] = (0, -1)
    confidence: Any = None
    calibration: Calibration | None = None


class Job:
    """The way from a Dask array to labels; finished steps are in the folder, and are not repeated.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    folder : path-like, optional
        The files of rows, graph and checkpoints, or the address of an object store; every worker must be able
        to open it. A temporary folder by default.
    resume : bool, default=False
        Continue from what is in the folder.
    progress : callable, optional
        Called with (stage, done, total).
    """

    def __init__(
        self, client: Client, folder: Any = None, *, resume: bool = False, progress: Progress | None = None
    ) -> None:
        self.folder = open_folder(folder)
        if self.folder.is_temporary and not on_this_machine(client):
            raise ValueError(
                "The workers are on several machines: give a folder that all of them see, or the address of "
                "an object store, for rows, graph and checkpoints (checkpoint=, or --checkpoint on the "
                "command line)."
            )
        self._tasks, self._resume = Tasks(client, progress), resume
        self._lost: set[str] = set()  # addresses of workers

    def run(
        self,
        X: Any,
        rows: NDArray[np.int64],
        arms: NDArray[np.int32],
        n_classes: int,
        settings: Settings,
    ) -> Outcome:
        """Label every row of ``X`` from the classes ``arms`` of some ``rows``, which are in order."""
        self._refuse_blind_workers()
        believing, row_bytes = settings.evidence is not None, self._sparse_row_bytes(X)
        worker, several = None, False
        if believing:
            width = X.shape[1] if row_bytes is None else int(row_bytes / 4)
            worker, several = self._worker_with_evidence(X.shape[0], width, n_classes, settings)
        settings = replace(settings, n_neighbors=_n_neighbors(X.shape[0], settings, several))
        digest = _digest(X, rows, arms, settings)
        small = X.shape[0] * n_classes <= settings.policy.largest_table
        graph = build_graph(
            self._tasks, self.folder, X, settings.graph, digest, resume=self._resume,
            in_blocks=settings.in_blocks is True, row_bytes=row_bytes,
            table_bytes=TABLES_IN_BLOCKS * 4 * n_classes if believing and worker is None else 0,
            keep_whole=small or believing or _may_be_whole(X.shape[0], n_classes, settings),
            keep_neighbors=worker is not None,
        )  # fmt: skip
        if not believing:
            worker = self._worker_for(graph, n_classes, settings)
        problem = _local_problem(rows, arms, n_classes, settings, several)
        if worker is not None:
            return self._on_one_worker(graph, problem, worker, settings)
        return self._in_blocks(graph, problem, settings)

    def _on_one_worker(
        self, graph: BlockedGraph, problem: LocalProblem, worker: str, settings: Settings
    ) -> Outcome:
        """Let a worker fit as a local fit does."""
        local = solve_on_one_worker(self._tasks, graph.partition, problem, "flow", worker, settings.callbacks)
        return Outcome(
            graph, local.solution, local.class_sizes, [], 1, remarks=local.remarks, in_blocks=False,
            n_neighbors=_chosen(local.opinion, settings), opinion=local.opinion, far=local.far,
        )  # fmt: skip

    def _in_blocks(self, graph: BlockedGraph, problem: LocalProblem, settings: Settings) -> Outcome:
        """Form the opinion of experts, if evidence is wanted, and let the labels flow, on all workers."""
        partition, n_classes, policy = graph.partition, problem.n_classes, problem.policy
        opinion: Opinion | None = None
        remarks: list[str] = []
        if problem.evidence is not None:
            opinion, remarks = self._opinion(graph, problem, str(settings.n_neighbors))
            policy = EVIDENCE
        elif policy.spreads(partition.n_rows, len(problem.rows), n_classes, sizes_given=False):
            remarks = [FROM_THE_HUB]
        known = self._known_labels(partition, problem)
        far = self._far_rows(graph, known, n_classes)
        with self._actors(graph, n_classes) as actors:
            blocks = RemoteRows(actors, settings.sweeps_per_round, None if opinion is None else opinion.voice)
            solution, sizes = solve_in_blocks(
                blocks, partition, known, n_classes, problem.sizes, problem.flow, policy, "flow",
                resume=self._resume, callbacks=settings.callbacks,
            )  # fmt: skip
        return Outcome(
            graph, solution, sizes, blocks.rounds, blocks.sweeps_per_round, len(self._lost), remarks,
            n_neighbors=_chosen(None, settings), opinion=opinion, far=far,
        )  # fmt: skip

    def _opinion(self, graph: BlockedGraph, problem: LocalProblem, name: str) -> tuple[Opinion, list[str]]:
        """What experts believe, and what must be said of them; the graph has a name among its experts."""
        n, k, n_labels = graph.partition.n_rows, problem.n_classes, int(np.count_nonzero(problem.fidelity))
        if affordable_walks(n, k) > 1:  # the second walk is on sharpened edges
            sharpen_blocks(self._tasks, graph.partition)
        with self._actors(graph, k, PropagationActor) as actors:
            spreader, flows = self._spreader(graph, k, n_labels), partial(self._actors, graph, k)
            opinion = opinion_in_blocks(self._tasks, graph.partition, actors, problem, name, spreader, flows)
        return opinion, [NOT_SPREAD] if spreader is None and is_spread(n, n_labels, k) else []

    def _far_rows(self, graph: BlockedGraph, known: KnownLabels, n_classes: int) -> tuple[int, int]:
        """The number of rows that look like none of the labelled ones, and the first of them."""
        trusted = known.only(np.flatnonzero(known.fidelity > 0))
        with self._actors(graph, n_classes, PropagationActor) as actors:
            return actors.repeated(
                lambda: far_rows_in_blocks(actors, graph.partition, trusted.blocks, trusted.positions)
            )

    def _refuse_blind_workers(self) -> None:
        """Refuse a folder that a worker does not see, before any work is done."""
        mark = f"seen-{self.folder.token}.json"
        self.folder.save_facts(mark, True)
        answers = self._tasks.client.run(_sees, self.folder, mark, on_error="return")
        self.folder.remove(mark)
        for address, answer in answers.items():
            if answer is not True:
                reason = f" ({answer})" if isinstance(answer, Exception) else ""
                raise ValueError(
                    f"The worker {address} can't read what is written to {self.folder.path} here{reason}; "
                    "give a folder that all workers see, or the address of an object store (checkpoint=, or "
                    "--checkpoint on the command line)."
                )

    def _worker_for(self, graph: BlockedGraph, n_classes: int, settings: Settings) -> str | None:
        """The worker that solves the whole problem; None where it is solved in blocks."""
        if not _may_be_whole(graph.partition.n_rows, n_classes, settings):
            return None
        largest, free = self._largest_worker()
        needed = needed_bytes(graph.partition.n_rows, graph.n_edges, n_classes)
        if needed <= free:
            return largest
        message = (
            f"A worker needs {format_bytes(needed)} of free memory to solve this as a local fit does, and "
            f"the largest has {format_bytes(int(free))}"
        )
        if settings.in_blocks is False:
            raise ValueError(f"{message}; give one worker a larger memory_limit.")
        if settings.sizes(n_classes).are_given:
            raise ValueError(
                f"{message}; give one worker a larger memory_limit, or use evidence, which meets class_sizes "
                "in blocks."
            )
        log.warning("%s: the flow runs in blocks, from the hub.", message)
        return None

    def _sparse_row_bytes(self, X: Any) -> float | None:
        """The mean size of a sparse row; None where rows are dense."""
        if not is_sparse(X):
            return None
        chunks, sizes = row_chunks(X, int(X.shape[0]))
        return float(sum(self._tasks.run("looking", stored_bytes, [(c,) for c in chunks])) / sizes.sum())

    def _worker_with_evidence(
        self, n: int, width: int, n_classes: int, settings: Settings
    ) -> tuple[str | None, bool]:
        """The worker that fits as a local fit does, and whether it chooses between several graphs."""
        several = settings.n_neighbors == "auto" and settings.scale_neighbor is None
        searched = longest_rung(n) if several else _n_neighbors(n, settings, several)
        if not _may_be_whole(n, n_classes, settings):
            return None, False
        largest, free = self._largest_worker()
        needed = needed_for_evidence(n, searched, n_classes, width)
        if needed <= free:
            return largest, several
        message = (
            f"A worker needs {format_bytes(needed)} of free memory to fit with evidence as a local fit does, "
            f"and the largest has {format_bytes(int(free))}"
        )
        if settings.in_blocks is False:
            raise ValueError(f"{message}; give one worker a larger memory_limit.")
        log.warning("%s: evidence is formed in blocks, on the graph of 10 neighbours.", message)
        return None, False

    def _spreader(self, graph: BlockedGraph, n_classes: int, n_labels: int) -> str | None:
        """The worker that spreads labels; None where they are many, or the graph is too large for one."""
        n = graph.partition.n_rows
        if not is_spread(n, n_labels, n_classes):
            return None
        (largest, free), needed = self._largest_worker(), needed_bytes(n, graph.n_edges, n_classes)
        if needed <= free:
            return largest
        log.warning(
            "Few labels are spread by a worker with %s of free memory, and the largest has %s: they are not "
            "spread.", format_bytes(needed), format_bytes(int(free)),
        )  # fmt: skip
        return None

    def _largest_worker(self) -> tuple[str, float]:
        """The worker with most free memory, and how much that is."""
        workers = self._tasks.workers()
        largest = max(workers, key=lambda address: (free_bytes(workers[address]), address))
        return largest, free_bytes(workers[largest])

    @contextmanager
    def _actors(
        self, graph: BlockedGraph, n_classes: int, kind: type[PeerActor] = BlockActor
    ) -> Iterator[ActorGroup]:
        partition = graph.partition
        size = largest_array(partition.n_rows, 2 * graph.n_edges, n_classes)
        actors = ActorGroup(self._tasks.client, self.folder, partition.n_blocks, n_classes, size, kind=kind)
        try:
            yield actors
        finally:
            self._lost |= actors.lost
            actors.release()

    def _known_labels(self, partition: Partition, problem: LocalProblem) -> KnownLabels:
        """The places of the labelled rows."""
        places = partition.locate(ids_of(self._tasks, partition, problem.rows))
        return KnownLabels(*places, problem.arms, problem.fidelity, partition.n_blocks)

    def compute_confidence(
        self,
        client: Client,
        outcome: Outcome,
        rows: NDArray[np.int64],
        arms: NDArray[np.int32],
        n_classes: int,
        settings: Settings,
    ) -> None:
        """Set the confidence of every row; without evidence votes are calibrated on labels first."""
        self._tasks.client = client
        states = state_pattern("flow", outcome.solution.n_iter)
        if outcome.opinion is None:
            problem = _local_problem(rows, arms, n_classes, settings)
            outcome.calibration = self._calibration(outcome, problem, states, settings)
            outcome.losses = len(self._lost)
        outcome.confidence = confidence_of_labels(
            outcome.graph.partition, outcome.calibration, states, n_classes, rows, arms, outcome.far[0] > 0
        )

    def _calibration(
        self, outcome: Outcome, problem: LocalProblem, states: str, settings: Settings
    ) -> Calibration:
        """How votes turn into probabilities, by labels that a second flow does not see."""
        graph, partition, n_classes = outcome.graph, outcome.graph.partition, problem.n_classes
        if not outcome.in_blocks:
            worker = self._worker_for(graph, n_classes, replace(settings, in_blocks=False))
            assert worker is not None
            return calibrate_on_one_worker(self._tasks, partition, problem, states, SHARES, worker)
        known = self._known_labels(partition, problem)
        with self._actors(graph, n_classes) as actors:
            blocks = RemoteRows(actors, settings.sweeps_per_round)

            def flow(shown: KnownLabels, name: str) -> Solution:
                return solve_in_blocks(
                    blocks, partition, shown, n_classes, problem.sizes, problem.flow, problem.policy, name,
                    resume=self._resume,
                )[0]  # fmt: skip

            return calibrate_in_blocks(actors, partition, known, n_classes, states, flow)


def _sees(folder: Folder, name: str) -> bool:
    """Whether this worker sees a file of the job."""
    return folder.load_facts(name) is True


def _may_be_whole(n_rows: int, n_classes: int, settings: Settings) -> bool:
    """Whether one worker is wanted, or a local fit would do more than the flow from the hub."""
    if settings.in_blocks != "auto":
        return not settings.in_blocks
    small = n_rows * n_classes <= settings.policy.largest_table
    return settings.policy.spread_up_to > 0 and (small or settings.sizes(n_classes).are_given)


def _local_problem(
    rows: NDArray[np.int64],
    arms: NDArray[np.int32],
    n_classes: int,
    settings: Settings,
    several: bool = False,
) -> LocalProblem:
    fidelity = np.broadcast_to(np.asarray(settings.fidelity, np.float64), rows.shape)
    return LocalProblem(
        rows, arms, fidelity, n_classes, settings.sizes(n_classes), settings.flow, settings.policy,
        settings.evidence, several, settings.scale_neighbor, settings.model_columns,
    )  # fmt: skip


def _digest(X: Any, rows: NDArray[Any], arms: NDArray[Any], settings: Settings) -> str:
    """Identifies a job by shapes, labels and settings; the data itself is not read."""
    flow = settings.flow
    words = f"{X.shape} {X.dtype} {settings.n_neighbors} {settings.scale_neighbor} {settings.metric} "
    words += f"{flow.epsilon} {flow.step} {flow.tol} {settings.class_sizes} {settings.policy.name} "
    words += settings.evidence if isinstance(settings.evidence, str) else type(settings.evidence).__name__
    words += "" if settings.model_columns is None else f" {settings.model_columns.tolist()}"
    digest = hashlib.sha256(words.encode())
    for part in (rows.astype(np.int64), arms.astype(np.int32), np.asarray(settings.fidelity, np.float64)):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def _n_neighbors(n_rows: int, settings: Settings, several: bool) -> int:
    """How many neighbours are searched: the longest rung where evidence chooses between several."""
    if settings.n_neighbors != "auto":
        return settings.n_neighbors
    return longest_rung(n_rows) if several else max(1, min(USUAL_RUNG, n_rows - 1))


def _chosen(opinion: Opinion | None, settings: Settings) -> int:
    """The neighbours of a row in the graph that the flow ran on."""
    assert settings.n_neighbors != "auto"
    return settings.n_neighbors if opinion is None else int(opinion.choice.graph)
