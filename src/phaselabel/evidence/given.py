"""What a user gives as evidence in, what can be used of it, or an error that says why not, out."""

from typing import Any

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
