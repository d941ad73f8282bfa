"""Guesses that answers confirmed or refuted in; the confidence of every label and the accuracy of all out."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

#: log-odds of a right label = θ₀ + θ₁ (2 share - 1) + θ₂ logit(backing) + θ₃ logit(belief).
#: The mean of θ before any answer, without beliefs and with them; chosen on simulated runs.
PRIOR_MEAN, MEAN_WITH_BELIEF = (1.5, 1.5, 2.5), (0.0, 0.5, 0.5, 1.0)

#: The standard deviation of each part of θ before any answer. Beliefs come from answers held back, which the
#: choice of questions hardly bends; so little is left to learn about them.
PRIOR_DEVIATION, DEVIATION_WITH_BELIEF = (2.5, 2.0, 0.5), (0.3, 0.25, 0.1, 0.1)

#: The standard deviation of what no answer tells: by how much, in log-odds, all beliefs are wrong together on
#: items without a question. Chosen so that the intervals hold the truth in about 19 of 20 cases.
COMMON_ERROR = 0.6

#: A belief is read as if it lay at least this far from 0 and 1.
LEAST_DOUBT = 0.01

#: The i-th of m answers has the weight (i / m) to this power: earlier guesses came from fewer labels.
RECENCY_POWER = 2

#: Draws of θ from its posterior distribution.
N_DRAWS = 200

#: At most this many items are averaged for each draw.
MAX_AVERAGED = 2000

#: Newton steps to the most likely θ, at most.
MAX_STEPS = 60

#: An estimate says something after at least this many checked guesses.
MIN_CHECKED = 10

#: An estimate says something if its interval is at most this wide.
MAX_WIDTH = 0.3


@dataclass(frozen=True)
class Estimate:
    """The share of right labels, and the interval that holds it with 95 % probability.

    Attributes
    ----------
    mean, low, high : float
        The expected share and the ends of the interval.
    answers : int
        The number of guesses that answers have checked.
    """

    mean: float
    low: float
    high: float
    answers: int

    @property
    def conclusive(self) -> bool:
        """Whether the estimate says something; before that it is too early to tell."""
        narrow = self.high - self.low <= MAX_WIDTH
        return narrow and (self.answers >= MIN_CHECKED or self.low == self.high)


class CheckedGuess(NamedTuple):
    """What was guessed and believed of an item before its answer, and whether the guess was right."""

    share: float
    backing: float
    right: bool
    belief: float | None = None


def estimate(
    share: NDArray[np.float64],
    backing: NDArray[np.floating],
    known: NDArray[np.bool_],
    checked: list[CheckedGuess],
    n_classes: int,
    belief: NDArray[np.floating] | None = None,
) -> tuple[Estimate, NDArray[np.float64]]:
    """Estimate how many labels are right from how often guesses were right when answers came.

    Questions are chosen where labels are worst, so the share of right guesses among them says little about
    the other items. They are chosen by one number only, the backing of a region by answers: among items of
    equal backing the choice is as good as random. So the log-odds of a right label are a linear function of
    the backing and of the vote of the item's neighbours. Every answer is an observation, and the posterior
    distribution is averaged over all items.

    Where experts have been asked, what they believe of the label is the main term: their probabilities are
    tempered by answers held back. Without it a set on which all labels stay bad looks much too good, because
    questions are about places with few answers near, and the rest is taken to be better than it is.

    Parameters
    ----------
    share : ndarray
        The share of each item's own class in the vote of its neighbours; NaN where there is no label.
    backing : ndarray
        How well the region of each item is backed by answers.
    known : ndarray of bool
        Which items have an answer.
    checked : list of CheckedGuess
        One entry per answer to an item with a guess, in the order of the answers.
    n_classes : int
        The number of classes.
    belief : ndarray, optional
        The probability that experts give to the label of each item. Then only guesses with a belief count.

    Returns
    -------
    estimate : Estimate
        The accuracy over all items.
    confidence : ndarray
        The probability of each label to be right; 1 for answers, 0 where there is no label.

    Examples
    --------
    >>> share, backing, known = np.full(100, 0.9), np.full(100, 0.5), np.zeros(100, bool)
    >>> half_right = [CheckedGuess(0.9, 0.5, k % 2 == 0) for k in range(30)]
    >>> overall, confidence = estimate(share, backing, known, half_right, n_classes=3)
    >>> overall.low < 0.5 < overall.high
    True
    """
    observed = checked if belief is None else [guess for guess in checked if guess.belief is not None]
    theta, covariance = _posterior(observed, belief is not None)
    labelled = np.isfinite(share)
    x = _regressors(np.where(labelled, share, 0.5), backing, belief)
    right = np.maximum(expit(x @ theta), 1 / max(n_classes, 1))
    confidence = np.where(known, 1.0, np.where(labelled, right, 0.0))
    unknown = np.flatnonzero(labelled & ~known)
    if not len(unknown):
        mean = float(confidence.mean())
        return Estimate(mean, mean, mean, len(checked)), confidence
    sample = x[unknown[:: max(1, len(unknown) // MAX_AVERAGED)]]
    noise = np.random.default_rng(0).standard_normal((N_DRAWS, len(theta)))
    draws = theta + noise @ np.linalg.cholesky(covariance).T
    if belief is not None:
        draws[:, 0] += COMMON_ERROR * np.random.default_rng(1).standard_normal(N_DRAWS)
    means = float(known.mean()) + len(unknown) / len(share) * expit(sample @ draws.T).mean(axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(float(means.mean()), float(low), float(high), len(checked)), confidence


def _posterior(
    checked: list[CheckedGuess], with_belief: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The most likely θ, and the covariance around it."""
    weights = (np.arange(1, len(checked) + 1) / max(len(checked), 1)) ** RECENCY_POWER
    table = np.array([(g.share, g.backing, float(g.right), g.belief or 0) for g in checked]).reshape(-1, 4)
    x, right = _regressors(table[:, 0], table[:, 1], table[:, 3] if with_belief else None), table[:, 2]
    prior = np.array(MEAN_WITH_BELIEF if with_belief else PRIOR_MEAN)
    precision = np.diag(1 / np.square(DEVIATION_WITH_BELIEF if with_belief else PRIOR_DEVIATION))
    theta, hessian = prior, precision
    for _ in range(MAX_STEPS):
        p = expit(x @ theta)
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + precision
        gradient = x.T @ (weights * (right - p)) - precision @ (theta - prior)
        # A step of at most one: far from the solution a full Newton step overshoots.
        step = np.linalg.solve(hessian, gradient)
        theta = theta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-6:
            break
    return theta, np.asarray(np.linalg.inv(hessian), np.float64)


def _regressors(
    share: NDArray[np.floating], backing: NDArray[np.floating], belief: NDArray[np.floating] | None
) -> NDArray[np.float64]:
    """The columns 1, 2 share - 1, logit(backing) and, where there is a belief, logit(belief)."""
    odds = logit(np.clip(np.asarray(backing, np.float64), 1e-3, 1 - 1e-3))
    columns = [np.ones(len(odds)), 2 * np.asarray(share, np.float64) - 1, odds]
    if belief is not None:
        columns.append(logit(np.clip(np.asarray(belief, np.float64), LEAST_DOUBT, 1 - LEAST_DOUBT)))
    return np.column_stack(columns)
