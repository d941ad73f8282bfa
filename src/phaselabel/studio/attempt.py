"""A step that may fail in, whether it succeeded out; the page is told in a sentence what went wrong."""

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)


def attempt(step: Callable[[], object], problem: str, tell: Callable[[str], object]) -> bool:
    """Do a step; an error becomes a sentence for the page.

    Parameters
    ----------
    step : callable
        What to do.
    problem : str
        What an error of it means to the user; the beginning of the sentence.
    tell : callable
        Called with the sentence.

    Returns
    -------
    bool
        Whether there was no error. One that is not a ``ValueError`` is logged as well.

    Examples
    --------
    >>> attempt(lambda: int("x"), "The number can't be read", print)
    The number can't be read: invalid literal for int() with base 10: 'x'.
    False
    """
    try:
        step()
    except Exception as error:
        if not isinstance(error, ValueError):
            log.exception(problem)
        tell(f"{problem}: {str(error).rstrip('.')}.")
        return False
    return True
