"""A fitted Segmenter in, a saved model out; and back, a Segmenter or a classifier."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import phaselabel
from phaselabel.estimators.model_checks import check_forest, require
from phaselabel.estimators.saving import load_with_extra
from phaselabel.evidence.forest import Forest
from phaselabel.io.archive import Archive, Refused, content_errors, write_archive
from phaselabel.segmentation.bands import BandScale
from phaselabel.segmentation.cell_model import CellModel
from phaselabel.segmentation.color import Colour
from phaselabel.segmentation.frames import Looks

#: The name of the class that is saved.
SEGMENTER = "Segmenter"

#: The classes that a saved model may contain besides plain values and arrays.
PARTS = {part.__name__: part for part in (BandScale, CellModel, Forest, Looks)}


def save(
    model: Any,
    path: str | Path,
    *,
    overwrite: bool = False,
    names: Mapping[int, str] | None = None,
    colors: Mapping[int, Colour] | None = None,
) -> None:
    """Write a fitted Segmenter to a folder, or to one file if the name ends in ``.zip``.

    Parameters
    ----------
    model : Segmenter
        A fitted model.
    path : path-like
        Where to put it.
    overwrite : bool, default=False
        Whether a model that is there already may be replaced.
    names, colors : mapping, optional
        Names and colours of classes in the file, by their numbers, in place of the model's.
    """
    names, colors = {**model.classes_, **(names or {})}, {**model._colors, **(colors or {})}
    learned = {
        "numbers": list(model.classes_),
        "names": [names[number] for number in model.classes_],
        "colors": [list(colors[number]) for number in model.classes_],
        "choice": dict(model.choice_),
        "strokes_found": model.strokes_found_,
        "cell": model._cell,
        "n_bands": model._n_bands,
        "volume": model._volume,
        "scale": model._scale,
        "model": model._cell_model,
    }
    parameters = {name: value for name, value in model.get_params().items() if name != "progress"}
    body = {"parameters": parameters, "learned": learned}
    write_archive(path, {"estimator": SEGMENTER}, body, PARTS, overwrite=overwrite)


def load(path: str | Path) -> Any:
    """Open a saved model: a classifier or a Segmenter.

    Parameters
    ----------
    path : path-like
        A folder or zip written by ``model.save(path)``.

    Returns
    -------
    estimator
        The fitted model; the arrays of a folder are memory-mapped.

    Raises
    ------
    ValueError
        If it is not a model, or not a whole one.
    OSError
        If it can't be read.

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
    with Archive(path, PARTS) as archive:
        if archive.manifest.get("estimator") == SEGMENTER:
            with content_errors(Path(path), "is damaged"):
                return _segmenter(archive)
    return load_with_extra(path)[0]


def _segmenter(archive: Archive) -> Any:
    parameters = archive.decode(archive.manifest["parameters"])
    segmenter = getattr(phaselabel, SEGMENTER)
    if not set(parameters) <= set(segmenter().get_params()) - {"progress"}:
        raise Refused(
            f"A saved model names the parameters {sorted(parameters)!s:.60}, which are not its own."
        )
    model = segmenter(**parameters)
    model._check()
    learned = archive.decode(archive.manifest["learned"])
    numbers = [int(number) for number in learned["numbers"]]
    k = len(numbers)
    require(k > 1 and sorted(set(numbers)) == numbers and numbers[0] > 0, "classes")
    require(len(learned["names"]) == k == len(learned["colors"]), "classes")
    model.classes_ = {number: str(name) for number, name in zip(numbers, learned["names"])}
    model._colors = {n: _color(color) for n, color in zip(numbers, learned["colors"])}
    model.choice_ = {str(name): float(value) for name, value in learned["choice"].items()}
    model.strokes_found_ = learned.get("strokes_found")  # a model of an earlier version has none
    found = model.strokes_found_
    require(found is None or (isinstance(found, float) and 0 <= found <= 1), "marks that were found")
    model._volume = bool(learned["volume"])
    model._cell, model._n_bands = int(learned["cell"]), int(learned["n_bands"])
    require(model._cell > 0 and model._n_bands > 0, "cells")
    model._scale, model._made_model = learned["scale"], learned["model"]
    _check_scale(model._scale)
    _check_cell_model(model._made_model, k, model._n_bands)
    model.results_, model._frames = [], []
    return model


def _color(values: Any) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in values)
    require(all(0 <= value <= 255 for value in (red, green, blue)), "colours")
    return red, green, blue


def _check_scale(scale: Any) -> None:
    require(isinstance(scale, BandScale) and isinstance(scale.dtype, str), "scale")
    for part in (scale.offset, scale.gain):
        require(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind == "f", "scale")
        require(bool((np.abs(part) <= np.finfo(np.float32).max).all()), "scale")
    require(len(scale.offset) == len(scale.gain), "scale")


def _check_cell_model(model: Any, k: int, n_bands: int) -> None:
    require(isinstance(model, CellModel) and isinstance(model.looks, Looks), "models")
    rows, classes, looks = model.rows, model.classes, model.looks
    require(isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype == np.float32, "rows")
    require(isinstance(classes, np.ndarray) and classes.shape == rows.shape[:1], "rows")
    require(classes.dtype.kind == "i" and model.n_classes == k, "rows")
    require(len(classes) > 0 and classes.min() >= 0 and classes.max() < k, "rows")
    require(isinstance(looks.patch, int) and 0 < looks.patch < 1000 and looks.patch % 2 == 1, "looks")
    components = isinstance(looks.directions, np.ndarray) and looks.directions.ndim == 2
    require(components and looks.directions.shape[0] in (0, n_bands), "looks")
    require(isinstance(looks.mean, np.ndarray) and len(looks.mean) == looks.directions.shape[0], "looks")
    probe = looks.scales(looks.bands(np.zeros((2, 2, n_bands), np.float32)))
    require(probe.shape[1] == rows.shape[1], "looks")
    require(isinstance(model.forests, list) and len(model.forests) > 0, "trees")
    for forest in model.forests:
        require(isinstance(forest, Forest), "trees")
        check_forest(forest, k, rows.shape[1])
