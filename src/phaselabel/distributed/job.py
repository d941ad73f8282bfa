"""A Dask array and a few labels in; labels, confidence and what the flow did, as Dask arrays, out."""

import hashlib
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from distributed import Client, LocalCluster, get_client
from distributed.utils import get_ip
from numpy.typing import NDArray

from phaselabel._kernels import STATE
from phaselabel.confidence import Calibration, calibrate, held_back
from phaselabel.distributed.assembly import assemble, forget_scaffolding, group_cells
from phaselabel.distributed.cells import Truth, chunks_of, deal_rows, sample
from phaselabel.distributed.crew import Crew
from phaselabel.distributed.deal import Deal
from phaselabel.distributed.descent import DistributedDescent, Labels
from phaselabel.distributed.folder import Folder
from phaselabel.distributed.plan import Plan
from phaselabel.distributed.search import search_cells
from phaselabel.distributed.tasks import Progress, Tasks
from phaselabel.flow import Solution, descend
from phaselabel.graph.neighbors import FAST
from phaselabel.guard import SizeWatch, held
from phaselabel.patch import largest_array
from phaselabel.strategy import DRIFT

log = logging.getLogger(__name__)


@dataclass
class Settings:
    """What the flow is to do; the words are those of the classifier."""

    n_neighbors: int = 10
    scale_neighbor: int | None = None
    metric: str = "euclidean"
    recall: float = 0.99
    epsilon: Any = 1.0
    fidelity: Any = 30.0
    step: Any = "auto"
    max_iter: int = 2000
    tol: float = 1e-4
    callbacks: Sequence[Any] = ()
    sweeps_per_round: int | Literal["auto"] = "auto"


@dataclass
class Outcome:
    """What a job found."""

    deal: Deal
    recall: float
    n_edges: int
    n_cut: int
    solution: Solution = None  # type: ignore[assignment]
    class_sizes: NDArray[np.int64] = None  # type: ignore[assignment]
    rounds: list[dict[str, float]] = field(default_factory=list)
    sweeps_per_round: int = 1
    losses: int = 0
    confidence: Any = None
    calibration: Calibration | None = None


@dataclass(frozen=True, eq=False)
class _Known:
    """The known labels: block and position, class, trust."""

    blocks: NDArray[np.int64]
    positions: NDArray[np.int64]
    arms: NDArray[np.int32]
    fidelity: NDArray[np.float64]

    def only(self, some: NDArray[np.intp]) -> "_Known":
        return _Known(self.blocks[some], self.positions[some], self.arms[some], self.fidelity[some])


@contextmanager
def connected(client: Client | None = None) -> Iterator[Client]:
    """The caller's client, the one in force, or one of a local cluster that lives as long as this."""
    if client is None:
        try:
            client = get_client()
        except ValueError:
            client = None
    if client is not None:
        yield client
        return
    log.warning("There is no Dask client: starting a local cluster for this job.")
    with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as own:
        yield own


class Job:
    """Everything from a Dask array to labels; what is finished is in the folder, and can be gone on from.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    folder : path-like, optional
        Where rows, graph and checkpoints are kept while the job runs; every worker must see it.
    resume : bool, default=False
        Go on from what is in the folder.
    progress : callable, optional
        Called with (stage, done, total).
    """

    def __init__(
        self, client: Client, folder: Any = None, *, resume: bool = False, progress: Progress | None = None
    ) -> None:
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)
        if self.folder.temporary and not _one_machine(client):
            raise ValueError(
                "The workers are on several machines: give a folder that all of them see for rows, graph and "
                "checkpoints (checkpoint=, or --checkpoint on the command line)."
            )
        self._tasks, self._resume = Tasks(client, progress), resume
        self._client = client

    def run(
        self,
        X: Any,
        rows: NDArray[np.int64],
        arms: NDArray[np.int32],
        n_classes: int,
        settings: Settings,
    ) -> Outcome:
        """Label every row of ``X`` from the classes ``arms`` of some ``rows``, which are in order."""
        if settings.metric not in FAST:
            raise ValueError(f"On Dask metric must be one of {', '.join(FAST)}; got {settings.metric!r}.")
        deal, facts = self._graph(X, settings, self._digest(X, rows, arms, settings))
        outcome = Outcome(deal, facts["recall"], facts["edges"] // 2, facts["cut"] // 2)
        with self._crew(outcome, n_classes) as crew:
            given = self._known(deal, rows, arms, settings.fidelity)
            outcome.solution, descent, outcome.class_sizes = self._flow(
                crew, deal, given, n_classes, settings, "flow"
            )
            outcome.rounds, outcome.sweeps_per_round = descent.rounds, descent.sweeps_per_round
        return outcome

    @contextmanager
    def _crew(self, outcome: Outcome, n_classes: int) -> Iterator[Crew]:
        size = largest_array(outcome.deal.n_rows, 2 * outcome.n_edges, n_classes)
        crew = Crew(self._client, self.folder, outcome.deal.n_blocks, n_classes, size)
        try:
            yield crew
        finally:
            outcome.losses += crew.losses
            crew.dismiss()

    # -- graph

    def _graph(self, X: Any, settings: Settings, digest: str) -> tuple[Deal, dict[str, Any]]:
        plan = self._plan(X, settings, digest)
        facts = self.folder.facts("graph.json")
        if facts is None:
            deal, truth = self._dealt(X, plan, settings)
            searched = search_cells(
                self._tasks, deal, truth, plan.n_neighbors, settings.scale_neighbor, FAST[settings.metric],
                settings.recall, plan.search_bytes,
            )  # fmt: skip
            sizes = deal.counts.sum(axis=0)
            deal = Deal(self.folder, deal.counts, group_cells(searched.edges, sizes, plan.n_blocks))
            edges, cut = assemble(self._tasks, deal)
            deal.save()
            facts = {"recall": searched.recall, "edges": edges, "cut": cut}
            self.folder.note("graph.json", facts)
            forget_scaffolding(deal)
        loaded = Deal.load(self.folder)
        assert loaded is not None
        return loaded, facts

    def _plan(self, X: Any, settings: Settings, digest: str) -> Plan:
        """How the job is cut up: as it was, if it goes on from what is in the folder."""
        earlier = self.folder.facts("plan.json")
        if earlier is not None and not self._resume:
            raise FileExistsError(
                f"{self.folder.path} holds a checkpoint already; go on from it (resume=True or --resume), or "
                "choose an empty folder."
            )
        if earlier is not None and earlier.pop("digest") != digest:
            raise ValueError(
                f"The checkpoint in {self.folder.path} is of other data, labels or settings; repeat what it "
                "was made with, or start anew in another folder."
            )
        plan = (
            Plan(**earlier)
            if earlier
            else Plan.of(X, settings.n_neighbors, self._tasks.workers(), FAST[settings.metric] == "cosine")
        )
        self.folder.note("plan.json", {**vars(plan), "digest": digest})
        log.info("%d rows in %d cells and %d blocks.", plan.n_rows, plan.n_cells, plan.n_blocks)
        return plan

    def _dealt(self, X: Any, plan: Plan, settings: Settings) -> tuple[Deal, Truth]:
        """The rows in the folder, sorted by cell."""
        if self.folder.has("deal/counts.npy"):
            return Deal(self.folder, self.folder.load("deal/counts.npy")), Truth.load(self.folder)
        chunks, sizes = chunks_of(X, plan.chunk_rows)
        cosine = FAST[settings.metric] == "cosine"
        sample(self._tasks, self.folder, chunks, sizes, plan.n_cells, plan.sample_rows, cosine)
        deal, truth = deal_rows(self._tasks, self.folder, chunks, sizes, plan.n_neighbors, cosine)
        truth.save(self.folder)
        self.folder.save("deal/counts.npy", deal.counts)
        return deal, truth

    @staticmethod
    def _digest(X: Any, rows: NDArray[Any], arms: NDArray[Any], settings: Settings) -> str:
        """Tells whether a checkpoint is of the same job, as far as that can be told without the data."""
        said = f"{X.shape} {X.dtype} {settings.n_neighbors} {settings.scale_neighbor} {settings.metric} "
        said += f"{settings.epsilon} {settings.step} {settings.tol}"
        seen = hashlib.sha256(said.encode())
        for part in (rows.astype(np.int64), arms.astype(np.int32), np.asarray(settings.fidelity, np.float64)):
            seen.update(np.ascontiguousarray(part).tobytes())
        return seen.hexdigest()[:16]

    def _known(self, deal: Deal, rows: NDArray[np.int64], arms: NDArray[Any], fidelity: Any) -> _Known:
        """Where the labelled rows went."""
        cuts = np.searchsorted(rows, deal.first_rows)
        some = [(t, rows[a:b] - deal.first_rows[t]) for t, (a, b) in enumerate(pairwise(cuts)) if b > a]
        ids = self._tasks.run("labels", Deal.ids_in, [(deal, t, here) for t, here in some])
        mu = np.broadcast_to(np.asarray(fidelity, np.float64), rows.shape)
        return _Known(*deal.places(np.concatenate(ids)), arms, mu)

    # -- flow

    def _flow(
        self, crew: Crew, deal: Deal, given: _Known, n_classes: int, settings: Settings, name: str
    ) -> tuple[Solution, DistributedDescent, NDArray[np.int64]]:
        descent = DistributedDescent(
            crew, deal, Labels(given.blocks, given.positions, given.arms, given.fidelity, deal.n_blocks),
            sweeps_per_round=settings.sweeps_per_round, name=name, resume=self._resume,
        )  # fmt: skip
        watch = SizeWatch(n_classes, DRIFT)
        solution = descend(
            descent, epsilon=settings.epsilon, step=settings.step, max_iter=settings.max_iter,
            tol=settings.tol, callbacks=[*settings.callbacks, watch],
        )  # fmt: skip
        if watch.tripped and watch.kept is not None:
            solution = held(solution, watch)
            descent.settle(solution.n_iter)
        return solution, descent, descent.state().sizes(n_classes)

    def confide(
        self, client: Client, outcome: Outcome, rows: Any, arms: Any, n_classes: int, settings: Settings
    ) -> None:
        """Calibrate the votes on labels that a second flow doesn't see; then the confidence of every row."""
        self._client, self._tasks.client = client, client
        deal, votes, trial = outcome.deal, "votes/{:05d}.npy", "trial/{:05d}.npy"
        states = f"flow-{outcome.solution.n_iter}/" + "{:05d}.npy"
        given = self._known(deal, rows, arms, settings.fidelity)
        some = held_back(arms)
        calibration = calibrate(np.zeros(0), np.zeros(0, bool))
        quiet = replace(settings, callbacks=())
        with self._crew(outcome, n_classes) as crew:
            crew.everyone("take", states)
            crew.everyone("shares", votes)
            if len(some) and n_classes > 1:
                shown = given.only(np.setdiff1d(np.arange(len(arms)), some))
                solution, second, _ = self._flow(crew, deal, shown, n_classes, quiet, "second")
                second.shares(trial)
                arm, share = self._at(given.only(some), f"second-{solution.n_iter}/", trial)
                reached = arm >= 0
                calibration = calibrate(share[reached], (arm == arms[some])[reached])
        outcome.calibration = calibration
        outcome.confidence = deal.array(
            votes, np.float64, _confidence, states, calibration, n_classes, rows, arms
        )

    def _at(self, given: _Known, states: str, trial: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The arms and shares of some vertices, from what the blocks wrote."""
        arm, share = np.empty(len(given.arms), np.int32), np.empty(len(given.arms))
        for block in np.unique(given.blocks):
            here = given.blocks == block
            place = given.positions[here]
            arm[here] = self.folder.load(f"{states}{block:05d}.npy", mapped=True)["arm"][place]
            share[here] = self.folder.load(trial.format(block), mapped=True)[place]
        return arm, share


def _confidence(
    deal: Deal,
    chunk: int,
    votes: str,
    states: str,
    calibration: Calibration,
    n_classes: int,
    rows: Any,
    arms: Any,
) -> NDArray[np.float64]:
    """The probability that each row's label is right; 0 for whom no label reaches."""
    share = deal.collected(chunk, votes, np.float64)
    arm = deal.collected(chunk, states, STATE)["arm"].astype(np.int32)
    sure = np.maximum(calibration(share), 1 / n_classes) if n_classes > 1 else np.ones(len(arm))
    first, last = deal.first_rows[chunk : chunk + 2]
    here = slice(*np.searchsorted(rows, [first, last]))
    own = rows[here] - first
    agrees = arm[own] == arms[here]
    sure[own[agrees]] = np.maximum(sure[own[agrees]], 0.97)
    return np.where(arm >= 0, sure, 0.0)


def _one_machine(client: Client) -> bool:
    """Whether all workers are where we are, so that a temporary folder will do."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    hosts = {w.get("host") for address, w in workers.items() if not address.startswith("inproc://")}
    here: set[Any] = {"127.0.0.1", "localhost", "::1", None}
    with suppress(OSError):
        here |= {get_ip(), *(entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None))}
    return hosts <= here
