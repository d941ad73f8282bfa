"""A value in, whether it is a whole number out; a count that makes no sense is refused in a sentence."""

from typing import Any

import numpy as np


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or of NumPy, and no boolean.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int8(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_count(value: Any, least: int, name: str) -> None:
    """Refuse what is not a whole number of at least ``least``.

    Examples
    --------
    >>> check_count(0, 1, "n")
    Traceback (most recent call last):
    ValueError: n must be a whole number of at least 1; got 0.
    """
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
