"""The binary model: no step raises the energy, the mean is kept, and the naive twin agrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import phaselabel as pl
from made import few_labels, random_graph
from phaselabel import Graph, minimize_binary


def star(n_leaves):
    """A vertex with many neighbours that have no other: its row sum of ŵ is the root of their number."""
    w = np.zeros((n_leaves + 1, n_leaves + 1))
    w[0, 1:] = w[1:, 0] = 1
    return Graph.from_weights(w)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_energy_of_a_star_of_labelled_leaves_never_rises(epsilon):
    labels = np.r_[-1, np.ones(200, int)]
    total = minimize_binary(star(200), labels, epsilon=epsilon, tol=0, max_iter=60).energy["total"]
    assert (np.diff(total) <= 0).all()
    assert total[-1] < 0.99 * total[0]


@given(
    st.integers(0, 10_000),
    st.floats(0.1, 4),
    st.floats(0.01, 200),
    st.sampled_from([0.05, 0.3]),
    st.sampled_from([None, 0.0, -0.4]),
)
def test_the_energy_never_rises(seed, epsilon, fidelity, density, mean):
    graph, labels = random_graph(40, seed, density), few_labels(40, 2, seed)
    total = minimize_binary(
        graph, labels, epsilon=epsilon, fidelity=fidelity, mean=mean, tol=0, max_iter=25
    ).energy["total"]
    assert (np.diff(total) <= 0).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_energy_equals_its_definition(seed, epsilon):
    graph, labels = random_graph(25, seed, 0.4), few_labels(25, 2, seed)
    trace = minimize_binary(graph, labels, epsilon=epsilon, fidelity=7.0, tol=0, max_iter=3).energy
    u = np.where(labels >= 0, 2.0 * labels - 1, 0.0)
    start = naive.binary_energy(graph.weights.toarray(), u, labels, epsilon, 7.0)
    np.testing.assert_allclose([trace[name][0] for name in ("smoothing", "potential", "fidelity")], start)
    u = naive.binary_steps(graph.weights.toarray(), u, labels, epsilon, 7.0, 3)
    end = naive.binary_energy(graph.weights.toarray(), u, labels, epsilon, 7.0)
    np.testing.assert_allclose([trace[name][3] for name in ("smoothing", "potential", "fidelity")], end, 1e-6)


@pytest.mark.parametrize("mean", [0.0, 0.5, -0.8])
def test_the_mean_is_kept(mean):
    from phaselabel.flow.binary import _BinaryModel

    graph = random_graph(60, 0, 0.2)
    model = _BinaryModel(graph, np.zeros(60), np.zeros(60), mean)
    u = model.from_eigenvector(mean)
    for _ in range(20):
        assert u.mean() == pytest.approx(mean, abs=1e-7)
        u = model.step(u, 1.0)


def test_class_sizes_alone_separate_two_groups():
    """Two moons in the plane without a label, 300 points each."""
    X, y = pl.datasets.make_two_moons(300, dimension=2, noise=0.005, random_state=0)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    arm = minimize_binary(graph, np.full(600, -1), mean=0.0).arm
    assert max(np.mean(arm == y), np.mean(arm != y)) > 0.97
    labels = np.full(600, -1)
    labels[[0, -1]] = y[[0, -1]]  # two labels give the classes their names
    assert np.mean(minimize_binary(graph, labels, mean=0.0).arm == y) > 0.97


@pytest.mark.parametrize("end", [0, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_does_not_name_the_classes(end, sign, monkeypatch):
    """Both ends of a path are equally far from its middle, and versions of ARPACK round them differently."""
    from scipy.sparse import linalg

    found = linalg.eigsh

    def rounded(*words, **options):
        values, vectors = found(*words, **options)
        vectors[end] *= 1 + 1e-9
        return values, sign * vectors

    monkeypatch.setattr(linalg, "eigsh", rounded)
    path = Graph.from_edges([[0, 1, 2], [1, 2, 3]])
    assert minimize_binary(path, [-1] * 4, mean=0.0).arm.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("mean", [1.0, -1, "even", float("nan"), True])
def test_a_mean_that_makes_no_sense_is_refused(mean):
    with pytest.raises(ValueError, match="mean must be a number between -1 and 1"):
        minimize_binary(star(5), [-1] * 6, mean=mean)


def test_a_schedule_is_run_to_its_end():
    schedule = pl.Geometric(2.0, 0.5, factor=0.5, sweeps=3)
    solution = minimize_binary(star(6), [-1, 0, 1, -1, -1, -1, 0], epsilon=schedule)
    assert (solution.n_iter, solution.reason) == (9, "schedule")
