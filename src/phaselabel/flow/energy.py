"""A graph and a state on the star in, the Ginzburg-Landau energy and its gradient out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel._kernels import flow as kernels
from phaselabel.flow.evidence import Evidence, fitting_evidence
from phaselabel.flow.star import LEAF, State, checked_fidelity, checked_labels, checked_state
from phaselabel.graph import Graph

__all__ = ["Energy", "evaluate", "gradient"]

#: The terms of the energy, in the order of the trace.
ENERGY_TERMS = ("smoothing", "potential", "fidelity", "evidence")


@dataclass(frozen=True)
class Energy:
    """The four terms of the energy.

    Parameters
    ----------
    smoothing : float
        Disagreement between neighbours.
    potential : float
        Distance of the vertices from their leaves.
    fidelity : float
        Distance of the labelled vertices from their labels.
    evidence : float, default=0.0
        Distance of the vertices from what is believed of them.

    Examples
    --------
    >>> Energy(smoothing=0.5, potential=0.25, fidelity=0.0).total
    0.75
    """

    smoothing: float
    potential: float
    fidelity: float
    evidence: float = 0.0

    @property
    def total(self) -> float:
        """The sum of the four terms, which the flow descends.

        Examples
        --------
        >>> Energy(1.0, 2.0, 3.0).total
        6.0
        """
        return self.smoothing + self.potential + self.fidelity + self.evidence


def evaluate(
    graph: Graph,
    state: Any,
    labels: ArrayLike,
    *,
    epsilon: float = 1.0,
    fidelity: ArrayLike = 30.0,
    evidence: Evidence | ArrayLike | None = None,
) -> Energy:
    r"""Evaluate the energy of any state.

    .. math::
        E = \frac{ε}{2} \sum_{i<j} ŵ_{ij}\, ρ_{ij}^2
          + \frac{1}{2ε} \sum_i \bigl(\tfrac14 - r_i^2\bigr)^2
          + \sum_{i\ \mathrm{labelled}} \frac{μ_i}{2} ρ(u_i, û_i)^2
          + \sum_i \frac{θ_i}{2} \sum_k q_{ik}\, ρ(u_i, \mathrm{leaf}_k)^2

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
    evidence : Evidence or array-like of shape (n, K), optional
        What a model believes of every vertex, and with which weight θ; 1 where only probabilities are given.

    Returns
    -------
    Energy
        ``smoothing``, ``potential``, ``fidelity``, ``evidence`` and their ``total``.

    Examples
    --------
    >>> graph = Graph.from_weights([[0, 1], [1, 0]])
    >>> apart = State(np.array([0, 1]), np.array([0.5, 0.5]))
    >>> evaluate(graph, apart, [0, -1])
    Energy(smoothing=0.5, potential=0.0, fidelity=0.0, evidence=0.0)
    """
    state, mu, gap, believed = _checked(graph, state, labels, epsilon, fidelity, evidence)
    r = np.asarray(state.height, np.float64)
    return Energy(
        # Euler: quadratic, so ½⟨r, ∂E⟩. Not by BLAS, whose threads would go on spinning beside the next flow.
        smoothing=float(0.5 * epsilon * np.sum(r * _forces(graph, state))),
        potential=float(0.5 / epsilon * np.sum((0.25 - r**2) ** 2)),
        fidelity=float(0.5 * np.sum(mu * gap**2)),
        evidence=0.0 if believed is None else believed.energy(state.arm, r),
    )


def gradient(
    graph: Graph,
    state: Any,
    labels: ArrayLike,
    *,
    epsilon: float = 1.0,
    fidelity: ArrayLike = 30.0,
    evidence: Evidence | ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Compute the derivative of the energy by the height of every vertex.

    .. math::
        \frac{∂E}{∂r_i} = ε R_i - \frac{2}{ε} r_i \bigl(\tfrac14 - r_i^2\bigr) + μ_i (r_i ∓ \tfrac12)
        + θ_i (r_i + \tfrac12 - q_{i y_i}),
        \qquad R_i = \sum_j ŵ_{ij} (r_i ∓ r_j)

    with minus within a class and plus across classes; q is 0 for a vertex without a class.

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
    evidence : Evidence or array-like of shape (n, K), optional
        What a model believes of every vertex, and with which weight θ; 1 where only probabilities are given.

    Returns
    -------
    ndarray of float, shape (n,)
        The derivative; the flow moves each height against it.

    Examples
    --------
    >>> graph = Graph.from_weights([[0, 1], [1, 0]])
    >>> state = State(np.array([0, 0]), np.array([0.5, 0.0]))
    >>> gradient(graph, state, [0, -1]).tolist()
    [0.5, -0.5]
    """
    state, mu, gap, believed = _checked(graph, state, labels, epsilon, fidelity, evidence)
    r = np.asarray(state.height, np.float64)
    slope: NDArray[np.float64] = epsilon * _forces(graph, state) - 2 / epsilon * r * (0.25 - r**2) + mu * gap
    return slope if believed is None else slope + believed.gradient(state.arm, r)


def _forces(graph: Graph, state: State) -> NDArray[np.float64]:
    """R_i in double precision, by the same loop that the flow runs."""
    indptr, indices, weights = graph.csr
    out = np.empty(graph.n_vertices)
    kernels.smoothing_forces(
        indptr, indices, weights.astype(np.float64), graph.row_sums, state.packed(np.float64), out
    )
    return out


def _checked(
    graph: Graph, state: Any, labels: ArrayLike, epsilon: float, fidelity: ArrayLike, evidence: Any
) -> tuple[State, NDArray[Any], NDArray[Any], Evidence | None]:
    """The state, μ_i (0 where there is no label), the signed distance to the label's leaf, the evidence."""
    check_epsilon(epsilon)
    known, n_classes = checked_labels(labels, graph.n_vertices)
    mu = checked_fidelity(fidelity, known)
    highest = int(np.max(getattr(state, "arm", -1), initial=-1))
    n_classes = max(n_classes, highest + 1)
    state = checked_state(state, graph.n_vertices, n_classes)
    gap = np.where(state.arm == known, state.height - LEAF, state.height + LEAF)
    if evidence is None:
        return state, mu, gap, None
    columns = np.shape(getattr(evidence, "probabilities", evidence))[1:]  # the last classes may be empty
    return state, mu, gap, fitting_evidence(evidence, graph.n_vertices, max(n_classes, *columns))


def check_epsilon(epsilon: Any) -> None:
    """Refuse an interface width that is not a number, or so extreme that single precision fails."""
    number = isinstance(epsilon, int | float | np.integer | np.floating) and not isinstance(epsilon, bool)
    if not (number and 1e-6 <= epsilon <= 1e6):
        raise ValueError(f"epsilon must be a number between 1e-6 and 1e6; got {epsilon!r}.")
