"""Plain values and arrays in, a folder (or zip) of arrays and one JSON file out, and back.

::

    model/
      model.json        what it is, which version wrote it, and its values
      array-000.npy …   the arrays that model.json refers to

There is no pickle in it, so opening an archive runs no code of its author. The arrays of a folder are
memory-mapped. A file that is not an archive, or not a whole one, raises ``ValueError``.
"""

import base64
import errno
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import IO, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import __version__
from phaselabel.io.atomic import refuse_existing, replacing, restore
from phaselabel.io.npy import map_array, read_array

FORMAT = "phaselabel model"
#: Attempts to open a folder while other processes replace it.
ATTEMPTS = 100
#: Raised when an older reader can no longer read a newer file. Version 2 brought tuples, bytes and scalars.
VERSION = 2
#: Bytes of model.json at most.
MOST_JSON = 2**26
MANIFEST = "model.json"
#: The trees of values in model.json.
BODY = ("parameters", "learned", "extra")

#: The classes that a file may name, each with the function that makes it; nothing else is ever constructed.
Makers = Mapping[str, Callable[..., Any]]


def write_archive(
    path: str | Path,
    head: dict[str, Any],
    body: dict[str, Any],
    names: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> None:
    """Write values to a folder, or to one file if the name ends in ``.zip``.

    Parameters
    ----------
    path : path-like
        Where to put it.
    head : dict
        Entries of model.json as they are.
    body : dict of dict
        Numbers, strings, bytes, arrays, sparse matrices, lists, tuples, dicts, and dataclasses in ``names``.
    names : collection of str
        The names of the dataclasses that may be written.
    overwrite : bool, default=False
        Whether an archive that is there already may be replaced; anything else never is.
    """
    arrays: list[NDArray[Any]] = []
    head = {"format": FORMAT, "version": VERSION, "written_by": f"phaselabel {__version__}"} | head
    manifest = head | {key: _encode(value, arrays, key, names) for key, value in body.items()}
    text = _as_json(manifest)
    if len(text) > MOST_JSON:
        raise ValueError(
            f"The model has {len(text):,} bytes besides its arrays, and {MOST_JSON:,} is the limit; use "
            "shorter labels, or integers."
        )
    is_zip = _is_zip(path)
    with replacing(path, overwrite, folder=not is_zip, owns=is_archive) as draft:
        if is_zip:
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                archive.writestr(MANIFEST, text)
                for number, array in enumerate(arrays):
                    with archive.open(_array_name(number), "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        else:
            draft.mkdir()
            (draft / MANIFEST).write_bytes(text)
            for number, array in enumerate(arrays):
                np.save(draft / _array_name(number), array, allow_pickle=False)


def _as_json(manifest: dict[str, Any]) -> bytes:
    try:
        return json.dumps(manifest, indent=1, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair can only be written as \\ud800
        return json.dumps(manifest, indent=1).encode("ascii")


def _is_zip(path: str | Path) -> bool:
    return Path(path).suffix == ".zip"


def refuse_existing_archive(path: str | Path, overwrite: bool = False) -> None:
    """Raise if :func:`write_archive` could not write to a path; the parameters are its own."""
    refuse_existing(path, overwrite, folder=not _is_zip(path), owns=is_archive)


def is_archive(path: Path) -> bool:
    """Whether a folder or zip file was written by :func:`write_archive` and holds nothing else.

    Parameters
    ----------
    path : Path
        The folder or file.
    """
    try:
        if path.is_dir():
            names = [entry.name for entry in os.scandir(path) if entry.is_file(follow_symlinks=False)]
            others = [entry for entry in os.scandir(path) if not entry.is_file(follow_symlinks=False)]
            if others or not all(name == MANIFEST or _is_array_name(name) for name in names):
                return False
        with Archive(path, {}):
            return True
    except (ValueError, OSError):
        return False


def _array_name(number: int) -> str:
    return f"array-{number:03}.npy"


def _is_array_name(name: str) -> bool:
    return re.fullmatch(r"array-\d{3,}\.npy", name) is not None


# -- values


def _encode(value: Any, arrays: list[NDArray[Any]], where: str, names: Mapping[str, Any]) -> Any:
    """A value as JSON; arrays are put aside and referred to by number."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return _encode(value.item(), arrays, where, names)
    if isinstance(value, np.generic) and value.dtype.kind in "mMSc":
        return {"scalar": _encode(np.asarray(value), arrays, where, names)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcmMSUV" and not value.dtype.hasobject:
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1, "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return {"objects": [_encode(item, arrays, where, names) for item in value.tolist()]}
    if isinstance(value, sparse.csr_array | sparse.csr_matrix):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {"csr": _encode(parts, arrays, where, names), "shape": list(value.shape)}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_encode(item, arrays, where, names) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, arrays, f"{where}.{key}", names) for key, item in value.items()}}
    if isinstance(value, dict):
        return {"pairs": _encode([list(pair) for pair in value.items()], arrays, where, names)}
    if is_dataclass(value) and type(value).__name__ in names:
        content = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
        return {"class": type(value).__name__, "fields": _encode(content, arrays, where, names)}
    raise ValueError(
        f"A model with {where} = {value!r:.60} can't be saved without pickle; "
        + (
            'give its predict_proba(X) as evidence, or evidence="auto".'
            if hasattr(value, "predict_proba")
            else "use numbers, strings or arrays there."
        )
    )


class Archive:
    """A saved archive: its manifest and, decoded one by one, its values.

    Parameters
    ----------
    path : path-like
        A folder or zip written by :func:`write_archive`.
    makers : mapping of str to callable
        The classes that the file may name.

    Attributes
    ----------
    manifest : dict
        The content of model.json.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.zip"
    >>> write_archive(path, {}, {"extra": {"x": (1, np.arange(2))}}, {})
    >>> with Archive(path, {}) as archive:
    ...     archive.decode(archive.manifest["extra"])
    {'x': (1, array([0, 1]))}
    """

    def __init__(self, path: str | Path, makers: Makers) -> None:
        self._path, self._makers = Path(path), makers
        self._seen: set[int] = set()
        self._decoders: dict[str, Callable[[dict[str, Any]], Any]] = {
            "array": self._array,
            "objects": self._objects,
            "csr": self._csr,
            "list": lambda node: [self._decoded(item) for item in node["list"]],
            "tuple": lambda node: tuple(self._decoded(item) for item in node["tuple"]),
            "pairs": lambda node: dict(self._decoded(node["pairs"])),
            "bytes": lambda node: base64.b64decode(node["bytes"], validate=True),
            "scalar": lambda node: self._array(node["scalar"])[()],
            "class": self._record,
            "dict": self._dict,
        }
        for attempt in range(1, ATTEMPTS + 1):
            self._files = _opened(self._path)
            try:
                self.manifest = self._read_manifest()
                return
            except BaseException as error:
                # The files of a folder that has just been replaced are gone; the new one is complete.
                again = isinstance(error, ValueError) and attempt < ATTEMPTS and self._files.replaced()
                self._files.close()
                if not again:
                    raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def _read_manifest(self) -> dict[str, Any]:
        path = self._path
        with content_errors(path, "is not a model of phaselabel"):
            manifest = json.loads(self._files.text())
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise Refused(f"{path} is not a model of phaselabel.")
        version = manifest.get("version")
        if type(version) is not int or version < 1:
            raise Refused(f"{path} is damaged: {version!r:.20} is no version of the format.")
        if version > VERSION:
            raise Refused(
                f"{path} was written by {manifest.get('written_by', 'a newer phaselabel')!s:.40} in version "
                f"{version!s:.10} of the format; this is phaselabel {__version__}, which reads up to version "
                f"{VERSION}: upgrade it."
            )
        return {part: {"dict": {}} for part in BODY} | manifest

    def replaced(self) -> bool:
        """Whether another archive has taken the place of this one since it was opened."""
        return self._files.replaced()

    def decode(self, node: Any) -> Any:
        """The value of a piece of the manifest."""
        with content_errors(self._path, "is damaged"):
            return self._decoded(node)

    def maker(self, name: Any) -> Any:
        """The function that makes an object of a class that the file names."""
        if not isinstance(name, str) or name not in self._makers:
            raise Refused(f"A saved model names {name!r:.40}, which is not part of one.")
        return self._makers[name]

    def _decoded(self, node: Any) -> Any:
        if isinstance(node, list):
            raise ValueError("a bare list in model.json")
        if not isinstance(node, dict):
            return node
        for kind, decoded in self._decoders.items():
            if kind in node:
                return decoded(node)
        raise ValueError(f"a value of an unknown kind, {node!r:.40}")

    def _objects(self, node: dict[str, Any]) -> NDArray[np.object_]:
        objects = np.empty(len(node["objects"]), object)
        for i, item in enumerate(node["objects"]):  # an assignment of the whole would spread tuples
            objects[i] = self._decoded(item)
        return objects

    def _record(self, node: dict[str, Any]) -> Any:
        return self.maker(node["class"])(**self._decoded(node["fields"]))

    def _dict(self, node: dict[str, Any]) -> dict[str, Any]:
        return {key: self._decoded(item) for key, item in node["dict"].items()}

    def _array(self, node: dict[str, Any]) -> NDArray[Any]:
        number = node["array"]
        if type(number) is not int or number < 0:
            raise ValueError(f"it names an array {number!r:.40}")
        # Each array is written once and read once: a file can't make a thousand arrays of one.
        if number in self._seen:
            raise ValueError(f"it names array {number} twice")
        self._seen.add(number)
        name = _array_name(number)
        try:
            array = self._files.array(name)
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{name} can't be read ({error})") from None
        if [str(array.dtype), list(array.shape)] != [node["dtype"], node["shape"]]:
            raise ValueError(f"{name} is not the array that model.json describes")
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def _csr(self, node: dict[str, Any]) -> sparse.csr_array:
        """A sparse matrix whose every index points inside it."""
        parts = self._decoded(node["csr"])
        data, indices, indptr = (parts[name] for name in ("data", "indices", "indptr"))
        rows, columns = node["shape"]
        sound = (
            type(rows) is type(columns) is int
            and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
            and data.dtype.kind in "biuf"
            and {indices.dtype.name, indptr.dtype.name} <= {"int32", "int64"}
            and len(indptr) == rows + 1
            and len(data) == len(indices)
            and indptr[0] == 0
            and indptr[-1] == len(indices)
            and bool((indptr[1:] >= indptr[:-1]).all())
            and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < columns))
        )
        if not sound:
            raise ValueError("a matrix in it has indices outside its shape")
        return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


# -- files


class Refused(ValueError):
    """An error whose sentence is complete."""


@contextmanager
def content_errors(path: Path, what: str) -> Iterator[None]:
    """Make every error about the content of a file a ``ValueError``.

    There is no list of what a hostile file can raise in the libraries that read it.
    """
    try:
        yield
    except (Refused, MemoryError):
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:  # a zip file can name a position before its beginning
            raise
        raise Refused(f"{path} {what}: {error.strerror}.") from None
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        reason = f"it lacks {reason}" if isinstance(error, KeyError) else reason
        raise Refused(f"{path} {what}: {reason.rstrip('.'):.200}.") from None


class _Files(Protocol):
    """Where the files of an archive are."""

    def text(self) -> str:
        """The content of model.json."""

    def array(self, name: str) -> NDArray[Any]:
        """One of the arrays."""

    def replaced(self) -> bool:
        """Whether the path leads to another archive now."""

    def close(self) -> None:
        """Release the files."""


def kind_of(path: Path) -> int:
    """The kind of file at a path, as ``stat.S_IFMT`` gives it; a path where there is nothing is refused."""
    _restore_if_absent(path)
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(
            f"There is no model at {path}; check the name and the folder you are in."
        ) from None


def _opened(path: Path) -> _Files:
    kind = kind_of(path)  # one look: another process may replace the model at any time
    if kind == stat.S_IFDIR:
        return _Folder(path)
    if kind == stat.S_IFREG:
        return _Zip(path)
    raise Refused(f"{path} is not a model of phaselabel: it is a device, pipe or socket.")


def _restore_if_absent(path: Path) -> None:
    """Put a model back that a killed process had moved away while it replaced it."""
    if path.name and path.absolute().parent.is_dir() and not os.path.lexists(path):
        restore(path)


class _Folder:
    """The files of one folder, also after the folder has been replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Files are opened relative to the folder itself, so that they are all of one model.
        relative = os.open in os.supports_dir_fd
        self._handle = os.open(path, os.O_RDONLY) if relative else None

    def _open(self, name: str) -> IO[bytes]:
        # Opening a pipe would wait for a writer; it is refused below.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        where = name if self._handle is not None else str(self._path / name)
        handle = os.open(where, flags, dir_fd=self._handle)
        file = os.fdopen(handle, "rb")
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            file.close()
            raise ValueError(f"{name} is not a file")
        return file

    def text(self) -> str:
        try:
            file = self._open(MANIFEST)
        except FileNotFoundError:
            raise Refused(f"{self._path} is not a model of phaselabel: it has no {MANIFEST}.") from None
        with file:
            if os.fstat(file.fileno()).st_size > MOST_JSON:
                raise ValueError(f"{MANIFEST} is too large")
            return file.read(MOST_JSON).decode("utf-8")

    def array(self, name: str) -> NDArray[Any]:
        with self._open(name) as file:
            return map_array(file)

    def replaced(self) -> bool:
        if self._handle is None:
            return False
        try:
            now, own = os.stat(self._path), os.fstat(self._handle)
        except OSError:
            return True
        return (now.st_dev, now.st_ino) != (own.st_dev, own.st_ino)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
        self._handle = None


class _Zip:
    """The members of a zip file, which are stored as they are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        try:
            with content_errors(path, "is not a model of phaselabel"):
                self._zip = zipfile.ZipFile(self._file)
                self._check()
        except BaseException:
            self._file.close()
            raise

    def _check(self) -> None:
        """Refuse what could take more memory than the file has bytes."""
        members = self._zip.infolist()
        if len({info.filename for info in members}) < len(members):
            raise ValueError("it holds two files of one name")
        for info in members:
            if info.filename != MANIFEST and not _is_array_name(info.filename):
                raise ValueError(f"it holds {info.filename!r:.40}")
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"{info.filename} is compressed; models are stored plain")
        if sum(info.file_size for info in members) > os.fstat(self._file.fileno()).st_size:
            raise ValueError("its files overlap")

    def text(self) -> str:
        if self._zip.getinfo(MANIFEST).file_size > MOST_JSON:
            raise ValueError(f"{MANIFEST} is too large")
        return self._zip.read(MANIFEST).decode("utf-8")

    def array(self, name: str) -> NDArray[Any]:
        with self._zip.open(name) as file:
            return read_array(file, self._zip.getinfo(name).file_size)

    def replaced(self) -> bool:
        return False  # the open file stays what it is

    def close(self) -> None:
        self._file.close()
