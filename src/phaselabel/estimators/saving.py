"""A fitted classifier in, a saved model out, and back."""

import re
from pathlib import Path
from typing import Any

import phaselabel
from phaselabel.assess.calibration import Calibration
from phaselabel.estimators.model_checks import check_model
from phaselabel.evidence.forest import Forest
from phaselabel.evidence.opinion import Choice, Opinion
from phaselabel.evidence.pool import Figures
from phaselabel.evidence.row_models import Curve, Linear, Scale
from phaselabel.flow.energy import Energy
from phaselabel.flow.minimize import Solution
from phaselabel.flow.schedule import Geometric
from phaselabel.flow.star import State
from phaselabel.graph import Graph, Neighbors
from phaselabel.io.archive import Archive, Refused, content_errors, write_archive

#: The classes that a saved model may contain besides plain values and arrays.
PARTS = {
    part.__name__: part
    for part in (
        *(Graph, Neighbors, Solution, Geometric, State, Energy, Calibration),
        *(Opinion, Choice, Figures, Scale, Linear, Curve, Forest),
    )
}

#: The classifiers that can be saved: public names of the package.
ESTIMATORS = ("GinzburgLandauClassifier", "BinaryGinzburgLandauClassifier")

#: Attributes that models of the first version do not have.
LATER = ("_believed", "choice_", "n_neighbors_", "novel_")

#: Parameters that are functions, or state of the moment; a loaded model has their defaults. The packed state
#: is made from the solution.
_NOT_KEPT = ("callbacks", "dask_options", "random_state", "verbose", "_packed")

#: Attempts to read a model while other processes replace it.
ATTEMPTS = 10


def save(
    model: Any,
    path: str | Path,
    *,
    extra: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a fitted classifier to a folder, or to one file if the name ends in ``.zip``.

    Parameters
    ----------
    model : estimator
        A fitted classifier of this package.
    path : path-like
        Where to put it; written under a temporary name and renamed.
    extra : dict, optional
        Plain values and arrays to keep beside it; see :func:`load_with_extra`.
    overwrite : bool, default=False
        Whether a model that is there already may be replaced; anything else never is.
    """
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    name = type(model).__name__
    if name not in ESTIMATORS:
        raise ValueError(f"model must be a classifier of phaselabel to be saved; got {name}.")
    parameters = model.get_params(deep=False)
    kept = {key: value for key, value in parameters.items() if key not in _NOT_KEPT}
    if hasattr(kept.get("init"), "get_params"):  # a fitted classifier: the labels are those of "auto"
        del kept["init"]
    body = {
        "parameters": kept,
        "learned": {k: v for k, v in vars(model).items() if k not in (*parameters, *_NOT_KEPT)},
        "extra": extra or {},
    }
    write_archive(path, {"estimator": name}, body, PARTS, overwrite=overwrite)


def load_with_extra(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Open a saved model and what was saved beside it.

    Parameters
    ----------
    path : path-like
        A folder or zip written by :func:`save`.

    Returns
    -------
    model : estimator
        The fitted classifier.
    extra : dict
        The argument ``extra`` of :func:`save`.
    """
    for attempt in range(1, ATTEMPTS + 1):
        with Archive(path, PARTS) as archive:
            try:
                with content_errors(Path(path), "is damaged"):
                    return _model(archive, path), _extra(archive)
            except ValueError:
                # The files of a model that has been replaced are gone; the new one is complete.
                if attempt == ATTEMPTS or not archive.replaced():
                    raise
    raise AssertionError


def _model(archive: Archive, path: str | Path) -> Any:
    name = archive.manifest.get("estimator")
    if name not in ESTIMATORS:
        raise Refused(f"A saved model names {name!r:.40}, which is not part of one.")
    model = getattr(phaselabel, name)(**archive.decode(archive.manifest["parameters"]))
    for name, value in archive.decode(archive.manifest["learned"]).items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or hasattr(type(model), name):
            raise Refused(f"{path} is not a model of phaselabel: it would set {name!r:.40}.")
        setattr(model, name, value)
    for name in LATER:
        model.__dict__.setdefault(name, None)
    check_model(model)
    model._packed = model.solution_.state.packed()
    return model


def _extra(archive: Archive) -> dict[str, Any]:
    extra = archive.decode(archive.manifest["extra"])
    return extra if isinstance(extra, dict) else {}
