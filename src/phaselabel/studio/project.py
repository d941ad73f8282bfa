"""Actions of a user in, the same actions after any crash out: an append-only journal in one SQLite file."""

import colorsys
import json
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
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
    """One entry of the journal that is in force: its number, its kind, what it says and when it was made."""

    number: int
    kind: str
    body: dict[str, Any]
    at: str = ""


class Project:
    """A journal on disk, and the actions of it that are in force.

    Undo and redo are entries like any other: no entry is ever removed from the file.

    Parameters
    ----------
    path : path-like
        The file of the project; created if it does not exist.
    source : dict of str to str
        What the project is about. A file that was made for another source is refused.

    Attributes
    ----------
    actions : list of Action
        The actions in force, in their order.
    undone : list of Action
        The actions that a redo would bring back, the next one last.
    id : str
        A random name of the project, the same at every opening.
    version : int
        The number of the last entry: the version of everything that is computed from the journal.
    notes : list of str
        What the user should know about the file.
    source : dict of str to str
        What the file says it is about.

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
        self.version = 0
        self.notes: list[str] = []
        self.source: dict[str, str] = {}
        self._lock = threading.Lock()
        log_is_missing = _log_is_missing(self.path)
        try:
            self._file = sqlite3.connect(
                self.path, timeout=1.0, isolation_level=None, check_same_thread=False
            )
            if self._tables() and not self._tables() & {"event", "project"}:
                raise sqlite3.DatabaseError("it has other tables")
            if log_is_missing:
                self._note_missing_log()
            # One server at a time: a second one would continue from a state that is out of date.
            self._file.execute("PRAGMA locking_mode=EXCLUSIVE")
            # A write-ahead log is faster, but then a copy of the one file lacks the latest entries.
            self._file.execute("PRAGMA journal_mode=DELETE")
            self._file.execute("PRAGMA synchronous=EXTRA")
            self._file.execute("BEGIN EXCLUSIVE")
            self._file.execute("COMMIT")
            self._file.executescript(SCHEMA)
            self._check(source)
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise ValueError(
                    f"{self.path} is open in another studio; use that one's page, or stop it first."
                ) from None
            raise OSError(f"{self.path} can't be opened or written ({error}).") from None
        except (sqlite3.DatabaseError, UnicodeError):
            raise ValueError(
                f"{self.path} is not a project of the studio; name another file with --project."
            ) from None
        self._identity = _identity(self.path)
        self._closed = False
        self.id = self._read()

    def _read(self) -> str:
        """Apply the actions that are recorded; the name of the project."""
        try:
            entries = self._file.execute("SELECT number, kind, body, at FROM event ORDER BY number")
            for row in entries.fetchall():
                self._apply(_action(*row))
            return str(self.first_value("id", secrets.token_hex(8)))
        except (sqlite3.DatabaseError, TypeError, ValueError, RecursionError) as error:
            self._file.close()
            raise ValueError(
                f"{self.path} is damaged ({error!s:.100}); restore a copy of it, or name a new project with "
                "--project."
            ) from None

    def record(self, kind: str, body: dict[str, Any] | None = None, request_id: str | None = None) -> bool:
        """Write one entry to the disk, then apply it.

        When this method returns, the entry survives a crash of the process and a power cut.

        Parameters
        ----------
        kind : str
            The kind of action; "undo" and "redo" are kinds, too.
        body : dict, optional
            What the action says, as plain values.
        request_id : str, optional
            Names the request. A request that is sent twice is recorded once.

        Returns
        -------
        bool
            False if this request was recorded before.
        """
        body = body or {}
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._lock:
            if self._closed:
                raise OSError(f"{self.path.name} is closed, so nothing was saved; open the studio again.")
            if _identity(self.path) != self._identity:
                # An entry in a file without a name would be lost when the process ends.
                raise OSError(
                    f"{self.path} was moved or deleted while the studio was open, so nothing was saved; put "
                    "it back, or export what you have."
                )
            try:
                done = self._file.execute(
                    "INSERT INTO event (at, mark, kind, body) VALUES (?, ?, ?, ?)",
                    (at, request_id, kind, text),
                )
            except sqlite3.IntegrityError:
                return False
            except sqlite3.OperationalError as error:
                raise OSError(f"{self.path.name} could not be written ({error}); nothing was done.") from None
            self._apply(Action(int(done.lastrowid or 0), kind, body, at))
        return True

    def first_value(self, key: str, value: str) -> str:
        """Store a value when the project is opened for the first time; return that first value ever after."""
        with self._lock:
            self._file.execute("INSERT OR IGNORE INTO project VALUES (?, ?)", (f"first {key}", value))
            (first,) = self._file.execute(
                "SELECT value FROM project WHERE key = ?", (f"first {key}",)
            ).fetchone()
        return str(first)

    def load(self, key: str, default: str) -> str:
        """Return a value that :meth:`store` stored."""
        with self._lock:
            row = self._file.execute("SELECT value FROM project WHERE key = ?", (f"kept {key}",)).fetchone()
        return str(row[0]) if row else default

    def store(self, key: str, value: str) -> None:
        """Store a value beside the journal, instead of the last one."""
        with self._lock:
            self._file.execute("INSERT OR REPLACE INTO project VALUES (?, ?)", (f"kept {key}", value))

    def close(self) -> None:
        """Close the file, so that another process can open it. Nothing can be recorded afterwards."""
        with self._lock:
            self._closed = True
            self._file.close()

    def _apply(self, action: Action) -> None:
        self.version = action.number
        if action.kind == "undo":
            if self.actions:
                self.undone.append(self.actions.pop())
        elif action.kind == "redo":
            if self.undone:
                self.actions.append(self.undone.pop())
        else:
            self.actions.append(action)
            self.undone.clear()

    def _note_missing_log(self) -> None:
        """Report the log that is missing: earlier studios kept new entries in a second file, FILE-wal."""
        log = f"{self.path.name}-wal"
        (n_entries,) = (
            self._file.execute("SELECT COUNT(*) FROM event").fetchone() if "event" in self._tables() else (0,)
        )
        if not n_entries:
            self._file.close()
            raise ValueError(
                f"{self.path.name} has no entries, because it was copied without {log}, which has them. "
                f"Copy {log} beside it too, or name a new project with --project."
            )
        self.notes.append(
            f"{self.path.name} was copied without {log}: it has {n_entries:,} entries, and the latest ones "
            "may be missing."
        )

    def _tables(self) -> set[str]:
        return {name for (name,) in self._file.execute("SELECT name FROM sqlite_master")}

    def _check(self, source: dict[str, str]) -> None:
        wanted = {"format": FORMAT, **source}
        stored = dict(self._file.execute("SELECT key, value FROM project"))
        self.source = stored or wanted
        if not stored:
            self._file.executemany("INSERT INTO project VALUES (?, ?)", list(wanted.items()))
            return
        for key, value in wanted.items():
            if stored.get(key) != value:
                self._file.close()
                raise ValueError(
                    f"{self.path} was made for something else: its {key} is {stored.get(key)!r:.60}, not "
                    f"{value!r:.60}. Put the old file back, or name a new project with --project."
                )


def _action(number: Any, kind: Any, body: Any, at: Any) -> Action:
    """An entry of the journal."""
    says = json.loads(body)
    if not (isinstance(number, int) and isinstance(kind, str) and isinstance(says, dict)):
        raise ValueError(f"entry {number!r:.20} says nothing")
    return Action(number, kind, says, str(at))


def _log_is_missing(path: Path) -> bool:
    """Whether the header of a file promises a write-ahead log that is not there."""
    try:
        with path.open("rb") as file:
            header = file.read(20)
    except OSError:
        return False
    uses_log = header.startswith(b"SQLite format 3\0") and header[18:20] == b"\2\2"
    return uses_log and not path.with_name(f"{path.name}-wal").exists()


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file with this name; None if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class JournalState:
    """The state that the actions of a journal lead to.

    A subclass has two methods for every kind of action: ``_check_<kind>`` returns what may be recorded of a
    request, and ``_do_<kind>`` changes the state. A kind without a check can't be requested by a page.
    """

    def apply(self, action: Action, body: dict[str, Any]) -> None:
        """Change the state as an entry of the journal says; one that can't be is refused."""
        do = getattr(self, f"_do_{action.kind}", None) if action.kind.isalpha() else None
        try:
            if do is None:
                raise ValueError(f"there is no action {action.kind!r:.40}")
            do(body)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise ValueError(
                f"Entry {action.number} of the project can't be used ({error!s:.100}); it is damaged, or was "
                "written by a later studio."
            ) from None

    def checked(self, kind: Any, body: Any) -> dict[str, Any]:
        """Return what may be recorded of a request, or raise an error that says what is wrong with it."""
        check = getattr(self, f"_check_{kind}", None) if isinstance(kind, str) and kind.isalpha() else None
        if check is None or not isinstance(body, dict):
            raise ValueError(f"There is no action {kind!r:.40}.")
        entry: dict[str, Any] = check(body)
        return entry


def checked_name(name: object, taken: Iterable[str] = ()) -> str:
    """Return a class name with its spaces tidied; refuse names that are no names, or taken."""
    if not isinstance(name, str) or not 0 < len(name.strip()) <= 60:
        raise ValueError(f"A class name must have 1 to 60 characters; got {name!r:.80}.")
    name = " ".join(name.split())
    if not name.isprintable():
        raise ValueError(f"A class name can't contain control characters; got {name!r:.80}.")
    if name.casefold() in {other.casefold() for other in taken}:
        raise ValueError(f"There is a class {name!r} already; choose another name.")
    return name


#: Colours that colour-blind people can tell apart: Okabe and Ito's eight (with a violet instead of black, for
#: dark pages), then Paul Tol's muted ones.
PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442", "#7b4fb5",
    "#882255", "#44aa99", "#999933", "#332288", "#ddcc77", "#117733", "#aa4499", "#88ccee",
)  # fmt: skip

#: A project has at most this many classes.
MAX_CLASSES = 1000


#: The turn of the hue from one generated colour to the next: no two of the first hundreds are alike.
HUE_STEP = 0.618034

#: Lightness of generated colours, in turn.
LIGHTNESS = (0.36, 0.52, 0.68)


def colour(number: int) -> str:
    """The colour of the class with this number, counted from 1.

    Examples
    --------
    >>> colour(1), len({colour(number) for number in range(1, 101)})
    ('#0072b2', 100)
    """
    if number <= len(PALETTE):
        return PALETTE[number - 1]
    k = number - len(PALETTE) - 1
    shares = colorsys.hls_to_rgb(k * HUE_STEP % 1, LIGHTNESS[k % len(LIGHTNESS)], 0.6)
    return "#" + "".join(f"{round(255 * share):02x}" for share in shares)


def checked_colour(text: Any) -> str:
    """Return a colour in lower case; refuse what is no colour."""
    color = str(text).lower()
    if not re.fullmatch(r"#[0-9a-f]{6}", color):
        raise ValueError(f"A colour is written like '#0072b2'; got {text!r:.40}.")
    return color
