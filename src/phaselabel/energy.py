"""A graph and a state on the star in, the Ginzburg-Landau energy and its gradient out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel import _kernels
from phaselabel.graph import Graph
from phaselabel.star import LEAF, State


@dataclass(frozen=True)
class Energy:
    """The three terms of the energy, by name; ``total`` is their sum."""

    smoothing: float
    potential: float
    fidelity: float

    @property
    def total(self) -> float:
        """Their sum, which the flow descends."""
        return self.smoothing + self.potential + self.fidelity


def evaluate(
    graph: Graph,
    state: State,
    labels: ArrayLike,
    *,
    epsilon: float = 1.0,
    fidelity: ArrayLike = 30.0,
) -> Energy:
    r"""Evaluate the energy of any state.

    .. math::
        E = \frac{ε}{2} \sum_{i<j} ŵ_{ij}\, ρ_{ij}^2
          + \frac{1}{2ε} \sum_i \bigl(\tfrac14 - r_i^2\bigr)^2
          + \sum_{i\ \mathrm{labelled}} \frac{μ_i}{2} ρ(u_i, û_i)^2

    with the tree distance ρ = |r_i - r_j| within a class and r_i + r_j across classes. Each pair counts
    once: this is the energy whose gradient is the printed update (the printed energy counts it twice).

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    state : State
        Arm and height of every vertex.
    labels : array-like of int, shape (n,)
        The known classes; -1 where not known.
    epsilon : float, default=1.0
        Interface width ε.
    fidelity : float or array-like of shape (n,), default=30.0
        Pull μ of a known label.

    Returns
    -------
    Energy
        ``smoothing``, ``potential``, ``fidelity`` and their ``total``.

    Examples
    --------
    >>> graph = Graph.from_weights([[0, 1], [1, 0]])
    >>> apart = State(np.array([0, 1]), np.array([0.5, 0.5]))
    >>> evaluate(graph, apart, [0, -1])
    Energy(smoothing=0.5, potential=0.0, fidelity=0.0)
    """
    r = np.asarray(state.height, np.float64)
    mu, gap = _pull(state, np.asarray(labels), fidelity)
    return Energy(
        smoothing=float(0.5 * epsilon * (r @ _forces(graph, state))),  # Euler: quadratic, so ½⟨r, ∂E⟩
        potential=float(0.5 / epsilon * np.sum((0.25 - r**2) ** 2)),
        fidelity=float(0.5 * np.sum(mu * gap**2)),
    )


def gradient(
    graph: Graph,
    state: State,
    labels: ArrayLike,
    *,
    epsilon: float = 1.0,
    fidelity: ArrayLike = 30.0,
) -> NDArray[np.float64]:
    """∂E/∂r_i, what the flow descends; the parameters are those of :func:`evaluate`."""
    r = np.asarray(state.height, np.float64)
    mu, gap = _pull(state, np.asarray(labels), fidelity)
    return epsilon * _forces(graph, state) - 2 / epsilon * r * (0.25 - r**2) + mu * gap


def _forces(graph: Graph, state: State) -> NDArray[np.float64]:
    """R_i in double precision, by the same loop that the flow runs."""
    indptr, indices, weights = graph.csr
    out = np.empty(graph.n_vertices)
    _kernels.smoothing_forces(
        indptr, indices, weights.astype(np.float64), graph.row_sums, state.packed(np.float64), out
    )
    return out


def _pull(state: State, labels: NDArray[Any], fidelity: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """μ_i (0 where there is no label) and the signed tree distance to the label's leaf."""
    mu = np.where(labels >= 0, fidelity, 0.0)
    return mu, np.where(state.arm == labels, state.height - LEAF, state.height + LEAF)
