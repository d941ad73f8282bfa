"""Answers in; every label at once, then the next questions, confidences and an estimate of accuracy out."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow import Solution
from phaselabel.graph import nearest_neighbors, similarity_graph
from phaselabel.query import Hearing
from phaselabel.studio.accuracy import Estimate, estimate
from phaselabel.studio.answers import Answers
from phaselabel.studio.labelling import Labelling

log = logging.getLogger(__name__)

#: Questions that are kept: the one on the screen and the next.
AHEAD = 2


@dataclass(frozen=True, eq=False)
class Standing:
    """What follows from the answers so far.

    ``number`` is that of the last answer that counts in ``labels``, ``used``, ``solution`` and ``questions``;
    ``hearing``, ``confidence`` and ``estimate`` follow a moment later, and are those of ``completed``.
    """

    number: int
    labels: NDArray[np.int32]
    used: list[int]
    solution: Solution | None = None
    questions: list[int] = field(default_factory=list)
    hearing: Hearing | None = None
    confidence: NDArray[np.float64] | None = None
    estimate: Estimate | None = None
    completed: int = -1


class Consequences:
    """Labels everything again after each answer and has the next question ready.

    What an answer needs at once is done by whoever brings it; what can wait is done in a thread of its own,
    in short steps, and given up when a newer answer is there. Nothing that can wait makes an answer wait for
    more than the step that is being done, and each step is one that the next answer would need, too.

    Parameters
    ----------
    n_items : int
        How many items there are.
    tell : callable
        Called with a dict whenever the page should know something.
    """

    def __init__(self, n_items: int, tell: Callable[[dict[str, Any]], None]) -> None:
        self.tell, self.status = tell, "preparing"
        self.now = Standing(-1, np.full(n_items, -1, np.int32), [])
        self.positions: NDArray[np.float32] | None = None
        self._labelling: Labelling | None = None
        self._answers = Answers(n_items)
        self._turns = _Turns()
        self._changed = threading.Event()

    @property
    def ready(self) -> bool:
        """Whether there is a graph to label on."""
        return self._labelling is not None

    @property
    def turn(self) -> Callable[[], Any]:
        """A context in which nobody else computes: the kernels use every core already."""
        return self._turns.first

    @property
    def labelling(self) -> Labelling:
        """The labels of all items, once there is a graph."""
        assert self._labelling is not None
        return self._labelling

    # -- at once

    def follow(self, answers: Answers, number: int, first: list[int] | None = None) -> None:
        """Label everything from the answers there are, and have a next question: ``first``, if it is open."""
        self._answers = answers
        if not self.ready:
            return
        labels, used = answers.labels()
        solution = self.labelling.solve(labels, len(used)) if used else None
        before = self.now
        ahead = [row for row in before.questions if labels[row] < 0 and row not in answers.skipped]
        same = set(used) == set(before.used)
        self.now = Standing(
            number, labels, used, solution, list(dict.fromkeys([*(first or []), *ahead])), None,
            before.confidence if same else None, before.estimate,
        )  # fmt: skip
        if not self.now.questions:
            self._ask_on()

    def guesses(self, rows: list[int]) -> dict[str, Any]:
        """What the labels said of these items before they were answered: the estimate learns from it."""
        now = self.now
        if now.solution is None or len(now.used) < 2:
            return {}
        if now.hearing is None:
            self._listen()
        ear = self.now.hearing
        assert ear is not None
        arm = now.solution.arm[rows]
        share = self.labelling.votes_on(rows, now.solution, len(now.used))[np.arange(len(rows)), arm]
        return {
            "guess": [now.used[a] if a >= 0 else None for a in arm.tolist()],
            "share": [round(float(s), 4) for s in share],
            "backing": [round(float(b), 4) for b in ear.backing[rows]],
        }

    # -- in its own time

    def start(self, X: NDArray[Any], begin: Callable[[], None]) -> None:
        """Build the graph, then ``begin``, then go on for ever, all in a thread of its own."""
        threading.Thread(target=self._work, args=(X, begin), name="studio-answering", daemon=True).start()

    def prepare(self, X: NDArray[Any], begin: Callable[[], None]) -> None:
        """Build the graph and the map, then call ``begin``, which follows what is known already."""
        self.say("finding alike items")
        graph = similarity_graph(nearest_neighbors(X, min(10, len(X) - 1)))
        self.say("drawing the map")
        # Before the first question: beside the first answers it would slow them down.
        labelling = Labelling(graph)
        self.positions = labelling.positions(X)
        self.tell({"map": True})
        self.say("labelling")
        with self.turn():
            self._labelling = labelling
            begin()
            self.complete()
        self.say("ready", refreshed=self.now.number)

    def wake(self) -> None:
        """There is something new to go on with."""
        self._changed.set()

    def complete(self) -> None:
        """Confidences and the estimate for the present labels."""
        now = self.now
        if now.completed == now.number:
            return
        if now.solution is None:
            self.now = replace(now, confidence=None, estimate=None, completed=now.number)
            return
        if now.hearing is None:
            self._listen()
        now, k = self.now, len(now.used)
        assert now.solution is not None
        assert now.hearing is not None
        arm = now.solution.arm
        votes = self.labelling.votes(now.solution, k)
        share = np.where(arm >= 0, votes[np.arange(len(arm)), arm], np.nan)
        found, confidence = estimate(
            share, now.hearing.backing, now.labels >= 0, self._answers.past, max(k, 1)
        )
        # One class tells nothing about how often a guess is right.
        self.now = replace(
            now, confidence=confidence, estimate=found if k > 1 else None, completed=now.number
        )

    def say(self, status: str, **news: Any) -> None:
        """Tell the page how far things are."""
        self.status = status
        self.tell({"status": status, **news})

    def _work(self, X: NDArray[Any], begin: Callable[[], None]) -> None:
        try:
            self.prepare(X, begin)
        except Exception as error:
            log.exception("the items could not be prepared")
            self.say(f"The items can't be compared: {error}")
            return
        self.wake()
        while True:
            self._changed.wait()
            self._changed.clear()
            try:
                self._catch_up(self.now.number)
            except Exception as error:
                log.exception("the background work failed")
                self.say(f"Something failed: {error}")

    def _catch_up(self, number: int) -> None:
        """All that can wait, what the next answer needs first; given up when there is a newer answer."""
        for step in (
            self._complete_if_heard,
            self._foresee,
            self._ask_on,
            self._complete_if_heard,
            self._foresee,
        ):
            with self._turns.later():
                if self.now.number != number:
                    return
                before = self.now
                step()
            if self.now.completed != before.completed or self.now.questions[:1] != before.questions[:1]:
                self.tell({"refreshed": number})

    def _complete_if_heard(self) -> None:
        if self.now.hearing is not None or self.now.solution is None:
            self.complete()

    def _foresee(self) -> None:
        """Solve for the items that may be answered next."""
        self.labelling.prepare(self.now.questions)

    def _listen(self) -> None:
        now = self.now
        self.now = replace(now, hearing=self.labelling.hearing(now.labels, now.solution, len(now.used)))

    def _ask_on(self) -> None:
        """One more question after the one on the screen, which stays; the first one if there is none."""
        if self.now.hearing is None:
            self._listen()
        now, skipped = self.now, self._answers.skipped
        shown = now.questions[:1]
        # What was passed over is not asked again, until nothing else is left.
        asked = [*skipped, *shown]
        if len(set(asked)) >= int((now.labels < 0).sum()):
            asked = shown
        assert now.hearing is not None
        found = self.labelling.questions(now.labels, now.solution, now.hearing, asked)
        self.now = replace(now, questions=[*shown, *found][:AHEAD])


class _Turns:
    """One at a time; whoever brings an answer goes before what can wait, however long that has waited."""

    def __init__(self) -> None:
        self._free, self._busy, self._waiting = threading.Condition(), False, 0

    @contextmanager
    def first(self) -> Iterator[None]:
        with self._free:
            self._waiting += 1
            self._free.wait_for(lambda: not self._busy)
            self._waiting -= 1
            self._busy = True
        try:
            yield
        finally:
            self._end()

    @contextmanager
    def later(self) -> Iterator[None]:
        with self._free:
            self._free.wait_for(lambda: not self._busy and not self._waiting)
            self._busy = True
        try:
            yield
        finally:
            self._end()

    def _end(self) -> None:
        with self._free:
            self._busy = False
            self._free.notify_all()
