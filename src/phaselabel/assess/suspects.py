"""Given labels and what was believed of them while hidden in, the labels that are probably wrong out.

A label that the method did not expect is either wrong, or one of the cases in which the method is. Both
shares are estimated together, so where the method is often wrong it accuses little.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A label is suspected if it is wrong with at least this probability.
SUSPECTED = 0.6

#: The method is never surer than this that a label is wrong: rows exist that look like another class.
SUREST = 0.9

#: The mean share of wrong labels before any is looked at.
EXPECTED_WRONG = 0.15

#: The shares of wrong labels that are considered.
SHARES = np.concatenate([[0.0], np.geomspace(0.002, 0.4, 25)])

#: The factors of the log-odds that are considered.
SHARPNESS = np.geomspace(0.3, 6.0, 25)


@dataclass(frozen=True, eq=False)
class Suspects:
    """Which given labels are probably wrong, and how often that suspicion is wrong itself.

    Attributes
    ----------
    rows : ndarray of int
        The suspected rows, the surest first.
    probability : ndarray
        For each, the probability that its label is wrong.
    likely : ndarray of int
        For each, the most probable of the other classes.
    n_judged : int
        The number of labels that were hidden and looked at.
    share_wrong : float
        The estimated share of wrong labels among them.
    """

    rows: NDArray[np.int64]
    probability: NDArray[np.float64]
    likely: NDArray[np.int64]
    n_judged: int
    share_wrong: float

    @property
    def expected_false(self) -> float:
        """The number of suspected labels that are expected to be right."""
        return float(np.sum(1 - self.probability))

    def __str__(self) -> str:
        if not self.n_judged:
            return "not known: no label could be hidden"
        if not len(self.rows):
            return f"none of {self.n_judged:,} labels looks wrong"
        few = max(round(self.expected_false), 1)
        return (
            f"{len(self.rows):,} of {self.n_judged:,} labels look wrong; about {few:,} of these are expected "
            "to be right"
        )


def find_suspects(
    rows: NDArray[np.int64], given: NDArray[np.integer[Any]], believed: NDArray[np.floating[Any]]
) -> Suspects:
    """Find the labels that are wrong with a probability of at least 0.6.

    The model: the true class of a row has the probabilities ``believed``, sharpened by a factor β, times the
    frequency of the class among the labels. The given label is the true class, or, with probability η, any
    other one. The likelihood of the given labels weighs all β and η.

    Parameters
    ----------
    rows : ndarray of int, shape (m,)
        The labelled rows.
    given : ndarray of int, shape (m,)
        Their labels.
    believed : ndarray of shape (m, K)
        The probabilities of the classes, found while the label was hidden.

    Returns
    -------
    Suspects
        The rows, and how sure it is of each.

    Examples
    --------
    >>> believed = np.tile([[0.98, 0.02], [0.02, 0.98], [0.7, 0.3], [0.3, 0.7]], (25, 1))
    >>> given = np.tile([0, 1], 50)
    >>> len(find_suspects(np.arange(100), given, believed).rows)
    0
    >>> given[[0, 4, 9, 13]] = 1, 1, 0, 0
    >>> sorted(find_suspects(np.arange(100), given, believed).rows.tolist())
    [0, 4, 9, 13]
    """
    m, k = believed.shape if len(rows) else (0, 2)
    if not m or k < 2:
        return Suspects(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), m, 0.0)
    own = _own_probabilities(np.asarray(believed, np.float64), given)
    # likelihood[β, η, row] of the given label if it is right, and if it is wrong
    right = own[:, None, :] * (1 - SHARES)[None, :, None]
    wrong = (1 - own)[:, None, :] * SHARES[None, :, None] / (k - 1)
    support = np.log(right + wrong + 1e-300).sum(axis=2) - SHARES / EXPECTED_WRONG
    weight = np.exp(support - support.max())
    weight /= weight.sum()
    probability = np.einsum("bs,bsr->r", weight, wrong / (right + wrong + 1e-300))
    probability = np.minimum(probability, SUREST)
    chosen = np.flatnonzero(probability >= SUSPECTED)
    chosen = chosen[np.lexsort((own[len(SHARPNESS) // 2][chosen], -probability[chosen]))]
    share = float(weight.sum(axis=0) @ SHARES)
    others = believed[chosen] * (np.bincount(given, minlength=k) + 1)
    others[np.arange(len(chosen)), given[chosen]] = -1
    likely = others.argmax(axis=1).astype(np.int64)
    return Suspects(np.asarray(rows[chosen], np.int64), probability[chosen], likely, m, share)


def _own_probabilities(believed: NDArray[np.float64], given: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """The probability of each given label, for every sharpness."""
    m, k = believed.shape
    counts = np.bincount(given, minlength=k) + 1
    frequent = np.log(counts / counts.sum())
    log_odds = np.log(np.clip(believed, 1e-12, 1))
    out = np.empty((len(SHARPNESS), m))
    for b, sharpness in enumerate(SHARPNESS):
        logits = sharpness * log_odds + frequent
        logits -= logits.max(axis=1, keepdims=True)
        odds = np.exp(logits)
        out[b] = odds[np.arange(m), given] / odds.sum(axis=1)
    return out


def rivals_lead(votes: NDArray[np.float64], given: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """The largest share of another class in each vote, minus the share of the given label.

    Examples
    --------
    >>> rivals_lead(np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([0, 0])).round(1).tolist()
    [-0.4, 0.6]
    """
    rows = np.arange(len(given))
    others = votes.copy()
    others[rows, given] = 0
    return np.asarray(others.max(axis=1, initial=0) - votes[rows, given])
