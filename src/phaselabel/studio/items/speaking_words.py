"""Texts and the members of a class in; the words of a text that speak for the class out."""

import re

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: A word of fewer letters is not counted.
MIN_LETTERS = 3

#: A word speaks for a class if it is this many times more common there than elsewhere.
MIN_RATIO = 2.0

#: A word speaks for a class if at least this many of its texts have it.
MIN_TEXTS = 2

#: At most this many different words of a text are marked, those that speak loudest.
MAX_WORDS = 12

WORD = re.compile(rf"[^\W\d_]{{{MIN_LETTERS},}}")


class SpeakingWords:
    """Which texts have which words.

    Parameters
    ----------
    texts : list of str
        The texts.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts, self._numbers = texts, dict[str, int]()
        rows, columns = [], []
        for row, text in enumerate(texts):
            for word in {found.group().casefold() for found in WORD.finditer(text)}:
                rows.append(row)
                columns.append(self._numbers.setdefault(word, len(self._numbers)))
        ones = np.ones(len(rows), np.float32)
        shape = (len(texts), max(1, len(self._numbers)))
        self._has = sparse.csc_array((ones, (rows, columns)), shape=shape)

    def places(self, row: int, members: NDArray[np.bool_]) -> list[list[int]]:
        """Return first and last character of every word of a text that is more common in a class.

        The share of texts with the word is compared, with one more text of each kind counted on both sides.

        Examples
        --------
        >>> words = SpeakingWords(["red apple pie", "green apple", "steel bolt", "steel nut"])
        >>> words.places(0, np.array([True, True, False, False]))
        [[4, 9]]
        """
        found = [
            (match.start(), match.end(), match.group().casefold())
            for match in WORD.finditer(self._texts[row])
        ]
        n_in, n_out = int(members.sum()), int((~members).sum())
        ratio = {}
        for word in {word for _, _, word in found}:
            k = self._numbers[word]
            holders = self._has.indices[self._has.indptr[k] : self._has.indptr[k + 1]]
            inside = int(members[holders].sum())
            outside = len(holders) - inside
            if inside < MIN_TEXTS:
                continue
            ratio[word] = ((inside + 1) / (n_in + 2)) / ((outside + 1) / (n_out + 2))
        loudest = sorted((word for word in ratio if ratio[word] >= MIN_RATIO), key=lambda word: -ratio[word])
        marked = set(loudest[:MAX_WORDS])
        return [[start, end] for start, end, word in found if word in marked]
