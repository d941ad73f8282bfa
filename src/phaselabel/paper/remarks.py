"""An experiment and its results in, sentences with figures that were computed in this run out."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phaselabel.flow.callbacks import Snapshots
from phaselabel.paper.methods import flow_settings, k_means, run_flow
from phaselabel.paper.problem import Experiment, Problem, one_thread

#: Remarks are computed on at most the first 10 runs.
MAX_RUNS = 10

#: A difference of more than 3 standard errors is not by chance.
CHANCE = 3.0

#: k-means is tried once more with the lower moon moved up by this much.
MOVED_BY = 0.35

Results = Sequence[dict[str, Any]]


def remarks(experiment: Experiment, results: Results) -> list[str]:
    """The computed remarks on one experiment.

    Parameters
    ----------
    experiment : Experiment
        Makes the problems.
    results : sequence of dict
        A result for every method, as in ``paper.json``.

    Returns
    -------
    list of str
        One sentence or more for each remark.
    """
    runs = min(results[0]["runs"], MAX_RUNS)
    with one_thread():
        return [remark(experiment, results, runs) for remark in REMARKS.get(experiment.recipe.name, ())]


def _clusterings(experiment: Experiment, results: Results, runs: int) -> str:
    """Whether points made by the paper's words are as hard as the paper's points."""
    texts, harder = [], []
    for variant in ("k-means", "spectral"):
        cited = experiment.recipe.reported[variant]
        row = next(row for row in results if row["variant"] == variant)["accuracy_all"]
        texts.append(f"{cited.method} has {row['mean']:.1f} % (print: {cited.printed})")
        error = np.hypot(row["standard_error"] or np.inf, cited.standard_error or np.inf)
        harder.append(row["mean"] - cited.accuracy > CHANCE * error)
    moved = _mean([_with_moved_moon(experiment.problem(run)) for run in range(runs)])
    conclusion = " The paper's points must be harder than its text says." if all(harder) else ""
    return (
        f"The clusterings have no parameter of ours: {' and '.join(texts)}.{conclusion} With the lower moon "
        f"{MOVED_BY:g} higher, k-means has {moved:.1f} % on the first {runs} runs."
    )


def _with_moved_moon(problem: Problem) -> float:
    X = problem.X.copy()
    X[problem.y == 2, 1] += MOVED_BY
    return problem.score(k_means(replace(problem, X=X)))[1]


def _after_300_sweeps(experiment: Experiment, results: Results, runs: int) -> str:
    """Which of the two descents looks finished after 300 sweeps, as the paper writes."""
    recipe = experiment.recipe
    early: dict[str, list[float]] = {"paper": [], "printed-energy": []}
    final: dict[str, list[float]] = {"paper": [], "printed-energy": []}
    for run in range(runs):
        problem = experiment.problem(run)
        for variant in early:
            shots = Snapshots((300,))
            settings = flow_settings(recipe)[variant] | {"callbacks": shots}
            solution = run_flow(problem, recipe.n_neighbors[0], **settings)
            early[variant].append(problem.score(shots.states[300].arm)[1])
            final[variant].append(problem.score(solution.arm)[1])
    gaps = {variant: _mean(final[variant]) - _mean(early[variant]) for variant in early}
    nearer = min(gaps, key=lambda variant: abs(gaps[variant]))
    return (
        "The paper writes that after 300 sweeps its picture is close to the final one. On the first "
        f"{runs} runs the printed update has {_mean(early['paper']):.1f} % after 300 sweeps and "
        f"{_mean(final['paper']):.1f} % after {recipe.printed.sweeps:,}, the printed energy "
        f"{_mean(early['printed-energy']):.1f} % and {_mean(final['printed-energy']):.1f} %: the words fit "
        f"the printed {'update' if nearer == 'paper' else 'energy'} better."
    )


def _more_sweeps(experiment: Experiment, results: Results, runs: int) -> str:
    """How slowly the printed update removes the islands of a random start."""
    recipe = experiment.recipe
    printed, many = recipe.printed.sweeps, 4 * recipe.printed.sweeps
    settings = flow_settings(recipe)["paper"]
    scores: dict[int, list[float]] = {printed: [], many: []}
    for run in range(runs):
        problem = experiment.problem(run)
        for sweeps in scores:
            solution = run_flow(problem, recipe.n_neighbors[0], **(settings | {"max_iter": sweeps}))
            scores[sweeps].append(problem.score(solution.arm)[1])
    return (
        f"On the first {runs} runs the printed update has {_mean(scores[printed]):.1f} % of all points "
        f"after {printed:,} sweeps and {_mean(scores[many]):.1f} % after {many:,}."
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


REMARKS: dict[str, tuple[Callable[[Experiment, Results, int], str], ...]] = {
    "three-moons": (_clusterings, _after_300_sweeps),
    "swiss-roll": (_more_sweeps,),
}
