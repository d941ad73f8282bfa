"""Two paths in, their contents swapped in one step where the system can do that."""

import ctypes
import errno
import os
import sys
from pathlib import Path

#: Linux: paths are relative to the working directory.
AT_FDCWD = -100
#: Linux: swap the two paths.
RENAME_EXCHANGE = 2
#: What the kernel answers where it, or the file system, cannot swap.
UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def swap(one: Path, other: Path) -> bool:
    """Swap two files or folders, so that each path always has one of them.

    Parameters
    ----------
    one, other : Path
        Two paths on one file system.

    Returns
    -------
    bool
        False, and nothing has changed, where the system or the file system cannot swap.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a", "b"):
    ...     _ = (folder / name).write_text(name)
    >>> done = swap(folder / "a", folder / "b")
    >>> (folder / "a").read_text() == ("b" if done else "a")
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))
