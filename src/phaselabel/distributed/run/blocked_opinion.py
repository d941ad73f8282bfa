"""A graph in blocks, rows in files and a few labels in; what experts believe of every row, in files, out."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from phaselabel.distributed.build.gather import scatter_rows
from phaselabel.distributed.build.partition import Partition, order_file
from phaselabel.distributed.build.row_cells import points_file
from phaselabel.distributed.build.row_files import load_rows, stacked
from phaselabel.distributed.build.sharpening import SHARP
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.blocked_solve import FlowInBlocks
from phaselabel.distributed.run.blocked_system import BlockedSystem
from phaselabel.distributed.run.one_worker import LocalProblem, as_local, without_tables
from phaselabel.distributed.run.opinion_files import GIVEN
from phaselabel.distributed.run.spread_expert import SpreadOnOneWorker
from phaselabel.distributed.tasks import Tasks
from phaselabel.evidence.experts import (
    Expert,
    RowExperts,
    Survey,
    affordable_damping,
    affordable_turns,
    affordable_walks,
    asks_flow,
)
from phaselabel.evidence.folds import Folds
from phaselabel.evidence.opinion import Opinion, pool_opinion
from phaselabel.evidence.propagation import HARMONIC_STEPS, ROWS_FOR_MEDIAN, STEEPNESS, goal_of
from phaselabel.evidence.row_models import ROWS_FOR_DIRECTIONS, ROWS_FOR_SCALE, Scale, leading_directions
from phaselabel.evidence.trial import SIZE_SAMPLE
from phaselabel.few_labels.conjugate_gradients import conjugate_gradients
from phaselabel.few_labels.poisson import POISSON_STEPS, POISSON_TOLERANCE, sources

#: Above this number of rows the sample for class sizes is drawn without a list of all rows.
MOST_LISTED_ROWS = 50_000_000

Table = NDArray[np.float32]


def opinion_in_blocks(
    tasks: Tasks,
    partition: Partition,
    actors: ActorGroup,
    problem: LocalProblem,
    graph: str,
    spreader: str | None,
    flows: Callable[[], AbstractContextManager[ActorGroup]],
) -> Opinion:
    """Ask models of the rows and walks on one graph, as a local fit does; write what they believe.

    Models are fitted here, on the labelled rows, and applied by the blocks. Walks are conjugate gradients
    over all blocks. Few labels are spread by one worker, ``spreader``; otherwise the flow of the graph alone
    is asked, on actors that ``flows`` opens.
    """
    trusted = problem.fidelity > 0
    known, labels = problem.rows[trusted], problem.arms[trusted]
    some = np.union1d(known, _sample(partition.n_rows, known))
    compact = np.full(len(some), -1, np.int32)
    compact[np.searchsorted(some, known)] = labels
    size = partition.n_rows, problem.n_classes
    folds, evidence = Folds.of(compact, problem.n_classes, affordable_turns(*size)), problem.evidence
    given = isinstance(evidence, np.ndarray)
    survey, X = (
        (None, None)
        if given
        else (_survey(tasks, partition, problem.columns), rows_at(tasks, partition, some))
    )
    model = None if isinstance(evidence, str) else evidence[some] if given else evidence
    if given:
        scatter_rows(partition, GIVEN, evidence)
    place = partition.locate(ids_of(tasks, partition, some))
    spread = spreader and SpreadOnOneWorker(tasks, partition, folds, some, problem.sizes, spreader)
    others = [spread.expert(graph)] if spread else []
    if not spread and asks_flow(folds):
        others = [FlowInBlocks(flows, partition, folds, *place, problem.sizes).expert(graph)]

    def asked() -> Opinion:
        walks = _Walks(actors, partition, folds, *place, graph, affordable_walks(*size))
        experts = [*walks.experts(), *others]
        # The products are small, and threads of BLAS would go on spinning beside the kernels' own.
        with threadpool_limits(1, user_api="blas"):
            rows = RowExperts(X, folds, model, survey)
            opinion = pool_opinion(rows, experts, folds, problem.sizes, [graph], usual=graph)
        opinion = without_tables(replace(opinion, hidden_rows=some[opinion.hidden_rows]))
        actors.call("write_opinion", partition, opinion)
        return opinion

    return actors.repeated(asked)


class _Walks(BlockedSystem):
    """The experts that ask the graph: each solves a linear system over all blocks."""

    def __init__(
        self,
        actors: ActorGroup,
        partition: Partition,
        folds: Folds,
        blocks: NDArray[np.int64],
        positions: NDArray[np.int64],
        graph: str,
        most: int,
    ) -> None:
        self._kinds = (("harmonic", self._harmonic), ("poisson", self._poisson))[:most]
        super().__init__(actors, ("", SHARP)[:most])
        self._partition, self._folds, self._graph = partition, folds, graph
        self._blocks, self._positions = blocks, positions

    def experts(self) -> list[Expert]:
        """At most two kinds of walks; those of the last turn are kept by the blocks."""
        return [
            Expert(f"{name} {self._graph}", "graph", partial(self._ask, name, solve))
            for name, solve in self._kinds
        ]

    def _ask(self, name: str, solve: Any, turn: int, rows: NDArray[np.intp] | None) -> Table:
        solve(turn)
        if turn == self._folds.n_hidden:
            self._actors.call("keep", f"{name} {self._graph}")
        parts = self._actors.call("table_at", each=[(self._positions[here],) for here in self._here()])
        out = np.empty((len(self._blocks), self._folds.n_classes), np.float32)
        for here, part in zip(self._here(), parts):
            out[here] = part
        return out if rows is None else out[rows]

    def _here(self) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(self._blocks == block) for block in range(self._partition.n_blocks)]

    def _shown(self, turn: int, values: NDArray[Any]) -> list[tuple[Any, ...]]:
        """The positions of the rows whose labels are shown, block by block, and values of each."""
        rows = self._folds.shown_rows(turn)
        of = self._blocks[rows]
        return [
            (self._positions[rows[of == block]], values[of == block])
            for block in range(self._partition.n_blocks)
        ]

    def _harmonic(self, turn: int) -> None:
        labels = self._folds.labels[self._folds.shown_rows(turn)]
        self._actors.call("begin_harmonic", each=self._shown(turn, labels))
        damping = affordable_damping(self._partition.n_rows, self._folds.n_classes)
        square = self.sum("first_harmonic", damping)
        conjugate_gradients(self, square, goal_of(damping) * square, HARMONIC_STEPS)
        self._actors.call("end_harmonic")

    def _poisson(self, turn: int) -> None:
        rows, n = self._folds.shown_rows(turn), self._partition.n_rows
        _, values = sources(self._folds.shown(turn), self._folds.n_classes)
        damping, each = len(rows) / n, self._shown(turn, values)
        inflow = np.sum(self._actors.call("inflow", self.n_components, each=each), axis=0)
        self._solve("begin_poisson", each, SHARP, inflow, damping, POISSON_TOLERANCE**2, POISSON_STEPS)
        some = np.concatenate(self._actors.call("end_poisson", max(1, n // ROWS_FOR_MEDIAN)))
        self._actors.call("read_poisson", float(np.median(some)), STEEPNESS)


def _sample(n_rows: int, known: NDArray[np.int64]) -> NDArray[np.int64]:
    """The unlabelled rows by which class sizes are judged: those of a local fit."""
    rng = np.random.default_rng(0)
    if n_rows <= MOST_LISTED_ROWS:
        unlabelled = np.setdiff1d(np.arange(n_rows), known, assume_unique=True)
        return rng.permutation(unlabelled)[:SIZE_SAMPLE]
    drawn = np.setdiff1d(rng.integers(n_rows, size=2 * SIZE_SAMPLE), known)
    return rng.permutation(drawn)[:SIZE_SAMPLE]


def ids_of(tasks: Tasks, partition: Partition, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The ids of some rows, given in order."""
    calls = [(partition, chunk, here) for chunk, here in partition.by_chunk(rows)]
    return np.concatenate(tasks.run("labels", Partition.ids_in, calls))


def rows_at(tasks: Tasks, partition: Partition, rows: NDArray[np.int64]) -> Any:
    """The features of some rows, given in order."""
    calls = [(partition, chunk, here) for chunk, here in partition.by_chunk(rows)]
    return stacked(tasks.run("rows", _read_rows, calls))


def _read_rows(partition: Partition, chunk: int, rows: NDArray[np.int64]) -> Any:
    order = partition.folder.load(order_file(chunk))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return as_local(load_rows(partition.folder, points_file(chunk), mapped=True)[rank[rows]])


def _survey(tasks: Tasks, partition: Partition, columns: NDArray[np.intp] | None) -> Survey:
    """The scale of all rows and their leading directions, by samples at equal distances."""
    survey: Survey = tasks.run_once("survey", _survey_rows, partition, columns)
    return survey


def _survey_rows(partition: Partition, columns: NDArray[np.intp] | None) -> Survey:
    n = partition.n_rows

    def every(step: int) -> Any:
        listed = partition.by_chunk(np.arange(0, n, step))
        return stacked([_read_rows(partition, chunk, here) for chunk, here in listed])

    with threadpool_limits(1, user_api="blas"):
        scale = Scale.of(every(max(1, n // ROWS_FOR_SCALE)), columns)
        return Survey(scale, leading_directions(scale(every(max(1, n // ROWS_FOR_DIRECTIONS)))), n)
