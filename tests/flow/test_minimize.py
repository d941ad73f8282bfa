"""Laws of the descent: it goes down, names don't matter, it says why it stopped."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import phaselabel as pl
from made import few_labels, opinions, random_graph
from phaselabel.flow.evidence import Evidence


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(1, 6),
    epsilon=st.floats(0.1, 5),
    fidelity=st.floats(0.01, 500),
    theta=st.sampled_from([0.0, 0.1, 1.0, 20.0]),
    density=st.floats(0.02, 0.9),
    start=st.sampled_from(["hub", "random"]),
)
def test_energy_never_rises_in_a_sweep_without_a_change_of_class(
    seed, n_classes, epsilon, fidelity, theta, density, start
):
    graph, labels = random_graph(30, seed, density), few_labels(30, n_classes, seed)
    seen = []
    pl.minimize(
        graph,
        labels,
        epsilon=epsilon,
        fidelity=fidelity,
        evidence=Evidence.of(opinions(30, n_classes, seed), theta),
        init=start,
        random_state=seed,
        max_iter=60,
        every=1,
        tol=0,
        callbacks=lambda sweep, state, energy: seen.append((state, energy.total)),
    )
    for (before, high), (after, low) in pairwise(seen):
        if (after.arm == before.arm).all():
            assert low <= high + 1e-12 * seen[0][1]  # what rounding leaves
        assert after.height.max() <= 0.5


def test_a_vertex_between_three_classes_rests_at_the_hub():
    """Mirrored at the hub it would rest at r = 0.093, on a slope, and higher than it began."""
    w = np.zeros((4, 4))
    w[0, 1:] = w[1:, 0] = 0.4, 0.3, 0.3
    graph = pl.Graph(sparse.csr_array(w))
    start = pl.State(np.array([0, 0, 1, 2], np.int32), np.array([0.0, 0.5, 0.5, 0.5]))
    solution = pl.minimize(graph, [-1, 0, 1, 2], init=start, fidelity=1e6, max_iter=50, tol=0)
    assert solution.height[0] == 0
    assert (np.diff(solution.energy["total"]) <= 1e-12).all()


def test_a_run_of_n_sweeps_does_not_depend_on_how_often_it_is_looked_at(digits, digits_graph):
    labels = pl.datasets.sample_labels(digits[1], 5, random_state=0)
    runs = [
        pl.minimize(digits_graph, labels, step=0.01, max_iter=300, tol=0, every=every)
        for every in (1, 7, 300)
    ]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].arm, other.arm)
        np.testing.assert_array_equal(runs[0].height, other.height)


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
def test_class_names_do_not_matter(seed, n_classes):
    graph, labels = random_graph(40, seed), few_labels(40, n_classes, seed)
    names = np.random.default_rng(seed).permutation(n_classes)
    plain = pl.minimize(graph, labels)
    renamed = pl.minimize(graph, np.where(labels >= 0, names[labels], -1))
    np.testing.assert_array_equal(renamed.arm, np.where(plain.arm >= 0, names[plain.arm], -1))
    np.testing.assert_array_equal(renamed.height, plain.height)


@given(seed=st.integers(0, 10_000))
def test_row_order_does_not_matter(seed):
    graph, labels = random_graph(40, seed), few_labels(40, 3, seed)
    order = np.random.default_rng(seed).permutation(40)
    shuffled = pl.Graph.from_weights(graph.weights[order][:, order])
    plain, other = (
        pl.minimize(graph, labels, max_iter=200),
        pl.minimize(shuffled, labels[order], max_iter=200),
    )
    np.testing.assert_array_equal(other.arm, plain.arm[order])
    np.testing.assert_allclose(other.height, plain.height[order], atol=1e-6)


def test_labels_that_only_a_long_path_connects_still_arrive():
    """Nothing is called converged while the front is still on its way."""
    n = 3000
    ends = np.arange(n - 1)
    upper = sparse.coo_array((np.ones(n - 1), (ends, ends + 1)), shape=(n, n))
    labels = np.full(n, -1)
    labels[0], labels[-1] = 0, 1
    solution = pl.minimize(upper + upper.T, labels, max_iter=20_000)
    assert solution.converged
    assert (solution.arm >= 0).all()
    assert (solution.arm[: n // 2 - 5] == 0).all()
    assert (solution.arm[n // 2 + 5 :] == 1).all()


def test_a_thin_front_in_a_large_graph_is_not_called_converged():
    """One vertex per sweep of half a million changes class: a tiny fraction, and yet not rest."""
    n = 500_000
    ends = np.arange(n - 1)
    upper = sparse.coo_array((np.ones(n - 1, np.float32), (ends, ends + 1)), shape=(n, n))
    labels = np.full(n, -1)
    labels[0] = 0
    solution = pl.minimize(upper + upper.T, labels, max_iter=60)
    assert not solution.converged
    assert "not been reached yet" in solution.status


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 5, 6])
def test_the_status_has_the_number_of_vertices_that_have_not_been_reached_yet(max_iter):
    links = sparse.diags_array([np.ones(29), np.ones(29)], offsets=[-1, 1], shape=(30, 30))
    graph = pl.Graph.from_weights(sparse.block_diag([links, links]).tocsr())  # no label on the second path
    labels = np.full(60, -1)
    labels[0] = 0
    solution = pl.minimize(graph, labels, max_iter=max_iter)
    assert (solution.arm[:30] < 0).sum() == 29 - max_iter
    assert f" {29 - max_iter} vertices have not been reached yet" in solution.status


def test_a_front_behind_vanishing_weights_is_on_its_way():
    """A strip of a hundred rows that hang on two edges of weight 6e-33, in a graph of ten thousand."""
    weights = np.ones(9999)
    weights[[9900, 9950]] = 6e-33
    path = sparse.diags_array([weights, weights], offsets=[-1, 1], shape=(10_000, 10_000))
    labels = np.full(10_000, -1)
    labels[:9800] = 0
    solution = pl.minimize(pl.Graph.from_weights(path, np.float32), labels, max_iter=5000)
    assert (solution.arm == 0).all()
    assert solution.reason == "rest"


def test_a_front_that_cannot_move_has_not_arrived():
    weights = np.ones(99)
    weights[50] = 1.5e-45  # times a height it is nothing in single precision
    path = sparse.diags_array([weights, weights], offsets=[-1, 1], shape=(100, 100))
    labels = np.full(100, -1)
    labels[0] = 0
    solution = pl.minimize(pl.Graph.from_weights(path, np.float32), labels)
    assert (solution.arm >= 0).sum() == 51
    assert (solution.reason, solution.converged) == ("stalled", False)
    assert "49 vertices are connected to a known label by edges whose weights vanish" in solution.status
    # A component without any label is not a front: nothing can arrive there.
    apart = sparse.block_diag([path, path]).tocsr()
    free = pl.minimize(pl.Graph.from_weights(apart, np.float64), np.r_[labels, np.full(100, -1)])
    assert free.reason == "rest"


def test_rest_is_found_where_the_energy_goes_to_zero():
    X = np.r_[np.zeros((50, 2)), np.full((50, 2), 9.0)] + np.random.default_rng(0).normal(0, 0.1, (100, 2))
    labels = np.full(100, -1)
    labels[[0, 99]] = 0, 1
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 20))
    solution = pl.minimize(graph, labels)
    assert solution.converged
    assert solution.n_iter < 50  # a fraction of the energy alone is reached after more than a hundred
    assert abs(pl.energy.evaluate(graph, solution.state, labels).total) < 1e-5  # the trace is clipped at 0


def test_slow_motion_is_not_rest():
    graph, labels = random_graph(200, 0, 0.1), few_labels(200, 3, 0, share=0.02)
    assert not pl.minimize(graph, labels, step=1e-4, max_iter=300).converged


@pytest.mark.parametrize("start", ["random", pl.State(np.zeros(4, int), np.full(4, 0.5))])
def test_nobody_out_of_reach_keeps_a_class_from_the_start(start):
    graph = pl.Graph.from_weights([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    assert pl.minimize(graph, [1, -1, -1, -1], init=start, random_state=0).arm.tolist() == [1, 1, -1, -1]


def test_a_label_without_trust_is_unknown():
    graph = pl.Graph.from_weights(1 - np.eye(4))
    assert pl.minimize(graph, [0, 1, -1, -1], fidelity=[1.0, 0, 0, 0]).arm.tolist() == [0, 0, 0, 0]


def test_component_without_a_label_stays_at_the_hub():
    graph = pl.Graph.from_weights([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    solution = pl.minimize(graph, [1, -1, -1, -1])
    assert solution.arm.tolist() == [1, 1, -1, -1]
    assert solution.height[2:].tolist() == [0, 0]


def test_small_fidelity_lets_a_wrong_label_be_outvoted_and_large_clamps():
    n = 8
    clique = pl.Graph.from_weights(1 - np.eye(n))
    labels = np.zeros(n, int)
    labels[0] = 1
    assert pl.minimize(clique, labels, fidelity=30.0).arm[0] == 1
    assert pl.minimize(clique, labels, fidelity=0.05).arm[0] == 0
    trust = np.full(n, 30.0)
    trust[0] = 0.0
    assert pl.minimize(clique, labels, fidelity=trust).arm[0] == 0


def test_warm_start_from_a_solution_is_at_rest(digits, digits_graph):
    labels = pl.datasets.sample_labels(digits[1], 5, random_state=0)
    first = pl.minimize(digits_graph, labels)
    again = pl.minimize(digits_graph, labels, init=first)
    assert again.n_iter < first.n_iter / 3
    assert np.mean(again.arm == first.arm) > 0.999


def test_the_papers_run_is_nothing_special(digits, digits_graph):
    labels = pl.datasets.sample_labels(digits[1], 5, random_state=0)
    run = {"init": "random", "step": 0.01, "max_iter": 100, "tol": 0}
    first, same, other = (pl.minimize(digits_graph, labels, random_state=s, **run) for s in (1, 1, 2))
    assert first.n_iter == 100
    assert not first.converged
    assert "limit" in first.status
    np.testing.assert_array_equal(first.height, same.height)
    assert np.any(first.height != other.height)


def test_schedule_runs_through_its_values():
    schedule = pl.Geometric(start=2.0, stop=0.01, factor=0.9, sweeps=40)
    assert len(list(schedule)) == 51
    graph, labels = random_graph(30, 1), few_labels(30, 3, 1)
    solution = pl.minimize(graph, labels, epsilon=pl.Geometric(1.0, 0.1, 0.5, sweeps=15))
    assert solution.n_iter == 60
    assert "schedule" in solution.status
    assert solution.height.mean() > pl.minimize(graph, labels, epsilon=1.0).height.mean()  # ε sharpens


def test_callback_stops_and_returns_the_state_it_saw():
    graph, labels = random_graph(30, 2), few_labels(30, 3, 2)
    seen = {}

    def stop(sweep, state, energy):
        seen[sweep] = state
        return sweep >= 20

    history = pl.History()
    solution = pl.minimize(graph, labels, callbacks=[stop, history], tol=0)
    assert solution.n_iter == 20
    assert "callback" in solution.status
    assert not solution.converged
    np.testing.assert_array_equal(solution.height, seen[20].height)
    assert history.sweeps == [0, 5, 10, 15, 20]
    assert solution.energy["sweep"].tolist() == [0, 5, 10, 15, 20]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"epsilon": "wide"}, "epsilon"),
        ({"fidelity": -1.0}, "fidelity"),
        ({"fidelity": np.inf}, "fidelity"),
        ({"fidelity": [1.0, 2.0]}, "fidelity"),
        ({"fidelity": "much"}, "fidelity"),
        ({"fidelity": 0.0}, "fidelity"),
        ({"epsilon": 1e300}, "epsilon"),
        ({"step": 10**400}, "step"),
        ({"callbacks": None}, "callbacks"),
        ({"callbacks": [1]}, "callbacks"),
        ({"n_classes": 3.5}, "n_classes"),
        ({"labels": np.array([10**9, *[-1] * 29])}, "without gaps"),
        ({"n_classes": 2_000_000}, "n_classes must be at most 1000000 for 30 vertices; got 2000000"),
        ({"init": None}, "init"),
        ({"step": 0.0}, "step"),
        ({"step": "big"}, "step"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 1.5}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"every": 0}, "every"),
        ({"init": "here"}, "init"),
        ({"init": pl.State.at_hub(3)}, "init"),
        ({"init": pl.State(np.full(30, 9), np.zeros(30))}, "init"),
        ({"init": pl.State(np.full(30, 0), np.full(30, 0.7))}, "init"),
        ({"n_classes": 1}, "n_classes"),
        ({"labels": np.full(30, -1)}, "no known label"),
        ({"labels": np.zeros(30)}, "whole numbers"),
        ({"labels": np.zeros(3, int)}, "one entry per vertex"),
        ({"labels": np.full(30, -2)}, "no known label"),
    ],
)
def test_bad_input_is_one_sentence(change, word):
    arguments = {"labels": few_labels(30, 3, 0)} | change
    with pytest.raises(ValueError, match=word) as caught:
        pl.minimize(random_graph(30, 0), **arguments)
    assert "\n" not in str(caught.value)


THIRDS, VOICES = np.full((30, 3), 1 / 3), np.ones(30)


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        (Evidence(THIRDS[:, :1], VOICES), r"shape \(30, 3\)"),  # a kernel would read beyond the array
        (Evidence(THIRDS[1:], VOICES), r"shape \(30, 3\)"),
        (Evidence(THIRDS, VOICES[1:]), "a voice per vertex"),
        (Evidence(2 * THIRDS, VOICES), "sum 1"),
        (Evidence(THIRDS * np.nan, VOICES), r"Evidence\.of"),
        (Evidence(THIRDS, -VOICES), "voice of Evidence"),
        (Evidence(THIRDS, np.nan * VOICES), "voice of Evidence"),
        (Evidence(THIRDS.astype(str), VOICES), "must be numbers"),
        (THIRDS[1:], "one row per row"),
    ],
)
def test_evidence_that_does_not_fit_is_refused(evidence, sentence):
    graph, labels = random_graph(30, 0), few_labels(30, 3, 0)
    state = pl.State.at_hub(30)
    calls = (
        lambda: pl.minimize(graph, labels, evidence=evidence),
        lambda: pl.energy.evaluate(graph, state, labels, evidence=evidence),
        lambda: pl.energy.gradient(graph, state, labels, evidence=evidence),
    )
    for call in calls:
        with pytest.raises(ValueError, match=sentence):
            call()


@pytest.mark.parametrize("table", [[0.5, 0.5], [["a"]], 1.0])
def test_opinions_that_are_no_table_are_refused(table):
    with pytest.raises(ValueError, match="probabilities must be a table of numbers"):
        Evidence.of(table)


def test_bad_schedules():
    for bad in (
        {"start": 1, "stop": 2},
        {"start": np.inf},
        {"start": "a"},
        {"factor": 1.0},
        {"sweeps": 0},
        {"sweeps": 2.5},
        {"sweeps": True},
        {"stop": 0},
        {"factor": 1 - 2e-16},  # 10^17 values
    ):
        with pytest.raises(ValueError, match=r"schedule|epsilon"):
            pl.Geometric(**bad)


def test_energy_that_falls_to_nothing_counts_as_flat():
    # Parts of their own for every class: the energy ends as rounding noise, which is not flat by itself.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(100 * k, 1, (400, 5)) for k in range(3)])
    labels = np.full(len(X), -1)
    labels[[0, 400, 800]] = 0, 1, 2
    solution = pl.minimize(pl.similarity_graph(pl.nearest_neighbors(X, 10)), labels)
    assert solution.converged
    assert solution.energy["total"][-1] < 1e-3 * solution.energy["total"][0]
    assert (solution.arm == np.repeat([0, 1, 2], 400)).all()


@pytest.mark.parametrize("step", [0, -1.0, 1e-154, 1e7, np.nan, True, "fast", None])
def test_a_step_that_makes_no_sense_is_refused(step):
    # 1/step overflows 32 bits where the step is tiny.
    with pytest.raises(ValueError, match="step must be 'auto' or a number between 1e-12 and 1e6"):
        pl.minimize(pl.Graph.from_edges([(0, 1), (1, 2)]), [0, 1, -1], step=step)
