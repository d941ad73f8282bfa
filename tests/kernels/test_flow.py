"""Twins: the kernels equal the slow, literal loops of naive.py."""

import numba
import numpy as np
import pytest

import naive
import phaselabel as pl
from made import few_labels, opinions, random_graph
from phaselabel._kernels import compile as compiling
from phaselabel._kernels import flow as kernels
from phaselabel.flow.block import N_RANGES, balanced_ranges
from phaselabel.flow.evidence import Evidence


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize(("epsilon", "fidelity"), [(1.0, 30.0), (0.5, 100.0), (2.0, 0.2)])
def test_flow_equals_the_literal_algorithm_vertex_for_vertex(n_classes, epsilon, fidelity):
    for seed in range(3):
        n = 40
        graph = random_graph(n, seed)
        labels = few_labels(n, n_classes, seed)
        u = np.random.default_rng(100 + seed).uniform(0, n_classes, n) - 0.5
        u[labels >= 0] = labels[labels >= 0]
        literal = naive.algorithm_1(
            graph.normalized.toarray(), labels, fidelity, u, epsilon, 0.05, 120, n_classes
        )
        solution = pl.minimize(
            graph,
            labels,
            epsilon=epsilon,
            fidelity=fidelity,
            init=pl.State.from_u(u),
            step=0.05,
            max_iter=120,
            tol=0,
        )
        assert solution.n_iter == 120
        state = pl.State.from_u(literal)
        np.testing.assert_array_equal(solution.arm, state.arm)
        np.testing.assert_allclose(solution.height, state.height, atol=1e-10)


def test_flow_equals_the_literal_algorithm_on_three_moons():
    X, y = pl.datasets.make_three_moons(60, random_state=0)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10), dtype=np.float64)
    labels = pl.datasets.sample_labels(y, 5, random_state=1)
    u = np.random.default_rng(2).uniform(0, 3, len(y)) - 0.5
    u[labels >= 0] = labels[labels >= 0]
    literal = naive.algorithm_1(graph.normalized.toarray(), labels, 30.0, u, 1.0, 0.1, 100, 3)
    solution = pl.minimize(graph, labels, init=pl.State.from_u(u), step=0.1, max_iter=100, tol=0)
    np.testing.assert_array_equal(solution.arm, pl.State.from_u(literal).arm)


@pytest.mark.parametrize("seed", range(3))
def test_adaptive_epsilon_equals_the_literal_algorithm(seed):
    """Table 1's schedule, from 2 to 0.01 by factors of 0.9, with four sweeps for each value."""
    n, n_classes = 20, 3
    graph, labels = random_graph(n, seed), few_labels(n, n_classes, seed)
    u = np.random.default_rng(seed).uniform(0, n_classes, n) - 0.5
    u[labels >= 0] = labels[labels >= 0]
    literal = naive.adaptive(graph.normalized.toarray(), labels, 30.0, u, 2.0, 0.01, 0.1, 0.01, 4, n_classes)
    schedule = pl.Geometric(2.0, 0.01, factor=0.9, sweeps=4)
    solution = pl.minimize(graph, labels, epsilon=schedule, init=pl.State.from_u(u), step=0.01, tol=0)
    assert solution.n_iter == 51 * 4
    state = pl.State.from_u(literal)
    np.testing.assert_array_equal(solution.arm, state.arm)
    # At ε = 0.01 a height near the hub grows by half in every sweep, and so does a rounding error.
    np.testing.assert_allclose(solution.height, state.height, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_flow_from_the_hub_equals_the_slow_star(seed, monkeypatch):
    monkeypatch.setattr("phaselabel.flow.descent.FEW_MOVE", -1)  # the slow star visits all vertices
    n, n_classes = 50, 4
    graph = random_graph(n, seed, density=0.08)
    labels = few_labels(n, n_classes, seed, share=0.05)
    start = pl.State.at_hub(n).with_labels(labels)
    w_hat, q = graph.normalized.toarray(), opinions(n, n_classes, seed)
    arm, height = naive.star(w_hat, labels, 30.0, start.arm, start.height, 1.0, 60)
    solution = pl.minimize(graph, labels, max_iter=60, tol=0)
    np.testing.assert_array_equal(solution.arm, arm)
    np.testing.assert_allclose(solution.height, height, atol=1e-10)
    arm, height = naive.star(w_hat, labels, 30.0, start.arm, start.height, 1.0, 60, q, 0.7)
    with_evidence = pl.minimize(graph, labels, max_iter=60, tol=0, evidence=Evidence.of(q, 0.7))
    np.testing.assert_array_equal(with_evidence.arm, arm)
    np.testing.assert_allclose(with_evidence.height, height, atol=1e-10)
    assert (with_evidence.arm != solution.arm).any()


def test_evidence_without_a_voice_is_the_paper_bit_for_bit(digits, digits_graph):
    labels = pl.datasets.sample_labels(digits[1], 5, random_state=0)
    silent = Evidence.of(opinions(len(labels), 10, 0), voice=0.0)
    for step in ("auto", 0.1):
        plain = pl.minimize(digits_graph, labels, step=step)
        other = pl.minimize(digits_graph, labels, step=step, evidence=silent)
        np.testing.assert_array_equal(plain.arm, other.arm)
        np.testing.assert_array_equal(plain.height, other.height)


def test_evidence_that_is_one_hot_is_fidelity(digits, digits_graph):
    labels = pl.datasets.sample_labels(digits[1], 5, random_state=0)
    told = np.where((labels >= 0)[:, None], np.eye(10)[labels], np.nan)
    first = np.where(np.arange(len(labels)) == np.flatnonzero(labels >= 0)[0], labels, -1)
    start = pl.State.at_hub(len(labels)).with_labels(labels)
    plain = pl.minimize(digits_graph, labels, init=start, max_iter=40, tol=0)
    other = pl.minimize(
        digits_graph, first, init=start, max_iter=40, tol=0, n_classes=10, evidence=Evidence.of(told, 30.0)
    )
    assert np.mean(plain.arm == other.arm) > 0.999


def test_same_bits_for_any_number_of_threads(digits, digits_graph, monkeypatch):
    monkeypatch.setattr(compiling, "SMALL", 0)
    labels = pl.datasets.sample_labels(digits[1], 2, random_state=0)
    before = numba.get_num_threads()
    found = []
    try:
        for threads in range(1, numba.config.NUMBA_NUM_THREADS + 1):
            numba.set_num_threads(threads)
            found.append(pl.minimize(digits_graph, labels, max_iter=60, tol=0))
    finally:
        numba.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(other.arm, found[0].arm)
        np.testing.assert_array_equal(other.height, found[0].height)
        np.testing.assert_array_equal(other.energy, found[0].energy)


def test_serial_and_parallel_kernels_agree_but_for_rounding(digits, digits_graph, monkeypatch):
    labels = pl.datasets.sample_labels(digits[1], 2, random_state=0)
    small = pl.minimize(digits_graph, labels)
    monkeypatch.setattr(compiling, "SMALL", 0)
    large = pl.minimize(digits_graph, labels)
    np.testing.assert_array_equal(small.arm, large.arm)
    np.testing.assert_allclose(small.height, large.height, atol=1e-3)
    assert small.energy["total"][-1] == pytest.approx(large.energy["total"][-1], rel=1e-4)


def test_the_two_flavours_are_kept_apart_in_the_cache():
    """A fresh process must not load the parallel kernel in place of the serial one."""
    assert kernels.sweep.serial.py_func.__qualname__ != kernels.sweep.parallel.py_func.__qualname__
    assert not kernels.sweep.serial.targetoptions.get("parallel")
    assert kernels.sweep.parallel.targetoptions["parallel"]


def test_visiting_only_what_moves_ends_with_the_same_labels(digits, digits_graph, monkeypatch):
    for seed in range(5):
        labels = pl.datasets.sample_labels(digits[1], 1, random_state=seed)
        partly = pl.minimize(digits_graph, labels)
        monkeypatch.setattr("phaselabel.flow.descent.FEW_MOVE", -1)
        fully = pl.minimize(digits_graph, labels)
        monkeypatch.undo()
        assert np.mean(partly.arm == fully.arm) > 0.999
        np.testing.assert_allclose(partly.height, fully.height, atol=0.02)


def test_renumbering_is_invisible_to_the_last_bit(digits, digits_graph, monkeypatch):
    labels = pl.datasets.sample_labels(digits[1], 2, random_state=0)
    plain = pl.minimize(digits_graph, labels)
    monkeypatch.setattr("phaselabel.graph.graph.FITS_CACHE", 0)
    renumbered = pl.Graph(digits_graph.weights)
    assert (renumbered.layout[0] != np.arange(len(labels))).any()
    np.testing.assert_array_equal(np.sort(renumbered.layout[0]), np.arange(len(labels)))
    other = pl.minimize(renumbered, labels)
    np.testing.assert_array_equal(other.arm, plain.arm)
    np.testing.assert_array_equal(other.height, plain.height)


def test_blocks_of_one_graph_can_run_apart(digits, digits_graph):
    """Two halves that exchange their boundary after every sweep do what one sweep of the whole does."""
    labels = pl.datasets.sample_labels(digits[1], 2, random_state=0)
    n = len(labels)
    site = np.zeros(n, kernels.SITE)
    site["row_sum"], site["fidelity"] = digits_graph.row_sums, np.where(labels >= 0, 30, 0)
    site["label"], site["stiffness"] = labels, 10 + site["fidelity"]
    ballots, opinion = np.zeros((N_RANGES, 11), np.float32), np.zeros((1, 10), np.float32)
    step = np.float32(1), np.float32(0), opinion
    start = pl.State.at_hub(n).with_labels(labels).packed()

    def run(parts):
        state = start.copy()
        for _ in range(30):
            out = np.full_like(state, 0)
            for blocks in parts:
                kernels.sweep(*digits_graph.csr, site, *step, state, out, blocks, ballots)
            state = out
        return state

    whole = balanced_ranges(digits_graph.normalized.indptr, N_RANGES)
    halves = [np.array([0, 300, 900]), np.array([900, n])]
    np.testing.assert_array_equal(run([whole]), run(halves))


def test_ten_thousand_classes_cost_nothing_per_vertex():
    """Each pair of vertices is a class of its own; the vote must touch only what is near."""
    n = 20_000
    pairs = np.arange(n).reshape(-1, 2)
    indices, distances = pairs[:, ::-1].reshape(-1, 1), np.ones((n, 1))
    labels = np.where(np.arange(n) % 2 == 0, np.arange(n) // 2, -1)
    solution = pl.minimize(pl.similarity_graph((indices, distances)), labels)
    np.testing.assert_array_equal(solution.arm, np.arange(n) // 2)
    assert solution.converged
