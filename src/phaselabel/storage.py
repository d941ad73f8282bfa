"""A fitted model in, a folder (or zip) of plain arrays and one JSON file out, and back.

::

    model/
      model.json        what it is, which version wrote it, parameters and learned values
      array-000.npy …   the arrays that model.json refers to

There is no pickle in it: opening a model runs no code of its author's, and every index is checked before a
kernel may follow it. A folder's arrays are memory-mapped.
"""

import json
import re
import zipfile
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel import __version__
from phaselabel.atomic import replacing

FORMAT = "phaselabel model"
#: Raised when an older reader could no longer make sense of a newer file.
VERSION = 1

#: What a file may name; nothing else is ever constructed.
_CLASSES = {
    "GinzburgLandauClassifier": "classifier",
    "BinaryGinzburgLandauClassifier": "binary",
    "Graph": "graph",
    "Neighbors": "graph",
    "Solution": "flow",
    "Geometric": "flow",
    "State": "star",
    "Energy": "energy",
    "Calibration": "confidence",
}
#: Parameters that are functions, or state of the moment: a loaded model has their defaults. The packed state
#: is the solution once more.
_NOT_KEPT = ("callbacks", "random_state", "verbose", "_packed")


def save(
    model: Any, path: str | Path, *, extra: dict[str, Any] | None = None, overwrite: bool = False
) -> None:
    """Write a fitted classifier to a folder, or to one file if the name ends in ``.zip``.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this package.
    path : path-like
        Where to put it; written under a temporary name and renamed.
    extra : dict, optional
        Plain values and arrays to keep beside it; see :func:`load_extra`.
    overwrite : bool, default=False
        Whether a model that is there already may be replaced.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    arrays: list[NDArray[Any]] = []
    head = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"phaselabel {__version__}",
        "estimator": type(model).__name__,
    }
    if head["estimator"] not in _CLASSES:
        raise ValueError(f"model must be a classifier of phaselabel to be saved; got {type(model).__name__}.")
    parameters = model.get_params(deep=False)
    body = {
        "parameters": {key: value for key, value in parameters.items() if key not in _NOT_KEPT},
        "learned": {k: v for k, v in vars(model).items() if k not in (*parameters, *_NOT_KEPT)},
        "extra": extra or {},
    }
    manifest = head | {key: _encode(value, arrays, key) for key, value in body.items()}
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    with replacing(path, overwrite) as part:
        if Path(path).suffix == ".zip":
            with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                archive.writestr("model.json", text)
                for number, array in enumerate(arrays):
                    with archive.open(f"array-{number:03}.npy", "w", force_zip64=True) as file:
                        np.lib.format.write_array(file, array, allow_pickle=False)
        else:
            part.mkdir()
            (part / "model.json").write_text(text, encoding="utf-8")
            for number, array in enumerate(arrays):
                np.save(part / f"array-{number:03}.npy", array, allow_pickle=False)


def load(path: str | Path) -> Any:
    """Open a saved model.

    Parameters
    ----------
    path : path-like
        A folder or zip written by ``model.save(path)``.

    Returns
    -------
    estimator
        The fitted classifier; a folder's arrays are memory-mapped.

    Examples
    --------
    >>> import tempfile
    >>> from phaselabel import GinzburgLandauClassifier
    >>> X, y = [[0.0], [0.1], [5.0], [5.1]], ["a", None, "b", None]
    >>> model = GinzburgLandauClassifier(n_neighbors=1).fit(X, y)
    >>> folder = Path(tempfile.mkdtemp()) / "model"
    >>> model.save(folder)
    >>> load(folder).predict([[0.2]]).tolist()
    ['a']
    """
    archive = _Archive(Path(path))
    manifest = archive.manifest
    model = _class(manifest.get("estimator"))(**archive.decode(manifest["parameters"]))
    for name, value in archive.decode(manifest["learned"]).items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or hasattr(type(model), name):
            raise ValueError(f"{path} is not a model of phaselabel: it would set {name!r}.")
        setattr(model, name, value)
    _check(model, path)
    return model


def load_extra(path: str | Path) -> dict[str, Any]:
    """What was kept beside a model."""
    archive = _Archive(Path(path))
    extra = archive.decode(archive.manifest["extra"])
    return extra if isinstance(extra, dict) else {}


# -- values ---------------------------------------------------------------------------------------------


def _encode(value: Any, arrays: list[NDArray[Any]], where: str) -> Any:
    """A value as JSON; arrays are put aside and referred to by number."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return _encode(value.item(), arrays, where)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1, "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        return {"objects": [_encode(item, arrays, where) for item in value.tolist()]}
    if isinstance(value, sparse.csr_array | sparse.csr_matrix):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {"csr": _encode(parts, arrays, where), "shape": list(value.shape)}
    if isinstance(value, list | tuple):
        return {"list": [_encode(item, arrays, where) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encode(item, arrays, f"{where}.{key}") for key, item in value.items()}}
    if is_dataclass(value) and type(value).__name__ in _CLASSES:
        content = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
        return {"class": type(value).__name__, "fields": _encode(content, arrays, where)}
    raise ValueError(
        f"A model with {where} = {value!r:.60} can't be saved without pickle; use numbers, strings or "
        "arrays there."
    )


class _Archive:
    """A saved model's manifest and, when asked for, its arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._zip: zipfile.ZipFile | None = None
        try:
            if path.is_dir():
                text = (path / "model.json").read_text(encoding="utf-8")
            elif path.is_file():
                self._zip = zipfile.ZipFile(path)
                text = self._member("model.json").decode("utf-8")
            else:
                raise FileNotFoundError(f"There is no model at {path}.")
            self.manifest = json.loads(text)
        except (ValueError, KeyError, zipfile.BadZipFile, NotADirectoryError) as error:
            raise ValueError(f"{path} is not a model of phaselabel ({error}).") from None
        except FileNotFoundError as error:
            if error.filename is None:
                raise
            raise ValueError(f"{path} is not a model of phaselabel: it has no model.json.") from None
        if not isinstance(self.manifest, dict) or self.manifest.get("format") != FORMAT:
            raise ValueError(f"{path} is not a model of phaselabel.")
        for part in ("parameters", "learned", "extra"):
            self.manifest.setdefault(part, {"dict": {}})
        version = self.manifest.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise ValueError(
                f"{path} was written by {self.manifest.get('written_by', 'a newer phaselabel')!s:.40} "
                "in version "
                f"{version!s:.10} of the format; this is phaselabel {__version__}, which reads up to version "
                f"{VERSION}: upgrade it."
            )

    def decode(self, node: Any) -> Any:
        """The value that a piece of JSON stands for."""
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise ValueError(f"{self._path} is damaged: a bare list in model.json.")
            return node
        try:
            if "array" in node:
                return self._array(node)
            if "objects" in node:
                out = np.empty(len(node["objects"]), object)
                out[:] = [self.decode(item) for item in node["objects"]]
                return out
            if "csr" in node:
                return self._csr(node)
            if "list" in node:
                return [self.decode(item) for item in node["list"]]
            if "class" in node:
                return _class(node["class"])(**self.decode(node["fields"]))
            return {key: self.decode(item) for key, item in node["dict"].items()}
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{self._path} is damaged: {error!r:.80}.") from None

    def _array(self, node: dict[str, Any]) -> NDArray[Any]:
        if not isinstance(node["array"], int):
            raise ValueError(f"{self._path} is not a sound model: it names an array {node['array']!r:.40}.")
        name = f"array-{node['array']:03}.npy"
        try:
            if self._zip is None:
                # An empty array cannot be mapped.
                mode: Any = "r" if 0 not in node["shape"] else None
                array = np.load(self._path / name, mmap_mode=mode, allow_pickle=False)
            else:
                import io

                array = np.lib.format.read_array(io.BytesIO(self._member(name)), allow_pickle=False)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise ValueError(f"{self._path} is damaged: {name} can't be read ({error}).") from None
        if not isinstance(array, np.ndarray) or [str(array.dtype), list(array.shape)] != [
            node["dtype"],
            node["shape"],
        ]:
            raise ValueError(f"{self._path} is damaged: {name} is not the array that model.json describes.")
        return array

    def _member(self, name: str) -> bytes:
        """A zip's member; compressed ones are refused, so that nothing can blow up in memory."""
        assert self._zip is not None
        info = self._zip.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(f"{name} is compressed; models are stored plain")
        return self._zip.read(info)

    def _csr(self, node: dict[str, Any]) -> sparse.csr_array:
        """A sparse matrix whose every index points inside it."""
        parts = self.decode(node["csr"])
        data, indices, indptr = (parts[name] for name in ("data", "indices", "indptr"))
        rows, columns = (int(size) for size in node["shape"])
        sound = (
            data.ndim == indices.ndim == indptr.ndim == 1
            and indices.dtype.kind == indptr.dtype.kind == "i"
            and len(indptr) == rows + 1
            and len(data) == len(indices)
            and indptr[0] == 0
            and indptr[-1] == len(indices)
            and (np.diff(indptr) >= 0).all()
            and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < columns))
        )
        if not sound:
            raise ValueError(f"{self._path} is damaged: a matrix in it has indices outside its shape.")
        return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


def _class(name: Any) -> Any:
    if not isinstance(name, str) or name not in _CLASSES:
        raise ValueError(f"A saved model names {name!r:.40}, which is not part of one.")
    return getattr(import_module(f"phaselabel.{_CLASSES[name]}"), name)


def _check(model: Any, path: str | Path) -> None:
    """Refuse a model whose parts don't fit together: the kernels trust them."""
    from phaselabel.flow import Solution
    from phaselabel.graph import Graph

    try:
        n, k = model.graph_.n_vertices, len(model.classes_)
        points, tau = model._fit_X, getattr(model, "_tau", None)
        sound = (
            isinstance(model.graph_, Graph)
            and isinstance(model.solution_, Solution)
            and model.graph_.weights.shape == (n, n)
            and _in_range(model.solution_.arm, n, k)
            and model.solution_.height.shape == model.solution_.arm.shape == (n,)
            and _in_range(model._labels, n, k)
            and (points is None or points.shape == (n, model.n_features_in_))
            and (tau is None or tau.shape in ((n,), (0,)))
        )
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{path} is damaged: {error}.") from None
    if not sound:
        raise ValueError(f"{path} is damaged: its parts don't fit together.")
    model._packed = model.solution_.state.packed()


def _in_range(arm: NDArray[Any], n: int, k: int) -> bool:
    return bool(
        arm.shape == (n,) and arm.dtype.kind == "i" and (n == 0 or (arm.min() >= -1 and arm.max() < k))
    )
