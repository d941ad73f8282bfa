"""Items and answers as they come in, the next best question and everybody's label out: the answering room."""

import json
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from phaselabel.studio.answers import Answers
from phaselabel.studio.consequences import Consequences, Standing
from phaselabel.studio.items import Items
from phaselabel.studio.project import Project, checked_name

#: Items of a grid, of a review list, of an inspection.
GRID, REVIEW, INSPECTED = 20, 24, 60

EXPORTS = {
    "labels.csv": "text/csv",
    "labels.parquet": "application/vnd.apache.parquet",
    "model.zip": "application/zip",
}


class AnsweringRoom:
    """Takes answers, keeps them, labels everything again and asks on.

    An answer is confirmed when it is on disk and all labels have followed
    (:class:`~phaselabel.studio.consequences.Consequences`).

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
        self._then = Consequences(len(items), tell)
        # What the map shows of every item, and the version in which that last changed.
        self._colour_of = np.zeros((2, len(items)), np.uint8)
        self._drawn, self._version = np.zeros(len(items), np.int64), 0
        self._painting = threading.Lock()

    def start(self) -> None:
        """Build the graph and label what is known, in a thread of its own."""
        self._then.start(self.items.X, self._begin)

    def prepare(self) -> None:
        """The same, and wait for it."""
        self._then.prepare(self.items.X, self._begin)

    def _begin(self) -> None:
        self._then.follow(self.answers, self.project.number)

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
        now, answers = self._then.now, self.answers
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
            "number": now.number if self._then.ready else self.project.number,
            "status": self._then.status,
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
        with self._then.turn():
            if kind in ("undo", "redo"):
                self.project.record(kind, {}, mark)
            else:
                entry = self.answers.checked(kind, body)
                if kind == "answer":
                    entry |= self._then.guesses(entry["rows"])
                self.project.record(kind, entry, mark)
            self.answers = self._replayed()
            self._then.follow(self.answers, self.project.number, self._reopened(kind))
            state = self.state()
        self._then.wake()
        self.tell({"changed": state["number"]})
        return state

    def take(self, data: bytes, mark: str | None = None) -> dict[str, Any]:
        """Nothing to bring in here."""
        raise ValueError("Labels that are known already come in with --label.")

    def export(self, name: str) -> bytes:
        """One of the files in ``exports``."""
        with self._then.turn():
            self._then.complete()
            now, answers = self._then.now, self.answers
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

    def _reopened(self, kind: str) -> list[int]:
        """What was just taken back is asked again."""
        if kind != "undo" or not self.project.undone:
            return []
        body = self.project.undone[-1].body
        return [row for row in body.get("rows", [])[:1] if row not in self.answers.known]

    def _question(self) -> dict[str, Any] | None:
        questions = self._then.now.questions
        return self._described([questions[0]])[0] if questions else None

    def _described(self, rows: list[int]) -> list[dict[str, Any]]:
        """Items with what is known or guessed of them."""
        now, known = self._then.now, self.answers.known
        out = []
        for row in rows:
            arm = -1 if now.solution is None else int(now.solution.arm[row])
            sure = None if now.confidence is None else float(now.confidence[row])
            out.append(
                {
                    "item": self.items.shown(row),
                    "guess": now.used[arm] if arm >= 0 else None,
                    "sure": sure,
                    "known": known.get(row),
                }
            )
        return out

    def _grid(self) -> dict[str, Any]:
        """Twenty items of the same guess, around the next question or else around the surest one."""
        with self._then.turn():
            now = self._then.now
            if now.solution is None or not now.questions:
                return {"class": None, "items": []}
            arm = now.solution.arm
            open_ = (now.labels < 0) & (arm >= 0)
            open_[self.answers.skipped] = False
            for seed in now.questions:
                if arm[seed] < 0:
                    continue
                rows = self._then.labelling.alike(seed, open_ & (arm == arm[seed]), GRID)
                if len(rows) >= 2:
                    return {"class": now.used[arm[seed]], "items": self._described(rows.tolist())}
            return {"class": None, "items": []}

    def _review(self) -> dict[str, Any]:
        """Answers that their surroundings speak against, and items about which there is most doubt."""
        with self._then.turn():
            self._then.complete()
            now = self._then.now
            if now.solution is None or now.confidence is None:
                return {"suspects": [], "doubtful": []}
            known = np.flatnonzero(now.labels >= 0)
            votes = self._then.labelling.votes_on(known.tolist(), now.solution, len(now.used))
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
        return self._described(numbers)

    def _item(self, row: str = "") -> tuple[bytes, str, int]:
        if not row.isdecimal() or int(row) >= len(self.items):
            raise ValueError("There is no such item.")
        return self.items.picture(int(row)), "image/png", int(row)

    def _map(self) -> tuple[bytes, str, int]:
        positions = self._then.positions
        places = b"" if positions is None else positions.tobytes()
        return places, "application/octet-stream", 0

    def _colours(self, since: str = "0") -> tuple[bytes, str, int]:
        """Class number and confidence, a byte each, of the items in which one has changed since a version.

        First how many these are, then their numbers, their classes, their confidences in 16 steps.
        """
        with self._painting:
            self._paint()
            rows = np.flatnonzero(self._drawn > (int(since) if since.isdecimal() else 0)).astype(np.uint32)
            content = np.uint32(len(rows)).tobytes() + rows.tobytes() + self._colour_of[:, rows].tobytes()
            return content, "application/octet-stream", self._version

    def _paint(self) -> None:
        now = self._then.now
        fresh = np.zeros_like(self._colour_of)
        if now.solution is not None:
            fresh[0] = np.array([*now.used, 0], np.uint8)[now.solution.arm]
        if now.confidence is not None:
            fresh[1] = 17 * (15 * now.confidence).round().astype(np.uint8)
        changed = (fresh != self._colour_of).any(axis=0)
        if changed.any():
            self._version += 1
            self._colour_of, self._drawn = fresh, np.where(changed, self._version, self._drawn)

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
        with self._then.turn():
            model = GinzburgLandauClassifier(unlabeled=None).fit(self.items.X, y)
        extra: dict[str, Any] = {"source": self.items.title}
        if self.items.recipe is not None:
            extra |= {
                "recipe": vars(self.items.recipe), "label": getattr(self.items, "label", "label"),
                "label_type": "string",
            }  # fmt: skip
        storage.save(model, path, extra=extra)
