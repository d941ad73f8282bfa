"""Items and answers as they come in, the next best question and everybody's label out: the answering room."""

import json
import logging
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow import Solution
from phaselabel.graph import nearest_neighbors, similarity_graph
from phaselabel.studio.answers import Answers
from phaselabel.studio.items import Items
from phaselabel.studio.labelling import Estimate, Labelling, estimate
from phaselabel.studio.project import Project, checked_name

log = logging.getLogger(__name__)

#: Questions that are found ahead, items of a grid, of a review list, of an inspection.
AHEAD, GRID, REVIEW, INSPECTED = 2, 20, 24, 60

EXPORTS = {
    "labels.csv": "text/csv",
    "labels.parquet": "application/vnd.apache.parquet",
    "model.zip": "application/zip",
}


@dataclass(frozen=True, eq=False)
class Standing:
    """What follows from the answers so far."""

    number: int
    labels: NDArray[np.int32]
    used: list[int]
    solution: Solution | None = None
    questions: list[int] = field(default_factory=list)
    share: NDArray[np.float64] | None = None
    confidence: NDArray[np.float64] | None = None
    estimate: Estimate | None = None


class AnsweringRoom:
    """Takes answers, keeps them, labels everything again and asks on.

    An answer is confirmed when it is on disk and all labels have followed. What the next question will be was
    found before, while the user looked at this one; what can wait (confidences, the estimate, questions
    further ahead) is done in a thread of its own.

    Parameters
    ----------
    items : Items
        What is asked about.
    project : Project
        Where everything is kept.
    tell : callable
        Called with a dict whenever the page should know something.
    classes : sequence of str
        Names to begin with.
    """

    kind = "answering"
    exports = EXPORTS

    def __init__(
        self,
        items: Items,
        project: Project,
        tell: Callable[[dict[str, Any]], None] = lambda news: None,
        classes: Any = (),
    ) -> None:
        self.items, self.project, self.tell = items, project, tell
        names = [checked_name(name) for name in classes]
        # Classes go by their numbers in the journal: those of the first opening come first for ever.
        self._classes: list[str] = json.loads(project.kept("classes", json.dumps(names)))
        self.answers = self._replayed()
        for name in names:
            if name not in self.answers.names.values():
                project.record("class", self.answers.checked("class", {"name": name}))
                self.answers = self._replayed()
        self.status = "preparing"
        self._labelling: Labelling | None = None
        self._positions: NDArray[np.float32] | None = None
        self._now = Standing(-1, *self.answers.labels())
        # One lock for all that computes: kernels use every core already.
        self._computing = threading.RLock()
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="studio-answering", daemon=True)

    def start(self) -> None:
        """Build the graph and label what is known."""
        self._thread.start()

    # -- what the page asks

    @property
    def questions(self) -> dict[str, Callable[..., Any]]:
        """What the page may ask for as JSON."""
        return {"state": self.state, "grid": self._grid, "review": self._review, "items": self._inspected}

    @property
    def data(self) -> dict[str, Callable[..., tuple[bytes, str, int]]]:
        """Bytes the page may ask for, each as (content, type, version)."""
        return {"item": self._item, "map": self._map, "colours": self._colours}

    def state(self) -> dict[str, Any]:
        """All the page needs to show the room."""
        now, answers = self._now, self.answers
        arm = None if now.solution is None else now.solution.arm
        sizes = (
            {}
            if arm is None
            else dict(zip(now.used, np.bincount(arm[arm >= 0], minlength=len(now.used)).tolist()))
        )
        told = dict.fromkeys(answers.names, 0)
        for number in answers.known.values():
            told[number] += 1
        guess = now.estimate
        return {
            "room": self.kind,
            "title": self.items.title,
            # The journal may be ahead of the labels for a moment; the page must not take old ones for new.
            "number": self.project.number if self._labelling is None else now.number,
            "status": self.status,
            "notes": self.items.notes,
            "items": len(self.items),
            "answered": len(answers.known),
            "skipped": len(answers.skipped),
            "reached": 0 if arm is None else int((arm >= 0).sum()),
            "accuracy": None if guess is None else {"mean": guess.mean, "low": guess.low, "high": guess.high},
            "classes": [
                {
                    "id": k,
                    "name": name,
                    "color": answers.colors[k],
                    "answered": told[k],
                    "size": sizes.get(k, 0),
                }
                for k, name in answers.names.items()
            ],
            "question": self._question(),
            "undo": len(self.project.actions) > 0,
            "redo": len(self.project.undone) > 0,
            "exports": list(self.exports),
        }

    def do(self, kind: Any, body: Any, mark: str | None = None) -> dict[str, Any]:
        """Check, keep on disk, label everything again."""
        with self._computing:
            if kind in ("undo", "redo"):
                self.project.record(kind, {}, mark)
            else:
                entry = self.answers.checked(kind, body)
                if kind == "answer":
                    entry |= self._guesses(entry["rows"])
                self.project.record(kind, entry, mark)
            self.answers = self._replayed()
            self._follow(self._reopened(kind))
            state = self.state()
        self._changed.set()
        self.tell({"changed": state["number"]})
        return state

    def take(self, data: bytes, mark: str | None = None) -> dict[str, Any]:
        """Nothing to bring in here."""
        raise ValueError("Labels that are known already come in with --label.")

    def export(self, name: str) -> bytes:
        """One of the files in ``exports``."""
        with self._computing:
            self._complete(self._now.number)
            now, answers = self._now, self.answers
        if now.solution is None or now.confidence is None:
            raise ValueError("There are no labels yet; answer a question first.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            if name == "model.zip":
                self._save_model(path, answers)
            else:
                self._save_labels(path, now, answers)
            return path.read_bytes()

    # -- behind the page

    def _replayed(self) -> Answers:
        return Answers.after(self.project.actions, len(self.items), self._classes, self.items.given)

    def _guesses(self, rows: list[int]) -> dict[str, Any]:
        """What the labels said of these items before they were answered: the estimate learns from it."""
        now = self._now
        if now.solution is None or self._labelling is None or len(now.used) < 2:
            return {}
        arm = now.solution.arm[rows]
        votes = self._labelling.votes_on(rows, now.solution, len(now.used))
        share = votes[np.arange(len(rows)), arm]
        return {
            "guess": [now.used[a] if a >= 0 else None for a in arm.tolist()],
            "share": [round(float(s), 4) for s in share],
        }

    def _reopened(self, kind: str) -> list[int]:
        """What was just taken back is asked again."""
        if kind != "undo" or not self.project.undone:
            return []
        body = self.project.undone[-1].body
        return [row for row in body.get("rows", [])[:1] if row not in self.answers.known]

    def _follow(self, first: list[int] | None = None) -> None:
        """Label everything from the answers there are, and have a next question: ``first``, if it is open."""
        if self._labelling is None:
            return
        labels, used = self.answers.labels()
        solution = self._labelling.solve(labels, len(used)) if used else None
        before = self._now
        ahead = [row for row in before.questions if labels[row] < 0 and row not in self.answers.skipped]
        ahead = list(dict.fromkeys([*(first or []), *ahead]))
        same = set(used) == set(before.used)
        self._now = Standing(
            self.project.number, labels, used, solution, ahead, before.share if same else None,
            before.confidence if same else None, before.estimate,
        )  # fmt: skip
        if not ahead:
            self._ask_ahead()

    def _ask_ahead(self) -> None:
        now, labelling = self._now, self._labelling
        assert labelling is not None
        skipped = self.answers.skipped
        hidden = now.labels.copy()
        hidden[skipped] = 0  # what was passed over is not asked again, until nothing else is left
        if (hidden >= 0).all():
            hidden = now.labels
        if (hidden >= 0).all():
            questions: list[int] = []
        else:
            n = min(AHEAD, int((hidden < 0).sum()))
            questions = labelling.questions(hidden, now.solution, len(now.used), n)
        self._now = _changed(now, questions=questions)

    def _complete(self, number: int) -> bool:
        """Confidences and the estimate; false if there are newer answers by now."""
        now, labelling = self._now, self._labelling
        if now.number != number or labelling is None:
            return False
        if now.solution is not None:
            arm, k = now.solution.arm, len(now.used)
            votes = labelling.votes(now.solution, k)
            share = np.where(arm >= 0, votes[np.arange(len(arm)), arm], np.nan)
            known = now.labels >= 0
            # One class tells nothing about how often a guess is right.
            found, confidence = estimate(share, known, self.answers.past, k)
            self._now = _changed(now, share=share, confidence=confidence, estimate=found if k > 1 else None)
        else:
            self._now = _changed(now, share=None, confidence=None, estimate=None)
        return True

    def _work(self) -> None:
        try:
            self._prepare()
        except Exception as error:
            log.exception("the items could not be prepared")
            self._say(f"The items can't be compared: {error}")
            return
        while True:
            self._changed.wait()
            self._changed.clear()
            number = self._now.number
            try:
                for step in (self._refresh_questions, self._complete, self._foresee):
                    with self._computing:
                        if not step(number):
                            break
                    self.tell({"refreshed": number})
            except Exception as error:
                log.exception("the background work failed")
                self._say(f"Something failed: {error}")

    def _prepare(self) -> None:
        X = self.items.X
        self._say("finding alike items")
        graph = similarity_graph(nearest_neighbors(X, min(10, len(X) - 1)))
        self._say("labelling")
        with self._computing:
            self._labelling = Labelling(graph)
            self._follow()
            self._complete(self._now.number)
        self._say("ready", refreshed=self._now.number)
        self._positions = self._labelling.positions(X)
        self.tell({"map": True})
        self._changed.set()

    def _refresh_questions(self, number: int) -> bool:
        """Find the questions after the one on the screen, which stays."""
        if self._now.number != number:
            return False
        shown = self._now.questions[:1]
        self._ask_ahead()
        rest = [row for row in self._now.questions if row not in shown]
        self._now = _changed(self._now, questions=(shown + rest)[:AHEAD])
        return True

    def _foresee(self, number: int) -> bool:
        """Solve for the items that may be answered next."""
        if self._now.number != number or self._labelling is None:
            return False
        self._labelling.prepare(self._now.questions)
        return True

    def _question(self) -> dict[str, Any] | None:
        questions = self._now.questions
        return self._described([questions[0]])[0] if questions else None

    def _described(self, rows: list[int]) -> list[dict[str, Any]]:
        """Items with what is known or guessed of them."""
        now, known = self._now, self.answers.known
        guessed: dict[int, tuple[int, float]] = {}
        if now.solution is not None and self._labelling is not None and rows:
            arm = now.solution.arm[rows]
            votes = self._labelling.votes_on(rows, now.solution, len(now.used))
            for row, a, vote in zip(rows, arm.tolist(), votes):
                if a >= 0:
                    guessed[row] = now.used[a], float(vote[a])
        out = []
        for row in rows:
            guess, share = guessed.get(row, (None, 0.0))
            sure = None if now.confidence is None else float(now.confidence[row])
            out.append(
                {
                    "item": self.items.shown(row),
                    "guess": guess,
                    "share": share,
                    "sure": sure,
                    "known": known.get(row),
                }
            )
        return out

    def _grid(self) -> dict[str, Any]:
        """Twenty items of the same guess, around the next question or else around the surest one."""
        with self._computing:
            now, labelling = self._now, self._labelling
            if now.solution is None or labelling is None or not now.questions:
                return {"class": None, "items": []}
            arm = now.solution.arm
            open_ = (now.labels < 0) & (arm >= 0)
            open_[self.answers.skipped] = False
            for seed in now.questions:
                if arm[seed] < 0:
                    continue
                rows = labelling.alike(seed, open_ & (arm == arm[seed]), GRID)
                if len(rows) >= 2:
                    return {"class": now.used[arm[seed]], "items": self._described(rows.tolist())}
            return {"class": None, "items": []}

    def _review(self) -> dict[str, Any]:
        """Answers that their surroundings speak against, and items about which there is most doubt."""
        with self._computing:
            now, labelling = self._now, self._labelling
            if now.solution is None or labelling is None or now.confidence is None:
                return {"suspects": [], "doubtful": []}
            known = np.flatnonzero(now.labels >= 0)
            votes = labelling.votes_on(known.tolist(), now.solution, len(now.used))
            own = votes[np.arange(len(known)), now.labels[known]].copy()
            votes[np.arange(len(known)), now.labels[known]] = 0
            evidence = votes.max(axis=1) - own
            order = [i for i in np.argsort(-evidence, kind="stable") if evidence[i] > 0][:REVIEW]
            suspects = self._described(known[order].tolist()) if order else []
            for entry, i in zip(suspects, order):
                entry["rival"] = now.used[int(votes[i].argmax())]
            doubt = np.where(now.labels < 0, now.confidence, 2)
            rows = np.argsort(doubt, kind="stable")[: min(REVIEW, int((now.labels < 0).sum()))]
            return {"suspects": suspects, "doubtful": self._described(rows.tolist())}

    def _inspected(self, rows: str = "") -> list[dict[str, Any]]:
        numbers = [int(row) for row in rows.split(",") if row][:INSPECTED]
        if any(not 0 <= row < len(self.items) for row in numbers):
            raise ValueError("There is no such item.")
        with self._computing:
            return self._described(numbers)

    def _item(self, row: str = "") -> tuple[bytes, str, int]:
        if not row.isdecimal() or int(row) >= len(self.items):
            raise ValueError("There is no such item.")
        return self.items.picture(int(row)), "image/png", int(row)

    def _map(self) -> tuple[bytes, str, int]:
        places = b"" if self._positions is None else self._positions.tobytes()
        return places, "application/octet-stream", 0

    def _colours(self) -> tuple[bytes, str, int]:
        """Class number and confidence of every item, a byte each."""
        now = self._now
        classes = np.zeros(len(self.items), np.uint8)
        sure = np.zeros(len(self.items), np.uint8)
        if now.solution is not None:
            classes[:] = np.array([*now.used, 0], np.uint8)[now.solution.arm]
        if now.confidence is not None:
            sure[:] = (255 * now.confidence).round()
        return classes.tobytes() + sure.tobytes(), "application/octet-stream", now.number

    def _say(self, status: str, **news: Any) -> None:
        self.status = status
        self.tell({"status": status, **news})

    # -- files

    def _save_labels(self, path: Path, now: Standing, answers: Answers) -> None:
        import pyarrow as pa

        assert now.solution is not None
        assert now.confidence is not None
        names = np.array([*(answers.names[k] for k in now.used), None], object)
        known = [
            answers.names[answers.known[i]] if i in answers.known else None for i in range(len(self.items))
        ]
        label = getattr(self.items, "label", "label")
        added = {
            f"{label}_predicted": pa.array(names[now.solution.arm], pa.string()),
            f"{label}_confidence": pa.array(now.confidence.round(4)),
            f"{label}_answered": pa.array(known, pa.string()),
        }
        if self.items.table is not None:
            from phaselabel.tables import write_table

            write_table(self.items.table, added, path)
            return
        column, values = self.items.names()
        table = pa.table({column: pa.array(values), **added})
        if path.suffix == ".csv":
            from pyarrow import csv

            csv.write_csv(table, path)
        else:
            from pyarrow import parquet

            parquet.write_table(table, path)

    def _save_model(self, path: Path, answers: Answers) -> None:
        from phaselabel import storage
        from phaselabel.classifier import GinzburgLandauClassifier

        y = np.array(
            [answers.names[answers.known[i]] if i in answers.known else None for i in range(len(self.items))],
            object,
        )
        with self._computing:
            model = GinzburgLandauClassifier(unlabeled=None).fit(self.items.X, y)
        extra: dict[str, Any] = {"source": self.items.title}
        if self.items.recipe is not None:
            extra |= {
                "recipe": vars(self.items.recipe), "label": getattr(self.items, "label", "label"),
                "label_type": "string",
            }  # fmt: skip
        storage.save(model, path, extra=extra)


def _changed(now: Standing, **parts: Any) -> Standing:
    from dataclasses import replace

    return replace(now, **parts)
