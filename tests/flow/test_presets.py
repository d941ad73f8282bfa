"""One word is the paper's run: for `minimize`, for the classifier, and in the reproduction."""

import numpy as np
import pytest

import naive
import phaselabel as pl
from phaselabel import GinzburgLandauClassifier, minimize, paper_run
from phaselabel.datasets import make_three_moons, sample_labels
from phaselabel.flow.presets import PRESETS
from phaselabel.streams import generator

#: Section 4 of the paper: N, μ, ε, dt, n_max; COIL's N without the point itself.
PRINTED = {
    "three-moons": (10, 30, 1, 0.01, 1000),
    "two-moons": (10, 30, 1, 0.01, 1000),
    "swiss-roll": (10, 50, 1, 0.01, 1000),
    "cows": (30, 30, 1, 0.01, 800),
    "coil": (3, 100, 4, 0.02, 1000),
    "mnist": (8, 50, 1, 0.01, 1500),
}


@pytest.mark.parametrize("name", PRINTED)
def test_presets_are_the_printed_parameters(name):
    run = paper_run(name, "classifier")
    names = ("n_neighbors", "fidelity", "epsilon", "step", "max_iter")
    assert tuple(run[key] for key in names) == PRINTED[name]
    assert (run["init"], run["tol"], run["evidence"]) == ("random", 0, None)
    assert paper_run(name) == {key: run[key] for key in run if key not in ("n_neighbors", "evidence")}


def test_the_adaptive_schedule_is_that_of_table_1():
    assert paper_run("three-moons-adaptive")["epsilon"] == pl.Geometric(2.0, 0.01, factor=0.9, sweeps=40)


@pytest.mark.parametrize("name", [*PRINTED, "three-moons-adaptive"])
def test_minimize_and_the_classifier_make_the_same_run(name):
    X, y = make_three_moons(30, dimension=10, random_state=0)
    labels = sample_labels(y, 5, random_state=0)
    model = GinzburgLandauClassifier(**paper_run(name, "classifier"), random_state=0).fit(X, labels)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, PRESETS[name].n_neighbors))
    solution = minimize(graph, labels, **paper_run(name), random_state=0)
    np.testing.assert_array_equal(model.solution_.arm, solution.arm)
    np.testing.assert_array_equal(model.solution_.height, solution.height)
    assert model.solution_.policy == solution.policy == "literal"
    assert solution.n_iter == (51 * 40 if name == "three-moons-adaptive" else PRINTED[name][-1])


def test_a_preset_is_algorithm_1():
    X, y = make_three_moons(12, dimension=5, random_state=0)
    labels = sample_labels(y, 2, random_state=0)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10), dtype=np.float64)
    solution = minimize(graph, labels, **paper_run("swiss-roll") | {"max_iter": 150}, random_state=3)
    u = pl.State.at_random(len(y), 3, generator(3, "start")).with_labels(labels).to_u()
    literal = naive.algorithm_1(graph.normalized.toarray(), labels, 50.0, u, 1.0, 0.01, 150, 3)
    np.testing.assert_array_equal(solution.arm, pl.State.from_u(literal).arm)
    np.testing.assert_allclose(solution.height, pl.State.from_u(literal).height, atol=1e-10)


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="experiment must be one of three-moons"):
        paper_run("five-moons")
    with pytest.raises(ValueError, match='of must be "minimize" or "classifier"'):
        paper_run("coil", "fit")
