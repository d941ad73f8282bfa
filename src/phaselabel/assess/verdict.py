"""Hidden labels in, one sentence for the person who asked out: how many of the labels are right."""

from html import escape

import numpy as np

from phaselabel.assess.hidden import HeldOut


def verdict(held: HeldOut) -> str:
    """Say how many labels are expected to be right, by those that were hidden.

    Examples
    --------
    >>> import numpy as np
    >>> zeros = np.zeros(50, np.int32)
    >>> verdict(HeldOut(np.arange(50), zeros, zeros, np.ones(50), 5, 0, np.ones((50, 2))))[:59]
    '85 to 100 of 100 labels are expected to be right, because a'
    """
    if not len(held.rows):
        return (
            "How many labels are right is not known: every class has a single label, so none could be hidden "
            "to see whether it is found again. Label a second row of each class."
        )
    low, high = held.interval()
    missing = held.probabilities.shape[1] - len(np.unique(held.given))
    rest = f" No label of {missing} class{'es'[: 2 * (missing != 1)]} could be hidden." if missing else ""
    plainly = held.n_found / len(held.rows)
    weighed = abs(held.accuracy - plainly) >= 0.005
    if held.accuracy == 1:  # a few labels that were all found don't make all others right
        return (
            f"{100 * low:.0f} to 100 of 100 labels are expected to be right, because all {len(held.rows):,} "
            f"known labels that were hidden were found again.{rest}"
        )
    return (
        f"About {100 * held.accuracy:.0f} of 100 labels are expected to be right ({100 * low:.0f} to "
        f"{100 * high:.0f}), because {held.n_found:,} of {len(held.rows):,} known labels were found again "
        f"while they were hidden{', and each class counts as it is frequent' if weighed else ''}.{rest}"
    )


def verdict_on_strokes(found: float | None) -> str:
    """Say how good a segmentation is, by the share of hidden strokes that was found again.

    Examples
    --------
    >>> verdict_on_strokes(0.973)
    'Of marks in strokes that were hidden, 97 of 100 were found again; pixels along edges are harder.'
    """
    if found is None:
        return (
            "How many pixels are right is not known: no stroke was hidden to see whether it is found again. "
            "That takes evidence, and a second stroke of a class."
        )
    return (
        f"Of marks in strokes that were hidden, {100 * found:.0f} of 100 were found again; pixels along "
        "edges are harder."
    )


def as_html(heading: str, sentences: list[str], facts: dict[str, str]) -> str:
    """A small block of HTML for a notebook; every word is escaped."""
    cell = "<td style='text-align:left'>"
    rows = "".join(
        f"<tr>{cell}{escape(name)}</td>{cell}{escape(value)}</td></tr>" for name, value in facts.items()
    )
    body = "".join(f"<p style='margin:.3em 0'>{escape(sentence)}</p>" for sentence in sentences)
    return f"<div><b>{escape(heading)}</b>{body}<table>{rows}</table></div>"
