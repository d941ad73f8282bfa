"""What hostile inputs are given to: a subject makes inputs from random numbers, and runs and judges one."""

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class WrongError(Exception):
    """A result that must not be."""


@dataclass(frozen=True)
class Subject:
    """One kind of input.

    Attributes
    ----------
    name : str
        Its name in counts and in the files of failures.
    make : callable
        Makes an input, bytes, from random numbers.
    run : callable
        Gives an input to the package, in a folder; raises :class:`WrongError` if the result is wrong.
    weight : float
        Inputs of this kind beside one of the others.
    errors : tuple of exception classes
        What the package may raise, besides ``ValueError`` and its own subclasses.
    used : int
        KiB of memory that a case may add.
    """

    name: str
    make: Callable[[random.Random], bytes]
    run: Callable[[bytes, Path], Any]
    weight: float = 1.0
    errors: tuple[type[BaseException], ...] = field(default=())
    used: int = 2**20


def require(sound: Any, what: str) -> None:
    """Raise if something that must be so is not."""
    if not sound:
        raise WrongError(what)


def judged(subject: Subject, data: bytes, folder: Path) -> str:
    """Run one input: "accepted", "refused", or a sentence on what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # A computation that overflows without a word is a fault of the package.
        warnings.filterwarnings("error", category=RuntimeWarning, module="phaselabel")
        try:
            subject.run(data, folder)
        except WrongError as error:
            return f"wrong result: {error}"
        except BaseException as error:
            return _judged_error(subject, error)
    return "accepted"


def _judged_error(subject: Subject, error: BaseException) -> str:
    own = type(error).__module__.startswith("phaselabel.") and isinstance(error, ValueError)
    allowed = type(error) is ValueError or own or isinstance(error, subject.errors)
    text = str(error)
    if isinstance(error, MemoryError) and text.endswith("make it smaller first."):
        return "refused"
    if not allowed:
        return f"foreign error: {type(error).__name__}: {text[:200]}"
    if not text.strip() or len(text) > 4000:
        return f"unclear error: {type(error).__name__}: {text[:200]!r}"
    return "refused"


def put(folder: Path, name: str, data: bytes) -> Path:
    """Write a new file; the old one may still be mapped, and must not change."""
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    return path


def all_subjects() -> dict[str, Subject]:
    """Every subject, by name."""
    from campaign import commands, functions, readers, saved, studio_requests

    modules = (readers, saved, studio_requests, functions, commands)
    lists = [module.subjects() for module in modules]
    return {subject.name: subject for group in lists for subject in group}
