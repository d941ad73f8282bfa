"""Labels of any type in, class numbers out, and back."""

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray


def encode(y: Any, unlabeled: Any = -1) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Sort out which entries are labels and number their classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Integers, strings or any objects that can be sorted.
    unlabeled : object, default=-1
        The entry that means "not known". Missing values (``None``, ``NaN``, ``NA``) always do.

    Returns
    -------
    classes : ndarray of shape (K,)
        The distinct labels, sorted.
    arms : ndarray of int32, shape (n,)
        Their numbers, -1 where not known.

    Examples
    --------
    >>> classes, arms = encode(["cat", None, "dog", "cat"])
    >>> classes.tolist(), arms.tolist()
    (['cat', 'dog'], [0, -1, 1, 0])
    """
    from sklearn.utils import column_or_1d

    # numpy would make the strings "nan" and "-1" of markers in a list; objects stay what they are.
    hidden = np.ma.getmaskarray(y).ravel() if np.ma.isMaskedArray(y) else False
    y = np.array(y, object) if isinstance(y, list | tuple) else np.asarray(y)
    y = column_or_1d(y, warn=True)
    known = is_known(y, unlabeled) & ~np.asarray(hidden)
    if not known.any():
        raise ValueError(
            f"y has no labelled row: all {len(y)} entries are missing or equal to unlabeled={unlabeled!r}; "
            "label at least one row, or name the marker with unlabeled=."
        )
    given = _plain(y[known])
    if given.dtype.kind in "iuf":
        _check_numeric(given, unlabeled)
    try:
        classes, numbers = np.unique(given, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in given}))
        raise ValueError(
            f"y mixes labels that can't be sorted ({kinds}); use one type, and unlabeled= for the marker."
        ) from None
    arms = np.full(len(y), -1, np.int32)
    arms[known] = numbers
    return classes, arms


def is_known(y: NDArray[Any], unlabeled: Any = -1) -> NDArray[np.bool_]:
    """Which entries are labels.

    Examples
    --------
    >>> is_known(np.array([3, -1, 0])).tolist()
    [True, False, True]
    """
    return ~(_missing(y) | _marked(y, unlabeled))


def decode(arms: NDArray[np.integer[Any]], classes: NDArray[Any], unlabeled: Any = -1) -> NDArray[Any]:
    """The labels of class numbers; ``unlabeled`` where the number is -1.

    Examples
    --------
    >>> decode(np.array([1, -1]), np.array(["cat", "dog"]), unlabeled="?").tolist()
    ['dog', '?']
    """
    labels = classes[arms]
    lost = arms < 0
    if lost.any():
        if isinstance(unlabeled, str) and classes.dtype.kind == "U":
            labels = labels.astype(np.result_type(classes, np.asarray(unlabeled)))
        elif not _fits(unlabeled, classes.dtype):
            labels = labels.astype(object)
        labels[lost] = unlabeled
    return labels


def _fits(mark: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an array of numbers can hold the marker as it is."""
    if not isinstance(mark, Number) or isinstance(mark, bool) or dtype.kind not in "iuf":
        return False
    if dtype.kind == "f":
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= mark <= limits.max and mark == int(mark))  # type: ignore[operator, call-overload]


def _missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are None, NaN or a data frame's NA."""
    if y.dtype.kind == "O":
        return np.array(
            [v is None or type(v).__name__ in ("NAType", "NaTType") or _is_nan(v) for v in y], bool
        )
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    return np.asarray(np.isnan(y)) if y.dtype.kind == "f" else np.zeros(len(y), bool)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _marked(y: NDArray[Any], mark: Any) -> NDArray[np.bool_]:
    """Which entries equal the marker; in an array of strings numpy has turned a -1 into "-1"."""
    if y.dtype.kind == "O":
        return np.array([_comparable(v, mark) and v == mark for v in y], bool)
    if y.dtype.kind == "U":
        return np.asarray(y == str(mark))
    return np.asarray(y == mark) if isinstance(mark, Number) else np.zeros(len(y), bool)


def _comparable(a: Any, b: Any) -> bool:
    return type(a) is type(b) or (isinstance(a, Number) and isinstance(b, Number))


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all strings, or all numbers, as an array of that type."""
    if given.dtype.kind != "O":
        return given
    if all(isinstance(label, str) for label in given):
        return given.astype(str)
    if all(isinstance(label, Number) for label in given):
        return np.array(given.tolist())
    return given


def _check_numeric(given: NDArray[Any], unlabeled: Any) -> None:
    if np.isinf(given).any():
        raise ValueError("Input y contains infinity or a value too large for its dtype; remove those rows.")
    if given.dtype.kind == "f" and (given != np.floor(given)).any():
        raise ValueError(
            "Unknown label type: continuous. Numbers with a fraction name no classes; round or bin y."
        )
    if unlabeled is not None and unlabeled == unlabeled and unlabeled != -1 and (given == -1).any():
        raise ValueError(
            f"y contains -1, the usual marker, as a label while unlabeled={unlabeled!r}; replace the -1 "
            "entries, or pass unlabeled=None if -1 is a class."
        )
