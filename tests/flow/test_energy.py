"""Laws: terms equal their definition, and finite differences confirm the gradient."""

import numpy as np
import pytest

import naive
import phaselabel as pl
from made import few_labels, opinions, random_graph
from phaselabel.flow.energy import evaluate, gradient
from phaselabel.flow.evidence import Evidence


@pytest.mark.parametrize("seed", range(5))
def test_terms_equal_their_definition(seed):
    graph, labels = random_graph(30, seed), few_labels(30, 4, seed)
    u, q = np.random.default_rng(seed).uniform(-0.5, 3.5, 30), opinions(30, 4, seed)
    evidence = Evidence.of(q, voice=2.0)
    found = evaluate(graph, pl.State.from_u(u), labels, epsilon=0.7, fidelity=5.0, evidence=evidence)
    expected = naive.energy(graph.normalized.toarray(), labels, 5.0, u, 0.7, q, 2.0)
    terms = (found.smoothing, found.potential, found.fidelity, found.evidence)
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
    assert found.total == pytest.approx(sum(expected))


@pytest.mark.parametrize("seed", range(5))
def test_taylor_remainder_of_the_gradient_has_slope_two(seed):
    rng = np.random.default_rng(seed)
    graph, labels = random_graph(30, seed), few_labels(30, 4, seed)
    arm, r = rng.integers(0, 4, 30), rng.uniform(0.1, 0.4, 30)
    direction = rng.normal(size=30)
    settings = {"epsilon": 0.7, "fidelity": 5.0, "evidence": Evidence.of(opinions(30, 4, seed), 2.0)}

    def at(h):
        return evaluate(graph, pl.State(arm, r + h * direction), labels, **settings).total

    slope = gradient(graph, pl.State(arm, r), labels, **settings) @ direction
    sizes = np.geomspace(1e-4, 1e-2, 7)
    remainders = [abs(at(h) - at(0) - h * slope) for h in sizes]
    order = np.polyfit(np.log(sizes), np.log(remainders), 1)[0]
    assert order == pytest.approx(2, abs=0.05)


def test_the_flow_follows_the_gradient():
    graph, labels = random_graph(30, 0), few_labels(30, 3, 0)
    rng = np.random.default_rng(0)
    start = pl.State(rng.integers(0, 3, 30), rng.uniform(0.2, 0.4, 30)).with_labels(labels)
    free = labels < 0
    after = pl.minimize(graph, labels, init=start, step=1e-4, max_iter=1, tol=0)
    moved = (after.height - start.height)[free] / -1e-4
    np.testing.assert_allclose(moved, gradient(graph, start, labels)[free], rtol=1e-6)


def test_trace_of_the_flow_is_the_energy_of_its_states():
    graph, labels = random_graph(30, 3), few_labels(30, 3, 3)
    seen = []
    solution = pl.minimize(
        graph,
        labels,
        callbacks=lambda sweep, state, energy: seen.append((sweep, state, energy)),
        max_iter=40,
        tol=0,
    )
    assert [sweep for sweep, _, _ in seen] == [0, 5, 10, 15, 20, 25, 30, 35]
    for _, state, energy in seen:
        direct = evaluate(graph, state, labels)
        assert energy.total == pytest.approx(direct.total, rel=1e-9)
        assert energy.smoothing == pytest.approx(direct.smoothing, rel=1e-9)
    assert solution.energy["sweep"].tolist() == list(range(0, 41, 5))
    assert solution.energy["total"][-1] == pytest.approx(evaluate(graph, solution.state, labels).total)
