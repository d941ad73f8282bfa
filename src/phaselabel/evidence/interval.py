"""The share of hidden labels that were found in, the interval of the share that is right out."""

import numpy as np


def interval_of(share: float, n_hidden: float, n_shown: float, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share, 95 % by default, of as many labels as are independent.

    The turns share most of the labels that they are shown, so their errors go together. Their variance is
    (1/J + m/t) / (1/J) times that of J independent turns, where each hides m labels and is shown t.
    Nadeau, Bengio: *Inference for the generalization error* (2003).

    Parameters
    ----------
    share : float
        The share of the hidden labels that were found.
    n_hidden : float
        The number of labels that were hidden, in all turns together.
    n_shown : float
        The number of labels that are shown in a turn.
    z : float, default=1.96
        Standard errors on either side.

    Returns
    -------
    tuple of float
        The lower and the upper end.

    Examples
    --------
    >>> [round(end, 2) for end in interval_of(1.0, 50, 40)]
    [0.85, 1.0]
    >>> interval_of(0.0, 0, 0)
    (0.0, 1.0)
    """
    if n_hidden == 0:
        return 0.0, 1.0
    n = n_hidden / (1 + n_hidden / max(n_shown, 1))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
