"""A path in, a temporary name beside it out, renamed when all went well and removed when not."""

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: What is being written now; an interrupt that cannot wait for the writer removes these.
_unfinished: set[Path] = set()
#: What else an interrupt has to do.
_farewells: list[Callable[[], None]] = []


@contextmanager
def replacing(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """Write a file or a folder under a temporary name and rename it at the end.

    Parameters
    ----------
    path : path-like
        Where the result belongs.
    overwrite : bool, default=False
        Whether something that is there already may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as part:
    ...     _ = part.write_text("whole")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    path = Path(path)
    refuse_existing(path, overwrite)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    _unfinished.add(part)
    try:
        yield part
        refuse_existing(path, overwrite)
        if path.is_dir():
            # A folder cannot be renamed onto one that isn't empty.
            old = path.with_name(f".{path.name}.{os.getpid()}.old")
            os.rename(path, old)
            os.rename(part, path)
            _remove(old)
        else:
            os.replace(part, path)
    except OSError as error:
        if error.errno is None and "requested and" in str(error):
            # NumPy's own words for a write that came out short, which is what a full disk looks like to it.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
        if error.errno is not None and error.filename in (None, str(part)):
            error.filename = str(path)
        raise
    finally:
        _remove(part)
        _unfinished.discard(part)


def refuse_existing(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raise where the result would replace something or has no folder to go to."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"{path} is there already and would be overwritten; choose another name, or say that it may be "
            "replaced (--force on the command line, overwrite=True in Python)."
        )
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.absolute().parent} to write {path.name} to.")


def on_abandon(do: Callable[[], None]) -> None:
    """Have something done, too, when everything is abandoned."""
    _farewells.append(do)


def abandon() -> None:
    """Remove everything half-written, at once."""
    for do in _farewells:
        # Whoever is to be told may not listen any more.
        farewell = threading.Thread(target=do, daemon=True)
        farewell.start()
        farewell.join(3)
    for part in list(_unfinished):
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
