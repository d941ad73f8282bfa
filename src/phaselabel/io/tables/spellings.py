"""Labels as people write them in, which of them look like one class, or like no label, out."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Words that often mean "no label", in small letters.
MEANS_MISSING = frozenset("n/a na n.a. nan null none nil - -- . ? unknown missing #n/a tbd".split())


def look_alikes(counts: Counter[Any]) -> list[list[str]]:
    """Groups of labels that differ by case or spaces only, the most frequent spelling first.

    Examples
    --------
    >>> look_alikes(Counter({"Malignant": 1, "malignant": 5, "malignant ": 2, "benign": 4}))
    [['malignant', 'malignant ', 'Malignant']]
    """
    groups: dict[str, list[str]] = {}
    for label, _ in counts.most_common():
        if isinstance(label, str):
            groups.setdefault(_bare(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def missing_words(labels: Iterable[Any]) -> list[str]:
    """The labels that look like "no label".

    Examples
    --------
    >>> missing_words(["cat", "N/A", "unknown"])
    ['N/A', 'unknown']
    """
    return [label for label in labels if isinstance(label, str) and _bare(label) in MEANS_MISSING]


def joined(values: NDArray[np.object_]) -> NDArray[np.object_]:
    """Labels in which each group of look-alikes has its most frequent spelling, without spaces around it."""
    names = {label: group[0].strip() for group in look_alikes(Counter(values.tolist())) for label in group}
    out = np.empty(len(values), object)
    out[:] = [names.get(value, value.strip() if isinstance(value, str) else value) for value in values]
    return out


def _bare(label: str) -> str:
    return " ".join(label.split()).casefold()
