"""A Python loop in, a compiled kernel out: the one place that calls numba's compiler."""

import logging
import os
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any

import numba as nb
import numpy as np

log = logging.getLogger(__name__)

#: A kernel: called for its effect on arrays, or for its result.
Kernel = Callable[..., Any]

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
#: What the compiler may do to sums and products. NaN and infinity keep their meaning.
_FAST = {"contract", "reassoc", "nsz"}
#: The same for kernels in which the order of operations prevents overflow.
_ORDERED = {"contract", "nsz"}

#: Largest array that one thread works through alone: starting more threads would take longer than the work.
SMALL = 50_000

_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def is_forked() -> bool:
    """Whether this process is a forked child, where OpenMP must not start threads.

    The threads of the parent do not exist in the child, and OpenMP would wait for them forever.
    """
    return _forked


@cache
def _start_threads() -> None:
    """Start numba's threads so that they sleep until there is work, unless the user has chosen otherwise.

    OpenMP's threads wait for the next loop by spinning. Where other programs have work too, a loop then
    waits for a thread that waits for its turn: two fits of 9,000 rows at once on two processors took 12
    seconds each, and take 3.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        return
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        nb.get_num_threads()  # loads OpenMP, which reads the variable once
    finally:
        del os.environ["OMP_WAIT_POLICY"]


def n_threads() -> int:
    """How many threads work beside each other: as many as the kernels have."""
    if _forked:
        return 1
    _start_threads()
    return int(nb.get_num_threads())


class _Parallel:
    """A kernel in two flavours, for one thread and for all threads, each compiled when first needed.

    The size of the arrays alone decides which one runs, never the number of threads, because the two may
    differ in the last bit: the compiler groups their sums differently. A forked child always runs the
    serial one.

    For the same reason the process that compiles the parallel flavour may differ in the last bit from those
    that load it. numba compiles the loop by itself, then links a copy into the kernel and optimises it once
    more. Both have the same name: the process that compiles runs the first, the cache keeps the second.
    """

    def __init__(self, function: Kernel, fastmath: set[str]) -> None:
        # numba's cache identifies a kernel by its name alone, not by its compiler options.
        self.serial = _compiled(_renamed(function, "_serial"), parallel=False, fastmath=fastmath)
        self.parallel = _compiled(_renamed(function, "_parallel"), parallel=True, fastmath=fastmath)
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self.sized(max(a.size for a in arguments if isinstance(a, np.ndarray)))(*arguments)

    def sized(self, size: int) -> Kernel:
        """The flavour for arrays of ``size`` entries; for a block of a graph, the size of the whole graph."""
        if _forked or size <= SMALL:
            return self.serial
        _start_threads()
        return self.parallel


def _renamed(function: Kernel, suffix: str) -> Kernel:
    """A copy of a function under another name."""
    assert isinstance(function, FunctionType)
    copy = FunctionType(function.__code__, function.__globals__, function.__name__ + suffix)
    copy.__qualname__, copy.__module__ = copy.__name__, function.__module__
    return copy


def _compiled(function: Kernel, **options: Any) -> Kernel:
    compiled: Kernel
    try:
        compiled = nb.njit(cache=True, **options, **_OPTIONS)(function)
    except RuntimeError:  # a read-only installation: there is no folder for the cache
        log.info("There is no writable folder for compiled kernels; they are compiled anew in every process.")
        compiled = nb.njit(cache=False, **options, **_OPTIONS)(function)
    return compiled


def kernel(parallel: bool = False, inline: bool = False, ordered: bool = False) -> Callable[[Kernel], Any]:
    """Compile a kernel when it is first called and keep it on disk.

    With ``ordered`` the compiler keeps the order of operations, where that prevents overflow.
    """
    fastmath = _ORDERED if ordered else _FAST
    if parallel:
        return partial(_Parallel, fastmath=fastmath)
    return partial(_compiled, inline="always" if inline else "never", fastmath=fastmath)
