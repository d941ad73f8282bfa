"""The paper's section 2: a graph and two classes of labels in, the binary diffuse interface out."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import cg

from phaselabel.energy import Energy, check_epsilon
from phaselabel.estimator import GraphClassifier
from phaselabel.flow import Reason, Solution, as_trace, check_numbers
from phaselabel.graph import Graph
from phaselabel.star import checked_fidelity, checked_labels


def minimize_binary(
    graph: Graph | Any,
    labels: ArrayLike,
    *,
    epsilon: float = 1.0,
    fidelity: ArrayLike = 30.0,
    max_iter: int = 500,
    tol: float = 1e-4,
) -> Solution:
    r"""Minimise the binary Ginzburg-Landau energy by convex splitting.

    .. math::
        E(u) = \frac{ε}{2} ⟨u, L_s u⟩ + \frac{1}{4ε} \sum_i (u_i^2 - 1)^2
             + \sum_{i\ \mathrm{labelled}} \frac{μ_i}{2} (u_i - û_i)^2

    The quadratic terms are convex. The double well minus :math:`\frac{c}{2} u^2` is concave as long as
    :math:`c ≥ (3 \max u^2 - 1)/ε`, so taking the first implicitly and the second at the present state gives

    .. math:: (c + ε L_s + M)\, u' = c\, u - \tfrac{1}{ε} (u^3 - u) + M û,

    a step that cannot raise the energy, with no time step to choose. The matrix has condition number near
    1 + ε², so a few steps of conjugate gradients solve it; unlike a projection on leading eigenvectors this
    needs no eigenvectors and leaves none out.

    Parameters
    ----------
    graph : Graph or sparse matrix
        The similarity graph.
    labels : array-like of {-1, 0, 1}
        The known classes, 0 and 1; -1 where not known.
    epsilon : float, default=1.0
        Interface width.
    fidelity : float or array-like of shape (n,), default=30.0
        Pull of a known label.
    max_iter : int, default=500
        Steps at the most.
    tol : float, default=1e-4
        Stop when a step lowers the energy by no more than this fraction and changes no more than this
        fraction of the labels; 0 never stops early.

    Returns
    -------
    Solution
        As from :func:`~phaselabel.minimize`; the height is ``|u|/2``, at most ½.
    """
    graph = graph if isinstance(graph, Graph) else Graph.from_weights(graph)
    arms, _ = checked_labels(labels, graph.n_vertices, 2)
    mu = checked_fidelity(fidelity, arms)
    check_epsilon(epsilon)
    check_numbers(epsilon=epsilon, max_iter=max_iter, tol=tol)

    laplacian = _symmetric_laplacian(graph)
    target = np.where(mu > 0, 2.0 * arms - 1, 0.0)
    u = target.copy()
    reached = graph.reached(mu > 0)
    trace = [(0, _energy(u, laplacian, target, mu, epsilon))]
    converged, n_iter = False, 0
    for n_iter in range(1, max_iter + 1):
        c = max(2.0, 3 * float(np.max(u**2)) - 1) / epsilon
        matrix = epsilon * laplacian + sparse.diags_array(c + mu)
        preconditioner = sparse.diags_array(1 / matrix.diagonal())
        new, _ = cg(matrix, c * u - (u**3 - u) / epsilon + mu * target, x0=u, rtol=1e-8, M=preconditioner)
        changed = int(np.sum((new > 0) != (u > 0)))
        u = new
        now = _energy(u, laplacian, target, mu, epsilon)
        flat = abs(trace[-1][1].total - now.total) <= tol * abs(now.total)
        trace.append((n_iter, now))
        if tol > 0 and flat and changed <= tol * len(u):
            converged = True
            break
    status = (
        f"Converged after {n_iter} steps: labels quiet, energy flat."
        if converged
        else f"Stopped at the limit of {n_iter} steps; raise max_iter to go on."
    )
    arm = np.where(reached, u > 0, -1).astype(np.int32)
    height = np.where(reached, np.minimum(np.abs(u), 1) / 2, 0.0)
    reason: Reason = "rest" if converged else "limit"
    return Solution(arm, height, as_trace(trace), n_iter, status, converged, reason)


def _symmetric_laplacian(graph: Graph) -> sparse.csr_array:
    """L_s = I - D^(-1/2) W D^(-1/2)."""
    return (sparse.eye_array(graph.n_vertices) - graph.normalized.astype(np.float64)).tocsr()


def _energy(
    u: NDArray[np.float64],
    laplacian: sparse.csr_array,
    target: NDArray[np.float64],
    mu: NDArray[np.float64],
    epsilon: float,
) -> Energy:
    return Energy(
        smoothing=float(epsilon / 2 * (u @ (laplacian @ u))),
        potential=float(np.sum((u**2 - 1) ** 2) / (4 * epsilon)),
        fidelity=float(np.sum(mu * (u - target) ** 2) / 2),
    )


class BinaryGinzburgLandauClassifier(GraphClassifier):
    """Label every row with one of two classes by the binary diffuse interface model.

    The double well with minima ±1 and the symmetric Laplacian of the paper's section 2, minimised by convex
    splitting (see :func:`~phaselabel.minimize_binary`). Parameters and attributes are those of
    :class:`~phaselabel.GinzburgLandauClassifier` as far as they apply.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Neighbours of a row in the graph, the row itself not counted.
    scale_neighbor : int, optional
        Which neighbour sets the local scale; the last one by default.
    affinity : {"nearest_neighbors", "precomputed", "precomputed_nearest_neighbors"}
        What ``X`` is.
    epsilon : float, default=1.0
        Interface width.
    fidelity : float or array-like of shape (n_samples,), default=30.0
        Trust in the known labels.
    max_iter : int, default=500
        Steps at the most.
    tol : float, default=1e-4
        When labels count as quiet and the energy as flat.
    unlabeled : object, default=-1
        The entry of ``y`` that means "not known".

    Examples
    --------
    >>> from phaselabel import BinaryGinzburgLandauClassifier
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> y = ["left", None, None, "right", None, None]
    >>> BinaryGinzburgLandauClassifier(n_neighbors=2).fit(X, y).transduction_.tolist()
    ['left', 'left', 'left', 'right', 'right', 'right']
    """

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = "auto",
        *,
        scale_neighbor: int | None = None,
        affinity: str = "nearest_neighbors",
        epsilon: float = 1.0,
        fidelity: Any = 30.0,
        max_iter: int = 500,
        tol: float = 1e-4,
        unlabeled: Any = -1,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scale_neighbor = scale_neighbor
        self.affinity = affinity
        self.epsilon = epsilon
        self.fidelity = fidelity
        self.max_iter = max_iter
        self.tol = tol
        self.unlabeled = unlabeled

    def _check_flow(self, labels: NDArray[np.int32], classes: NDArray[Any]) -> None:
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported; y has {len(classes)} classes. "
                "Use GinzburgLandauClassifier for more than two."
            )
        checked_fidelity(self.fidelity, labels)
        check_epsilon(self.epsilon)
        check_numbers(epsilon=self.epsilon, max_iter=self.max_iter, tol=self.tol)

    def _flow(self, graph: Graph, labels: NDArray[np.int32], classes: NDArray[Any]) -> Solution:
        return minimize_binary(
            graph, labels, epsilon=self.epsilon, fidelity=self.fidelity, max_iter=self.max_iter, tol=self.tol
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
