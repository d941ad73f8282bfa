"""What a user gives as evidence in, what can be used of it, or an error that says why not, out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.flow.evidence import checked_evidence


def checked_given(evidence: Any, n_rows: int, n_classes: int, *, has_rows: bool, affinity: str) -> Any:
    """None, "auto", a classifier, or an array of probabilities.

    Parameters
    ----------
    evidence : object
        What the user gave.
    n_rows, n_classes : int
        The shape that probabilities must have.
    has_rows : bool
        Whether there are rows of features for a classifier to learn from.
    affinity : str
        What there is instead, for the error.

    Examples
    --------
    >>> checked_given(None, 5, 2, has_rows=True, affinity="nearest_neighbors") is None
    True
    """
    if evidence is None or n_classes == 1:
        return None
    if isinstance(evidence, str):
        if evidence == "auto":
            return evidence
        raise ValueError(f"evidence must be 'auto', None, a classifier or probabilities; got {evidence!r}.")
    if not hasattr(evidence, "fit"):
        return checked_evidence(evidence, n_rows, n_classes)
    name = type(evidence).__name__
    if not hasattr(evidence, "predict_proba"):
        raise ValueError(
            f"evidence={name} has no predict_proba; use a classifier that gives probabilities, or wrap it in "
            "sklearn.calibration.CalibratedClassifierCV."
        )
    if not has_rows:
        raise ValueError(
            f"evidence={name} needs rows of features, and affinity={affinity!r} has none; pass its "
            "probabilities instead, or the rows as X and the graph as graph=."
        )
    return evidence


def checked_columns(
    columns: Any, evidence: Any, n_features: int, names: Any = None
) -> NDArray[np.intp] | None:
    """The places of the columns that the models of the rows see; None for all of them.

    Parameters
    ----------
    columns : sequence of int or str, or None
        What the user gave: places, counted from 0, or names.
    evidence : object
        What the user gave as evidence.
    n_features : int
        The number of columns.
    names : sequence of str, optional
        Their names, where they have any.

    Examples
    --------
    >>> checked_columns(["b"], "auto", 2, ["a", "b"]).tolist()
    [1]
    """
    if columns is None:
        return None
    if not isinstance(evidence, str):
        raise ValueError(
            "model_columns goes with evidence='auto'; a classifier chooses its columns in a Pipeline."
        )
    if isinstance(columns, str) or not np.iterable(columns) or not len(columns := list(columns)):
        raise ValueError(f"model_columns must be a list of columns; got {columns!r}.")
    known = {str(name): place for place, name in enumerate(() if names is None else names)}
    places = []
    for column in columns:
        place = known.get(column) if isinstance(column, str) else column
        if not isinstance(place, int | np.integer) or isinstance(place, bool) or not 0 <= place < n_features:
            remedy = "a column's name" if known else f"a number from 0 to {n_features - 1}"
            raise ValueError(f"model_columns has {column!r}, which is no column of X; use {remedy}.")
        places.append(int(place))
    return np.unique(np.array(places, np.intp))
