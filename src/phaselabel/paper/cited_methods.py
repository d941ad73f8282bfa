"""A graph and a few labels in, class scores out: the methods that the paper cites for comparison on COIL.

Each takes the same similarity graph as the flow and one-hot rows for the known labels (zeros elsewhere).
Their parameters are the best of a grid, chosen once on draws of COIL that appear in no table.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from phaselabel.graph import Graph

Scores = NDArray[np.float64]


def one_hot(labels: NDArray[np.integer[Any]], n_classes: int) -> Scores:
    """One row per vertex: a 1 in the column of its label, zeros without a label (-1).

    Examples
    --------
    >>> one_hot(np.array([1, -1]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    rows = np.zeros((len(labels), n_classes))
    known = np.flatnonzero(labels >= 0)
    rows[known, labels[known]] = 1
    return rows


def local_global_consistency(graph: Graph, known: Scores, alpha: float = 0.9) -> Scores:
    """Zhou et al. 2004: ``F = (I - α S)⁻¹ Y`` with ``S = D^(-1/2) W D^(-1/2)``."""
    return _solve(sparse.eye_array(graph.n_vertices) - alpha * graph.normalized, known)


def squared_loss(graph: Graph, known: Scores, mu: float = 0.01, nu: float = 1e-6) -> Scores:
    """SQ-Loss-I (Subramanya & Bilmes 2011): least squares between distributions.

    Minimises ``Σ_labelled |r_i - p_i|² + μ Σ_ij w_ij |p_i - p_j|² + ν Σ_i |p_i - u|²`` over all p, u being
    the uniform distribution: ``(S + 2 μ L + ν I) p = S r + ν u``.
    """
    labelled = known.sum(axis=1)
    matrix = sparse.diags_array(labelled + nu) + 2 * mu * _laplacian(graph)
    return _solve(matrix, known + nu / known.shape[1])


def measure_propagation(
    graph: Graph,
    known: Scores,
    mu: float = 0.1,
    nu: float = 1e-8,
    loop: float = 1.0,
    max_iter: int = 300,
    tol: float = 1e-4,
) -> Scores:
    """Measure propagation (Subramanya & Bilmes 2011), by alternating minimisation.

    Minimises ``Σ_labelled KL(r_i | q_i) + μ Σ_ij w'_ij KL(p_i | q_j) - ν Σ_i H(p_i)``, where w' is the graph
    with a ``loop`` at every vertex that ties p to q. Each half has a closed form:
    ``p_i ∝ exp(μ Σ_j w'_ij log q_j / (ν + μ Σ_j w'_ij))`` and
    ``q_i = (r_i + μ Σ_j w'_ji p_j) / (1 + μ Σ_j w'_ji)``, without r_i and 1 where there is no label.
    """
    tied = (graph.weights.astype(np.float64) + loop * sparse.eye_array(graph.n_vertices)).tocsr()
    mass = mu * np.asarray(tied.sum(axis=1)).reshape(-1, 1)
    labelled = known.sum(axis=1, keepdims=True)
    p = q = np.full(known.shape, 1 / known.shape[1])
    for _ in range(max_iter):
        exponent = mu * (tied @ np.log(np.maximum(q, 1e-300))) / (nu + mass)
        powers: Scores = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        p = powers / powers.sum(axis=1, keepdims=True)
        updated = (known + mu * (tied @ p)) / (labelled + mass)
        change = np.abs(updated - q).max()
        q = updated
        if change < tol:
            break
    return p


def laplacian_least_squares(
    graph: Graph, X: NDArray[Any], known: Scores, ambient: float = 1e-6, intrinsic: float = 10.0
) -> Scores:
    """LapRLS (Belkin, Niyogi & Sindhwani 2006): kernel least squares with the graph's Laplacian.

    ``f = K a`` with ``(J K + γ_A l I + γ_I L K) a = Y``; K is Gaussian, its width the median distance between
    rows, J marks the l labelled rows, and L is the symmetric Laplacian divided by n.
    Targets are ±1, one class against the others.
    """
    from sklearn.metrics.pairwise import euclidean_distances

    squares = euclidean_distances(X, squared=True)
    kernel = np.exp(-squares / np.median(squares))
    labelled = known.sum(axis=1)
    n_labelled = labelled.sum()
    laplacian = sparse.eye_array(graph.n_vertices) - graph.normalized.astype(np.float64)
    matrix = labelled[:, None] * kernel + intrinsic * n_labelled / len(known) * (laplacian @ kernel)
    matrix[np.diag_indices_from(matrix)] += ambient * n_labelled
    target = labelled[:, None] * (2 * known - 1)
    scores: Scores = kernel @ np.linalg.solve(matrix, target)
    return scores


def _laplacian(graph: Graph) -> sparse.csr_array:
    return (sparse.diags_array(graph.degrees) - graph.weights.astype(np.float64)).tocsr()


def _solve(matrix: Any, right: Scores) -> Scores:
    solution: Scores = splu(matrix.tocsc().astype(np.float64)).solve(right)
    return solution
