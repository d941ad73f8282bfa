"""Labels of any type in, class numbers out, and back."""

import warnings
from collections.abc import Sequence
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Whole numbers up to this one are exact in double precision.
LARGEST_EXACT = 2**53

#: What missing values become as text.
FORMER_GAPS = ("nan", "None", "NaT", "<NA>")


def encode(y: ArrayLike, unlabeled: Any = -1) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Find out which entries are labels and number their classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Integers, strings or any objects that can be sorted.
    unlabeled : object, default=-1
        The entry that means "not known". Missing values (``None``, ``NaN``, ``NaT``, ``NA``) always do, and
        so do empty strings, with a warning. Of the texts "nan" and "None", which are classes, a warning says
        that missing values may have become them.

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

    hidden = np.ma.getmaskarray(y).ravel() if np.ma.isMaskedArray(y) else False
    entries: NDArray[Any] = column_or_1d(as_array(y), warn=True)
    if entries.dtype.kind == "V":
        raise ValueError(f"y must hold one label per row; got records of type {entries.dtype}.")
    known = is_known(entries, unlabeled) & ~np.asarray(hidden)
    empty = _empty(entries)
    if empty.any() and not (isinstance(unlabeled, str | bytes) and not unlabeled):
        known &= ~empty
        warnings.warn(
            f"{int(empty.sum())} entries of y are empty strings; they count as not labelled. Rename them if "
            "they are a class, or pass unlabeled='' to confirm.",
            UserWarning,
            stacklevel=3,
        )
    if not known.any():
        raise ValueError(
            f"y has no labelled row: all {len(entries)} entries are missing or equal to "
            f"unlabeled={unlabeled!r}; label at least one row, or name the marker with unlabeled=."
        )
    _look_for_wrapped(entries, unlabeled)
    given = _plain(entries[known])
    _look_for_former_gaps(given)
    _check_numbers(given, unlabeled)
    try:
        classes, numbers = np.unique(given, return_inverse=True)
    except TypeError:
        raise _mixed(given) from None
    arms = np.full(len(entries), -1, np.int32)
    arms[known] = numbers
    return classes, arms


def as_array(y: Any) -> NDArray[Any]:
    """Labels as an array in which every entry is what it was.

    Examples
    --------
    >>> as_array(["a", -1]).tolist()
    ['a', -1]
    """
    # NumPy would make strings, "nan" and "-1", of markers among strings.
    if isinstance(y, list | tuple):
        return np.array(y, object)
    if hasattr(y, "iloc") and getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        y = y.iloc[:, 0]
    # NumPy would make floats of whole numbers among which a data frame has gaps.
    if hasattr(getattr(y, "dtype", None), "na_value") and hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy(dtype=object))
    if hasattr(y, "null_count") and hasattr(y, "to_list") and callable(y.null_count) and y.null_count():
        return np.array([*y.to_list(), None], object)[:-1]
    return np.asarray(y)


def is_known(y: NDArray[Any], unlabeled: Any = -1) -> NDArray[np.bool_]:
    """Which entries are labels.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    unlabeled : object, default=-1
        The entry that means "not known"; missing values always do.

    Examples
    --------
    >>> is_known(np.array([3, -1, 0])).tolist()
    [True, False, True]
    """
    if y.dtype.kind == "T":  # strings of variable length, some of which may be None or NaN
        y, unlabeled = y.astype(object), _as_string(unlabeled)
    return ~(_missing(y) | _marked(y, unlabeled))


def decode(arms: NDArray[np.integer[Any]], classes: NDArray[Any], unlabeled: Any = -1) -> NDArray[Any]:
    """The labels of class numbers.

    Parameters
    ----------
    arms : ndarray of int
        Class numbers, -1 where there is no class.
    classes : ndarray of shape (K,)
        The labels.
    unlabeled : object, default=-1
        The entry where there is no class. Where -1 is no label of this type, it is None instead: a number
        among strings can't be compared with them.

    Examples
    --------
    >>> decode(np.array([1, -1]), np.array(["cat", "dog"]), unlabeled="?").tolist()
    ['dog', '?']
    >>> decode(np.array([1, -1]), np.array(["cat", "dog"])).tolist()
    ['dog', None]
    """
    labels: NDArray[Any] = classes[arms]
    without = arms < 0
    if not without.any():
        return labels
    kind = classes.dtype.kind
    if (kind == "U" and isinstance(unlabeled, str)) or (kind == "S" and isinstance(unlabeled, bytes)):
        labels = labels.astype(np.result_type(classes, np.asarray(unlabeled)))
    elif kind in "mM" and _is_number(unlabeled):
        unlabeled = np.array("NaT", classes.dtype)[()]
    elif not _fits(unlabeled, classes.dtype):
        labels = labels.astype(object)
        if _is_number(unlabeled) and not all(_is_number(label) for label in classes[:1].tolist()):
            unlabeled = None
    if isinstance(unlabeled, Sequence) and not isinstance(unlabeled, str | bytes):
        for row in np.flatnonzero(without):  # an assignment to all rows would spread a tuple
            labels[row] = unlabeled
    else:
        labels[without] = unlabeled
    return labels


def _fits(mark: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an array of numbers or dates can hold the marker as it is."""
    if dtype.kind in "mM":
        return isinstance(mark, np.generic) and mark.dtype == dtype
    if not _is_number(mark) or dtype.kind not in "iuf":
        return False
    if dtype.kind == "f":
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= mark <= limits.max and mark == int(mark))


def _is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are not."""
    return isinstance(value, Number) and not _is_bool(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _missing(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are None, NaN, NaT or a data frame's NA."""
    if y.dtype.kind == "O":
        return np.array([_is_missing(value) for value in y], bool)
    if y.dtype.kind in "mM":
        return np.asarray(np.isnat(y))
    return np.asarray(np.isnan(y)) if y.dtype.kind in "fc" else np.zeros(len(y), bool)


def _empty(y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are strings without a letter."""
    kind = y.dtype.kind
    if kind == "O":
        return np.array([isinstance(value, str | bytes) and not value.strip() for value in y], bool)
    if kind == "T":
        return _empty(y.astype(object))
    return (
        np.asarray(np.char.strip(y) == (b"" if kind == "S" else ""))
        if kind in "US"
        else np.zeros(len(y), bool)
    )


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | complex | np.inexact) and bool(np.isnan(value))


def _marked(y: NDArray[Any], mark: Any) -> NDArray[np.bool_]:
    """Which entries equal the marker."""
    kind = y.dtype.kind
    if kind == "O":
        return np.array([_comparable(value, mark) and bool(value == mark) for value in y], bool)
    if kind == "U":
        return np.asarray(y == _as_string(mark))
    if kind == "S":
        return np.asarray(y == (mark if isinstance(mark, bytes) else str(mark).encode()))
    same = (
        (kind in "iufc" and _is_number(mark))
        or (kind == "b" and _is_bool(mark))
        or (kind in "mM" and isinstance(mark, np.generic) and mark.dtype.kind == kind)
    )
    return np.asarray(y == mark) if same else np.zeros(len(y), bool)


def _as_string(mark: Any) -> Any:
    """The marker as it stands in an array of strings: NumPy makes "-1" of a -1 among strings."""
    return mark if isinstance(mark, bytes) else str(mark)


def _comparable(a: Any, b: Any) -> bool:
    return (
        type(a) is type(b)
        or any(isinstance(a, kind) and isinstance(b, kind) for kind in (str, bytes))
        or (_is_number(a) and _is_number(b))
        or (_is_bool(a) and _is_bool(b))
    )


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all strings, or all numbers, as an array of that type if it can hold them exactly."""
    given = given.astype(object) if given.dtype.kind == "T" else given
    if given.dtype.kind != "O":
        return given
    if len({_is_bool(label) for label in given}) > 1:  # True and 1 would be one class
        raise _mixed(given)
    # NumPy drops NUL at the end of a string.
    if all(isinstance(label, str) and not label.endswith("\0") for label in given):
        return given.astype(str)
    if all(isinstance(label, Number) for label in given):
        numbers = np.array(given.tolist())
        # Python compares an integer and a float exactly.
        if numbers.dtype.kind != "O" and numbers.tolist() == given.tolist():
            return numbers
    return given


def _look_for_wrapped(entries: NDArray[Any], unlabeled: Any) -> None:
    """Warn if -1 has become the largest number of an unsigned type, and would be the class of most rows."""
    if entries.dtype.kind != "u" or not _is_number(unlabeled) or unlabeled != -1:
        return
    largest = np.iinfo(entries.dtype).max
    n_largest = int(np.count_nonzero(entries == largest))
    if n_largest > len(entries) / 2:
        warnings.warn(
            f"{n_largest:,} of {len(entries):,} entries of y are {largest}, which is what -1 becomes in "
            f"{entries.dtype}; they count as a class. Pass unlabeled={largest} if they are not labelled.",
            UserWarning,
            stacklevel=4,
        )


def _look_for_former_gaps(given: NDArray[Any]) -> None:
    """Warn if missing values have become text, and would be a class."""
    if given.dtype.kind != "U":
        return
    for word in FORMER_GAPS:
        if count := int(np.count_nonzero(given == word)):
            warnings.warn(
                f"{count:,} of the labels in y {'is' if count == 1 else 'are'} {word!r}, which is what a "
                f"missing value becomes as text; they count as a class. Pass unlabeled={word!r}, or y before "
                "it became text, if they are not labelled.",
                UserWarning,
                stacklevel=4,
            )


def _check_numbers(given: NDArray[Any], unlabeled: Any) -> None:
    """Refuse numbers that name no classes."""
    kind = given.dtype.kind
    if kind not in "iuf":
        return
    if np.isinf(given).any():
        raise ValueError("Input y contains infinity or a value too large for its dtype; remove those rows.")
    if kind == "f" and (given != np.floor(given)).any():
        raise ValueError(
            "Unknown label type: continuous. Numbers with a fraction name no classes; round or bin y."
        )
    if kind == "f" and np.abs(given).max() > LARGEST_EXACT:
        raise ValueError(
            f"y contains the float {np.abs(given).max():.17g}, and floats can't tell such large numbers "
            "apart; pass y as a list, as integers or as strings."
        )
    is_marker = unlabeled is None or (isinstance(unlabeled, float) and np.isnan(unlabeled)) or unlabeled == -1
    if not is_marker and (given == -1).any():
        raise ValueError(
            f"y contains -1, the usual marker, as a label while unlabeled={unlabeled!r}; replace the -1 "
            "entries, or pass unlabeled=None if -1 is a class."
        )


def _mixed(given: NDArray[Any]) -> ValueError:
    kinds = ", ".join(sorted({type(label).__name__ for label in given}))
    return ValueError(
        f"y mixes labels of several types ({kinds}); use one type, and unlabeled= for the marker."
    )


def visible(label: Any) -> str:
    """A label as it is shown to people: in quotes where spaces around it would not be seen.

    Examples
    --------
    >>> visible("malignant"), visible("malignant "), visible(3)
    ('malignant', "'malignant '", '3')
    """
    text = str(label)
    return text if text and text == text.strip() else repr(text)
