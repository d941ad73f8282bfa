"""Answers in; every label at once, then the next questions, confidences and an estimate of accuracy out."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.assess.query import Support
from phaselabel.evidence.opinion import Opinion
from phaselabel.flow.minimize import Solution
from phaselabel.studio.accuracy import Estimate, estimate
from phaselabel.studio.answers import Answers
from phaselabel.studio.attempt import attempt
from phaselabel.studio.evidence import GivenProbabilities, LiveEvidence
from phaselabel.studio.graph_cache import graphs_and_map
from phaselabel.studio.labelling import Labelling

#: Questions that are kept ready besides the one on the screen of every person.
N_SPARE = 1

#: An opinion that was formed from less than this share of the answers says nothing about the accuracy of
#: labels that follow from all of them.
MIN_SHARE_BELIEVED = 2 / 3


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What follows from the answers up to one version of the journal.

    Attributes
    ----------
    version : int
        The version of the journal that ``labels``, ``used``, ``solution`` and ``questions`` belong to.
    labels : ndarray of int
        The known class of every item, counted from 0; -1 where not known.
    used : list of int
        The class numbers that ``labels`` counts.
    solution : Solution or None
        The label of every item; None without answers.
    questions : list of int
        The items to ask about, the next one first.
    support : Support or None
        How well every region is backed by answers; None until it is computed.
    confidence : ndarray or None
        The probability of each label to be right.
    estimate : Estimate or None
        The accuracy of all labels.
    assessed : int
        The version that ``confidence`` and ``estimate`` belong to. They follow a moment after the labels.
    opinion : Opinion or None
        What the experts believed when they were last asked, of the same classes; None before that.
    believed : int
        The version that ``opinion`` belongs to. On many items it is some answers behind.
    believed_answers : int
        The number of answers that ``opinion`` was formed from.
    by_graph, by_evidence : Solution or None
        The labels by the graph alone and by the opinion; ``solution`` is one of them.
    """

    version: int
    labels: NDArray[np.int32]
    used: list[int]
    solution: Solution | None = None
    questions: list[int] = field(default_factory=list)
    support: Support | None = None
    confidence: NDArray[np.float64] | None = None
    estimate: Estimate | None = None
    assessed: int = -1
    opinion: Opinion | None = None
    believed: int = -1
    believed_answers: int = 0
    by_graph: Solution | None = None
    by_evidence: Solution | None = None


class LabelUpdater:
    """Label everything again after each answer, and keep the next question ready.

    The thread that brings an answer computes the labels and the next question. A background thread computes
    the rest in short steps, and drops what is left when a newer answer arrives. An answer waits for one such
    step at most, and each step is one that the next answer needs as well.

    A third thread asks the experts (``evidence``). It computes only while the others rest, and lets them go
    first between two experts. Until it is done, labels follow from the last opinion.

    Answers judge the evidence: each one shows whether the graph alone and the opinion had guessed right. The
    labels on the page are those of the opinion once it is right at least as often as the graph.

    Parameters
    ----------
    n_items : int
        The number of items.
    publish : callable
        Called with every event for the page.
    cache : Path, optional
        The file in which the graph of many items is kept for the next opening.
    evidence : {"auto", None} or GivenProbabilities
        What speaks besides the graph, as in a fit.
    n_people : int
        How many people answer at once.

    Attributes
    ----------
    n_ready : int
        The number of questions that are kept ready.
    """

    def __init__(
        self,
        n_items: int,
        publish: Callable[[dict[str, Any]], None],
        cache: Path | None = None,
        evidence: str | GivenProbabilities | None = "auto",
        n_people: int = 1,
    ) -> None:
        self.n_ready = n_people + N_SPARE
        self._cache, self._evidence_option = cache, evidence
        self._evidence: LiveEvidence | None = None
        self.publish, self.status = publish, "preparing"
        self.revision = 0
        self.now = Snapshot(-1, np.full(n_items, -1, np.int32), [])
        self.positions: NDArray[np.float32] | None = None
        self._labelling: Labelling | None = None
        self._answers = Answers(n_items)
        self._lock = _PriorityLock()
        self._work_waits, self._opinion_waits = threading.Event(), threading.Event()

    @property
    def now(self) -> Snapshot:
        """What follows from the answers so far."""
        return self._now

    @now.setter
    def now(self, snapshot: Snapshot) -> None:
        # The page compares revisions: the response to an answer can arrive after a later event.
        self._now = snapshot
        self.revision += 1

    @property
    def ready(self) -> bool:
        """Whether the graph is built."""
        return self._labelling is not None

    @property
    def exclusive(self) -> Callable[[], AbstractContextManager[None]]:
        """A context in which no other thread computes: the kernels use every core."""
        return self._lock.urgent

    @property
    def labelling(self) -> Labelling:
        """The labels of all items; only once the graph is built."""
        assert self._labelling is not None
        return self._labelling

    # -- in the thread that brings an answer

    def update(self, answers: Answers, version: int, first: list[int] | None = None) -> None:
        """Label everything from the answers, and have a next question: ``first`` if it has no answer."""
        self._answers = answers
        if not self.ready:
            return
        labels, used = answers.labels()
        before = self.now
        opinion = before.opinion if used == before.used else None
        by_graph = self.labelling.solve(labels, len(used)) if used else None
        by_evidence = None
        if opinion is not None and self._evidence is not None:
            by_evidence = self._evidence.solve(labels, len(used), opinion)
        solution = by_evidence if by_evidence is not None and answers.trust_evidence else by_graph
        closed = {*answers.skipped, *answers.rejected}
        ready = [row for row in before.questions if labels[row] < 0 and row not in closed]
        same = set(used) == set(before.used)
        self.now = Snapshot(
            version, labels, used, solution, list(dict.fromkeys([*(first or []), *ready])), None,
            before.confidence if same else None, before.estimate, opinion=opinion, believed=before.believed,
            believed_answers=before.believed_answers, by_graph=by_graph, by_evidence=by_evidence,
        )  # fmt: skip
        if not self.now.questions:
            self._choose_question()

    def guesses(self, rows: list[int]) -> dict[str, Any]:
        """Return what the labels said of these items before their answer; the estimate learns from it."""
        now = self.now
        if now.solution is None or len(now.used) < 2:
            return {}
        if now.support is None:
            self._update_support()
        support = self.now.support
        assert support is not None
        arm = now.solution.arm[rows]
        share = self.labelling.votes_on(rows, now.solution, len(now.used))[np.arange(len(rows)), arm]
        contest, beliefs = {}, {}
        if now.opinion is not None:
            probabilities = now.opinion.probabilities[rows, arm]
            beliefs = {"belief": [round(float(p), 4) for p in probabilities]}
        if now.by_graph is not None and now.by_evidence is not None:
            contest = {"by_graph": now.by_graph.arm[rows], "by_evidence": now.by_evidence.arm[rows]}
        return {
            **{
                key: [now.used[a] if a >= 0 else None for a in arms.tolist()]
                for key, arms in {"guess": arm, **contest}.items()
            },
            "share": [round(float(s), 4) for s in share],
            "backing": [round(float(b), 4) for b in support.backing[rows]],
            **beliefs,
        }

    def assess(self) -> None:
        """Compute the confidences and the estimate for the present labels."""
        now = self.now
        if now.assessed == now.version:
            return
        if now.solution is None:
            self.now = replace(now, confidence=None, estimate=None, assessed=now.version)
            return
        if now.support is None:
            self._update_support()
        now, k = self.now, len(now.used)
        assert now.solution is not None
        assert now.support is not None
        arm = now.solution.arm
        votes = self.labelling.votes(now.solution, k)
        share = np.where(arm >= 0, votes[np.arange(len(arm)), arm], np.nan)
        checked = self._answers.checked_guesses
        known, belief = now.labels >= 0, None
        if now.opinion is not None and now.believed_answers >= MIN_SHARE_BELIEVED * known.sum():
            belief = now.opinion.probabilities[np.arange(len(arm)), arm]
        overall, confidence = estimate(share, now.support.backing, known, checked, max(k, 1), belief)
        # With one class there is no other guess, which says nothing about how sure or right it is.
        several = k > 1
        self.now = replace(
            now, confidence=confidence if several else None, estimate=overall if several else None,
            assessed=now.version,
        )  # fmt: skip

    # -- in the background

    def start(self, X: NDArray[Any], begin: Callable[[], None]) -> None:
        """Start the background thread: build the graph, call ``begin``, then work after every answer."""
        threading.Thread(target=self._work, args=(X, begin), name="studio-answering", daemon=True).start()
        if self._evidence_option is not None:
            threading.Thread(target=self._keep_asking_experts, name="studio-evidence", daemon=True).start()

    def prepare(self, X: NDArray[Any], begin: Callable[[], None]) -> None:
        """Build the graph and the map, then call ``begin``, which applies the known labels."""
        # The map before the first question: later it would slow down the first answers.
        graphs, self.positions = graphs_and_map(X, self._cache, self.set_status)
        self.publish({"map": True})
        self.set_status("preparing the labels")
        labelling = Labelling(next(iter(graphs.values())))
        given = self._evidence_option
        if given is not None:
            self._evidence = LiveEvidence(X, graphs, given if isinstance(given, GivenProbabilities) else None)
        self.set_status("labelling")
        with self.exclusive():
            self._labelling = labelling
            begin()
            self.assess()
        self.set_status("ready", refreshed=self.now.version)

    def wake(self) -> None:
        """Let the background threads work on the newest answers."""
        self._work_waits.set()
        self._opinion_waits.set()

    def set_status(self, status: str, **event: Any) -> None:
        """Publish what is being done."""
        self.status = status
        self.publish({"status": status, **event})

    def _work(self, X: NDArray[Any], begin: Callable[[], None]) -> None:
        if not attempt(lambda: self.prepare(X, begin), "The items can't be compared", self.set_status):
            return
        self.wake()
        while True:
            self._work_waits.wait()
            self._work_waits.clear()
            attempt(lambda: self._catch_up(self.now.version), "The labels can't be updated", self.set_status)

    def _catch_up(self, version: int) -> None:
        """Do all background steps, what the next answer needs first; stop when there is a newer answer."""
        for step in (
            self._assess_if_cheap,
            self._precompute_responses,
            self._choose_question,
            self._assess_if_cheap,
            self._precompute_responses,
        ):
            with self._lock.background():
                if self.now.version != version:
                    return
                before = self.now
                step()
            if self.now.assessed != before.assessed or self.now.questions[:1] != before.questions[:1]:
                self.publish({"refreshed": version})

    def settle(self) -> None:
        """Do all background work on the newest answers in this thread."""
        self.ask_experts()
        self._catch_up(self.now.version)

    def ask_experts(self) -> None:
        """Form an opinion from the present answers, and label everything by it."""
        if self._evidence is None:
            return
        with self._lock.idle():
            asked, names = self.now, [self._answers.names[k] for k in self.now.used]
            if asked.believed == asked.version or len(names) < 2:
                return
            opinion = self._evidence.opinion(asked.labels, names, self._lock.step_aside)
            now = self.now
            if opinion is None or now.used != asked.used:
                return  # a class is new or gone: its answer has asked for another opinion
            solution = self._evidence.solve(now.labels, len(now.used), opinion)
            # The question on the screen stays; the one after it was chosen from labels of less evidence.
            # Confidences follow beliefs, so they are computed again.
            now = replace(
                now, opinion=opinion, believed=asked.version, by_evidence=solution, assessed=-1,
                believed_answers=int((asked.labels >= 0).sum()),
            )  # fmt: skip
            kept = now.questions[: self.n_ready - 1]
            if self._answers.trust_evidence:
                now = replace(now, solution=solution, support=None, questions=kept)
            self.now = now
        self._work_waits.set()
        self.publish({"refreshed": self.now.version})

    def _keep_asking_experts(self) -> None:
        while True:
            self._opinion_waits.wait()
            self._opinion_waits.clear()
            attempt(self.ask_experts, "The experts can't be asked", self.set_status)

    def _assess_if_cheap(self) -> None:
        """Assess once the support is there; computing it here would delay the next question."""
        if self.now.support is not None or self.now.solution is None:
            self.assess()

    def _precompute_responses(self) -> None:
        """Solve for the items that may be answered next."""
        self.labelling.prepare(self.now.questions)

    def _update_support(self) -> None:
        now = self.now
        self.now = replace(now, support=self.labelling.support(now.labels, now.solution, len(now.used)))

    def _choose_question(self) -> None:
        """Choose one more question after the one on the screen, or the first one."""
        if self.now.support is None:
            self._update_support()
        now, skipped, rejected = self.now, self._answers.skipped, self._answers.rejected
        # All but one of those that are ready stay: they may be on a screen.
        shown = now.questions[: self.n_ready - 1]
        # A skipped item is asked about again only when no other item is left; a rejected one never.
        excluded = [*skipped, *rejected, *shown]
        if len(set(excluded)) >= int((now.labels < 0).sum()):
            excluded = [*rejected, *shown]
        assert now.support is not None
        missing = max(1, self.n_ready - N_SPARE - len(shown))
        chosen = self.labelling.questions(now.labels, now.solution, now.support, excluded, missing)
        self.now = replace(now, questions=[*shown, *chosen][: self.n_ready])


class _PriorityLock:
    """A lock for three ranks: urgent holders get it before background holders, these before idle ones."""

    def __init__(self) -> None:
        self._free, self._held = threading.Condition(), False
        self._waiting = [0, 0, 0]  # of every rank

    def urgent(self) -> AbstractContextManager[None]:
        return self._ranked(0)

    def background(self) -> AbstractContextManager[None]:
        return self._ranked(1)

    def idle(self) -> AbstractContextManager[None]:
        return self._ranked(2)

    def step_aside(self) -> None:
        """Let all others that wait go first; only for the idle holder."""
        self._release()
        self._acquire(2)

    @contextmanager
    def _ranked(self, rank: int) -> Iterator[None]:
        self._acquire(rank)
        try:
            yield
        finally:
            self._release()

    def _acquire(self, rank: int) -> None:
        with self._free:
            self._waiting[rank] += 1
            self._free.wait_for(lambda: not self._held and not any(self._waiting[:rank]))
            self._waiting[rank] -= 1
            self._held = True

    def _release(self) -> None:
        with self._free:
            self._held = False
            self._free.notify_all()
