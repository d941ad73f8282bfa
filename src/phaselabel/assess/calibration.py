"""Votes on rows and a few labels held back in, probabilities that mean what they say out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

#: log-odds of being right = BASE + SLOPE · x, with x the centred share of a row's own class in its vote. The
#: prior says 50 % where the vote is even and 73 % where it is unanimous: a flow smooths its own votes, which
#: therefore say little where no label was held back (docs/decisions/0054).
BASE, SLOPE = 0.0, 1.0

#: The standard deviation of BASE and of SLOPE under the prior.
DEVIATION = 1.5

#: A given label that the flow agrees with is right with at least this probability.
GIVEN_LABEL = 0.97

#: How far, in relation, a row's own class is above every other one where they would be equal.
TIE = 1e-9


@dataclass(frozen=True)
class Calibration:
    """The log-odds ``base + slope · x`` that a label is right, x = 2 · share - 1."""

    base: float = BASE
    slope: float = SLOPE
    n_held: int = 0

    def __call__(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that a row with this share of votes for its class is right."""
        return np.asarray(expit(self.base + self.slope * (2 * share - 1)))


#: What votes say to somebody who rather doubts the given labels; wrong ones are sought by it.
TRUSTED_VOTES = Calibration(base=2.0, slope=5.0)


def calibrate(
    share: NDArray[np.float64],
    right: NDArray[np.bool_],
    prior: Calibration = Calibration(),
    deviation: float = DEVIATION,
) -> Calibration:
    """Fit to labels that were held back, pooled with the prior: the fewer there are, the more it counts.

    Examples
    --------
    >>> calibrate(np.zeros(0), np.zeros(0, bool)) == Calibration()
    True
    >>> calibrate(np.full(100, 0.9), np.arange(100) < 60)(np.array([0.9])).round(1)
    array([0.6])
    """
    x = np.column_stack([np.ones(len(share)), 2 * share - 1])
    middle, precision = np.array([prior.base, prior.slope]), 1 / deviation**2
    theta = middle.copy()

    def regret(theta: NDArray[np.float64]) -> float:
        z = x @ theta
        return float(np.sum(np.logaddexp(0, z) - right * z) + 0.5 * precision * np.sum((theta - middle) ** 2))

    for _ in range(50):  # Newton on a strictly convex function; from far off a full step overshoots
        p = expit(x @ theta)
        slope = x.T @ (right - p) - precision * (theta - middle)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + precision * np.eye(2)
        step = np.linalg.solve(hessian, slope)
        while regret(theta + step) > regret(theta) and np.abs(step).max() > 1e-9:
            step = step / 2
        theta = theta + step
    return Calibration(float(theta[0]), float(theta[1]), len(share))


def confidence(
    share: NDArray[np.float64],
    arm: NDArray[np.integer],
    agrees: NDArray[np.bool_],
    calibration: Calibration | None,
    n_classes: int,
) -> NDArray[np.float64]:
    """The probability that each row's label is right; 0 where a row has no class.

    Parameters
    ----------
    share : ndarray
        The share of each row's own class in the vote of its neighbours.
    arm : ndarray of int
        The class of each row, -1 where there is none.
    agrees : ndarray of bool
        Where the class is also the given label.
    calibration : Calibration or None
        How shares turn into probabilities; None if they are probabilities already.
    n_classes : int
        K.

    Returns
    -------
    ndarray
        At least 1/K where there is a class.
    """
    sure = share if calibration is None else calibration(share)
    sure = np.maximum(sure, 1 / n_classes) if n_classes > 1 else np.ones(len(arm))
    return np.where(arm >= 0, np.where(agrees, np.maximum(sure, GIVEN_LABEL), sure), 0.0)


def as_distributions(
    votes: NDArray[np.float64], arm: NDArray[np.integer], confidence: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities in which a row's own class has its confidence and the votes share the rest.

    The row's own class comes first: what the votes give to another class beyond it is spread evenly, and a
    confidence that leaves more to every other class is raised until it does not.

    Examples
    --------
    >>> even = np.array([[0.5, 0.5]])
    >>> as_distributions(even, np.array([1]), np.array([0.3])).round(6).tolist()
    [[0.5, 0.5]]
    >>> int(as_distributions(even, np.array([1]), np.array([0.3])).argmax())
    1
    """
    n_classes = votes.shape[1]
    out = votes.copy()
    rows = np.flatnonzero(arm >= 0)
    own = arm[rows]
    sure = np.maximum(confidence[rows], min((1 + TIE) / n_classes, 1.0))
    out[rows, own] = 0
    rest = out[rows].sum(axis=1, keepdims=True)
    even = np.full((len(rows), n_classes), 1 / max(n_classes - 1, 1))
    even[np.arange(len(rows)), own] = 0
    shares = np.where(rest > 0, out[rows] / np.where(rest > 0, rest, 1), even)
    left = (1 - sure)[:, None]
    top = shares.max(axis=1, keepdims=True) * left
    flat = left / max(n_classes - 1, 1)
    ceiling = np.maximum(sure[:, None] * (1 - TIE), flat)
    mix = np.where(top > ceiling, (ceiling - flat) / np.where(top > flat, top - flat, 1), 1.0)
    out[rows] = (mix * shares + (1 - mix) * even) * left
    out[rows, own] = sure
    out[arm < 0] = 0
    return out


def calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy, over 15 bins of confidence.

    Examples
    --------
    >>> round(calibration_error(np.full(10, 0.8), np.arange(10) < 8), 6)
    0.0
    """
    gaps = np.bincount(np.minimum((confidence * 15).astype(int), 14), confidence - right)
    return float(np.abs(gaps).sum() / max(len(right), 1))
