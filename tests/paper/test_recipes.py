import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import phaselabel as pl
from conftest import few_labels, random_graph
from phaselabel.energy import gradient
from phaselabel.paper.methods import flow_settings, matched, methods
from phaselabel.paper.problem import Bench, Problem
from phaselabel.paper.recipes import RECIPES
from phaselabel.segmentation.features import pixel_features


def test_printed_energy_is_the_gradient_of_the_print():
    """The printed energy has 2εR + Φ'/ε + μ(u - û); ε·√2, μ/√2 and dt·√2 must give the very same step."""
    recipe = RECIPES["coil"]
    labels = few_labels(40, 3, seed=0)
    graph = random_graph(40, seed=1)
    rng = np.random.default_rng(2)
    state = pl.State(rng.integers(0, 3, 40), rng.uniform(0, 0.5, 40))
    printed = flow_settings(recipe)["printed-energy"]
    ours = printed["step"] * gradient(
        graph, state, labels, epsilon=printed["epsilon"], fidelity=printed["fidelity"]
    )
    once, twice = (
        gradient(graph, state, labels, epsilon=recipe.epsilon, fidelity=times * recipe.fidelity)
        for times in (1, 2)
    )
    held = twice - once
    potential = -2 / recipe.epsilon * state.height * (0.25 - state.height**2)
    smoothing = once - held - potential
    np.testing.assert_allclose(ours, recipe.step * (2 * smoothing + potential + held), atol=1e-12)


def test_paper_settings_are_the_printed_ones():
    settings = flow_settings(RECIPES["coil"])
    assert settings["paper"] == {
        "epsilon": 4, "fidelity": 100, "init": "random", "step": 0.02, "max_iter": 1000, "tol": 0.0,
    }  # fmt: skip
    assert settings["ours"] == {"epsilon": 4, "fidelity": 100}
    assert flow_settings(RECIPES["three-moons"])["paper-adaptive"]["epsilon"] == pl.Geometric(
        2.0, 0.01, 0.9, 40
    )


def test_runs_are_independent_of_each_other_and_repeatable():
    bench = Bench(RECIPES["swiss-roll"], seed=4)
    first, second, again = bench.problem(0), bench.problem(1), Bench(RECIPES["swiss-roll"], seed=4).problem(0)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.allclose(first.X, second.X)
    assert (first.labels >= 0).sum() == 80
    streams = {
        np.random.default_rng(s).random() for p in (first, second) for s in (p.start, p.clustering)
    } | {Bench(RECIPES["swiss-roll"], seed=5).problem(0).X[0, 0]}
    assert len(streams) == 5


def test_nothing_set_is_the_classifier_as_it_comes():
    problem = Bench(RECIPES["three-moons"], seed=1).problem(0)
    method = next(m for m in methods(RECIPES["three-moons"]) if m.variant == "defaults")
    model = pl.GinzburgLandauClassifier().fit(problem.X, problem.labels)
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
    bench = Bench(RECIPES[name], seed=2)
    method = next(m for m in methods(bench.recipe) if m.variant == "ours")
    problems = [bench.problem(run) for run in range(5)]
    assert np.mean([p.score(method.solve(p).arm)[0] for p in problems]) > bar - 1.0


def test_cows_are_segmented(data_home):
    # The picture at a quarter of its pixels: the same recipe in a second.
    from phaselabel.datasets import load_cows, sample_labels

    image, truth, names = load_cows(data_home)
    assert image.shape == (213, 320, 3)
    assert len(names) == 4
    rows = pixel_features(image.astype(np.float32)).reshape(213, 320, -1)[::3, ::3].reshape(-1, 75)
    y = truth[::3, ::3].ravel()
    labels = sample_labels(y, fraction=0.05, random_state=0)
    graph = pl.similarity_graph(pl.nearest_neighbors(rows, 30))
    solution = pl.minimize(graph, labels, n_classes=4)
    assert np.mean(solution.arm[labels < 0] == y[labels < 0]) > 0.94
