"""Logits of unlabelled rows in; what the sizes of the classes add to them, and how far to trust it, out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from phaselabel.few_labels.class_sizes import ClassSizes

#: How strongly class sizes are pulled to those of the labels, in rows per row.
LABELS_PULL = 0.1

#: Sizes are estimated of classes with this many labels: a jackknife over two folds is often sure and wrong.
LEAST_FOR_SIZES = 3

#: Sizes are trusted in full if the hidden labels are found this far above chance, of the way to all of them;
#: below, the less the fewer are found: an opinion that tells no classes apart has no sizes to tell.
INFORMED = 0.3

#: The exponents of the labels' own sizes that are compared: 1 for these sizes, which rows that say nothing
#: leave as they are, 0 for equal ones.
EXPONENTS = np.linspace(1, 0, 21)

Table = NDArray[np.floating[Any]]


def label_offsets(counts: NDArray[np.integer[Any]], logits: Table) -> NDArray[np.float64]:
    """log(K π) for the class sizes π that the numbers of labels suggest; 0 if all classes have as many.

    The labels of random rows show how large the classes are; those of rows that somebody has chosen do not.
    So the log-odds of the counts are shrunk by what chance alone would give them (James-Stein; the variance
    of log n is 1 / n), then to that part of them under which the unlabelled rows are most likely.

    Parameters
    ----------
    counts : ndarray of int, shape (K,)
        The number of labels of every class.
    logits : ndarray of shape (m, K)
        Those of a sample of unlabelled rows, with equal class sizes.

    Returns
    -------
    ndarray of shape (K,)
        What to add to the logits.

    Examples
    --------
    >>> rows = np.repeat([[2.0, -2.0], [-2.0, 2.0]], [8, 2], axis=0)
    >>> label_offsets(np.array([5, 5]), rows).tolist()
    [0.0, 0.0]
    >>> label_offsets(np.array([40, 10]), rows).round(2).tolist()
    [0.43, -0.82]
    >>> bool(label_offsets(np.array([10, 40]), rows).any())  # the rows speak against it
    False
    """
    smooth = counts + 0.5
    odds = np.log(smooth / smooth.mean())
    by_chance = np.sum(1 / smooth - 1 / smooth.sum())
    odds *= max(0.0, 1 - by_chance / max(float(odds @ odds), 1e-12))
    if not odds.any() or not len(logits):
        return np.asarray(odds)
    p = log_softmax(np.asarray(logits, np.float64), axis=1)
    fits = [logsumexp(p + log_softmax(share * odds), axis=1).sum() for share in EXPONENTS]
    return np.asarray(EXPONENTS[int(np.argmax(np.round(fits, 6)))] * odds)


def likely_offsets(logits: Table, by_labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(K π) for the class sizes π under which the rows are most likely (EM), pulled to the labels'."""
    p = np.exp(log_softmax(np.asarray(logits, np.float64), axis=1))
    k = p.shape[1]
    sizes = expected = np.exp(by_labels - logsumexp(by_labels))
    for _ in range(200):
        shares = p * sizes
        shares /= shares.sum(axis=1, keepdims=True)
        new = (shares.mean(axis=0) + LABELS_PULL * expected) / (1 + LABELS_PULL)
        done = np.abs(new - sizes).max() < 1e-5
        sizes = new
        if done:
            break
    return np.log(k * sizes)


def trust_in_sizes(turns: list[Table], n_dealt: int, by_labels: NDArray[np.float64]) -> float:
    """How far the estimated class sizes depend on the rows, and not on which labels were given.

    Parameters
    ----------
    turns : list of ndarray
        Logits of a sample of unlabelled rows: one for every hidden fold, the last with all labels.
    n_dealt : int
        The number of folds.
    by_labels : ndarray of shape (K,)
        What the numbers of labels suggest, see :func:`label_offsets`.

    Returns
    -------
    float
        From 0 to 1: James-Stein shrinkage towards the labels' own sizes, with the variance of a jackknife
        over the folds; the fewer folds, the larger it may truly be.
    """
    if len(turns) < 2 or not len(turns[-1]):
        return 0.0
    each = [likely_offsets(logits, by_labels) - by_labels for logits in turns]
    variance = n_dealt * np.mean([np.sum((other - each[-1]) ** 2) for other in each[:-1]])
    return max(0.0, 1 - float(variance) / max(float(np.sum(each[-1] ** 2)), 1e-12))


def found_offsets(
    logits: Table, turns: list[Table], counts: NDArray[np.integer[Any]], n_dealt: int, found: float
) -> tuple[NDArray[np.float64], float]:
    """What the sizes of the classes add to the logits, and how far the rows were trusted on it.

    Where some classes have enough labels and others have not, only the former are compared with each other.

    Parameters
    ----------
    logits : ndarray of shape (m, K)
        Those of a sample of unlabelled rows.
    turns : list of ndarray
        Those by which the trust is judged, see :func:`trust_in_sizes`.
    counts : ndarray of int, shape (K,)
        The number of labels of every class.
    n_dealt : int
        The number of folds.
    found : float
        The share of the hidden labels that are found, if every class counts the same.

    Returns
    -------
    offsets : ndarray of shape (K,)
        What to add to the logits.
    trust : float
        From 0, the numbers of labels decide, to 1, the unlabelled rows do.
    """
    by_labels, enough = label_offsets(counts, logits), counts >= LEAST_FOR_SIZES
    chance = 1 / len(counts)
    if enough.sum() < 2 or found <= chance:
        return by_labels, 0.0
    informed = min(1.0, (found - chance) / (1 - chance) / INFORMED)
    trust = informed * trust_in_sizes(turns, n_dealt, by_labels)
    if trust == 0:  # so it is where all rows are labelled
        return by_labels, 0.0
    away = trust * (likely_offsets(logits, by_labels) - by_labels)
    return by_labels + np.where(enough, away - away[enough].mean(), 0), trust


def offsets_for_sizes(logits: Table, sizes: ClassSizes) -> NDArray[np.float64]:
    """The offsets with which the mean probabilities of the rows lie within given sizes."""
    offsets = np.zeros(logits.shape[1])
    for _ in range(100):
        mean = np.exp(log_softmax(logits + offsets, axis=1)).mean(axis=0)
        step = np.log(np.clip(mean, sizes.low, sizes.high) / np.maximum(mean, 1e-12))
        offsets += step
        if np.abs(step).max() < 1e-4:
            break
    return offsets - offsets.mean()
