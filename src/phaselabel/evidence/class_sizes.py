"""Logits of unlabelled rows in; what the sizes of the classes add to them, and how far to trust it, out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from phaselabel.few_labels.class_sizes import ClassSizes

#: How strongly class sizes are pulled to even ones, in rows per row.
EVEN_PULL = 0.1

Table = NDArray[np.floating[Any]]


def likely_offsets(logits: Table) -> NDArray[np.float64]:
    """log(K π) for the class sizes π under which the rows are most likely (EM), pulled to even ones."""
    p = np.exp(log_softmax(np.asarray(logits, np.float64), axis=1))
    k = p.shape[1]
    sizes = np.full(k, 1 / k)
    for _ in range(200):
        shares = p * sizes
        shares /= shares.sum(axis=1, keepdims=True)
        new = (shares.mean(axis=0) + EVEN_PULL / k) / (1 + EVEN_PULL)
        done = np.abs(new - sizes).max() < 1e-5
        sizes = new
        if done:
            break
    return np.log(k * sizes)


def trust_in_sizes(turns: list[Table], n_dealt: int) -> float:
    """How far the estimated class sizes depend on the rows, and not on which labels were given.

    Parameters
    ----------
    turns : list of ndarray
        Logits of a sample of unlabelled rows: one for every hidden fold, the last with all labels.
    n_dealt : int
        The number of folds.

    Returns
    -------
    float
        From 0 to 1: James-Stein shrinkage, with the variance of a jackknife over the folds; the fewer folds,
        the larger it may truly be.
    """
    if len(turns) < 2 or not len(turns[-1]):
        return 0.0
    each = [likely_offsets(logits) for logits in turns]
    variance = n_dealt * np.mean([np.sum((other - each[-1]) ** 2) for other in each[:-1]])
    return max(0.0, 1 - float(variance) / max(float(np.sum(each[-1] ** 2)), 1e-12))


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
