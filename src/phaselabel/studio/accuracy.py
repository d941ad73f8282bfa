"""How guesses fared when they were asked about in; the confidence of every label and of all of them out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

#: log-odds of a right label = θ₀ + θ₁ (2 share - 1) + θ₂ logit(backing): what θ is before any answer, and the
#: standard deviations around it. Chosen on simulated conversations about eleven data sets.
PRIOR, LOOSE = (3.0, 1.5, 2.5), (2.5, 1.0, 1.0)

#: The i-th of m answers counts (i / m) to this power: it was about labels that knew less.
FORGETTING = 4

#: Draws from the posterior, and items over which each is averaged.
DRAWS, SAMPLE = 200, 2000


@dataclass(frozen=True)
class Estimate:
    """The share of right labels, and the interval in which it lies with 95 % probability."""

    mean: float
    low: float
    high: float
    answers: int


def estimate(
    share: NDArray[np.float64],
    backing: NDArray[np.floating],
    known: NDArray[np.bool_],
    past: list[tuple[float, float, bool]],
    n_classes: int,
) -> tuple[Estimate, NDArray[np.float64]]:
    """How many labels are right, judged by how often guesses were right when they were asked about.

    Questions are asked where labels are worst, so how often their guesses are right says little about the
    others, unless one allows for what made them questions. That is how well their region is backed by
    answers (:class:`~phaselabel.query.Hearing`), and nothing else: among items of equal backing it is as good
    as chance who is asked. So the log-odds of being right are a line in the backing and in the item's own
    vote; every answer is an observation, and the posterior is averaged over all items.

    Parameters
    ----------
    share : ndarray
        The share of every item's own class in its neighbours' vote; NaN where no label reaches.
    backing : ndarray
        How well its region is backed.
    known : ndarray of bool
        Which items have been answered.
    past : list of (share, backing, right)
        What was guessed before each answer, in their order.
    n_classes : int
        How many classes there are.

    Returns
    -------
    Estimate
        For all items.
    confidence : ndarray
        Of each item.
    """
    theta, covariance = _posterior(past)
    reached = np.isfinite(share)
    place = _places(np.where(reached, share, 0.5), backing)
    odds = np.maximum(expit(place @ theta), 1 / max(n_classes, 1))
    confidence = np.where(known, 1.0, np.where(reached, odds, 0.0))
    open_ = np.flatnonzero(reached & ~known)
    if not len(open_):
        mean = float(confidence.mean())
        return Estimate(mean, mean, mean, len(past)), confidence
    some = place[open_[:: max(1, len(open_) // SAMPLE)]]
    noise = np.random.default_rng(0).standard_normal((DRAWS, len(theta)))
    drawn = theta + noise @ np.linalg.cholesky(covariance).T
    means = float(known.mean()) + len(open_) / len(share) * expit(some @ drawn.T).mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(means.mean()), float(low), float(high), len(past)), confidence


def _posterior(past: list[tuple[float, float, bool]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The most likely θ, and the covariance around it."""
    weights = (np.arange(1, len(past) + 1) / max(len(past), 1)) ** FORGETTING
    told = np.array([(s, b, float(hit)) for s, b, hit in past]).reshape(-1, 3)
    x, right = _places(told[:, 0], told[:, 1]), told[:, 2]
    prior, precision = np.array(PRIOR), np.diag(1 / np.square(LOOSE))
    theta, hessian = prior, precision
    for _ in range(60):
        p = expit(x @ theta)
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + precision
        slope = x.T @ (weights * (right - p)) - precision @ (theta - prior)
        # A step of at most one: far from the solution a full Newton step overshoots.
        step = np.linalg.solve(hessian, slope)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-6:
            break
    return theta, np.asarray(np.linalg.inv(hessian), np.float64)


def _places(share: NDArray[np.floating], backing: NDArray[np.floating]) -> NDArray[np.float64]:
    odds = logit(np.clip(np.asarray(backing, np.float64), 1e-3, 1 - 1e-3))
    return np.column_stack([np.ones(len(odds)), 2 * np.asarray(share, np.float64) - 1, odds])
