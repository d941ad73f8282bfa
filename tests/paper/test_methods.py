import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import phaselabel as pl
from made import few_labels, random_graph
from phaselabel.flow.energy import gradient
from phaselabel.paper.methods import flow_settings, matched, methods
from phaselabel.paper.problem import Experiment, Problem
from phaselabel.paper.recipes import RECIPES


def test_printed_energy_is_the_gradient_of_the_print():
    """The printed energy has 2εR + Φ'/ε + μ(u - û); ε·√2, μ/√2 and dt·√2 must give the very same step."""
    recipe = RECIPES["coil"]
    labels = few_labels(40, 3, seed=0)
    graph = random_graph(40, seed=1)
    rng = np.random.default_rng(2)
    state = pl.State(rng.integers(0, 3, 40), rng.uniform(0, 0.5, 40))
    mu, epsilon = recipe.printed.fidelity, recipe.printed.epsilon
    printed = flow_settings(recipe)["printed-energy"]
    ours = printed["step"] * gradient(
        graph, state, labels, epsilon=printed["epsilon"], fidelity=printed["fidelity"]
    )
    once, twice = (gradient(graph, state, labels, epsilon=epsilon, fidelity=times * mu) for times in (1, 2))
    held = twice - once
    potential = -2 / epsilon * state.height * (0.25 - state.height**2)
    smoothing = once - held - potential
    np.testing.assert_allclose(ours, recipe.printed.step * (2 * smoothing + potential + held), atol=1e-12)


def test_paper_settings_are_the_printed_ones():
    settings = flow_settings(RECIPES["coil"])
    assert settings["paper"] == {
        "epsilon": 4, "fidelity": 100, "init": "random", "step": 0.02, "max_iter": 1000, "tol": 0.0,
    }  # fmt: skip
    assert settings["ours"] == {"epsilon": 4, "fidelity": 100}
    assert flow_settings(RECIPES["three-moons"])["paper-adaptive"]["epsilon"] == pl.Geometric(
        2.0, 0.01, 0.9, 40
    )


def test_our_method_is_the_classifier_without_evidence():
    problem = Experiment(RECIPES["three-moons"], seed=1).problem(0)
    method = next(m for m in methods(RECIPES["three-moons"]) if m.variant == "defaults")
    model = pl.GinzburgLandauClassifier(evidence=None).fit(problem.X, problem.labels)
    np.testing.assert_array_equal(method.solve(problem).arm, model.transduction_)


def test_clusters_get_the_names_that_fit_best():
    y = np.array([0, 0, 1, 1, 2, 2, 2])
    assert matched(np.array([2, 2, 0, 0, 1, 1, 0]), y).tolist() == [0, 0, 1, 1, 2, 2, 1]


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_svm_is_the_one_of_scikit_learn(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    labels = pl.datasets.sample_labels(y, 20, random_state=0)
    problem = Problem(X, y, labels, {}, {}, np.random.SeedSequence(0), np.random.SeedSequence(1))
    method = next(m for m in methods(RECIPES["coil"]) if m.variant == "svm")
    known = labels >= 0
    np.testing.assert_array_equal(method.solve(problem), SVC().fit(X[known], y[known]).predict(X))


@pytest.mark.parametrize(
    ("name", "bar"), [("three-moons", 96.5), ("swiss-roll", 94.0)], ids=["three-moons", "swiss-roll"]
)
def test_ours_is_good_on_the_generated_sets(name, bar):
    experiment = Experiment(RECIPES[name], seed=2)
    method = next(m for m in methods(experiment.recipe) if m.variant == "ours")
    problems = [experiment.problem(run) for run in range(5)]
    assert np.mean([p.score(method.solve(p).arm)[0] for p in problems]) > bar - 1.0
