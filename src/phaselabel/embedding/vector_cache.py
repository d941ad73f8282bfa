"""Keys in, vectors that were computed before out, from one file per model.

Every batch is on disk before the next one begins, so an interrupted run continues where it stopped.
"""

import hashlib
import sqlite3
import warnings
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: Keys in one question to the file; SQLite allows 999 in its oldest versions.
KEYS_AT_ONCE = 500


def key_of(content: bytes) -> bytes:
    """The key of a text or of a picture: a digest of its bytes."""
    return hashlib.sha256(content).digest()


class VectorCache:
    """Vectors by the content that they were computed from.

    Parameters
    ----------
    path : Path
        The file; it is made when the first vectors are kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, keys: Iterable[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors that are known, by key."""
        wanted, known = list(keys), {}
        if not self.path.is_file():
            return {}
        try:
            with closing(self._open()) as file:
                for start in range(0, len(wanted), KEYS_AT_ONCE):
                    some = wanted[start : start + KEYS_AT_ONCE]
                    marks = ",".join("?" * len(some))
                    rows = file.execute(f"select key, vector from vectors where key in ({marks})", some)
                    known.update({key: np.frombuffer(vector, "<f4") for key, vector in rows})
            if len({vector.size for vector in known.values()}) > 1:
                raise ValueError("its vectors have several lengths")
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise self._unusable(error) from None
        return known

    def keep(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Add vectors; they are on disk when this returns, unless a warning says that they can't be kept."""
        rows = [(key, np.asarray(vector, "<f4").tobytes()) for key, vector in vectors.items()]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as file, file:
                file.executemany("insert or replace into vectors values (?, ?)", rows)
        except (OSError, sqlite3.OperationalError) as error:  # a full disk, or one that is read-only
            warnings.warn(
                f"Vectors can't be kept in {self.path} ({error}), and will be computed again the next time; "
                "name another folder with PHASELABEL_CACHE.",
                stacklevel=2,
            )
        except sqlite3.DatabaseError as error:
            raise self._unusable(error) from None

    def _open(self) -> sqlite3.Connection:
        file = sqlite3.connect(self.path, timeout=60)
        file.execute("create table if not exists vectors (key blob primary key, vector blob) without rowid")
        return file

    def _unusable(self, error: Exception) -> ValueError:
        return ValueError(
            f"The cache {self.path} can't be used ({error}); delete the file, and it is made again."
        )
