"""Probabilities of every class at every vertex in, a term of the energy out: what the rows themselves say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Evidence:
    r"""What a model believes of every vertex, and how much weight that has in the energy.

    .. math:: E_\mathrm{evidence} = \sum_i \frac{θ_i}{2} \sum_k q_{ik}\, ρ(u_i, \mathrm{leaf}_k)^2

    The fidelity term is one more neighbour, at the leaf of the label. Evidence is K more neighbours, one at
    every leaf, each with the weight of what is believed. With q one-hot and θ = μ it is the fidelity term,
    with θ = 0 it is nothing.

    Parameters
    ----------
    probabilities : ndarray of shape (n, K)
        The probabilities q; every row sums to 1, with equal entries where nothing is known.
    voice : ndarray of shape (n,)
        The weights θ; 0 where there is no opinion.

    Examples
    --------
    >>> evidence = Evidence.of(np.array([[0.9, 0.1], [np.nan, np.nan]]), voice=1.0)
    >>> evidence.voice.tolist()
    [1.0, 0.0]
    """

    probabilities: NDArray[np.floating[Any]]
    voice: NDArray[np.floating[Any]]

    @classmethod
    def of(cls, probabilities: NDArray[np.floating[Any]], voice: float = 1.0) -> "Evidence":
        """Give all vertices with an opinion the same weight.

        Parameters
        ----------
        probabilities : ndarray of shape (n, K)
            The probabilities q; a row of NaN is no opinion.
        voice : float, default=1.0
            The weight θ.

        Returns
        -------
        Evidence
            With ``voice`` 0 where there is no opinion.

        Examples
        --------
        >>> Evidence.of(np.array([[0.9, 0.1], [np.nan, np.nan]])).probabilities.tolist()
        [[0.9, 0.1], [0.5, 0.5]]
        """
        probabilities = np.asarray(probabilities)
        if probabilities.ndim != 2 or probabilities.dtype.kind not in "fiub":
            raise ValueError(
                "probabilities must be a table of numbers, a row per vertex and a column per class; got "
                f"{probabilities.dtype} of shape {probabilities.shape}."
            )
        silent = np.isnan(probabilities).any(axis=1)
        n_classes = probabilities.shape[1]
        filled = np.where(silent[:, None], 1 / n_classes, probabilities)
        return cls(filled, np.where(silent, 0.0, voice))

    def energy(self, arm: NDArray[np.integer[Any]], height: NDArray[np.floating[Any]]) -> float:
        """Compute the term of the energy in a state.

        Parameters
        ----------
        arm : ndarray of int, shape (n,)
            The class of every vertex; -1 without a class.
        height : ndarray of float, shape (n,)
            The height of every vertex.

        Returns
        -------
        float
            The evidence term.

        Examples
        --------
        >>> Evidence.of(np.array([[1.0, 0.0]])).energy(np.array([1]), np.array([0.5]))
        0.5
        """
        r = np.asarray(height, np.float64)
        return float(0.5 * np.sum(self.voice * (0.25 + r**2 + r * (1 - 2 * self._own(arm)))))

    def gradient(
        self, arm: NDArray[np.integer[Any]], height: NDArray[np.floating[Any]]
    ) -> NDArray[np.float64]:
        """Compute θ_i (r_i + ½ - q_iy), the derivative of the term by the height of every vertex.

        It pulls a vertex on arm y to the height q_iy - ½, which lies below the hub if q_iy < ½.

        Parameters
        ----------
        arm : ndarray of int, shape (n,)
            The class of every vertex; -1 without a class.
        height : ndarray of float, shape (n,)
            The height of every vertex.

        Returns
        -------
        ndarray of float, shape (n,)
            The derivative.

        Examples
        --------
        >>> Evidence.of(np.array([[0.75, 0.25]])).gradient(np.array([0]), np.array([0.5])).tolist()
        [0.25]
        """
        return np.asarray(self.voice * (np.asarray(height, np.float64) + 0.5 - self._own(arm)))

    def _own(self, arm: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """What is believed of the arm that each vertex stands on; 0 at the hub without an arm."""
        own = np.asarray(self.probabilities, np.float64)[np.arange(len(arm)), arm]
        return np.where(arm >= 0, own, 0.0)


def fitting_evidence(evidence: Any, n_vertices: int, n_classes: int) -> Evidence:
    """Evidence that fits the vertices and the classes, or an error that says what is wrong.

    Probabilities alone get the weight 1.
    """
    if not isinstance(evidence, Evidence):
        return Evidence.of(checked_evidence(evidence, n_vertices, n_classes))
    q, voice = np.asarray(evidence.probabilities), np.asarray(evidence.voice)
    if q.shape != (n_vertices, n_classes) or voice.shape != (n_vertices,):
        raise ValueError(
            f"Evidence must have probabilities of shape ({n_vertices}, {n_classes}), a column per class, and "
            f"a voice per vertex; got the shapes {q.shape} and {voice.shape}."
        )
    if q.dtype.kind not in "fiub" or voice.dtype.kind not in "fiub":
        raise ValueError(f"Evidence must be numbers; got {q.dtype} and {voice.dtype}.")
    # Not copied: of a large graph this is the largest table of all.
    if not (q.min(initial=0) >= 0 and np.abs(q.sum(axis=1) - 1).max(initial=0) <= 1e-3):
        raise ValueError(
            "Every row of Evidence must be probabilities with the sum 1; make it with Evidence.of if rows "
            "without an opinion are NaN."
        )
    if not (voice.min(initial=0) >= 0 and voice.max(initial=0) <= 1e12):
        raise ValueError("The voice of Evidence must be between 0 and 1e12 at every vertex.")
    return Evidence(q, voice)


def checked_evidence(probabilities: Any, n_rows: int, n_classes: int) -> NDArray[np.float64]:
    """Probabilities that fit the rows and the classes, or an error that says what is wrong."""
    q = np.asarray(probabilities)
    if q.shape != (n_rows, n_classes):
        raise ValueError(
            f"evidence must have one row per row of X and one column per class, ({n_rows}, {n_classes}); "
            f"got shape {q.shape}."
        )
    if q.dtype.kind not in "fiub":
        raise ValueError(f"evidence must be numbers; got {q.dtype}.")
    q = q.astype(np.float64)
    silent = np.isnan(q).all(axis=1)
    stated = q[~silent]
    if np.isnan(stated).any():
        row = int(np.flatnonzero(np.isnan(q).any(axis=1) & ~silent)[0])
        raise ValueError(f"evidence has NaN in part of row {row}; make the whole row NaN for no opinion.")
    if len(stated) and (stated.min() < 0 or not np.isfinite(stated).all()):
        row = int(np.flatnonzero(~silent & ~((q >= 0) & np.isfinite(q)).all(axis=1))[0])
        raise ValueError(f"evidence must not be negative or infinite; row {row} is.")
    sums = stated.sum(axis=1)
    if len(stated) and np.abs(sums - 1).max() > 1e-3:
        row = int(np.flatnonzero(~silent)[np.abs(sums - 1).argmax()])
        raise ValueError(
            f"The rows of evidence must sum to 1; row {row} sums to {q[row].sum():.4g}. Divide each row by "
            "its sum, or pass predict_proba's output."
        )
    q[~silent] /= sums[:, None]
    return q
