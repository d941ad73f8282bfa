"""An experiment and its summary in, pictures as PNG bytes out."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel import datasets
from phaselabel.flow.callbacks import Snapshots
from phaselabel.flow.minimize import Solution
from phaselabel.paper.methods import TITLES, flow_settings, methods, run_flow
from phaselabel.paper.problem import Experiment, Problem

#: Okabe and Ito's colours: distinct for colour-blind readers too.
COLORS = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"])
#: Sky, grass, black cow, red cow.
COWS_COLORS = np.array(["#56B4E9", "#009E73", "#1B1B1B", "#D55E00"])
#: Why the figure of the cows is not on a published page.
COWS_WITHHELD = (
    "the picture is from the object recognition database of Microsoft Research Cambridge, which is for "
    "non-commercial research"
)
#: Variants that know no label.
WITHOUT_LABELS = ("spectral", "binary-sizes")
ENERGY_COLORS = {"total": "#D62728", "smoothing": "#2CA02C", "potential": "#1F77B4", "fidelity": "#9467BD"}


@dataclass(frozen=True)
class Figure:
    """A picture with its caption; ``withheld`` says why it is not on a published page, if it isn't."""

    name: str
    caption: str
    png: bytes
    withheld: str = ""


def figures(experiment: Experiment, summary: dict[str, Any]) -> Iterator[Figure]:
    """The pictures of one experiment."""
    name = experiment.recipe.name
    if name == "three-moons":
        yield _plane(experiment, summary, ("spectral", "paper-adaptive", "ours"))
        yield _evolution(experiment)
    elif name == "two-moons":
        yield _plane(experiment, summary, ("spectral", "binary-sizes", "ours"))
    elif name == "swiss-roll":
        yield _roll(experiment, summary)
    elif name == "cows":
        yield _cows(experiment)
    else:
        yield _confusion(experiment)


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


def _classes(experiment: Experiment, problem: Problem, variant: str) -> NDArray[Any]:
    """The classes that a method gives on the main graph."""
    size = experiment.recipe.n_neighbors[0]
    method = next(
        m for m in methods(experiment.recipe) if m.variant == variant and m.n_neighbors in (size, None)
    )
    answer = method.solve(problem)
    return answer.arm if isinstance(answer, Solution) else answer


def _best(experiment: Experiment, summary: dict[str, Any], variant: str) -> tuple[Problem, NDArray[Any], str]:
    """The best run of a method, made again: its problem, its classes and a heading."""
    size = experiment.recipe.n_neighbors[0]
    rows = [r for r in summary["results"] if r["variant"] == variant and r["n_neighbors"] in (size, None)]
    problem = experiment.problem(rows[0]["best_run"])
    classes = _classes(experiment, problem, variant)
    return problem, classes, f"{rows[0]['title'].split(':')[0]}: {problem.score(classes)[0]:.1f} %"


def _plane(experiment: Experiment, summary: dict[str, Any], variants: tuple[str, ...]) -> Figure:
    figure, axes = _pyplot().subplots(1, len(variants), figsize=(13, 3.2), layout="constrained")
    for axis, variant in zip(axes, variants, strict=True):
        problem, classes, heading = _best(experiment, summary, variant)
        _scatter(axis, problem, classes, known=variant not in WITHOUT_LABELS)
        axis.set_title(heading)
    caption = (
        f"{summary['title']}, first two dimensions: the best of {summary['results'][0]['runs']} runs of "
        "each method. Crosses are wrong, labels that the method knows have a black rim."
    )
    return Figure(f"{experiment.recipe.name}-segmentation", caption, _png(figure))


def _scatter(
    axis: Any, problem: Problem, classes: NDArray[Any], *, wrong: bool = True, known: bool = True
) -> None:
    x, y = problem.X[:, 0], problem.X[:, 1]
    axis.scatter(x, y, s=6, color=COLORS[classes], linewidths=0)
    if wrong:
        rows = classes != problem.y
        axis.scatter(x[rows], y[rows], s=18, marker="x", color="black", linewidths=0.8)
    if known:
        rows = problem.known
        axis.scatter(
            x[rows], y[rows], s=16, color=COLORS[problem.y[rows]], edgecolors="black", linewidths=0.6
        )
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)


def _evolution(experiment: Experiment) -> Figure:
    problem = experiment.problem(0)
    figure, axes = _pyplot().subplots(2, 4, figsize=(15, 5.2), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12)
    for row, variant in zip(axes, ("paper", "printed-energy"), strict=True):
        shots = Snapshots((100, 300))
        settings = flow_settings(experiment.recipe)[variant] | {"callbacks": shots}
        solution = run_flow(problem, experiment.recipe.n_neighbors[0], **settings)
        stages = {sweep: state.arm for sweep, state in shots.states.items()} | {solution.n_iter: solution.arm}
        for axis, (sweep, arm) in zip(row, stages.items(), strict=False):
            _scatter(axis, problem, arm, wrong=False, known=False)
            axis.set_title(f"{TITLES[variant]}, {sweep:,} sweeps: {problem.score(arm)[0]:.1f} %", fontsize=9)
        _energies(row[3], solution)
    caption = (
        "From a random start (the paper's Figure 4), with the printed update and with the gradient of the "
        "printed energy: classes after 100, 300 and 1,000 sweeps, and the energy with its parts (run 0)."
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


def _roll(experiment: Experiment, summary: dict[str, Any]) -> Figure:
    plt = _pyplot()
    figure = plt.figure(figsize=(16, 4.0))
    figure.subplots_adjust(left=0, right=1, bottom=0.02, top=0.92, wspace=0)
    for place, variant in enumerate(("spectral", "paper", "printed-energy", "ours"), 1):
        problem, classes, heading = _best(experiment, summary, variant)
        axis = figure.add_subplot(1, 4, place, projection="3d")
        axis.scatter(*problem.X.T, s=7, c=COLORS[classes], linewidths=0, depthshade=False)
        axis.view_init(elev=12, azim=-75)
        axis.set_box_aspect((4, 3, 3), zoom=1.25)
        axis.set_title(heading)
        axis.set_xticklabels([])
        axis.set_yticklabels([])
        axis.set_zticklabels([])
    caption = (
        f"Swiss roll (the paper's Figure 5): the best of {summary['results'][0]['runs']} runs of each method."
    )
    return Figure("swiss-roll", caption, _png(figure))


def _cows(experiment: Experiment) -> Figure:
    image, truth, names = datasets.load_cows(experiment.data_home)
    problem = experiment.problem(0)
    recipe = experiment.recipe
    solution = run_flow(problem, recipe.n_neighbors[0], **flow_settings(recipe)["ours"])
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
        "Cows (the paper's Figure 6), one run of ours: the picture, the known labels, the classes found, "
        "their confidence, and the mask of each class."
    )
    return Figure("cows", caption, _png(figure), COWS_WITHHELD)


def _confusion(experiment: Experiment) -> Figure:
    problem = experiment.problem(0)
    classes = _classes(experiment, problem, "ours")
    hidden = ~problem.known
    counts = np.zeros((problem.n_classes,) * 2, np.int64)
    with_class = hidden & (classes >= 0)
    np.add.at(counts, (problem.y[with_class], classes[with_class]), 1)
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
    axis.set_title(f"{experiment.recipe.name.upper()}, ours, run 0: {problem.score(classes)[0]:.1f} % right")
    caption = (
        f"{experiment.recipe.title}: one run of ours on the unlabelled rows, per cent of each true class."
    )
    return Figure(f"{experiment.recipe.name}-confusion", caption, _png(figure))
