"""A graph and a state on the star in, the Ginzburg-Landau energy and its gradient out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel import _kernels
from phaselabel.graph import Graph
from phaselabel.star import LEAF, State, checked_fidelity, checked_labels, checked_state


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
    state: Any,
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

    with the tree distance ``ρ = |r_i - r_j|`` within a class and ``r_i + r_j`` across classes. Each pair
    counts once: this is the energy whose gradient is the printed update (the printed energy counts it twice).

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    state : State or Solution
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
    state, mu, gap = _checked(graph, state, labels, epsilon, fidelity)
    r = np.asarray(state.height, np.float64)
    return Energy(
        # Euler: quadratic, so ½⟨r, ∂E⟩. Not by BLAS, whose threads would go on spinning beside the next flow.
        smoothing=float(0.5 * epsilon * np.sum(r * _forces(graph, state))),
        potential=float(0.5 / epsilon * np.sum((0.25 - r**2) ** 2)),
        fidelity=float(0.5 * np.sum(mu * gap**2)),
    )


def gradient(
    graph: Graph,
    state: Any,
    labels: ArrayLike,
    *,
    epsilon: float = 1.0,
    fidelity: ArrayLike = 30.0,
) -> NDArray[np.float64]:
    """∂E/∂r_i, what the flow descends; the parameters are those of :func:`evaluate`."""
    state, mu, gap = _checked(graph, state, labels, epsilon, fidelity)
    r = np.asarray(state.height, np.float64)
    return epsilon * _forces(graph, state) - 2 / epsilon * r * (0.25 - r**2) + mu * gap


def _forces(graph: Graph, state: State) -> NDArray[np.float64]:
    """R_i in double precision, by the same loop that the flow runs."""
    indptr, indices, weights = graph.csr
    out = np.empty(graph.n_vertices)
    _kernels.smoothing_forces(
        indptr, indices, weights.astype(np.float64), graph.row_sums, state.packed(np.float64), out
    )
    return out


def _checked(
    graph: Graph, state: Any, labels: ArrayLike, epsilon: float, fidelity: ArrayLike
) -> tuple[State, NDArray[Any], NDArray[Any]]:
    """The state, μ_i (0 where there is no label) and the signed tree distance to the label's leaf."""
    check_epsilon(epsilon)
    known, n_classes = checked_labels(labels, graph.n_vertices)
    mu = checked_fidelity(fidelity, known)
    highest = int(np.max(getattr(state, "arm", -1), initial=-1))
    state = checked_state(state, graph.n_vertices, max(n_classes, highest + 1))
    return state, mu, np.where(state.arm == known, state.height - LEAF, state.height + LEAF)


def check_epsilon(epsilon: Any) -> None:
    """Refuse an interface width that is no number, or so extreme that single precision fails."""
    number = isinstance(epsilon, int | float | np.integer | np.floating) and not isinstance(epsilon, bool)
    if not (number and 1e-6 <= epsilon <= 1e6):
        raise ValueError(f"epsilon must be a number between 1e-6 and 1e6; got {epsilon!r}.")
