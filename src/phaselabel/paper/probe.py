"""The code of the flow in, how it runs on a few small problems out: versions that agree here are one."""

import warnings
from typing import Any

import numpy as np

from phaselabel.datasets import make_three_moons, make_two_moons, sample_labels
from phaselabel.flow.binary import minimize_binary
from phaselabel.flow.minimize import Solution, minimize
from phaselabel.flow.presets import PRESETS, paper_run
from phaselabel.graph import nearest_neighbors, similarity_graph


def probe() -> dict[str, list[float]]:
    """Run every variant of the reproduction on small problems.

    A digest of the sources changes with every word of an error message; this changes when results do.

    Returns
    -------
    dict
        For each variant the number of sweeps, the mean and the last energy, the mean height and the sizes of
        the classes.
    """
    from phaselabel.estimators.classifier import GinzburgLandauClassifier

    X, y = make_three_moons(60, dimension=20, random_state=0)
    labels = sample_labels(y, 6, random_state=0)
    graph = similarity_graph(nearest_neighbors(X, 10, method="exact"))
    found: dict[str, Solution] = {
        name: minimize(graph, labels, **paper_run(name), random_state=0) for name in PRESETS
    }
    found["ours"] = minimize(graph, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = GinzburgLandauClassifier(affinity="precomputed", evidence=None)
        found["the graph alone"] = model.fit(graph, labels).solution_
    X, y = make_two_moons(80, dimension=20, random_state=0)
    labels = sample_labels(y, 4, random_state=0)
    graph = similarity_graph(nearest_neighbors(X, 10, method="exact"))
    found["binary"] = minimize_binary(graph, labels)
    found["binary, sizes"] = minimize_binary(graph, np.full(len(y), -1), mean=0.0)
    return {name: _figures(solution) for name, solution in found.items()}


def _figures(solution: Solution) -> list[float]:
    energy = solution.energy["total"]
    sizes = np.bincount(solution.arm + 1)[1:]  # never 0 here; one vertex more is a change of results
    # The mean over the trace tells two ways to the same end apart.
    figures = [solution.n_iter, energy.mean(), energy[-1], np.mean(solution.height), *sizes]
    return [float(figure) for figure in figures]
