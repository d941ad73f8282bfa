"""The paper's section 2: a graph and two classes of labels in, the binary diffuse interface out."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from phaselabel.flow.energy import Energy
from phaselabel.flow.minimize import Reason, Solution, as_trace
from phaselabel.flow.schedule import FlowSettings, Geometric
from phaselabel.flow.star import checked_fidelity, checked_labels
from phaselabel.graph import Graph

Vector = NDArray[np.float64]

#: The linear systems are solved to this relative residual.
RESIDUAL = 1e-8

#: The second eigenvector is found to this relative accuracy.
EIGENVECTOR_TOL = 1e-6


def minimize_binary(
    graph: Graph | Any,
    labels: ArrayLike,
    *,
    epsilon: float | Geometric = 1.0,
    fidelity: ArrayLike = 30.0,
    mean: float | None = None,
    max_iter: int = 500,
    tol: float = 1e-4,
) -> Solution:
    r"""Minimise the binary Ginzburg-Landau energy by convex splitting.

    .. math::
        E(u) = \frac{ε}{2} ⟨u, L_s u⟩ + \frac{1}{4ε} \sum_i (u_i^2 - 1)^2
             + \sum_{i\ \mathrm{labelled}} \frac{μ_i}{2} (u_i - û_i)^2

    The quadratic terms are taken implicitly and the double well at the present state, with a constant
    :math:`c_i` for every vertex:

    .. math:: (C + ε L_s + M)\, u' = C u - \tfrac{1}{ε} (u^3 - u) + M û

    The step cannot raise the energy where :math:`4 ε c_i ≥ (u_i + u'_i)^2 + 2 u_i^2 - 2`. Where a vertex
    breaks this, its :math:`c_i` is enlarged and the step made again; docs/method.md has the proof. The matrix
    has condition number near 1 + ε², so a few steps of conjugate gradients solve it; unlike a projection on
    leading eigenvectors this needs no eigenvectors and leaves none out.

    Parameters
    ----------
    graph : Graph or sparse matrix
        The similarity graph.
    labels : array-like of {-1, 0, 1}
        The known classes, 0 and 1; -1 where not known.
    epsilon : float or Geometric, default=1.0
        Interface width, or a schedule of shrinking values, which is run to its end.
    fidelity : float or array-like of shape (n,), default=30.0
        Pull of a known label.
    mean : float, optional
        The mean of u, which every step keeps: the share of class 1 less the share of class 0, between -1
        and 1. With it no label is needed. The start is the second eigenvector of L_s, cut where this mean
        asks for it; labels choose its sign.
    max_iter : int, default=500
        Steps at the most.
    tol : float, default=1e-4
        Stop when a step lowers the energy by no more than this fraction and changes no more than this
        fraction of the labels; 0 never stops early.

    Returns
    -------
    Solution
        As from :func:`~phaselabel.minimize`; the height is ``|u|/2``, at most ½.

    Examples
    --------
    >>> path = Graph.from_weights([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    >>> minimize_binary(path, [0, -1, -1, 1]).arm.tolist()
    [0, 0, 1, 1]

    Without labels, from the sizes of the classes alone; which class is 0 and which 1 is arbitrary:

    >>> minimize_binary(path, [-1] * 4, mean=0.0).arm.tolist()
    [0, 0, 1, 1]
    """
    graph = graph if isinstance(graph, Graph) else Graph.from_weights(graph)
    arms, mu = _checked(graph, labels, fidelity, mean)
    settings = FlowSettings(epsilon=epsilon, max_iter=max_iter, tol=tol)
    scheduled = isinstance(epsilon, Geometric)

    model = _BinaryModel(graph, np.where(mu > 0, 2.0 * arms - 1, 0.0), mu, mean)
    u = model.target.copy() if mean is None else model.from_eigenvector(mean)
    trace = [(0, model.energy(u, settings.stages[0][0]))]
    converged, n_iter = False, 0
    for value, steps in settings.stages:
        before = model.energy(u, value)
        for _ in range(steps):
            new = model.step(u, value)
            now = model.energy(new, value)
            # Only rounding and the residual of the solver are left: such a step is not made.
            if now.total > before.total:
                new, now = u, before
            changed = int(np.sum((new > 0) != (u > 0)))
            flat = abs(before.total - now.total) <= tol * abs(now.total)
            u, before, n_iter = new, now, n_iter + 1
            trace.append((n_iter, now))
            if tol > 0 and flat and changed <= tol * len(u) and not scheduled:
                converged = True
                break
    reason: Reason = "rest" if converged else "schedule" if scheduled else "limit"
    status = {
        "rest": f"Converged after {n_iter} steps: labels quiet, energy flat.",
        "schedule": f"Ran the epsilon schedule to its end, {n_iter} steps.",
        "limit": f"Stopped at the limit of {n_iter} steps; raise max_iter to go on.",
    }[reason]
    reached = graph.reached(mu > 0) if mean is None else np.ones(len(u), bool)
    arm = np.where(reached, u > 0, -1).astype(np.int32)
    height = np.where(reached, np.minimum(np.abs(u), 1) / 2, 0.0)
    return Solution(arm, height, as_trace(trace), n_iter, status, converged, reason)


class _BinaryModel:
    """The energy of a state and the step from it."""

    def __init__(self, graph: Graph, target: Vector, mu: Vector, mean: float | None) -> None:
        self.target, self.mu, self.mean = target, mu, mean
        self._laplacian = _symmetric_laplacian(graph)

    def energy(self, u: Vector, epsilon: float) -> Energy:
        return Energy(
            smoothing=float(epsilon / 2 * (u @ (self._laplacian @ u))),
            potential=float(np.sum((u**2 - 1) ** 2) / (4 * epsilon)),
            fidelity=float(np.sum(self.mu * (u - self.target) ** 2) / 2),
        )

    def step(self, u: Vector, epsilon: float) -> Vector:
        """The next state; no state that a step leads to has more energy."""
        c = np.maximum(2.0, 3 * u**2 - 1) / epsilon
        while True:
            new = self._split_step(u, c, epsilon)
            needed = ((u + new) ** 2 + 2 * u**2 - 2) / (4 * epsilon)
            short = c < needed
            if not short.any():
                return new
            # Twice what was needed for a step that becomes shorter: c grows a few times at the most.
            c = np.where(short, 2 * needed, c)

    def _split_step(self, u: Vector, c: Vector, epsilon: float) -> Vector:
        matrix = (epsilon * self._laplacian + sparse.diags_array(c + self.mu)).tocsr()
        right = c * u - (u**3 - u) / epsilon + self.mu * self.target
        new = _solved(matrix, right, u)
        if self.mean is None:
            return new
        # The constraint's multiplier: of all solutions of matrix u' = right - λ, the one with the mean.
        lift = _solved(matrix, np.ones(len(u)), 1 / (c + self.mu))
        return np.asarray(new - (new.mean() - self.mean) / lift.mean() * lift)

    def from_eigenvector(self, mean: float) -> Vector:
        """±1 by the second eigenvector of L_s, so that the mean is as asked for."""
        vector = _second_eigenvector(self._laplacian)
        vector *= 1 if vector @ self.target >= 0 else -1
        n = len(vector)
        u = np.full(n, -1.0)
        u[np.argsort(-vector, kind="stable")[: round(n * (1 + mean) / 2)]] = 1
        return np.asarray(u + mean - u.mean())


def _checked(
    graph: Graph, labels: ArrayLike, fidelity: ArrayLike, mean: float | None
) -> tuple[NDArray[np.int32], Vector]:
    """The known classes and μ of every vertex; without known labels a mean is needed."""
    if mean is None:
        arms, _ = checked_labels(labels, graph.n_vertices, 2)
        return arms, checked_fidelity(fidelity, arms)
    if isinstance(mean, bool) or not (isinstance(mean, int | float | np.number) and -1 < mean < 1):
        raise ValueError(
            "mean must be a number between -1 and 1, the share of class 1 less that of class 0; "
            f"got {mean!r}."
        )
    if graph.n_vertices < 3:
        raise ValueError(f"mean needs a graph of at least three vertices; got {graph.n_vertices}.")
    given = np.asarray(labels)
    if given.shape == (graph.n_vertices,) and (given == -1).all():
        return given.astype(np.int32), np.zeros(graph.n_vertices)
    arms, _ = checked_labels(labels, graph.n_vertices, 2)
    return arms, checked_fidelity(fidelity, arms)


def _solved(matrix: sparse.csr_array, right: Vector, start: Vector) -> Vector:
    preconditioner = sparse.diags_array(1 / matrix.diagonal())
    solution, _ = cg(matrix, right, x0=start, rtol=RESIDUAL, M=preconditioner)
    return np.asarray(solution)


def _second_eigenvector(laplacian: sparse.csr_array) -> Vector:
    """The eigenvector of the second smallest eigenvalue; the last of its largest entries is positive."""
    from scipy.sparse.linalg import eigsh

    n = laplacian.shape[0]
    start = 1 + 0.1 * np.cos(np.arange(n))  # not random: the same graph gives the same vector
    # The largest eigenvalues of 2 I - L_s: ARPACK finds that end of the spectrum without a factorisation.
    values, vectors = eigsh(2 * sparse.eye_array(n) - laplacian, 2, which="LA", v0=start, tol=EIGENVECTOR_TOL)
    vector = vectors[:, int(np.argmin(values))]
    sizes = np.abs(vector)
    # Opposite ends of a symmetric graph are equal but for rounding, which must not choose the sign.
    largest = np.flatnonzero(sizes >= 0.999 * sizes.max())[-1]
    return np.asarray(vector if vector[largest] > 0 else -vector)


def _symmetric_laplacian(graph: Graph) -> sparse.csr_array:
    """L_s = I - D^(-1/2) W D^(-1/2), with 0 instead of 1 at a vertex without neighbours."""
    diagonal = (graph.degrees > 0).astype(np.float64)
    return (sparse.diags_array(diagonal) - graph.normalized.astype(np.float64)).tocsr()
