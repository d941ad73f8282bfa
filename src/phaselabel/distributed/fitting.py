"""A Dask array, labels of any type and settings in; labels and confidence as Dask arrays out."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np
import psutil
from dask.utils import format_bytes
from distributed import Client
from numpy.typing import DTypeLike, NDArray

from phaselabel._kernels.flow import STATE
from phaselabel.assess.calibration import Calibration
from phaselabel.assess.hidden import HeldOut
from phaselabel.distributed.build.block_files import block_file
from phaselabel.distributed.build.gather import (
    gather_graph,
    gather_neighbors,
    gather_rows,
    points_bytes,
)
from phaselabel.distributed.cluster import connected
from phaselabel.distributed.job import Job, Outcome, Settings
from phaselabel.distributed.run.blocked_opinion import rows_at
from phaselabel.distributed.run.checkpointed_rows import state_pattern
from phaselabel.distributed.run.one_worker import local_rows, needed_bytes, with_tables
from phaselabel.distributed.run.opinion_files import NOVEL
from phaselabel.distributed.run.remote_rows import check_sweeps_per_round
from phaselabel.distributed.tasks import Tasks
from phaselabel.evidence.given import checked_given
from phaselabel.evidence.opinion import Opinion
from phaselabel.few_labels.class_sizes import class_sizes, refuse_smaller
from phaselabel.flow.minimize import Solution
from phaselabel.flow.star import State, checked_fidelity
from phaselabel.graph import Graph, similarity_graph
from phaselabel.graph.neighbors import check_n_neighbors
from phaselabel.graph.rungs import nearest
from phaselabel.graph.weights import local_scales
from phaselabel.labels import as_array, decode, encode, is_known

#: The files of the local scales.
TAU = "blocks/{:05d}/tau.npy"

OPTIONS = ("client", "checkpoint", "resume", "sweeps_per_round", "in_blocks", "progress")


@dataclass(frozen=True, eq=False)
class Gathered:
    """A fit on a Dask array as it would be in one process.

    Attributes
    ----------
    points : ndarray
        The fitted rows.
    tau : ndarray
        Their local scales.
    graph : Graph
        The similarity graph.
    labels : ndarray of int32
        The known classes, -1 where not known.
    solution : Solution
        Its ``arm`` and ``height`` are NumPy arrays.
    calibration : Calibration or None
        How votes turn into probabilities, if that was computed.
    opinion : Opinion or None
        With evidence what experts believe.
    novel : ndarray of bool
        The rows that look like none of the labelled ones.
    """

    points: NDArray[Any]
    tau: NDArray[np.float64]
    graph: Graph
    labels: NDArray[np.int32]
    solution: Solution
    calibration: Calibration | None
    opinion: Opinion | None
    novel: NDArray[np.bool_]


class Fitted:
    """The result of a fit on a Dask array: labels as Dask arrays, the graph in blocks on disk.

    Attributes
    ----------
    classes : ndarray
        The distinct labels.
    outcome : Outcome
        The flow's solution, and what it cost.
    model : classifier or None
        The model in one process, once it was gathered.
    """

    def __init__(
        self,
        job: Job,
        outcome: Outcome,
        classes: NDArray[Any],
        rows: NDArray[np.int64],
        arms: NDArray[np.int32],
        settings: Settings,
    ) -> None:
        self.classes, self._rows, self._arms = classes, rows, arms
        self._job, self.outcome, self._settings = job, outcome, settings
        self.model: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.outcome.graph.partition.n_rows

    @property
    def n_given(self) -> int:
        """The number of known labels."""
        return len(self._rows)

    @property
    def n_neighbors(self) -> int:
        """The neighbours of a row in the graph of the flow."""
        return self.outcome.n_neighbors

    @property
    def n_unreached(self) -> int:
        """The number of rows that no label reaches."""
        return self.n_rows - int(self.outcome.class_sizes.sum())

    @property
    def novel(self) -> Any:
        """Whether each row looks like none of the labelled ones."""
        if self.outcome.far[0]:
            return self.outcome.graph.partition.as_dask_array(NOVEL, bool)
        import dask.array as da

        arm: Any = self.outcome.solution.arm
        return da.zeros(arm.shape, bool, chunks=arm.chunks)

    def confidence(self, client: Any = None) -> Any:
        """The probability that each label is right, computed at the first call."""
        if self.outcome.confidence is None:
            with connected(client) as own:
                self._job.compute_confidence(
                    own, self.outcome, self._rows, self._arms, len(self.classes), self._settings
                )
        return self.outcome.confidence

    def sure_sizes(self, client: Any = None) -> NDArray[np.float64]:
        """The confidence of every class's rows, added up."""
        with connected(client) as own:
            return self._added_by_class(self.confidence(own), own)

    def decided_sizes(self, below: float, client: Any = None) -> NDArray[np.int64]:
        """The number of every class's rows that have at least this confidence."""
        with connected(client) as own:
            return self._added_by_class(self.confidence(own) >= below, own).astype(np.int64)

    def _added_by_class(self, values: Any, client: Any) -> NDArray[np.float64]:
        import dask

        add, k = dask.delayed(_sums_by_class, pure=False), len(self.classes)
        arm: Any = self.outcome.solution.arm
        chunks = zip(arm.to_delayed().ravel(), values.to_delayed().ravel())
        parts = client.gather(client.compute([add(arms, part, k) for arms, part in chunks]))
        return np.asarray(np.sum(parts, axis=0))

    def decoded(self, unlabeled: Any, below: float | None = None, client: Any = None) -> Any:
        """The labels; ``unlabeled`` where none reaches, or where confidence is below ``below``."""
        arm: Any = self.outcome.solution.arm
        may_be_unlabeled = self.n_unreached or below is not None
        dtype = decode(np.array([-1 if may_be_unlabeled else 0]), self.classes, unlabeled).dtype
        confidence = [] if below is None else [self.confidence(client)]
        return arm.map_blocks(
            _decode_chunk, *confidence, classes=self.classes, unlabeled=unlabeled, below=below,
            label_dtype=dtype, dtype=dtype, name=f"phaselabel-labels-{uuid4().hex[:8]}",
        )  # fmt: skip

    @property
    def labelled(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The rows that had a label, in order, and their classes."""
        return self._rows, self._arms

    def held_out(self, sizes: NDArray[np.float64]) -> HeldOut:
        """What was found for labels that evidence held back; those of a class count as its size says."""
        opinion = self.outcome.opinion
        assert opinion is not None  # only asked of a fit with evidence
        places = np.searchsorted(self._rows, opinion.hidden_rows)
        held = HeldOut.of_probabilities(
            places, self._arms, opinion.hidden_probabilities, opinion.n_folds, opinion.choice.class_sizes,
            sizes,
        )  # fmt: skip
        return replace(held, rows=opinion.hidden_rows)

    def sample(self, rows: NDArray[np.int64], client: Any = None) -> tuple[Any, NDArray[np.int32]]:
        """The features of some rows, which are in order, and their classes."""
        arm: Any = self.outcome.solution.arm
        with connected(client) as own:
            points = rows_at(Tasks(own), self.outcome.graph.partition, rows)
            return points, own.compute(arm[rows]).result()

    def refusal(self) -> str:
        """Why this process can't hold the model, in a sentence; empty where it can."""
        partition, graph = self.outcome.graph.partition, self.outcome.graph
        if not partition.folder.has(block_file(0, "raw_indptr")):
            return (
                f"This model was fitted on a Dask array of {partition.n_rows:,} rows, too many for one "
                "process: it has labels and confidence of the fitted rows, but can't predict others, "
                "explain, or be saved. Fit new rows together with the old ones."
            )
        needed = needed_bytes(partition.n_rows, graph.n_edges, len(self.classes)) + points_bytes(partition)
        if needed > (free := psutil.virtual_memory().available):
            return (
                f"This model was fitted on a Dask array and takes {format_bytes(needed)} in one process, "
                f"where {format_bytes(free)} are free; work on a machine with more memory."
            )
        return ""

    def gathered(self) -> Gathered:
        """Read everything into this process; raise where it is too large."""
        if refusal := self.refusal():
            raise ValueError(refusal)
        partition = self.outcome.graph.partition
        states = state_pattern("flow", self.outcome.solution.n_iter)
        state = State.from_packed(gather_rows(partition, states, STATE))
        labels = np.full(partition.n_rows, -1, np.int32)
        labels[self._rows] = self._arms
        solution = replace(self.outcome.solution, arm=state.arm, height=state.height)
        opinion, scale = self.outcome.opinion, self._settings.scale_neighbor
        opinion = None if opinion is None else with_tables(partition, opinion)
        novel = np.zeros(partition.n_rows, bool)
        if self.outcome.far[0]:
            novel = gather_rows(partition, NOVEL, bool)
        if opinion is not None and not self.outcome.in_blocks:
            neighbors = nearest(gather_neighbors(partition), int(opinion.choice.graph))
            return Gathered(
                local_rows(partition), local_scales(neighbors, scale), similarity_graph(neighbors, scale),
                labels, solution, None, opinion, novel,
            )  # fmt: skip
        return Gathered(
            local_rows(partition), gather_rows(partition, TAU, np.float64), gather_graph(partition),
            labels, solution, self.outcome.calibration, opinion, novel,
        )  # fmt: skip

    def __repr__(self) -> str:
        graph = self.outcome.graph
        return (
            f"Graph in {graph.partition.n_blocks} blocks ({graph.partition.n_rows} vertices, "
            f"{graph.n_edges} edges, {graph.n_cut} of them cut)"
        )


class RemoteGraph:
    """The ``graph_`` of a model whose graph stayed with the cluster: its attributes raise an error."""

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            "This model was fitted on a Dask array, and its graph stayed with the cluster; model.gathered() "
            "brings it here, if it fits."
        )

    def __repr__(self) -> str:
        return repr(self._fitted)


def _sums_by_class(arm: NDArray[np.int32], values: NDArray[Any], n_classes: int) -> NDArray[np.float64]:
    reached = arm >= 0
    return np.bincount(arm[reached], values[reached], n_classes).astype(np.float64)


def _decode_chunk(
    arm: NDArray[np.int32],
    *confidence: NDArray[np.float64],
    classes: NDArray[Any],
    unlabeled: Any,
    below: float,
    label_dtype: DTypeLike,
) -> NDArray[Any]:
    arm = np.where(confidence[0] < below, -1, arm) if confidence else arm
    return decode(arm, classes, unlabeled).astype(label_dtype)


def fit(
    X: Any, y: Any, settings: Settings, unlabeled: Any = -1, options: dict[str, Any] | None = None
) -> Fitted:
    """Label every row of a Dask array.

    Parameters
    ----------
    X : dask array or DataFrame of shape (n, d)
        The rows.
    y : array-like, dask array or Series of shape (n,)
        Labels of any type; ``unlabeled`` (or a missing value) where not known.
    settings : Settings
        Neighbours, metric, flow.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known".
    options : dict, optional
        ``client``, ``checkpoint`` (a folder that all workers can open), ``resume``, ``sweeps_per_round``,
        ``in_blocks`` and ``progress``.

    Returns
    -------
    Fitted
        Labels, confidence, and the flow's solution.
    """
    given = _checked_options(options)
    if hasattr(X, "to_dask_array"):
        if wrong := [name for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "buif"]:
            raise ValueError(
                f"Column {wrong[0]!r} of X holds no numbers ({X.dtypes[wrong[0]]}); drop such columns, or "
                "encode them first."
            )
        # Types that know a missing value would make objects of all columns.
        gaps = {name: np.float64 for name, dtype in X.dtypes.items() if hasattr(dtype, "na_value")}
        # Optimized first: Parquet files of which few columns are read become fewer partitions, and Dask would
        # count the rows of other partitions than it then reads.
        X = X.astype(gaps).optimize().to_dask_array(lengths=True)
    if X.shape[1] == 0 or X.dtype.kind not in "buif":
        raise ValueError(
            f"X must be a Dask array of numbers, rows by features; got {X.dtype} {X.shape}. Convert it, for "
            "example with X.astype('float32')."
        )
    settings.sweeps_per_round = given.get("sweeps_per_round", "auto")
    settings.in_blocks = given.get("in_blocks", "auto")
    with connected(given.get("client")) as client:
        if np.isnan(X.shape[0]):
            X = X.compute_chunk_sizes()
        rows, arms, classes, n = known_labels(y, unlabeled, client)
        if n != X.shape[0]:
            raise ValueError(f"y must have one entry per row of X, {X.shape[0]}; got {n}.")
        return fit_known(X, rows, arms, classes, settings, client, given)


def _checked_options(options: Any) -> dict[str, Any]:
    """The ``dask_options`` of a classifier; raise where one can't be used."""
    if not isinstance(options, dict | None):
        raise ValueError(f"dask_options must be a dict; got {options!r}.")
    given = options or {}
    for name in given:
        if name not in OPTIONS:
            raise ValueError(f"dask_options may have {', '.join(OPTIONS)}; got {name!r}.")
    if not isinstance(client := given.get("client"), Client | None):
        raise ValueError(f"client must be a dask.distributed.Client; got {client!r}.")
    if (progress := given.get("progress")) is not None and not callable(progress):
        raise ValueError(f"progress must be a function of (stage, done, total); got {progress!r}.")
    check_sweeps_per_round(given.get("sweeps_per_round", "auto"))
    if (in_blocks := given.get("in_blocks", "auto")) not in (True, False, "auto"):
        raise ValueError(f"in_blocks must be True, False or 'auto'; got {in_blocks!r}.")
    return given


def fit_known(
    X: Any,
    rows: NDArray[np.int64],
    arms: NDArray[np.int32],
    classes: NDArray[Any],
    settings: Settings,
    client: Any,
    options: dict[str, Any],
) -> Fitted:
    """Label every row of a Dask array from the class numbers ``arms`` of some ``rows``."""
    if np.ndim(settings.fidelity):
        if (shape := np.shape(settings.fidelity)) != (X.shape[0],):
            raise ValueError(f"fidelity must be one number or one per row, {X.shape[0]}; got shape {shape}.")
        settings.fidelity = np.asarray(settings.fidelity)[rows]
    checked_fidelity(settings.fidelity, arms)
    sizes = class_sizes(settings.class_sizes, classes)
    refuse_smaller(sizes, np.bincount(arms, minlength=len(classes)), X.shape[0], classes.tolist())
    if isinstance(settings.class_sizes, dict):
        settings.class_sizes = [settings.class_sizes[name] for name in classes.tolist()]
    settings.evidence = checked_given(
        settings.evidence, X.shape[0], len(classes), has_rows=True, affinity="nearest_neighbors"
    )
    by_graph_alone = settings.evidence is None and settings.policy.spread_up_to > 0
    if settings.in_blocks is True and sizes.are_given and by_graph_alone:
        raise ValueError(
            "class_sizes are met on the whole graph, by one worker, where evidence is None; leave "
            "in_blocks=True out, or use evidence, which meets them in blocks."
        )
    if X.shape[0] < 2:
        raise ValueError(f"X must have at least two rows; got {X.shape[0]}.")
    if settings.n_neighbors != "auto":
        check_n_neighbors(settings.n_neighbors, X.shape[0], True)
    job = Job(
        client,
        options.get("checkpoint"),
        resume=options.get("resume", False),
        progress=options.get("progress"),
    )
    outcome = job.run(X, rows, arms, len(classes), settings)
    return Fitted(job, outcome, classes, rows, arms, settings)


def known_labels(
    y: Any, unlabeled: Any, client: Any
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], int]:
    """The rows that have a label, their class numbers, the classes, and the number of rows.

    Of a Dask collection only known labels are sent here.
    """
    if y is None:
        raise ValueError(f"fit needs y; pass one label per row, {unlabeled!r} where not known.")
    if np.prod(getattr(y, "shape", ())[1:]) != 1:
        raise ValueError(f"y must be one column; got an array of shape {tuple(y.shape)}.")
    if not hasattr(y, "__dask_graph__"):
        classes, arms = encode(y, unlabeled)
        rows, n = np.flatnonzero(arms >= 0), len(arms)
        return rows, arms[rows], classes, n
    import dask

    pick, chunks = dask.delayed(_known_in_chunk, pure=False), y.to_delayed()
    chunks = chunks if isinstance(chunks, list) else chunks.ravel()
    parts = client.gather(client.compute([pick(chunk, unlabeled) for chunk in chunks]))
    first = np.concatenate([[0], np.cumsum([size for _, _, size in parts])])
    rows = np.concatenate([some + start for (some, _, _), start in zip(parts, first)])
    if not len(rows):
        raise ValueError(
            f"y has no labelled row: all {first[-1]} entries are missing or equal to "
            f"unlabeled={unlabeled!r}; label at least one row, or name the marker with unlabeled=."
        )
    classes, arms = encode(np.concatenate([values for _, values, _ in parts]), unlabeled)
    # Empty strings are labels of no class.
    return rows[arms >= 0], arms[arms >= 0], classes, int(first[-1])


def _known_in_chunk(chunk: Any, unlabeled: Any) -> tuple[NDArray[np.int64], NDArray[Any], int]:
    labels = as_array(chunk).ravel()
    rows = np.flatnonzero(is_known(labels, unlabeled))
    return rows, labels[rows], len(labels)
