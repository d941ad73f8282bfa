"""A path in, a draft beside it out, which takes the place of the path when it is complete.

A draft is written in a folder of its own, ``.NAME.TOKEN.part``, beside the path. A file is renamed onto the
path. A folder is swapped with the one at the path; where the system cannot swap them, the old folder is
moved into the folder of the draft first, and :func:`restore` puts it back if the process is killed before the
new one is in its place. So at every moment the old or the new content can be had, and never a mixture.

The folder of a draft is locked as long as its process lives. Unlocked ones are leftovers and are removed by
the next process that writes to the same path.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Letters of a file's name that are part of the name of its draft, which must not become too long.
MOST_LETTERS = 80
#: Attempts to look at a folder, or to put one in its place, while other processes replace it.
ATTEMPTS = 100

#: Tells whether a file or folder was written by this package and holds nothing else.
Owner = Callable[[Path], bool]

#: Folders of drafts of this process; an interrupt that can't wait for the writer removes them.
_unfinished: set[Path] = set()
#: Functions that an interrupt calls.
_on_abandon: list[Callable[[], None]] = []


@contextmanager
def replacing(
    path: str | os.PathLike[str],
    overwrite: bool = False,
    *,
    folder: bool = False,
    owns: Owner | None = None,
    tidy: bool = True,
    durable: bool = True,
) -> Iterator[Path]:
    """Write a file or a folder under another name and put it in its place at the end.

    Parameters
    ----------
    path : path-like
        Where the result belongs.
    overwrite : bool, default=False
        Whether a result that is there already may be replaced. A folder is replaced only if ``owns`` says so;
        a device, a pipe, a socket or a link never is.
    folder : bool, default=False
        Whether the result is a folder.
    owns : callable, optional
        Tells whether an existing file or folder may be replaced.
    tidy : bool, default=True
        Whether to remove what killed processes have left beside the path.
    durable : bool, default=True
        Whether to flush the result to the disk before it is renamed, so that it survives a loss of power.

    Yields
    ------
    Path
        Where to write; the name is that of the path.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as draft:
    ...     _ = draft.write_text("whole")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    path = Path(path)
    path = path if path.name not in ("", "..") else path.resolve()
    refuse_existing(path, overwrite, folder=folder, owns=owns)
    if tidy:
        restore(path)
    with _errors_of(path), _draft_folder(path) as home:
        (home / "new").mkdir()
        draft = home / "new" / path.name
        yield draft
        draft.stat()  # an error here if nothing was written
        if durable:
            _flush(draft)
        if folder:
            _put_folder(draft, path, overwrite, owns, home)
        else:
            _put_file(draft, path, overwrite, owns)
        if durable:
            _flush_folder(path.absolute().parent)


def refuse_existing(
    path: str | os.PathLike[str],
    overwrite: bool = False,
    *,
    folder: bool = False,
    owns: Owner | None = None,
) -> None:
    """Raise if a result can't be written to a path; the parameters are those of :func:`replacing`."""
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.absolute().parent} to write {path.name} to.")
    for _ in range(ATTEMPTS):
        try:
            found = path.lstat()
        except FileNotFoundError:
            return
        _refuse_kind(path, found.st_mode, folder)
        try:
            if (owns is None and not folder) or _may_be_removed(path, owns):
                if overwrite:
                    return
                raise FileExistsError(
                    f"{path} is there already and would be overwritten; choose another name, or say that it "
                    "may be replaced (overwrite=True)."
                )
            if os.path.samestat(found, path.lstat()):
                break
        except FileNotFoundError:
            pass  # another process has replaced it meanwhile: look at the new one
    raise _foreign(path)


def _refuse_kind(path: Path, mode: int, folder: bool) -> None:
    """Refuse a path where something is that is never replaced."""
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind = "link" if stat.S_ISLNK(mode) else "device, pipe or socket"
        raise FileExistsError(f"{path} is a {kind} and is never replaced; choose another name.")
    if stat.S_ISDIR(mode) != folder:
        kinds = ("file", "folder") if folder else ("folder", "file")
        raise FileExistsError(
            f"{path} is a {kinds[0]}, and a {kinds[1]} is to be written there; choose another name."
        )


def _foreign(path: Path) -> FileExistsError:
    return FileExistsError(
        f"{path} holds something that phaselabel did not write, so it is not replaced; choose another name, "
        "or remove it yourself."
    )


def restore(path: str | os.PathLike[str]) -> None:
    """Remove what killed processes have left beside a path, and put back what they had moved away.

    Parameters
    ----------
    path : path-like
        A path that :func:`replacing` wrote to.
    """
    path = Path(path)
    leftover = re.compile(re.escape(f".{path.name[:MOST_LETTERS]}.") + r"[0-9a-f]{16}\.part")
    with suppress(OSError):
        for home in [entry for entry in path.absolute().parent.iterdir() if leftover.fullmatch(entry.name)]:
            with suppress(OSError), _Lock(home) as lock:
                ours = all(re.fullmatch(r"new|old-\d+", entry.name) for entry in home.iterdir())
                if lock.held and ours:
                    _put_back(home, path)
                    _remove(home)


def on_abandon(function: Callable[[], None]) -> None:
    """Have a function called when everything is abandoned."""
    _on_abandon.append(function)


def abandon() -> None:
    """Remove all drafts of this process at once."""
    for function in _on_abandon:
        # It may wait for another machine, which may never answer.
        thread = threading.Thread(target=function, daemon=True)
        thread.start()
        thread.join(3)
    for home in list(_unfinished):
        _remove(home)


# -- the folder of a draft


@contextmanager
def _draft_folder(path: Path) -> Iterator[Path]:
    """A new folder beside a path, locked, and removed at the end."""
    home, lock = _new_folder(path)
    try:
        with lock:
            yield home
    finally:
        _remove(home)
        _unfinished.discard(home)


def _new_folder(path: Path) -> tuple[Path, "_Lock"]:
    while True:
        home = path.with_name(f".{path.name[:MOST_LETTERS]}.{secrets.token_hex(8)}.part")
        home.mkdir()
        _unfinished.add(home)
        # Before it is locked, another process may take the new folder for a leftover and remove it.
        with suppress(FileNotFoundError):
            lock = _Lock(home)
            if not lock.taken and home.is_dir():
                return home, lock
            lock.release()
        _unfinished.discard(home)


class _Lock:
    """A lock on a folder, which ends with the process that holds it.

    Attributes
    ----------
    held : bool
        Whether this object holds the lock.
    taken : bool
        Whether another process, or another object of this one, holds it. Where the system has no locks,
        neither is true.
    """

    def __init__(self, folder: Path) -> None:
        self.held = self.taken = False
        self._handle: int | None = None if fcntl is None else os.open(folder, os.O_RDONLY)
        if self._handle is None:
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.held = True
        except BlockingIOError:
            self.taken = True
        except OSError:
            pass  # a file system without locks

    def release(self) -> None:
        """Give the lock back."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None

    def __enter__(self) -> "_Lock":
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


def _remove(folder: Path) -> None:
    """Remove a folder, also while another thread still writes to it."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


# -- putting things in their place


def _put_file(draft: Path, path: Path, overwrite: bool, owns: Owner | None) -> None:
    if not overwrite:
        try:
            # Unlike a rename, a link fails if another process has written the path meanwhile.
            os.link(draft, path)
            return
        except FileExistsError:
            refuse_existing(path)
        except OSError:
            pass  # a file system without links
    refuse_existing(path, overwrite, owns=owns)
    os.replace(draft, path)


def _put_folder(draft: Path, path: Path, overwrite: bool, owns: Owner | None, home: Path) -> None:
    from phaselabel.io.swap import swap

    for attempt in range(ATTEMPTS):
        with suppress(FileNotFoundError):  # another process has just moved the path away
            if _renamed(draft, path):
                return
            refuse_existing(path, overwrite, folder=True, owns=owns)
            if swap(draft, path):
                # The old folder is in our place now, where nothing is added to it any more.
                if not _may_be_removed(draft, owns):
                    swap(draft, path)
                    raise _foreign(path)
                return
            if _replaced_in_two_steps(draft, path, owns, home / f"old-{attempt}"):
                return
    raise OSError(errno.EBUSY, "Other processes keep writing here", str(path))


def _replaced_in_two_steps(draft: Path, path: Path, owns: Owner | None, place: Path) -> bool:
    """Move the old folder to another place, then rename the new one; False if another process was quicker.

    :func:`restore` puts the old folder back if the process is killed between the two steps.
    """
    home, old = place.parent, place / path.name
    place.mkdir()
    # An interrupt must not remove the old folder before the new one is in its place.
    _unfinished.discard(home)
    try:
        os.rename(path, old)
        if not _may_be_removed(old, owns):
            os.rename(old, path.with_name(f"{path.name}{home.suffixes[-2]}") if path.exists() else path)
            raise _foreign(path)
        if not _renamed(draft, path):
            return False
    finally:
        _put_back(home, path)
        _unfinished.add(home)
    return True


def _renamed(draft: Path, path: Path) -> bool:
    """Rename a folder; False if the path is a folder that is not empty."""
    try:
        os.rename(draft, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _put_back(home: Path, path: Path) -> None:
    """Put a folder that was moved away in its place again, unless there is another."""
    for old in sorted(home.glob("old-*")):
        if (old / path.name).is_dir() and not os.path.lexists(path):
            with suppress(FileNotFoundError):  # another thread has put it back
                _renamed(old / path.name, path)


def _may_be_removed(path: Path, owns: Owner | None) -> bool:
    """Whether a folder is empty, or a file or folder is our own."""
    return (path.is_dir() and not any(path.iterdir())) or (owns is not None and owns(path))


# -- flushing


def _flush(draft: Path) -> None:
    """Have the system write a file, or all files of a folder, to the disk."""
    if not draft.is_dir():
        _flush_file(draft)
        return
    for folder, _, names in os.walk(draft, topdown=False):
        for name in names:
            _flush_file(Path(folder, name))
        _flush_folder(Path(folder))


def _flush_file(path: Path) -> None:
    # Windows flushes only what is open for writing.
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_folder(path: Path) -> None:
    if sys.platform == "win32":  # it has no way to flush a folder
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without it
            raise
    finally:
        os.close(handle)


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Errors that name the path instead of its draft."""
    try:
        yield
    except OSError as error:
        if error.errno is None and "requested and" in str(error):
            # NumPy's words for an incomplete write, which is what it sees of a full disk.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
        names = [name for name in (error.filename, error.filename2) if name is not None]
        if error.errno is not None and all(".part" in str(name) or str(name) == str(path) for name in names):
            error.filename, error.filename2 = str(path), None
        raise
