"""What a user does in, the same again after any crash out: an append-only journal in one SQLite file."""

import json
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = "phaselabel studio 1"

SCHEMA = """
CREATE TABLE IF NOT EXISTS project (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS event (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
  mark TEXT UNIQUE, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS kept BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER IF NOT EXISTS stays BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'append only'); END;
"""


@dataclass(frozen=True)
class Action:
    """Something that was done, and its place in the journal."""

    number: int
    kind: str
    body: dict[str, Any]


class Project:
    """A journal on disk and what of it is in force.

    Undo and redo are entries like any other: nothing is ever taken out of the file.

    Parameters
    ----------
    path : path-like
        The project's file; made if it isn't there.
    source : dict of str to str
        What the project is about. A file that was made for something else is refused.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.studio"
    >>> project = Project(path, {"of": "a picture"})
    >>> _ = project.record("stroke", {"class": 1}), project.record("stroke", {"class": 2})
    >>> _ = project.record("undo")
    >>> project.close()
    >>> [action.body for action in Project(path, {"of": "a picture"}).actions]
    [{'class': 1}]
    """

    def __init__(self, path: str | Path, source: dict[str, str]) -> None:
        self.path = Path(path)
        self.actions: list[Action] = []
        self.undone: list[Action] = []
        self._lock = threading.Lock()
        try:
            self._file = sqlite3.connect(
                self.path, timeout=1.0, isolation_level=None, check_same_thread=False
            )
            # One server at a time: a second one would go on from a state that is no longer true.
            self._file.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=FULL")
            self._file.executescript(SCHEMA)
            self._check(source)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise ValueError(
                    f"{self.path} is open in another studio; use that one's page, or stop it first."
                ) from None
            raise OSError(f"{self.path} can't be opened or written ({error}).") from None
        except sqlite3.DatabaseError:
            raise ValueError(
                f"{self.path} is not a project of the studio; name another file with --project."
            ) from None
        self._identity = _identity(self.path)
        for number, kind, body in self._file.execute("SELECT number, kind, body FROM event ORDER BY number"):
            self._follow(Action(number, kind, json.loads(body)))

    def record(self, kind: str, body: dict[str, Any] | None = None, mark: str | None = None) -> bool:
        """Write one entry to the disk, then let it count; false if ``mark`` was recorded before.

        When this returns, the entry survives the end of the process and of the power.
        """
        body = body or {}
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        with self._lock:
            if _identity(self.path) != self._identity:
                # Written to a file without a name, it would be gone with the process.
                raise OSError(
                    f"{self.path} was moved or deleted while the studio was open, so nothing was saved; put "
                    "it back, or export what you have."
                )
            try:
                done = self._file.execute(
                    "INSERT INTO event (mark, kind, body) VALUES (?, ?, ?)", (mark, kind, text)
                )
            except sqlite3.IntegrityError:
                return False
            except sqlite3.OperationalError as error:
                raise OSError(f"{self.path.name} could not be written ({error}); nothing was done.") from None
            self._follow(Action(int(done.lastrowid or 0), kind, body))
        return True

    def kept(self, key: str, value: str) -> str:
        """What a project began with: the value of its first opening, whatever is said later."""
        with self._lock:
            self._file.execute("INSERT OR IGNORE INTO project VALUES (?, ?)", (f"first {key}", value))
            (found,) = self._file.execute(
                "SELECT value FROM project WHERE key = ?", (f"first {key}",)
            ).fetchone()
        return str(found)

    @property
    def number(self) -> int:
        """How many entries the journal has: the version of everything that follows from it."""
        with self._lock:
            (found,) = self._file.execute("SELECT COALESCE(MAX(number), 0) FROM event").fetchone()
        return int(found)

    def close(self) -> None:
        """Let another process open the file."""
        self._file.close()

    def _follow(self, action: Action) -> None:
        if action.kind == "undo":
            if self.actions:
                self.undone.append(self.actions.pop())
        elif action.kind == "redo":
            if self.undone:
                self.actions.append(self.undone.pop())
        else:
            self.actions.append(action)
            self.undone.clear()

    def _check(self, source: dict[str, str]) -> None:
        wanted = {"format": FORMAT, **source}
        found = dict(self._file.execute("SELECT key, value FROM project"))
        if not found:
            self._file.executemany("INSERT INTO project VALUES (?, ?)", list(wanted.items()))
            return
        for key, value in wanted.items():
            if found.get(key) != value:
                self._file.close()
                raise ValueError(
                    f"{self.path} was made for something else: its {key} is {found.get(key)!r:.60}, not "
                    f"{value!r:.60}. Put the old file back, or name a new project with --project."
                )


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name, if any."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Told:
    """What a journal's actions have made; a subclass has a ``_check_`` for every kind of them."""

    def checked(self, kind: Any, body: Any) -> dict[str, Any]:
        """What may be recorded of a request, or an error that says what is wrong with it."""
        check = getattr(self, f"_check_{kind}", None) if isinstance(kind, str) and kind.isalpha() else None
        if check is None or not isinstance(body, dict):
            raise ValueError(f"There is nothing to do called {kind!r:.40}.")
        found: dict[str, Any] = check(body)
        return found


def checked_name(name: Any, taken: Any = ()) -> str:
    """A class name: a few printable characters, not a path, not there already."""
    if not isinstance(name, str) or not 0 < len(name.strip()) <= 60:
        raise ValueError(f"A class name must have 1 to 60 characters; got {name!r:.80}.")
    name = " ".join(name.split())
    if not name.isprintable() or any(mark in name for mark in "/\\"):
        raise ValueError(f"A class name can't contain slashes or control characters; got {name!r:.80}.")
    if name.casefold() in {str(other).casefold() for other in taken}:
        raise ValueError(f"There is a class {name!r} already; choose another name.")
    return name


#: Told apart by people who see fewer colours: Okabe and Ito's eight (black is a violet here, for dark pages),
#: then Paul Tol's muted ones.
PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442", "#7b4fb5",
    "#882255", "#44aa99", "#999933", "#332288", "#ddcc77", "#117733", "#aa4499", "#88ccee",
)  # fmt: skip

#: Classes a project may have.
MOST_CLASSES = 200


def colour(number: int) -> str:
    """The colour of the class with this number, from 1."""
    return PALETTE[(number - 1) % len(PALETTE)]
