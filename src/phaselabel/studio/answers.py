"""Answers one after another in; the classes and the known label of every item out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.studio.accuracy import CheckedGuess
from phaselabel.studio.project import (
    MAX_CLASSES,
    Action,
    JournalState,
    checked_colour,
    checked_name,
    colour,
)

#: One action names at most this many items.
MAX_ROWS = 500_000

#: A note has at most this many characters.
MAX_NOTE = 2000

#: The latest answers by which evidence is judged.
N_JUDGES = 20

#: Evidence is not trusted before this many answers have judged it.
MIN_JUDGES = 5

#: What was guessed of the items of an answer before it, in the journal.
GUESSES = ("guess", "share", "backing", "belief", "by_graph", "by_evidence")

#: The flags of an item: its answer may be wrong, or it belongs to no class.
FLAGS = ("unsure", "rejected")


@dataclass
class Answers(JournalState):
    """Classes, answers and skipped items.

    Attributes
    ----------
    n_items : int
        The number of items.
    names, colors : dict of int to str
        The name and the colour of every class, by its number.
    known : dict of int to int
        The class number of every answered item.
    skipped : list of int
        The items that were skipped.
    checked_guesses : list of CheckedGuess
        One entry per answer to an item with a guess.
    contest : list of (bool, bool)
        For each answer to an item of which both had a guess: whether the graph and the evidence were right.
    flags, notes : dict of int to str
        What the user has remarked on an item: one of ``FLAGS``, and words.
    answered_at, answered_by : dict of int to str
        When each item was answered, and the name of the user if it was given.
    said : dict of str to dict of int to int
        The class that every person gave to each item, by the name of the person.
    first_names : dict of str to (int or None)
        Every name with which a class was made, and the number of the class now; None if it was deleted.
    last : int
        The number of the newest class. Numbers are never used again.
    """

    n_items: int
    names: dict[int, str] = field(default_factory=dict)
    colors: dict[int, str] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)
    skipped: list[int] = field(default_factory=list)
    checked_guesses: list[CheckedGuess] = field(default_factory=list)
    contest: list[tuple[bool, bool]] = field(default_factory=list)
    flags: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    answered_at: dict[int, str] = field(default_factory=dict)
    answered_by: dict[int, str] = field(default_factory=dict)
    said: dict[str, dict[int, int]] = field(default_factory=dict)
    first_names: dict[str, int | None] = field(default_factory=dict)
    last: int = 0

    @classmethod
    def replay(
        cls,
        actions: Iterable[Action],
        n_items: int,
        classes: Iterable[str],
        known_labels: dict[int, str],
        ids: Sequence[int] | None = None,
    ) -> "Answers":
        """Start with the classes and labels of the source, then apply all actions in force.

        Parameters
        ----------
        actions : iterable of Action
            The actions in force.
        n_items : int
            The number of items.
        classes : iterable of str
            The first classes.
        known_labels : dict of int to str
            The labels that the source has.
        ids : sequence of int, optional
            The number of every item in the journal, where it is not its row.

        Returns
        -------
        Answers
            The state.
        """
        answers = cls(n_items)
        for name in classes:
            if name not in answers.names.values():
                answers._do_class({"name": name})
        number = {name: k for k, name in answers.names.items()}
        answers.known = {row: number[name] for row, name in known_labels.items() if name in number}
        row_of = None if ids is None else {number: row for row, number in enumerate(ids)}
        for action in actions:
            body = action.body if row_of is None else with_rows(action.body, row_of)
            answers.apply(action, {**body, "at": action.at})
        # Labels that the source did not have at the first opening: their classes are entries of the journal.
        for row, name in known_labels.items():
            later = answers.first_names.get(name)
            if name not in number and later is not None:
                answers.known.setdefault(row, later)
        return answers

    @property
    def trust_evidence(self) -> bool:
        """Whether the evidence has lately been right at least as often as the graph alone."""
        latest = self.contest[-N_JUDGES:]
        graph, evidence = sum(g for g, _ in latest), sum(e for _, e in latest)
        return len(latest) >= MIN_JUDGES and evidence >= graph

    @property
    def rejected(self) -> list[int]:
        """The items that belong to no class; they are not asked about."""
        return [row for row, flag in self.flags.items() if flag == "rejected"]

    def opinions(self) -> dict[str, dict[int, str]]:
        """What each of several people answered, and the share of them who gave the label that counts.

        The answer that counts is the latest one. Nothing where one person has answered.
        """
        if len(self.said) < 2:
            return {}
        columns = {
            f"answered_by_{name}": {row: self.names[k] for row, k in answers.items()}
            for name, answers in self.said.items()
        }
        agreement = {}
        for row, number in self.known.items():
            given = [answers[row] for answers in self.said.values() if row in answers]
            if len(given) > 1:
                agreement[row] = f"{sum(k == number for k in given) / len(given):.2f}"
        return {**columns, "agreement": agreement}

    def labels(self) -> tuple[NDArray[np.int32], list[int]]:
        """Return known classes counted from 0 (-1 where not known), and the class numbers that occur.

        Classes are counted in the order of their names, as in a fit to them.
        """
        used = sorted(set(self.known.values()), key=lambda number: self.names[number])
        place = {number: k for k, number in enumerate(used)}
        labels = np.full(self.n_items, -1, np.int32)
        for row, number in self.known.items():
            labels[row] = place[number]
        return labels, used

    # -- actions

    def _check_class(self, body: dict[str, Any]) -> dict[str, Any]:
        if len(self.names) >= MAX_CLASSES:
            raise ValueError(f"A project has at most {MAX_CLASSES} classes.")
        return {"name": checked_name(body.get("name"), self.names.values())}

    def _do_class(self, body: dict[str, Any]) -> None:
        self.last += 1
        self.names[self.last], self.colors[self.last] = body["name"], colour(self.last)
        self.first_names[body["name"]] = self.last

    def _check_rename(self, body: dict[str, Any]) -> dict[str, Any]:
        number = self._number(body)
        others = [name for k, name in self.names.items() if k != number]
        return {"class": number, "name": checked_name(body.get("name"), others)}

    def _do_rename(self, body: dict[str, Any]) -> None:
        self.names[body["class"]] = body["name"]

    def _check_recolour(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"class": self._number(body), "color": checked_colour(body.get("color"))}

    def _do_recolour(self, body: dict[str, Any]) -> None:
        self.colors[body["class"]] = body["color"]

    def _check_merge(self, body: dict[str, Any]) -> dict[str, Any]:
        number, into = self._number(body), self._number({"class": body.get("into")})
        if number == into:
            raise ValueError("A class can't be merged into itself; choose another one.")
        return {"class": number, "into": into}

    def _do_merge(self, body: dict[str, Any]) -> None:
        self._drop(body["class"], body["into"])

    def _check_delete(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"class": self._number(body)}

    def _do_delete(self, body: dict[str, Any]) -> None:
        self._drop(body["class"], None)

    def _drop(self, number: int, heir: int | None) -> None:
        """Remove a class; its answers go to another class, or are no answers any more."""
        del self.names[number], self.colors[number]
        rows = [row for row, known in self.known.items() if known == number]
        for row in rows:
            if heir is None:
                self._forget(row)
            else:
                self.known[row] = heir
        for name, answers in self.said.items():
            kept = {row: heir if k == number else k for row, k in answers.items()}
            self.said[name] = {row: k for row, k in kept.items() if k is not None}
        self.first_names = {n: heir if k == number else k for n, k in self.first_names.items()}

    def _forget(self, row: int) -> None:
        for entries in (self.known, self.answered_at, self.answered_by, *self.said.values()):
            entries.pop(row, None)  # type: ignore[attr-defined]

    def _check_flag(self, body: dict[str, Any]) -> dict[str, Any]:
        flag = body.get("flag")
        if flag is not None and flag not in FLAGS:
            raise ValueError(
                f"A flag must be {' or '.join(FLAGS)}, or null to take it away; got {flag!r:.40}."
            )
        return {"rows": self._rows(body), "flag": flag}

    def _do_flag(self, body: dict[str, Any]) -> None:
        for row in body["rows"]:
            self.flags.pop(row, None)
            if body["flag"] is not None:
                self.flags[row] = body["flag"]
            if body["flag"] == "rejected":
                self._forget(row)

    def _check_note(self, body: dict[str, Any]) -> dict[str, Any]:
        note = body.get("note")
        if not isinstance(note, str) or len(note) > MAX_NOTE:
            raise ValueError(f"A note must be a text of at most {MAX_NOTE:,} characters.")
        return {"rows": self._rows(body), "note": note.strip()}

    def _do_note(self, body: dict[str, Any]) -> None:
        for row in body["rows"]:
            self.notes.pop(row, None)
            if body["note"]:
                self.notes[row] = body["note"]

    def _check_answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """An answer gives the number of a class, or a name that may be new; see ``keep_answers``."""
        rows = self._rows(body)
        if body.get("keep_answers"):
            rows = [row for row in rows if row not in self.known]
            if not rows:
                raise ValueError("All of these items have an answer; nothing was changed.")
        if "class" in body:
            return {"rows": rows, "class": self._number(body)}
        name = checked_name(body.get("name"))
        for number, known in self.names.items():
            if known.casefold() == name.casefold():
                return {"rows": rows, "class": number}
        return {"rows": rows, **self._check_class({"name": name})}

    def _do_answer(self, body: dict[str, Any]) -> None:
        if "name" in body:
            self._do_class(body)
        number = body.get("class", self.last)
        guesses = [body.get(key, []) for key in ("guess", "share", "backing")]
        beliefs = body.get("belief", [None] * len(body["rows"]))
        for row, guess, share, backing, belief in zip(body["rows"], *guesses, beliefs):
            if guess is not None and row not in self.known:
                self.checked_guesses.append(CheckedGuess(share, backing, guess == number, belief))
        rivals = [body.get(key, []) for key in ("by_graph", "by_evidence")]
        for row, graph, evidence in zip(body["rows"], *rivals):
            if row not in self.known:
                self.contest.append((graph == number, evidence == number))
        for row in body["rows"]:
            self.known[row], self.answered_at[row] = number, body.get("at", "")
            self.answered_by[row] = body.get("by", "")
            if body.get("by"):
                self.said.setdefault(body["by"], {})[row] = number
            if self.flags.get(row) == "rejected":
                del self.flags[row]
        answered = set(body["rows"])
        self.skipped = [row for row in self.skipped if row not in answered]

    def _check_skip(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"rows": self._rows(body)}

    def _do_skip(self, body: dict[str, Any]) -> None:
        self.skipped.extend(row for row in body["rows"] if row not in self.skipped)

    def _check_forget(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"rows": self._rows(body)}

    def _do_forget(self, body: dict[str, Any]) -> None:
        for row in body["rows"]:
            self._forget(row)

    def _number(self, body: dict[str, Any]) -> int:
        number = body.get("class")
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.names:
            raise ValueError(f"There is no class {number!r:.40}.")
        return number

    def _rows(self, body: dict[str, Any]) -> list[int]:
        return checked_rows(body.get("rows"), self.n_items)


def with_rows(body: dict[str, Any], row_of: dict[int, int]) -> dict[str, Any]:
    """Return an entry of the journal with rows instead of item numbers, without items that are gone.

    Examples
    --------
    >>> with_rows({"rows": [4, 7], "class": 1, "share": [0.5, 0.6]}, {7: 2})
    {'rows': [2], 'class': 1, 'share': [0.6]}
    """
    if "rows" not in body:
        return body
    present = [k for k, number in enumerate(body["rows"]) if number in row_of]
    kept: dict[str, Any] = {key: [body[key][k] for k in present] for key in GUESSES if key in body}
    return {**body, "rows": [row_of[body["rows"][k]] for k in present], **kept}


def checked_rows(rows: Any, n_items: int) -> list[int]:
    """Return item numbers, each once; refuse what is no list of them."""
    valid = isinstance(rows, list) and all(
        isinstance(row, int) and not isinstance(row, bool) and 0 <= row < n_items for row in rows
    )
    if not valid or not 0 < len(rows) <= MAX_ROWS:
        raise ValueError(f"rows must be a list of 1 to {MAX_ROWS} item numbers below {n_items}.")
    return list(dict.fromkeys(rows))
