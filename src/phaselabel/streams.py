"""A random state and a purpose in, a generator with a stream for that purpose alone out."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

#: A seed, or anything else that :func:`numpy.random.default_rng` takes.
RandomState = (
    int
    | Sequence[int]
    | np.random.SeedSequence
    | np.random.BitGenerator
    | np.random.Generator
    | np.random.RandomState
    | None
)


def generator(random_state: RandomState, purpose: str) -> np.random.Generator:
    """A generator whose stream depends on the seed and on the purpose.

    ``np.random.default_rng(seed)`` gives the same numbers everywhere: with one seed for both, a random start
    would be a function of the random points. Here two purposes with one seed have independent streams.

    Parameters
    ----------
    random_state : int, SeedSequence, Generator or None
        A seed; a generator is used as it is, since each use advances it.
    purpose : str
        What the numbers are for, one word: "points", "labels", "start".

    Returns
    -------
    numpy.random.Generator
        The generator.

    Examples
    --------
    >>> generator(0, "points").random() == generator(0, "points").random()
    True
    >>> generator(0, "points").random() == generator(0, "start").random()
    False
    """
    try:
        if isinstance(random_state, np.random.Generator | np.random.BitGenerator | np.random.RandomState):
            return np.random.default_rng(random_state)
        parent = _seed_sequence(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, a whole number of at least 0, a SeedSequence or a Generator; "
            f"got {random_state!r}."
        ) from None
    # A checksum instead of 0, 1, 2: the caller may use the children of the same seed sequence directly.
    key = (*parent.spawn_key, zlib.crc32(purpose.encode()))
    return np.random.default_rng(np.random.SeedSequence(parent.entropy, spawn_key=key))


def _seed_sequence(random_state: Any) -> np.random.SeedSequence:
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    return np.random.SeedSequence(random_state)
