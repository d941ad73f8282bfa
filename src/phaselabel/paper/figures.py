"""A bench and its summary in, pictures as PNG bytes out."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel import datasets
from phaselabel.callbacks import Snapshots
from phaselabel.flow import Solution, minimize
from phaselabel.paper.methods import TITLES, flow_settings, methods
from phaselabel.paper.problem import Bench, Problem

#: Okabe and Ito's colours: distinct for colour-blind readers too.
COLORS = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"])
#: Sky, grass, black cow, red cow.
COWS_COLORS = np.array(["#56B4E9", "#009E73", "#1B1B1B", "#D55E00"])
ENERGY_COLORS = {"total": "#D62728", "smoothing": "#2CA02C", "potential": "#1F77B4", "fidelity": "#9467BD"}


@dataclass(frozen=True)
class Figure:
    """A picture with its caption; ``shareable`` is false where it shows somebody else's data."""

    name: str
    caption: str
    png: bytes
    shareable: bool = True


def figures(bench: Bench, summary: dict[str, Any]) -> Iterator[Figure]:
    """The pictures of one experiment."""
    name = bench.recipe.name
    if name == "three-moons":
        yield _plane(bench, summary, ("spectral", "paper-adaptive", "ours"))
        yield _evolution(bench)
    elif name == "two-moons":
        yield _plane(bench, summary, ("spectral", "binary", "ours"))
    elif name == "swiss-roll":
        yield _roll(bench, summary)
    elif name == "cows":
        yield _cows(bench)
    else:
        yield _confusion(bench)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise ImportError(
            "Pictures need matplotlib; install it with: pip install phaselabel[paper]"
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, facecolor="white")
    _pyplot().close(figure)
    return buffer.getvalue()


def _answer(bench: Bench, problem: Problem, variant: str) -> NDArray[Any]:
    """The classes that a method finds on the main graph."""
    size = bench.recipe.n_neighbors[0]
    method = next(m for m in methods(bench.recipe) if m.variant == variant and m.n_neighbors in (size, None))
    answer = method.solve(problem)
    return answer.arm if isinstance(answer, Solution) else answer


def _best(bench: Bench, summary: dict[str, Any], variant: str) -> tuple[Problem, NDArray[Any], str]:
    """The best run of a method, once more: its problem, its classes and a heading."""
    size = bench.recipe.n_neighbors[0]
    rows = [r for r in summary["results"] if r["variant"] == variant and r["n_neighbors"] in (size, None)]
    problem = bench.problem(rows[0]["best_run"])
    found = _answer(bench, problem, variant)
    return problem, found, f"{rows[0]['title'].split(':')[0]}: {problem.score(found)[0]:.1f} %"


def _plane(bench: Bench, summary: dict[str, Any], variants: tuple[str, ...]) -> Figure:
    figure, axes = _pyplot().subplots(1, len(variants), figsize=(13, 3.2), layout="constrained")
    for axis, variant in zip(axes, variants, strict=True):
        problem, found, heading = _best(bench, summary, variant)
        _scatter(axis, problem, found)
        axis.set_title(heading)
    caption = (
        f"{bench.recipe.title}, first two dimensions: the best of {summary['results'][0]['runs']} runs of "
        "each method. Crosses are wrong, known labels have a black rim."
    )
    return Figure(f"{bench.recipe.name}-segmentation", caption, _png(figure))


def _scatter(axis: Any, problem: Problem, found: NDArray[Any], mark: bool = True) -> None:
    x, y = problem.X[:, 0], problem.X[:, 1]
    axis.scatter(x, y, s=6, color=COLORS[found], linewidths=0)
    if mark:
        wrong, known = found != problem.y, problem.known
        axis.scatter(x[wrong], y[wrong], s=18, marker="x", color="black", linewidths=0.8)
        axis.scatter(
            x[known], y[known], s=16, color=COLORS[problem.y[known]], edgecolors="black", linewidths=0.6
        )
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)


def _evolution(bench: Bench) -> Figure:
    problem = bench.problem(0)
    figure, axes = _pyplot().subplots(2, 4, figsize=(15, 5.2), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)
    for row, variant in zip(axes, ("paper", "printed-energy"), strict=True):
        shots = Snapshots((100, 300))
        solution = minimize(
            problem.graphs[bench.recipe.n_neighbors[0]],
            problem.labels,
            random_state=problem.start,
            callbacks=shots,
            **flow_settings(bench.recipe)[variant],
        )
        stages = {sweep: state.arm for sweep, state in shots.states.items()} | {solution.n_iter: solution.arm}
        for axis, (sweep, arm) in zip(row, stages.items(), strict=False):
            _scatter(axis, problem, arm, mark=False)
            axis.set_title(f"{TITLES[variant]}, {sweep:,} sweeps: {problem.score(arm)[0]:.1f} %", fontsize=9)
        _energies(row[3], solution)
    caption = (
        "From the paper's random start, with the printed update and with the gradient of the printed energy: "
        "classes after 100, 300 and 1,000 sweeps, and the energy with its three parts (run 0)."
    )
    return Figure("three-moons-evolution", caption, _png(figure))


def _energies(axis: Any, solution: Solution) -> None:
    for part, color in ENERGY_COLORS.items():
        axis.plot(solution.energy["sweep"], solution.energy[part], color=color, label=part, linewidth=1.6)
    axis.set_xlabel("sweeps")
    axis.set_ylabel("energy")
    axis.set_xlim(0, solution.n_iter)
    axis.legend(frameon=False, fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _roll(bench: Bench, summary: dict[str, Any]) -> Figure:
    plt = _pyplot()
    figure = plt.figure(figsize=(13, 4.2))
    figure.subplots_adjust(left=0, right=1, bottom=0.02, top=0.92, wspace=0)
    for place, variant in enumerate(("spectral", "printed-energy", "ours"), 1):
        problem, found, heading = _best(bench, summary, variant)
        axis = figure.add_subplot(1, 3, place, projection="3d")
        axis.scatter(*problem.X.T, s=7, c=COLORS[found], linewidths=0, depthshade=False)
        axis.view_init(elev=12, azim=-75)
        axis.set_box_aspect((4, 3, 3), zoom=1.25)
        axis.set_title(heading)
        axis.set_xticklabels([])
        axis.set_yticklabels([])
        axis.set_zticklabels([])
    caption = f"Swiss roll: the best of {summary['results'][0]['runs']} runs of each method."
    return Figure("swiss-roll", caption, _png(figure))


def _cows(bench: Bench) -> Figure:
    image, truth, names = datasets.load_cows(bench.data_home)
    problem = bench.problem(0)
    recipe = bench.recipe
    solution = minimize(
        problem.graphs[recipe.n_neighbors[0]],
        problem.labels,
        n_classes=problem.n_classes,
        **flow_settings(recipe)["ours"],
    )
    arm = solution.arm.reshape(truth.shape)
    sampled = np.full(image.shape, 235, np.uint8)
    known = problem.known.reshape(truth.shape)
    tones = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in COWS_COLORS], np.uint8)
    sampled[known] = tones[truth[known]]
    figure, axes = _pyplot().subplots(2, 4, figsize=(14, 5.4), layout="constrained")
    panels: list[tuple[str, Any, dict[str, Any]]] = [
        ("picture", image, {}),
        (f"{known.sum():,} sampled pixels", sampled, {"interpolation": "nearest"}),
        (f"found: {problem.score(solution.arm)[0]:.1f} % right", tones[arm], {}),
        (
            "confidence (dark: between classes)",
            solution.state.confidence(problem.n_classes).reshape(truth.shape),
            {"cmap": "magma", "vmin": 0.5, "vmax": 1},
        ),
    ]
    panels += [(name, arm == k, {"cmap": "gray"}) for k, name in enumerate(names)]
    for axis, (title, picture, options) in zip(axes.flat, panels, strict=True):
        axis.imshow(picture, **options)
        axis.set_title(title)
        axis.set_axis_off()
    caption = (
        "Cows, one run of ours: what was given, what was found, how sure it is, and the four class masks."
    )
    return Figure("cows", caption, _png(figure), shareable=False)


def _confusion(bench: Bench) -> Figure:
    problem = bench.problem(0)
    found = _answer(bench, problem, "ours")
    hidden = ~problem.known
    counts = np.zeros((problem.n_classes,) * 2, np.int64)
    reached = hidden & (found >= 0)
    np.add.at(counts, (problem.y[reached], found[reached]), 1)
    share = 100 * counts / np.bincount(problem.y[hidden], minlength=problem.n_classes)[:, None]
    side = 3.2 + 0.35 * problem.n_classes
    figure, axis = _pyplot().subplots(figsize=(side, side), layout="constrained")
    axis.imshow(np.sqrt(share), cmap="Blues", vmin=0, vmax=10)
    for (i, j), value in np.ndenumerate(share):
        shown = f"{value:.1f}" if counts[i, j] else "·"
        axis.text(j, i, shown, ha="center", va="center", fontsize=8, color="white" if value > 40 else "black")
    axis.set_xlabel("found")
    axis.set_ylabel("true")
    axis.set_xticks(range(problem.n_classes))
    axis.set_yticks(range(problem.n_classes))
    axis.set_title(f"{bench.recipe.name.upper()}, ours, run 0: {problem.score(found)[0]:.1f} % right")
    caption = f"{bench.recipe.title}: one run of ours on the unlabelled rows, per cent of each true class."
    return Figure(f"{bench.recipe.name}-confusion", caption, _png(figure))
