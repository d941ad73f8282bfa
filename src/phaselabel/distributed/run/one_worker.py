"""A graph in blocks that fits one worker in, the solution of the local solver out."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import sleep
from typing import Any

import numpy as np
from distributed import Client, Queue
from numpy.typing import NDArray

from phaselabel._kernels.flow import STATE
from phaselabel.assess.calibration import Calibration
from phaselabel.assess.hidden import calibration_from_hidden
from phaselabel.assess.novelty import far_rows
from phaselabel.distributed.build.gather import (
    gather_graph,
    gather_neighbors,
    gather_points,
    gather_rows,
    scatter_rows,
)
from phaselabel.distributed.build.partition import Partition
from phaselabel.distributed.run.checkpointed_rows import read_field, state_pattern
from phaselabel.distributed.run.opinion_files import CONFIDENCE, GRAPH_LOGITS, NOVEL, PROBABILITIES
from phaselabel.distributed.tasks import Tasks, exclusive_worker, is_cancelled
from phaselabel.evidence.believing import believe
from phaselabel.evidence.experts import affordable_graphs
from phaselabel.evidence.opinion import Opinion
from phaselabel.few_labels.class_sizes import ClassSizes
from phaselabel.few_labels.graph_quality import remarks
from phaselabel.few_labels.policy import EVIDENCE, Policy
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.energy import Energy
from phaselabel.flow.minimize import Callback, Solution
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import State
from phaselabel.flow.vote_shares import own_shares
from phaselabel.graph import Graph, Neighbors, similarity_graph
from phaselabel.graph.rungs import rungs
from phaselabel.graph.table_checks import as_float

#: The types of rows that a local fit keeps; others become float64.
KEPT_TYPES = ("f8", "f4", "u1", "i8", "u8")

#: Bytes of an edge at one end: weights, ŵ and ŵ renumbered, of the graph and of its sharpened twin.
EDGE_BYTES = 48

#: Tables of vertices times classes that a spread holds at a time.
TABLES = 6

#: The same of evidence: what each expert says, sums, probabilities and confidence.
EVIDENCE_TABLES = 12

#: Bytes of a vertex besides edges and tables.
VERTEX_BYTES = 200

#: Seconds between two looks for a message of the worker.
POLL_SECONDS = 0.02

#: Seconds for which a worker waits for an answer before it asks whether its task was cancelled.
PATIENCE_SECONDS = 2.0


def needed_bytes(n_vertices: int, n_edges: int, n_classes: int) -> int:
    """The memory that the local solver takes."""
    return 2 * n_edges * EDGE_BYTES + n_vertices * (VERTEX_BYTES + TABLES * 4 * (n_classes + 3))


def needed_for_evidence(n_vertices: int, n_neighbors: int, n_classes: int, n_columns: int) -> int:
    """The memory of a local fit with evidence: rows, also scaled, neighbours, two or three graphs."""
    edges = 3 * n_vertices * n_neighbors // 2
    row = 12 * n_columns + 24 * n_neighbors + EVIDENCE_TABLES * 4 * (n_classes + 3)
    return needed_bytes(n_vertices, edges, n_classes) + n_vertices * row


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """What a worker needs, besides the graph, to solve a problem as a local fit does.

    Attributes
    ----------
    rows, arms : ndarray of int
        The labelled rows and their classes.
    fidelity : ndarray
        The trust μ in each of them.
    n_classes : int
        K.
    sizes : ClassSizes
        What is known of the classes' sizes.
    flow : FlowSettings
        ε, step, and when to stop.
    policy : Policy
        How thorough to be.
    evidence : "auto", classifier, ndarray or None
        What speaks besides the graph.
    several : bool
        Whether evidence chooses between graphs of several numbers of neighbours.
    scale_neighbor : int, optional
        Which neighbour sets the local scale.
    columns : ndarray of int, optional
        The columns that the models of the rows see; all by default.
    """

    rows: NDArray[np.int64]
    arms: NDArray[np.int32]
    fidelity: NDArray[np.float64]
    n_classes: int
    sizes: ClassSizes
    flow: FlowSettings
    policy: Policy
    evidence: Any = None
    several: bool = False
    scale_neighbor: int | None = None
    columns: NDArray[np.intp] | None = None

    def on(self, graph: Graph) -> Problem:
        """The problem on its graph."""
        labels, fidelity = np.full(graph.n_vertices, -1, np.int32), np.zeros(graph.n_vertices)
        labels[self.rows], fidelity[self.rows] = self.arms, self.fidelity
        return Problem(graph, labels, self.n_classes, fidelity, self.sizes, self.flow)


@dataclass(frozen=True, eq=False)
class LocalResult:
    """A solution without its arrays, which are in the files of the blocks; sizes, and what is wrong.

    With evidence the opinion, its tables in files too. ``far`` is the number of rows that look like none of
    the labelled ones, and the first of them.
    """

    solution: Solution
    class_sizes: NDArray[np.int64]
    remarks: list[str]
    opinion: Opinion | None = None
    far: tuple[int, int] = (0, -1)


def solve_on_one_worker(
    tasks: Tasks,
    partition: Partition,
    problem: LocalProblem,
    name: str,
    worker: str,
    callbacks: Sequence[Callback] = (),
) -> LocalResult:
    """Solve a problem on one worker; callbacks are called in this process."""
    messages = _Messages(f"phaselabel-{uuid.uuid4().hex[:8]}") if callbacks else None

    def answer_callbacks() -> None:
        if messages is not None:
            messages.answer(tasks.client, partition, name, callbacks)

    result: LocalResult = tasks.run_once(
        "solve", _solve, partition, problem, name, messages, workers=[worker], meanwhile=answer_callbacks
    )
    pattern = state_pattern(name, result.solution.n_iter)
    arm, height = (
        partition.as_dask_array(pattern, dtype, read_field, field)
        for field, dtype in (("arm", np.int32), ("height", np.float32))
    )
    return replace(result, solution=replace(result.solution, arm=arm, height=height))


def calibrate_on_one_worker(
    tasks: Tasks, partition: Partition, problem: LocalProblem, states: str, shares: str, worker: str
) -> Calibration:
    """Write the share of every row's class in its vote; return how shares turn into probabilities."""
    calibration: Calibration = tasks.run_once(
        "calibrate", _calibrate, partition, problem, states, shares, workers=[worker]
    )
    return calibration


def _solve(
    partition: Partition, problem: LocalProblem, name: str, messages: "_Messages | None"
) -> LocalResult:
    with exclusive_worker():
        send = messages and messages.callback(partition, name, problem.n_classes)
        callbacks, opinion, wrong = [send] if send else [], None, []
        if problem.evidence is None:
            local = problem.on(gather_graph(partition))
            solution = solve(local, problem.policy, callbacks=callbacks)
            wrong = remarks(local.graph, local.labels, solution)
        else:
            X, graphs = local_rows(partition), graphs_of(gather_neighbors(partition), problem)
            local, opinion = believe(
                X, graphs, problem.on(next(iter(graphs.values()))), problem.evidence, columns=problem.columns
            )
            solution = solve(local, EVIDENCE, init=opinion.start(), callbacks=callbacks)
            _write_opinion(partition, opinion)
            opinion = without_tables(opinion)
        scatter_rows(partition, state_pattern(name, solution.n_iter), solution.state.packed())
        far = far_rows(local.graph, local.trusted)
        if far.any():
            scatter_rows(partition, NOVEL, far)
        return LocalResult(
            replace(solution, arm=np.zeros(0, np.int32), height=np.zeros(0, np.float32)),
            solution.state.sizes(problem.n_classes),
            wrong,
            opinion,
            (int(far.sum()), int(far.argmax())),
        )


def local_rows(partition: Partition) -> Any:
    """The features of all rows, of the type that a local fit gives them."""
    return as_local(gather_points(partition))


def as_local(points: Any) -> Any:
    """Rows of the type that a local fit gives them."""
    return as_float(points if points.dtype in KEPT_TYPES else points.astype("f8"), "X")


def graphs_of(neighbors: Neighbors, problem: LocalProblem) -> dict[str, Graph]:
    """The graphs of a local fit from its neighbours; the first is the one that few labels are spread on."""
    if problem.several:
        return rungs(neighbors, affordable_graphs(len(neighbors.indices), problem.n_classes))
    return {str(neighbors.n_neighbors): similarity_graph(neighbors, problem.scale_neighbor)}


def _write_opinion(partition: Partition, opinion: Opinion) -> None:
    scatter_rows(partition, PROBABILITIES, opinion.probabilities)
    scatter_rows(partition, CONFIDENCE, opinion.confidence)
    scatter_rows(partition, GRAPH_LOGITS, opinion.graph_logits)


def without_tables(opinion: Opinion) -> Opinion:
    """An opinion that is small enough to be sent; its tables are in files."""
    empty = np.zeros((0, opinion.probabilities.shape[1]), np.float32)
    return replace(opinion, probabilities=empty, confidence=empty, graph_logits=empty)


def with_tables(partition: Partition, opinion: Opinion) -> Opinion:
    """The opinion with its tables, read from the files of the blocks."""
    q, sure, logits = (
        gather_rows(partition, pattern, np.float32) for pattern in (PROBABILITIES, CONFIDENCE, GRAPH_LOGITS)
    )
    return replace(opinion, probabilities=q, confidence=sure, graph_logits=logits)


def _calibrate(partition: Partition, problem: LocalProblem, states: str, shares: str) -> Calibration:
    with exclusive_worker():
        local, k = problem.on(gather_graph(partition)), problem.n_classes
        state = State.from_packed(gather_rows(partition, states, STATE))
        scatter_rows(partition, shares, own_shares(local.graph, state, k))

        def solve_from(labels: NDArray[np.int32]) -> Solution:
            return solve(local.with_labels(labels), problem.policy)

        return calibration_from_hidden(solve_from, local.graph, local.labels, k)


class _LookState:
    """The state of a look on a worker; arms and heights are written there when they are read here."""

    def __init__(
        self, partition: Partition, pattern: str, sizes: list[int], write: Callable[[], None]
    ) -> None:
        self._partition, self._pattern, self._sizes, self._write = partition, pattern, sizes, write

    def sizes(self, n_classes: int) -> NDArray[np.int64]:
        """The number of vertices on each arm."""
        return np.array(self._sizes)

    @property
    def arm(self) -> Any:
        """The class of every row, -1 where it has none."""
        self._write()
        return self._partition.as_dask_array(self._pattern, np.int32, read_field, "arm")

    @property
    def height(self) -> Any:
        """The height of every row above the hub."""
        self._write()
        return self._partition.as_dask_array(self._pattern, np.float32, read_field, "height")


def _received(answers: Queue) -> Any:
    """The next answer of the client; an error once the client is gone, so that the worker is free again."""
    while True:
        try:
            return answers.get(timeout=PATIENCE_SECONDS)
        except TimeoutError:
            if is_cancelled():
                raise RuntimeError("The client went away while its callbacks were asked.") from None


class _Messages:
    """Two queues between a flow on a worker and the callbacks in the client's process."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _queues(self, client: Client | None = None) -> tuple[Queue, Queue]:
        return tuple(Queue(f"{self._name}-{end}", client=client) for end in ("looks", "answers"))  # type: ignore[return-value]

    def callback(self, partition: Partition, name: str, n_classes: int) -> Callback:
        """The callback of the flow on the worker: it sends every look, and waits for the answer."""
        looks, answers = self._queues()

        def send(sweep: int, state: State, energy: Energy) -> bool:
            looks.put([sweep, state.sizes(n_classes).tolist(), asdict(energy)])
            while (answer := _received(answers)) == "write":
                scatter_rows(partition, state_pattern(f"{name}-look", sweep), state.packed())
                looks.put("written")
            return bool(answer)

        return send

    def answer(self, client: Client, partition: Partition, name: str, callbacks: Sequence[Callback]) -> None:
        """Call the callbacks for a look that has arrived, if one has."""
        looks, answers = self._queues(client)
        if not looks.qsize():
            sleep(POLL_SECONDS)
            return
        sweep, sizes, terms = looks.get()

        def write() -> None:
            answers.put("write")
            looks.get()

        state: Any = _LookState(partition, state_pattern(f"{name}-look", sweep), sizes, write)
        # Every callback is called, whatever the others return.
        answers.put(any([bool(watch(sweep, state, Energy(**terms))) for watch in callbacks]))
