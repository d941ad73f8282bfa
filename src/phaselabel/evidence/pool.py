"""Log-probabilities of several experts in, one probability per class and row out.

The logarithms are added up with weights that are shared by all classes. Held-back labels choose the weights,
starting from a prior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from phaselabel.evidence.folds import Folds, class_weights
from phaselabel.few_labels.policy import FIT

#: The prior weight of the models of the rows together.
ROWS_WEIGHT = 1.3

#: The prior weight of the propagations on graphs together.
GRAPH_WEIGHT = 0.5

#: The prior weight of the spread with one label per class; it falls with the square of their number.
SPREAD_WEIGHT = 2.0

#: The prior weight of the rows' opinion carried along a graph of its own.
CARRIED_WEIGHT = 0.5

#: The deviation of one expert's weight from the prior, and again of all weights of a kind along the prior:
#: ten labels tell a little of whether rows or graph are worth more, hardly which of four models is.
OWN_DEVIATION, KIND_DEVIATION = 0.3, 0.3

#: Where few hidden labels are found by no expert, every weight would be 0, and nothing decided. Together the
#: weights are at least this share of the prior.
LEAST_SHARE = 0.1

#: The precision of the biases of the classes around 0.
BIAS_PRECISION = 1.0

#: The largest weight of the evidence in the flow.
MOST_VOICE = 100.0

Table = NDArray[np.floating[Any]]


def spread_weight(labels_per_class: float) -> float:
    """The prior weight of the spread; 0 where a fit to the graph alone spreads no labels.

    Examples
    --------
    >>> spread_weight(1), spread_weight(2), spread_weight(20), spread_weight(51)
    (2.0, 0.5, 0.005, 0.0)
    """
    few = labels_per_class <= FIT.spread_up_to
    return SPREAD_WEIGHT / max(labels_per_class, 1) ** 2 if few else 0.0


def prior_weights(kinds: list[str], labels_per_class: float) -> NDArray[np.float64]:
    """The weight of every expert before any label is held back.

    Examples
    --------
    >>> prior_weights(["rows", "rows", "graph", "spread"], 2.0).tolist()
    [0.65, 0.65, 0.5, 0.5]
    """
    total = {
        "rows": ROWS_WEIGHT,
        "graph": GRAPH_WEIGHT,
        "spread": spread_weight(labels_per_class),
        "carried": CARRIED_WEIGHT,
    }
    return np.array([total[kind] / kinds.count(kind) for kind in kinds])


def prior_precision(
    kinds: list[str], prior: NDArray[np.float64], together: float = KIND_DEVIATION
) -> NDArray[np.float64]:
    """The inverse covariance of the weights: own deviations, and a common one for all experts of a kind."""
    covariance = OWN_DEVIATION**2 * np.eye(len(kinds))
    for kind in set(kinds):
        common = np.where([other == kind for other in kinds], prior, 0)
        covariance += together**2 * np.outer(common, common) / max(float(common @ common), 1e-12)
    return np.asarray(np.linalg.inv(covariance))


def fitted_weights(
    tables: Table,
    y: NDArray[np.integer[Any]],
    prior: NDArray[np.float64],
    precision: NDArray[np.float64],
    shares: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The most likely weights, none negative, and a bias per class, by labels hidden from the experts.

    Held-back labels count by class, so that a pool without bias gives every class the same share of them. The
    biases see to that: without them a preference of the pool for a class would be taken for the class size.

    Parameters
    ----------
    tables : ndarray of shape (m, n_experts, K)
        Log-probabilities of each hidden label's row.
    y : ndarray of int, shape (m,)
        The hidden labels.
    prior : ndarray of shape (n_experts,)
        The weights to start from, and to stay near where there are few labels.
    precision : ndarray of shape (n_experts, n_experts)
        How near to it, see :func:`prior_precision`.
    shares : ndarray of shape (m,), optional
        How much of a label every row is, where several rows say the same; 1 by default.

    Returns
    -------
    weights : ndarray of shape (n_experts,)
        With the biases, the minimum of the class-balanced log-loss plus
        ``(w - prior)ᵀ P (w - prior) / 2 + BIAS_PRECISION |bias|² / 2`` with the precision P.
    bias : ndarray of shape (K,)
        To be added to the log-probabilities; 0 for a class of which no label is hidden, and 0 on average for
        the others: else the hidden labels of one class would speak for it against a class that has none.
    """
    _, n_experts, n_classes = tables.shape
    if not len(y):
        return prior, np.zeros(n_classes)
    tables = tables.astype(np.float64)
    balance, truth = class_weights(y, n_classes, shares), np.eye(n_classes)[y]
    of_truth = tables[np.arange(len(y)), :, y]
    judged = np.bincount(y, minlength=n_classes) > 0

    def among_judged(of_classes: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(judged, of_classes - of_classes[judged].mean(), 0)

    def loss(both: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, bias = both[:n_experts], among_judged(both[n_experts:])
        logits = np.einsum("rek,e->rk", tables, weights) + bias
        total = logsumexp(logits, axis=1)
        p = np.exp(logits - total[:, None])
        away = weights - prior
        pull = precision @ away
        value = balance @ (total - of_truth @ weights - bias[y])
        value += 0.5 * (away @ pull + BIAS_PRECISION * bias @ bias)
        slope = np.einsum("rek,rk->e", tables, balance[:, None] * p) - balance @ of_truth
        slopes = slope + pull, among_judged(balance @ (p - truth) + BIAS_PRECISION * bias)
        return float(value), np.concatenate(slopes)

    bounds = [(0, None)] * n_experts + [(None, None)] * n_classes
    start = np.concatenate([prior, np.zeros(n_classes)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights, bias = found[:n_experts], among_judged(found[n_experts:])
    return (weights if weights.sum() > LEAST_SHARE * prior.sum() else LEAST_SHARE * prior), bias


def pooled(tables: Table, weights: NDArray[np.float64], bias: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logits of rows from the log-probabilities of experts, (rows, experts, classes)."""
    return np.einsum("rek,e->rk", tables, weights) + bias


def tempering(n_hidden: int) -> float:
    """The factor of the log-odds in a confidence: ⅙ where no label could be hidden, near 1 from 50 on.

    Examples
    --------
    >>> round(tempering(0), 2), round(tempering(50), 2)
    (0.17, 0.91)
    """
    return (n_hidden + 1) / (n_hidden + 6)


@dataclass(frozen=True, eq=False)
class Figures:
    """How many hidden labels were found: by the rows alone, by the graph alone, and together.

    Attributes
    ----------
    rows, graph, together : float or None
        Shares of the hidden labels; None where there is no such expert, or no label could be hidden.
    n_hidden : int
        The number of labels that were hidden in turn.
    n_shown : float
        The number of labels that were shown in a turn, on average.
    """

    rows: float | None
    graph: float | None
    together: float | None
    n_hidden: int
    n_shown: float = 0.0

    @classmethod
    def of(cls, tables: Table, kinds: list[str], folds: Folds, together: Table) -> "Figures":
        """Judge experts by labels that they were not shown; every class counts the same."""
        y = folds.labels[folds.judged]
        if not len(y):
            return cls(None, None, None, 0)
        balance = class_weights(y, folds.n_classes)
        shown = len(folds.known) - len(y) / folds.n_hidden

        def share(logits: Table) -> float:
            return float(np.average(logits.argmax(axis=1) == y, weights=balance))

        def by(*wanted: str) -> float | None:
            mine = [i for i, kind in enumerate(kinds) if kind in wanted]
            return share(tables[:, mine].sum(axis=1)) if mine else None

        return cls(by("rows"), by("graph", "spread"), share(together), len(y), shown)
