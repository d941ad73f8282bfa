"""A path that every worker sees in, arrays under plain names out: where a job keeps what it has done."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Folder:
    """A folder of arrays (.npy) and facts (.json), each written under another name and renamed.

    Without a path it is a temporary one, removed with the last object that refers to it here; what is sent to
    a worker refers to it by path alone.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._own = tempfile.TemporaryDirectory(prefix="phaselabel-") if path is None else None
        self.path = Path(self._own.name if self._own else path).absolute()  # type: ignore[arg-type]
        self.path.mkdir(parents=True, exist_ok=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Folder, (str(self.path),)

    def __dask_tokenize__(self) -> str:
        return str(self.path)

    @property
    def temporary(self) -> bool:
        """Whether it goes away by itself."""
        return self._own is not None

    def has(self, name: str) -> bool:
        """Whether something of this name was finished."""
        return (self.path / name).exists()

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Keep an array."""
        with self._renamed(name) as part, part.open("wb") as file:
            np.save(file, array, allow_pickle=False)

    def load(self, name: str, mapped: bool = False) -> NDArray[Any]:
        """An array that was kept; mapped ones are read from the disk where they are touched."""
        found: NDArray[Any] = np.load(self.path / name, mmap_mode="r" if mapped else None, allow_pickle=False)
        return found

    def note(self, name: str, facts: Any) -> None:
        """Keep facts."""
        with self._renamed(name) as part:
            part.write_text(json.dumps(facts))

    def facts(self, name: str) -> Any:
        """Facts that were kept; None if there are none."""
        path = self.path / name
        return json.loads(path.read_text()) if path.exists() else None

    def remove(self, pattern: str) -> None:
        """Forget everything whose name fits."""
        for path in self.path.glob(pattern):
            path.unlink(missing_ok=True)

    @contextmanager
    def _renamed(self, name: str) -> Iterator[Path]:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # Two workers may write the same at once, when one was thought dead: either is right.
        part = target.with_name(f".{target.name}.{os.uname().nodename}-{os.getpid()}.part")
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
