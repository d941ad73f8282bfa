"""A path or address that every worker can open in, arrays and facts under plain names out: a job's files."""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from phaselabel.io.atomic import replacing
from phaselabel.io.npy import map_array, read_array

#: Sets of copies of objects that a process keeps; the one that was longest unused is removed.
KEPT_COPIES = 8

_choosing = Lock()


class Folder:
    """A folder of arrays (.npy) and facts (.json), each written under a temporary name and renamed.

    Without a path it is a temporary folder, removed with the last object of this process that refers to it. A
    copy that is sent to a worker refers to the path alone.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="phaselabel-") if path is None else None
        self.path = Path(self._temporary.name if self._temporary else path).absolute()  # type: ignore[arg-type]
        self.path.mkdir(parents=True, exist_ok=True)
        # What a loss of power may take is flushed to the disk; a temporary folder ends with the process.
        self._durable = path is not None
        # A worker outlives the job, and a later one may have other files under the same names.
        self.token = uuid4().hex

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self.path),), {"_durable": self._durable, "token": self.token}

    def __dask_tokenize__(self) -> str:
        return str(self.path)

    @property
    def is_temporary(self) -> bool:
        """Whether the folder is removed at the end."""
        return self._temporary is not None

    def has(self, name: str) -> bool:
        """Whether a file of this name is complete."""
        return (self.path / name).exists()

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Write an array."""
        with self._replacing(name) as part, part.open("wb") as file:
            np.save(file, array, allow_pickle=False)

    def load(self, name: str, mapped: bool = False) -> NDArray[Any]:
        """Read an array; with ``mapped`` only those parts of it that are used."""
        array = _mapped(self.path / name)
        return array if mapped else np.array(array)

    def save_facts(self, name: str, facts: Any) -> None:
        """Write what JSON can hold."""
        with self._replacing(name) as part:
            part.write_text(json.dumps(facts))

    def load_facts(self, name: str) -> Any:
        """Read what :meth:`save_facts` wrote; None if there is no such file."""
        path = self.path / name
        return json.loads(path.read_text()) if path.exists() else None

    def remove(self, pattern: str) -> None:
        """Remove every file and every folder whose name matches."""
        for path in self.path.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)  # a worker that was taken for dead may still write
            else:
                path.unlink(missing_ok=True)

    @contextmanager
    def _replacing(self, name: str) -> Iterator[Path]:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # Two workers may write the same file at once, when one was taken for dead: either version is right.
        with replacing(target, overwrite=True, tidy=False, durable=self._durable) as draft:
            yield draft


class ObjectFolder(Folder):
    """The same in an object store, by an address that fsspec can open, e.g. ``s3://bucket/job``.

    An object appears as a whole or not at all, so nothing is renamed. An array of which parts are used is
    copied to a temporary folder of the process first. Credentials and endpoints come from the environment or
    from fsspec's configuration, on every worker.
    """

    def __init__(self, address: str) -> None:
        self._temporary, self._durable = None, True
        self.path = address.rstrip("/")  # type: ignore[assignment]
        self._files, self._root = file_system(address)
        self.token = uuid4().hex

    def has(self, name: str) -> bool:
        """Whether an object of this name is there."""
        self._files.invalidate_cache()
        return bool(self._files.exists(self._object(name)))

    def save(self, name: str, array: NDArray[Any]) -> None:
        """Write an array."""
        self._prepare(name)
        with self._files.open(self._object(name), "wb") as file:
            np.save(file, array, allow_pickle=False)

    def load(self, name: str, mapped: bool = False) -> NDArray[Any]:
        """Read an array; with ``mapped`` a copy of it on the disk of this machine is mapped."""
        if not mapped:
            content = self._files.cat_file(self._object(name))
            return read_array(io.BytesIO(content), len(content))
        return _mapped(local_copy(f"{self.path}/{name}", self.token))

    def save_facts(self, name: str, facts: Any) -> None:
        """Write what JSON can hold."""
        self._prepare(name)
        self._files.pipe_file(self._object(name), json.dumps(facts).encode())

    def load_facts(self, name: str) -> Any:
        """Read what :meth:`save_facts` wrote; None if there is no such object."""
        try:
            return json.loads(self._files.cat_file(self._object(name)))
        except FileNotFoundError:
            return None

    def remove(self, pattern: str) -> None:
        """Remove every object whose name matches, or begins with that of a folder that does."""
        self._files.invalidate_cache()
        for path in self._files.glob(self._object(pattern)):
            self._files.rm(path, recursive=True)

    def _object(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _prepare(self, name: str) -> None:
        # Object stores have no folders; other file systems of fsspec do.
        if self._files.protocol not in ("s3", ("s3", "s3a")):
            self._files.makedirs(self._object(name).rsplit("/", 1)[0], exist_ok=True)


def _mapped(path: str | os.PathLike[str]) -> NDArray[Any]:
    with open(path, "rb") as file:
        return map_array(file)


def is_address(path: Any) -> bool:
    """Whether a path is the address of an object store or server, such as ``s3://bucket/job``.

    Examples
    --------
    >>> is_address("s3://bucket/job"), is_address("job")
    (True, False)
    """
    return path is not None and "://" in os.fspath(path)


def file_system(address: str) -> tuple[Any, str]:
    """The file system that fsspec opens an address with, and the path there."""
    import fsspec

    try:
        files, root = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{address} cannot be opened: {str(error).rstrip('.')}.") from None
    return files, root.rstrip("/")


def local_copy(path: str, token: str) -> Path:
    """A path as it is; of an address a copy on the disk of this machine, removed with the process at latest.

    Objects are copied once for each ``token``: what is there under another one may be of an earlier day.
    """
    if not is_address(path):
        return Path(path)
    files, root = file_system(path)
    with _choosing:  # of two threads that come first at once both would make a folder, and one would vanish
        home = _copies(token)
    # The end of the name says which format it is.
    local = Path(home.name) / path.replace("/", "_")
    if not local.exists():
        with replacing(local, overwrite=True, tidy=False, durable=False) as draft:
            files.get_file(root, str(draft))
    return local


@lru_cache(KEPT_COPIES)
def _copies(token: str) -> "tempfile.TemporaryDirectory[str]":
    """A folder for copies of objects on the disk of this machine."""
    return tempfile.TemporaryDirectory(prefix="phaselabel-objects-")


def open_folder(path: Any = None) -> Folder:
    """A folder by its path, by an address such as ``s3://bucket/job``, or a temporary one."""
    if isinstance(path, Folder):
        return path
    if is_address(path):
        return ObjectFolder(os.fspath(path))
    return Folder(path)
