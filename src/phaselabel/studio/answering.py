"""Items and answers in; the next best question and the label of every item out: the answering workspace."""

import json
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from phaselabel.assess.suspects import rivals_lead
from phaselabel.studio.answers import Answers, with_rows
from phaselabel.studio.evidence import GivenProbabilities
from phaselabel.studio.items import Items
from phaselabel.studio.project import Project, checked_name
from phaselabel.studio.updater import LabelUpdater

#: A grid shows at most this many items.
MAX_GRID = 20

#: Each list of the review shows at most this many items.
MAX_REVIEW = 24

#: At most this many selected items are shown.
MAX_INSPECTED = 60

#: A page of the list has at most this many items.
MAX_LISTED = 48

#: Confidences are sent to the map in this many steps.
CONFIDENCE_STEPS = 16

#: The files that can be exported, and their media types.
EXPORTS = {
    "labels.csv": "text/csv",
    "labels.parquet": "application/vnd.apache.parquet",
    "model.zip": "application/zip",
}


class AnsweringWorkspace:
    """Record answers, label everything again and ask the next question.

    An answer is confirmed when it is on disk and all labels have been updated
    (:class:`~phaselabel.studio.updater.LabelUpdater`).

    Parameters
    ----------
    items : Items
        The items to ask about.
    project : Project
        The journal of all actions.
    publish : callable
        Called with every event for the page.
    classes : sequence of str
        The names of the first classes.
    evidence : {"auto", None} or GivenProbabilities
        What speaks besides the graph, as in a fit.
    annotator : str
        The name of the user, for exports.
    n_people : int
        How many people answer at once; so many different questions are kept ready.
    """

    mode = "answering"
    exports = EXPORTS

    def __init__(
        self,
        items: Items,
        project: Project,
        publish: Callable[[dict[str, Any]], None] = lambda event: None,
        classes: Sequence[str] = (),
        evidence: str | GivenProbabilities | None = "auto",
        annotator: str = "",
        n_people: int = 1,
    ) -> None:
        self._annotator = " ".join(annotator.split())
        self.items, self.project, self.publish, self._evidence = items, project, publish, evidence
        names = [checked_name(name) for name in classes]
        # The journal knows classes by their numbers, so the classes of the first opening always come first.
        labels = sorted(set(items.known_labels.values()))
        self._classes: list[str] = [
            *json.loads(project.first_value("classes", json.dumps(names))),
            *json.loads(project.first_value("known classes", json.dumps(labels))),
        ]
        self.answers = self._replay()
        for name in dict.fromkeys([*names, *labels]):
            if name not in self.answers.first_names and name not in self.answers.names.values():
                project.record("class", {"name": name})
                self.answers = self._replay()
        cache = project.path.with_name(f"{project.path.name}-graph")
        self._updater = LabelUpdater(len(items), publish, cache, evidence, n_people)
        # Class and confidence of every item as the map shows them, and the map version of the last change.
        self._map_values = np.zeros((2, len(items)), np.uint16)
        self._map_changed, self._map_version = np.zeros(len(items), np.int64), 0
        self._map_lock = threading.Lock()
        self._looked_at: dict[str, int] = {}  # the item on the page of every person, the latest last
        self._exported: tuple[int, Any] | None = None  # the version of the last export, and its fitted model

    def start(self) -> None:
        """Build the graph and label what is known, in a background thread."""
        self._updater.start(self.items.X, self._begin)

    def prepare(self) -> None:
        """Build the graph and label what is known, in this thread."""
        self._updater.prepare(self.items.X, self._begin)

    def settle(self) -> None:
        """Finish in this thread what otherwise happens in the background after an answer."""
        self._updater.settle()

    def _begin(self) -> None:
        self._updater.update(self.answers, self.project.version)

    @property
    def notes(self) -> list[str]:
        """What the user should know about the project and its source."""
        return [*self.project.notes, *self.items.notes, *self._evidence_notes()]

    def _evidence_notes(self) -> list[str]:
        if not isinstance(self._evidence, GivenProbabilities):
            return []
        used = [self.answers.names[k] for k in sorted(set(self.answers.known.values()))]
        missing = [name for name in used if name not in self._evidence.columns]
        return [f"The evidence has no column {missing[0]!r}, so it is not used."] if missing else []

    @property
    def description(self) -> list[tuple[str, str]]:
        """What the items are compared by, as headings and texts."""
        return self.items.description

    def close(self) -> None:
        """Close the project. Nothing can be recorded afterwards."""
        self.project.close()

    # -- requests of the page

    @property
    def queries(self) -> dict[str, Callable[..., Any]]:
        """Functions whose result the page can request as JSON."""
        return {
            "state": self.state,
            "grid": self._grid,
            "review": self._review,
            "items": self._inspected,
            "list": self._list,
        }

    @property
    def data(self) -> dict[str, Callable[..., tuple[bytes, str, int]]]:
        """Functions whose bytes the page can request; each returns (content, media type, version)."""
        return {"item": self._item, "map": self._map, "colours": self._colours}

    def state(self, person: str = "") -> dict[str, Any]:
        """Return all that the page of a person needs to show the workspace."""
        revision = self._updater.revision  # before the snapshot, which may be newer
        now, answers = self._updater.now, self.answers
        arm = None if now.solution is None else now.solution.arm
        sizes = (
            {}
            if arm is None
            else dict(zip(now.used, np.bincount(arm[arm >= 0], minlength=len(now.used)).tolist()))
        )
        answered = dict.fromkeys(answers.names, 0)
        for number in answers.known.values():
            answered[number] += 1
        overall = now.estimate
        return {
            "mode": self.mode,
            "project": self.project.id,
            "title": self.items.title,
            # The journal can be ahead of the labels for a moment: this is the version of the labels.
            "version": now.version if self._updater.ready else self.project.version,
            "revision": revision,
            "assessed": now.assessed == now.version,
            "status": self._updater.status,
            "notes": self.notes,
            "description": self.description,
            "items": len(self.items),
            "answered": len(answers.known),
            "skipped": len(answers.skipped),
            "labelled": 0 if arm is None else int((arm >= 0).sum()),
            "accuracy": (None if overall is None else {**asdict(overall), "conclusive": overall.conclusive}),
            "classes": [
                {
                    "id": k,
                    "name": name,
                    "color": answers.colors[k],
                    "answered": answered[k],
                    "size": sizes.get(k, 0),
                }
                for k, name in answers.names.items()
            ],
            "question": self._question(person),
            "undo": len(self.project.actions) > 0,
            "redo": len(self.project.undone) > 0,
            "exports": list(self.exports),
        }

    def act(self, kind: Any, body: Any, request_id: str | None = None, person: str = "") -> dict[str, Any]:
        """Check an action, record it on disk, label everything again and return the new state."""
        with self._updater.exclusive():
            if kind in ("undo", "redo"):
                self.project.record(kind, {}, request_id)
            else:
                entry = self.answers.checked(kind, body)
                # Items selected on the map were not chosen by their backing, so their guesses say nothing
                # about the accuracy of others.
                if kind == "answer" and not body.get("keep_answers"):
                    entry |= self._updater.guesses(entry["rows"])
                if kind == "answer" and (person or self._annotator):
                    entry["by"] = person or self._annotator
                self.project.record(kind, self._with_ids(entry), request_id)
            self.answers = self._replay()
            self._updater.update(self.answers, self.project.version, self._reopened(kind))
            state = self.state(person)
        self._updater.wake()
        self.publish({"changed": state["version"]})
        return state

    def import_file(self, data: bytes, request_id: str | None = None, image: str = "") -> dict[str, Any]:
        """Refuse: there is no file to import here."""
        raise ValueError("Labels that are known already are read with --label.")

    def export(self, name: str) -> bytes:
        """Return one of the files in ``exports``, from a fit to the present answers."""
        with self._updater.exclusive():
            answers, version = self.answers, self.project.version
            if not answers.known:
                raise ValueError("There are no labels yet; answer a question first.")
            model = self._fitted(answers, version)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            if name == "model.zip":
                self._save_model(path, model)
            else:
                self._save_labels(path, model, answers)
            return path.read_bytes()

    def _fitted(self, answers: Answers, version: int) -> Any:
        """What ``fit`` and ``phaselabel label`` give on the same answers, the same for all files."""
        from phaselabel.estimators.classifier import GinzburgLandauClassifier

        if self._exported is None or self._exported[0] != version:
            y = np.array(self._answered(answers), object)
            evidence: Any = self._evidence
            if isinstance(evidence, GivenProbabilities):
                evidence = evidence.of(sorted({name for name in y if name is not None}))
            model = GinzburgLandauClassifier(unlabeled=None, evidence=evidence)
            self._exported = version, model.fit(self.items.X, y)
        return self._exported[1]

    def _answered(self, answers: Answers) -> list[str | None]:
        """The class name of every answered item, None for the others."""
        known = answers.known
        return [answers.names[known[i]] if i in known else None for i in range(len(self.items))]

    # -- helpers

    def _replay(self) -> Answers:
        actions, items = self.project.actions, self.items
        return Answers.replay(actions, len(items), self._classes, items.known_labels, items.ids)

    def _reopened(self, kind: str) -> list[int]:
        """The item whose answer was just undone: it is asked about again."""
        if kind != "undo" or not self.project.undone:
            return []
        body = self.project.undone[-1].body
        if self.items.ids is not None:
            body = with_rows(body, {number: row for row, number in enumerate(self.items.ids)})
        return [row for row in body.get("rows", [])[:1] if row not in self.answers.known]

    def _with_ids(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry as the journal keeps it: with the numbers of items, not their rows."""
        ids = self.items.ids
        if ids is None or "rows" not in entry:
            return entry
        return {**entry, "rows": [ids[row] for row in entry["rows"]]}

    def _question(self, person: str) -> dict[str, Any] | None:
        row = self._row_for(person)
        return None if row is None else self._with_words(self._described([row]))[0]

    def _row_for(self, person: str) -> int | None:
        """The item that a person is asked about: not one that somebody else is looking at.

        The latest look counts, so that a page that was closed holds no item back for long.
        """
        questions = self._updater.now.questions
        if not questions:
            return None
        if not person:
            return questions[0]
        mine = self._looked_at.pop(person, None)
        others = set(list(self._looked_at.values())[-self._updater.n_ready + 1 :])
        free = [row for row in questions if row not in others] or questions
        self._looked_at[person] = mine if mine in free else free[0]
        return self._looked_at[person]

    def _with_words(self, described: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One item, with the words that speak for its class."""
        now, solution = self._updater.now, self._updater.now.solution
        (entry,) = described
        if solution is not None and entry["guess"] is not None and len(now.used) > 1:
            members = solution.arm == solution.arm[entry["item"]["row"]]
            entry["item"]["speaks"] = self.items.speaking(entry["item"]["row"], members)
        return described

    def _described(self, rows: list[int]) -> list[dict[str, Any]]:
        """Items with what is known or guessed of them."""
        now, known = self._updater.now, self.answers.known
        described = []
        for row in rows:
            arm = -1 if now.solution is None else int(now.solution.arm[row])
            # Right after an answer the confidences are still those of the labels before it.
            current = now.confidence is not None and now.assessed == now.version
            confidence = float(now.confidence[row]) if current and now.confidence is not None else None
            described.append(
                {
                    "item": self.items.view(row),
                    "guess": now.used[arm] if arm >= 0 else None,
                    "confidence": confidence,
                    "known": known.get(row),
                    "flag": self.answers.flags.get(row),
                    "note": self.answers.notes.get(row, ""),
                }
            )
        return described

    def _grid(self) -> dict[str, Any]:
        """Similar items of the same guess, around the next question or else around a later one."""
        with self._updater.exclusive():
            now = self._updater.now
            if now.solution is None or not now.questions:
                return {"class": None, "items": []}
            arm = now.solution.arm
            candidates = (now.labels < 0) & (arm >= 0)
            candidates[self.answers.skipped] = False
            for seed in now.questions:
                if arm[seed] < 0:
                    continue
                rows = self._updater.labelling.alike(seed, candidates & (arm == arm[seed]), MAX_GRID)
                if len(rows) >= 2:
                    return {"class": now.used[arm[seed]], "items": self._described(rows.tolist())}
            return {"class": None, "items": []}

    def _review(self) -> dict[str, Any]:
        """Answers that contradict their neighbours, and the items of least confidence."""
        with self._updater.exclusive():
            self._updater.assess()
            now = self._updater.now
            if now.solution is None or now.confidence is None:
                return {"suspects": [], "doubtful": []}
            known = np.flatnonzero(now.labels >= 0)
            votes = self._updater.labelling.votes_on(known.tolist(), now.solution, len(now.used))
            lead = rivals_lead(votes, now.labels[known])
            order = [i for i in np.argsort(-lead, kind="stable") if lead[i] > 0][:MAX_REVIEW]
            suspects = self._described(known[order].tolist()) if order else []
            votes[np.arange(len(known)), now.labels[known]] = 0
            for entry, i in zip(suspects, order):
                entry["rival"] = now.used[int(votes[i].argmax())]
            confidence = np.where(now.labels < 0, now.confidence, 2)
            n_doubtful = min(MAX_REVIEW, int((now.labels < 0).sum()))
            rows = np.argsort(confidence, kind="stable")[:n_doubtful]
            return {"suspects": suspects, "doubtful": self._described(rows.tolist())}

    def _list(
        self, show: str = "all", of_class: str = "", search: str = "", sort: str = "row", start: str = "0"
    ) -> dict[str, Any]:
        """A part of the items: those of a kind and a class that contain some words, sorted."""
        now, answers = self._updater.now, self.answers
        n, known = len(self.items), np.zeros(len(self.items), bool)
        known[list(answers.known)] = True
        kinds: dict[str, Callable[[], Any]] = {
            "all": lambda: np.arange(n),
            "answered": lambda: np.flatnonzero(known),
            "open": lambda: np.flatnonzero(~known),
            "skipped": lambda: answers.skipped,
            "unsure": lambda: [row for row, flag in answers.flags.items() if flag == "unsure"],
            "rejected": lambda: answers.rejected,
            "noted": lambda: list(answers.notes),
        }
        if show not in kinds or sort not in ("row", "doubt", "sure") or not start.isdecimal():
            raise ValueError("There is no such list.")
        rows = np.sort(np.asarray(kinds[show](), np.intp))
        if of_class:
            numbers = np.zeros(n, np.int64)
            if now.solution is not None:
                numbers = np.array([*now.used, 0], np.int64)[now.solution.arm]
            for row, number in answers.known.items():
                numbers[row] = number
            rows = rows[numbers[rows] == (int(of_class) if of_class.isdecimal() else -1)]
        if search.strip():
            rows = self.items.matching(search.strip(), rows)
        if sort != "row" and now.confidence is not None:
            sign = 1 if sort == "doubt" else -1
            rows = rows[np.argsort(sign * now.confidence[rows], kind="stable")]
        part = rows[int(start) : int(start) + MAX_LISTED].tolist()
        return {"total": len(rows), "start": int(start), "items": self._described(part)}

    def _inspected(self, rows: str = "") -> list[dict[str, Any]]:
        numbers = [int(row) for row in rows.split(",") if row][:MAX_INSPECTED]
        if any(not 0 <= row < len(self.items) for row in numbers):
            raise ValueError("There is no such item.")
        described = self._described(numbers)
        return self._with_words(described) if len(described) == 1 else described

    def _item(self, row: str = "", large: str = "") -> tuple[bytes, str, int]:
        if not row.isdecimal() or int(row) >= len(self.items):
            raise ValueError("There is no such item.")
        return self.items.picture(int(row), bool(large)), "image/png", int(row)

    def _map(self) -> tuple[bytes, str, int]:
        positions = self._updater.positions
        places = b"" if positions is None else positions.tobytes()
        return places, "application/octet-stream", 0

    def _colours(self, since: str = "0") -> tuple[bytes, str, int]:
        """Class and confidence of the items in which one has changed since a version of the map.

        The bytes are: the number of these items, their row numbers (uint32 each), their class numbers and
        their confidences from 0 to 255 (uint16 each).
        """
        with self._map_lock:
            self._update_map()
            oldest = int(since) if since.isdecimal() else 0
            rows = np.flatnonzero(self._map_changed > oldest).astype(np.uint32)
            content = np.uint32(len(rows)).tobytes() + rows.tobytes() + self._map_values[:, rows].tobytes()
            return content, "application/octet-stream", self._map_version

    def _update_map(self) -> None:
        now = self._updater.now
        values = np.zeros_like(self._map_values)
        if now.solution is not None:
            values[0] = np.array([*now.used, 0], np.uint16)[now.solution.arm]
        if now.confidence is not None:
            top = CONFIDENCE_STEPS - 1
            values[1] = 255 // top * (top * now.confidence).round().astype(np.uint16)
        changed = (values != self._map_values).any(axis=0)
        if changed.any():
            self._map_version += 1
            self._map_values = values
            self._map_changed = np.where(changed, self._map_version, self._map_changed)

    # -- files

    def _save_labels(self, path: Path, model: Any, answers: Answers) -> None:
        import pyarrow as pa

        label = self.items.label
        added = {
            f"{label}_predicted": pa.array(model.transduction_.tolist(), pa.string()),
            f"{label}_confidence": pa.array(model.confidence_.round(4)),
            f"{label}_answered": pa.array(self._answered(answers), pa.string()),
            **self._remarks(answers),
        }
        if self.items.table is not None:
            from phaselabel.io.tables import write_table

            write_table(self.items.table, added, path)
            return
        column, values = self.items.identifiers()
        table = pa.table({column: pa.array(values), **added})
        if path.suffix == ".csv":
            from pyarrow import csv

            csv.write_csv(table, path)
        else:
            from pyarrow import parquet

            parquet.write_table(table, path)

    def _remarks(self, answers: Answers) -> dict[str, Any]:
        """Who answered and when, what was skipped, flagged or noted: a column for each that occurs."""
        import pyarrow as pa

        flags = {**dict.fromkeys(answers.skipped, "skipped"), **answers.flags}
        columns = {
            "flag": flags,
            "note": answers.notes,
            "annotator": answers.answered_by,
            "answered_at": answers.answered_at,
            **answers.opinions(),
        }
        rows = range(len(self.items))
        return {
            f"{self.items.label}_{name}": pa.array([entries.get(row) or None for row in rows], pa.string())
            for name, entries in columns.items()
            if any(entries.values())
        }

    def _save_model(self, path: Path, model: Any) -> None:
        from phaselabel.estimators import saving

        extra: dict[str, Any] = {"source": self.items.title}
        if self.items.recipe is not None:
            extra |= {
                "recipe": vars(self.items.recipe), "label": self.items.label,
                "label_type": "string",
            }  # fmt: skip
        saving.save(model, path, extra=extra)
