"""What was answered, one after another, in; classes and the known label of every item out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.studio.project import MOST_CLASSES, Action, Told, checked_name, colour

#: Items that one answer may name.
MOST_ROWS = 5000


@dataclass
class Answers(Told):
    """Classes by number, the class of every answered item, and what was passed over.

    ``past`` has, for every answer to an item with a guess, the share of votes that the guess had, how well
    its region was backed, and whether it was right.
    """

    n_items: int
    names: dict[int, str] = field(default_factory=dict)
    colors: dict[int, str] = field(default_factory=dict)
    known: dict[int, int] = field(default_factory=dict)
    skipped: list[int] = field(default_factory=list)
    past: list[tuple[float, float, bool]] = field(default_factory=list)
    last: int = 0

    @classmethod
    def after(
        cls, actions: Iterable[Action], n_items: int, classes: Iterable[str], given: dict[int, str]
    ) -> "Answers":
        """Begin with what is known, then do all that is in force."""
        found = cls(n_items)
        for name in [*classes, *sorted(set(given.values()))]:
            if name not in found.names.values():
                found._do_class({"name": name})
        number = {name: k for k, name in found.names.items()}
        found.known = {row: number[name] for row, name in given.items()}
        for action in actions:
            getattr(found, f"_do_{action.kind}")(action.body)
        return found

    def labels(self) -> tuple[NDArray[np.int32], list[int]]:
        """Known classes counted from 0 (-1 where not known), and the numbers of the classes that occur."""
        used = sorted(set(self.known.values()))
        place = {number: k for k, number in enumerate(used)}
        labels = np.full(self.n_items, -1, np.int32)
        for row, number in self.known.items():
            labels[row] = place[number]
        return labels, used

    # -- what can be done

    def _check_class(self, body: dict[str, Any]) -> dict[str, Any]:
        if len(self.names) >= MOST_CLASSES:
            raise ValueError(f"A project can have {MOST_CLASSES} classes.")
        return {"name": checked_name(body.get("name"), self.names.values())}

    def _do_class(self, body: dict[str, Any]) -> None:
        self.last += 1
        self.names[self.last], self.colors[self.last] = body["name"], colour(self.last)

    def _check_rename(self, body: dict[str, Any]) -> dict[str, Any]:
        number = self._number(body)
        others = [name for k, name in self.names.items() if k != number]
        return {"class": number, "name": checked_name(body.get("name"), others)}

    def _do_rename(self, body: dict[str, Any]) -> None:
        self.names[body["class"]] = body["name"]

    def _check_answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """By a class's number, or by a name that may be new."""
        rows = self._rows(body)
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
        told = [body.get(key, []) for key in ("guess", "share", "backing")]
        for row, guess, share, backing in zip(body["rows"], *told):
            if guess is not None and row not in self.known:
                self.past.append((share, backing, guess == number))
        for row in body["rows"]:
            self.known[row] = number
        gone = set(body["rows"])
        self.skipped = [row for row in self.skipped if row not in gone]

    def _check_skip(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"rows": self._rows(body)}

    def _do_skip(self, body: dict[str, Any]) -> None:
        self.skipped.extend(row for row in body["rows"] if row not in self.skipped)

    def _check_forget(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"rows": self._rows(body)}

    def _do_forget(self, body: dict[str, Any]) -> None:
        for row in body["rows"]:
            self.known.pop(row, None)

    def _number(self, body: dict[str, Any]) -> int:
        number = body.get("class")
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.names:
            raise ValueError(f"There is no class {number!r:.40}.")
        return number

    def _rows(self, body: dict[str, Any]) -> list[int]:
        return checked_rows(body.get("rows"), self.n_items)


def checked_rows(rows: Any, n_items: int) -> list[int]:
    """Numbers of items, each once."""
    sound = isinstance(rows, list) and all(
        isinstance(row, int) and not isinstance(row, bool) and 0 <= row < n_items for row in rows
    )
    if not sound or not 0 < len(rows) <= MOST_ROWS:
        raise ValueError(f"rows must be a list of 1 to {MOST_ROWS} item numbers below {n_items}.")
    return list(dict.fromkeys(rows))
