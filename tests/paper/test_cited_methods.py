import numpy as np
import pytest
from scipy import sparse

import phaselabel as pl
from made import few_labels, random_graph
from phaselabel.paper import cited_methods


@pytest.fixture
def problem():
    graph = random_graph(30, seed=3, density=0.4)
    return graph, cited_methods.one_hot(few_labels(30, 3, seed=5), 3)


def laplacian(graph):
    return np.diag(graph.degrees) - graph.weights.toarray()


def test_consistency_is_the_limit_of_its_iteration(problem):
    graph, given = problem
    scores = np.zeros_like(given)
    for _ in range(2000):
        scores = 0.9 * graph.normalized @ scores + given
    np.testing.assert_allclose(
        cited_methods.local_global_consistency(graph, given, alpha=0.9), scores, atol=1e-8
    )


def test_squared_loss_is_at_its_minimum(problem):
    graph, given = problem
    known = given.sum(axis=1)

    def cost(p):
        fit = np.sum(known[:, None] * (given - p) ** 2)
        pairs = ((p[:, None] - p[None]) ** 2).sum(axis=2)
        return fit + 0.3 * np.sum(graph.weights.toarray() * pairs) + 0.01 * np.sum((p - 1 / 3) ** 2)

    best = cited_methods.squared_loss(graph, given, mu=0.3, nu=0.01)
    np.testing.assert_allclose(best.sum(axis=1), 1)
    rng = np.random.default_rng(0)
    for _ in range(20):
        nudge = 1e-3 * rng.normal(size=best.shape)
        assert cost(best) < cost(best + nudge)


def test_measure_propagation_lowers_its_cost_at_every_step(problem):
    graph, given = problem
    tied = graph.weights.toarray() + np.eye(30)
    known = given.sum(axis=1) > 0
    mu, nu = 0.3, 0.05

    def cost(p):
        q = (given + mu * tied @ p) / (known[:, None] + mu * tied.sum(axis=1, keepdims=True))
        log_p, log_q = np.log(np.maximum(p, 1e-300)), np.log(q)
        fit = -np.sum(given * log_q)
        cross = np.sum(tied * ((p * log_p).sum(axis=1)[:, None] - p @ log_q.T))
        return fit + mu * cross + nu * np.sum(p * log_p)

    costs = [
        cost(cited_methods.measure_propagation(graph, given, mu, nu, max_iter=n, tol=0))
        for n in (1, 2, 4, 8, 32, 128)
    ]
    assert np.all(np.diff(costs) <= 1e-9)
    best = cited_methods.measure_propagation(graph, given, mu, nu, max_iter=3000, tol=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = best * np.exp(0.01 * rng.normal(size=best.shape))
        assert cost(best) <= cost(other / other.sum(axis=1, keepdims=True)) + 1e-12


def test_laplacian_least_squares_is_at_its_minimum(problem):
    graph, given = problem
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4))
    known = given.sum(axis=1)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    kernel = np.exp(-squares / np.median(squares))
    smooth = np.eye(30) - graph.normalized.toarray()
    target = known[:, None] * (2 * given - 1)

    def cost(a):
        f = kernel @ a
        fit = np.sum(known[:, None] * (target - f) ** 2) / known.sum()
        return fit + 0.1 * np.sum(a * f) + 0.5 / 30 * np.sum(f * (smooth @ f))

    f = cited_methods.laplacian_least_squares(graph, X, given, ambient=0.1, intrinsic=0.5)
    a = np.linalg.solve(kernel, f)
    for _ in range(20):
        assert cost(a) <= cost(a + 1e-3 * rng.normal(size=a.shape)) + 1e-12


def test_cited_methods_label_two_clean_clusters():
    blocks = sparse.block_diag([np.ones((6, 6)), np.ones((6, 6))]).toarray()
    np.fill_diagonal(blocks, 0)
    blocks[0, 6] = blocks[6, 0] = 0.01
    graph = pl.Graph.from_weights(blocks)
    labels = np.full(12, -1)
    labels[[3, 9]] = 0, 1
    given = cited_methods.one_hot(labels, 2)
    X = np.repeat([[0.0], [3.0]], 6, axis=0) + np.arange(12)[:, None] % 6 / 10
    for scores in (
        cited_methods.local_global_consistency(graph, given),
        cited_methods.squared_loss(graph, given),
        cited_methods.measure_propagation(graph, given),
        cited_methods.laplacian_least_squares(graph, X, given),
    ):
        assert scores.argmax(axis=1).tolist() == [0] * 6 + [1] * 6


def test_coil_row_is_near_the_print(data_home):
    from phaselabel.datasets import load_coil, sample_labels

    X, y = load_coil(data_home)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 3))
    labels = [sample_labels(y, fraction=0.1, random_state=seed) for seed in range(4)]

    def accuracy(solve):
        return np.mean([np.mean(solve(known)[known < 0] == y[known < 0]) for known in labels])

    assert accuracy(lambda k: pl.minimize(graph, k, epsilon=4, fidelity=100, n_classes=6).arm) > 0.915
    for solve in (cited_methods.squared_loss, cited_methods.measure_propagation):
        assert (
            accuracy(lambda k, solve=solve: solve(graph, cited_methods.one_hot(k, 6)).argmax(axis=1)) > 0.905
        )
