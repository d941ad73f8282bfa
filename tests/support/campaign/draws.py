"""Bytes in, decisions out: hostile arguments of functions, from random bytes, atheris or hypothesis."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from campaign.mutations import EDGES, REALS, WORDS


class Draws(Protocol):
    """Where decisions come from."""

    def whole(self, low: int, high: int) -> int:
        """A whole number between two others, both included."""


class ByteDraws:
    """Decisions from bytes, zeros when they run out: few changed bytes change few decisions."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def whole(self, low: int, high: int) -> int:
        """A whole number between two others, both included."""
        size = max(1, ((high - low).bit_length() + 7) // 8)
        piece = self._data[self._at : self._at + size]
        self._at += size
        return low + int.from_bytes(piece, "little") % (high - low + 1)


class HypothesisDraws:
    """Decisions of hypothesis, which makes failing ones smaller."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def whole(self, low: int, high: int) -> int:
        """A whole number between two others, both included."""
        from hypothesis import strategies

        return int(self._data.draw(strategies.integers(low, high)))


def one_of(draws: Draws, options: Sequence[Any]) -> Any:
    """One of some options."""
    return options[draws.whole(0, len(options) - 1)]


def chance(draws: Draws, share: float) -> bool:
    """True in about this share of the cases."""
    return draws.whole(0, 255) >= 256 * (1 - share)


def odd(draws: Draws) -> Any:
    """A value that no parameter expects."""
    kind = draws.whole(0, 7)
    if kind == 0:
        return one_of(draws, EDGES)
    if kind == 1:
        return -one_of(draws, EDGES)
    if kind == 2:
        return one_of(draws, REALS)
    if kind == 3:
        return one_of(draws, WORDS)
    if kind == 4:
        return one_of(draws, (None, True, False, (), [], {}, b"", b"x", object, math, 1j, range(3)))
    if kind == 5:
        return one_of(
            draws, (np.float32(0.5), np.int8(-1), np.bool_(True), np.str_("a"), np.datetime64("NaT"), np.nan)
        )
    if kind == 6:
        return one_of(
            draws,
            (
                np.zeros(0),
                np.zeros((2, 2)),
                np.array("a"),
                np.array([None]),
                np.ones((1, 1, 1)),
                np.ma.masked,
            ),
        )
    return sparse.csr_array(np.eye(2)) if chance(draws, 0.5) else {"a": 1}


def parameters(draws: Draws, usual: dict[str, Sequence[Any]], share: float = 0.08) -> dict[str, Any]:
    """Arguments by name: usual ones, left out, or odd ones."""
    out = {}
    for name, values in usual.items():
        if chance(draws, 0.5):
            continue
        out[name] = odd(draws) if chance(draws, share) else one_of(draws, values)
    return out


def real(draws: Draws) -> float:
    """A number, now and then an extreme one."""
    if chance(draws, 0.03):
        return float(one_of(draws, REALS))
    return (draws.whole(0, 4000) - 2000) / 100


def matrix(draws: Draws, max_rows: int = 14, max_columns: int = 4) -> Any:
    """Rows of features: clusters, copies, constants, extreme values, other types, sparse or not."""
    n, d = draws.whole(0, max_rows), draws.whole(1, max_columns)
    if chance(draws, 0.9):
        n = max(n, 3)
    X = np.array([[real(draws) for _ in range(d)] for _ in range(n)]).reshape(n, d)
    if chance(draws, 0.2) and n:
        X[draws.whole(0, n - 1)] = X[draws.whole(0, n - 1)]
    if chance(draws, 0.1):
        X[:] = X[:1] if n else 0
    if chance(draws, 0.15):
        X = X * one_of(draws, (1e-300, 1e-160, 1e-20, 1e10, 1e100, 1e153, 1e160, 1e290))
    return _typed(draws, X)


def _typed(draws: Draws, X: Any) -> Any:
    """The rows, in one case of three in another type."""
    kind = draws.whole(0, 19)
    with np.errstate(all="ignore"):
        if kind == 0:
            return X.astype(np.float32)
        if kind == 1:
            return np.nan_to_num(X).clip(-100, 100).astype(np.int64) + one_of(draws, (0, 2**53, 2**62))
        if kind == 2:
            return np.nan_to_num(X).clip(0, 255).astype(np.uint8)
        if kind == 6:
            return X.astype(np.float16)
    if kind == 3:
        return sparse.csr_array(X)
    if kind == 4:
        return X.tolist()
    if kind == 5:
        return X[:, ::-1].T.copy().T[::-1]
    return odd(draws) if kind == 7 else X


def n_rows(X: Any) -> int:
    """The number of rows of whatever it is."""
    try:
        return int(np.shape(X)[0]) if not sparse.issparse(X) else int(X.shape[0])
    except (IndexError, TypeError, ValueError):
        return 3


def labels(draws: Draws, n: int) -> Any:
    """Labels of one type or of several, most of them not known."""
    pools = (
        (0, 1),
        (0, 1, 2),
        ("a", "b"),
        ("a", "a\0", "b"),
        (b"a", b"b"),
        (2**53, 2**53 + 1),
        (2**63, 2**63 + 1),
        (1.5, 2.5),
        (True, False),
        ((1, 2), (3, 4)),
        (np.datetime64("2020-01-01"), np.datetime64("2021-01-01")),
        (0, "0"),
        (1, True),
    )
    pool = pools[0] if chance(draws, 0.5) else one_of(draws, pools)
    unknown = one_of(draws, (-1, -1, -1, None, np.nan, "?"))
    y = [one_of(draws, pool) if chance(draws, 0.4) else unknown for _ in range(n)]
    if n >= 2 and chance(draws, 0.9):
        y[0], y[1] = pool[0], pool[1]
    if chance(draws, 0.3):
        out = np.empty(n, object)
        out[:] = y
        return out
    if chance(draws, 0.03):
        return odd(draws)
    return y
