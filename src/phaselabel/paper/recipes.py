"""The paper's section 4 as data: what each experiment takes, and what was printed for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel import datasets
from phaselabel.flow import Geometric
from phaselabel.segmentation.features import pixel_features


@dataclass(frozen=True)
class Reported:
    """A figure that we cite: per cent, with standard deviation, best run and seconds where printed."""

    method: str
    accuracy: float
    std: float | None = None
    best: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Recipe:
    """One experiment with the paper's parameters.

    Parameters
    ----------
    name, title : str
        How it is asked for, and how it is headed.
    points : callable
        (stream, data_home) -> X, y; the stream is ignored by real data.
    fixed : bool
        Whether the points are the same in every run; then the graph is built once.
    sample : dict
        How labels are drawn: arguments of :func:`phaselabel.datasets.sample_labels`.
    n_neighbors : tuple of int
        The readings of the paper's N = M as numbers of others, the main one first.
    fidelity, epsilon, step, sweeps
        μ, ε, dt and n_max.
    runs : int
        How many runs the paper (or we) average.
    adaptive : Geometric, optional
        The schedule of ε where the paper has one.
    binary : bool
        Whether the two-class model of section 2 is run as well.
    rivals : bool
        Whether the re-implemented comparison methods are run as well.
    reported : dict
        What is printed, by the variant of ours that it stands beside; other keys stand alone.
    notes : tuple of str
        What explains a difference, as far as we know.
    """

    name: str
    title: str
    points: Callable[[Any, Any], tuple[NDArray[Any], NDArray[np.int64]]]
    sample: dict[str, Any]
    n_neighbors: tuple[int, ...]
    fidelity: float
    sweeps: int
    epsilon: float = 1.0
    step: float = 0.01
    runs: int = 100
    fixed: bool = False
    adaptive: Geometric | None = None
    binary: bool = False
    rivals: bool = False
    reported: dict[str, Reported] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The parameters on one line."""
        labels = self.sample.get("n_per_class")
        known = f"{labels} labels per class" if labels else f"{100 * self.sample['fraction']:g} % labels"
        return (
            f"N = M = {' or '.join(map(str, self.n_neighbors))} others, {known}, μ = {self.fidelity:g}, "
            f"ε = {self.epsilon:g}, dt = {self.step:g}, {self.sweeps:,} sweeps"
        )


def _cows(stream: Any, data_home: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    image, labels, _ = datasets.load_cows(data_home)
    return pixel_features(image.astype(np.float32), patch=5), labels.ravel()


def _mnist(stream: Any, data_home: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    pixels, digits = datasets.load_mnist(data_home)
    return pixels.astype(np.float32), digits


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "three-moons",
            "Three moons in R¹⁰⁰",
            lambda stream, home: datasets.make_three_moons(random_state=stream),
            {"n_per_class": 25},
            (10,),
            fidelity=30,
            sweeps=1000,
            adaptive=Geometric(2.0, 0.01, factor=0.9, sweeps=40),
            reported={
                "paper": Reported("multiclass GL", 95.1, 2.33, seconds=0.89),
                "paper-adaptive": Reported("multiclass GL, adaptive ε", 96.2, 1.59, 97.9, 1.61),
                "k-means": Reported("k-means", 72.1, 0.35, seconds=0.66),
                "spectral": Reported("spectral clustering", 80.0, 0.59, 81.3, 0.02),
            },
            notes=(
                "The printed clusterings, which have no parameter of ours, are 8 to 11 points below ours on "
                "points made by the same words: the paper's points must be harder than its text says. "
                "k-means comes down to 72 if the lower moon is centred near (1.5, 0.75) instead of "
                "(1.5, 0.4); no level of noise does that. The printed results of the flow are the lower "
                "for it too.",
                "The paper writes that after 300 sweeps its picture is close to the final one. So it is "
                "with the printed energy (96 % on six draws outside this table), not with the printed "
                "update (69 %): most likely the paper's program descended the printed energy. After "
                "1,000 sweeps the two differ little.",
            ),
        ),
        Recipe(
            "two-moons",
            "Two moons in R¹⁰⁰",
            lambda stream, home: datasets.make_two_moons(random_state=stream),
            {"n_per_class": 25},
            (10,),
            fidelity=30,
            sweeps=1000,
            binary=True,
            reported={
                "binary": Reported("binary GL with a mass constraint", 97.7),
                "p-Laplacian": Reported("p-Laplacian", 94.0),
                "Cheeger": Reported("relaxed Cheeger cut", 95.4),
            },
            notes=(
                "The paper cites results on two moons and gives no recipe of its own: points, labels and "
                "parameters are those of the three moons. The cited results are for 1,000 points a moon "
                "and use no labels; binary GL was told the sizes of the classes. They are not "
                "measurements of the same task. With 1,000 points a moon and 50 labels each, on ten draws "
                "outside this table, the flow has 94.8 and the binary model 95.7.",
            ),
        ),
        Recipe(
            "swiss-roll",
            "Swiss roll",
            lambda stream, home: datasets.make_swiss_roll(random_state=stream),
            {"fraction": 0.05},
            (10,),
            fidelity=50,
            sweeps=1000,
            reported={
                "paper": Reported("multiclass GL", 91.0, 2.72, 96.4, 0.75),
                "k-means": Reported("k-means", 37.9, 0.91, seconds=0.05),
                "spectral": Reported("spectral clustering", 49.7, 0.96, 50.1, 0.05),
            },
            notes=(
                "The printed update, run as printed, stays well below the printed result; the printed "
                "energy, whose smoothing term is twice as strong, comes out above it. A random start "
                "leaves islands of wrong classes on the roll that a weak smoothing term removes slowly: on "
                "six draws outside this table the printed update has 86 % after 1,000 sweeps and 90 % "
                "after 4,000. The start at the hub has no islands.",
            ),
        ),
        Recipe(
            "cows",
            "Cows: a colour picture",
            _cows,
            {"fraction": 0.026},
            (30,),
            fidelity=30,
            sweeps=800,
            runs=50,
            fixed=True,
            reported={},
            notes=(
                "The paper shows pictures and 19.9 s a segmentation, no accuracy. That our picture is the "
                "paper's is inferred from its description and size; the truth we count by is a hand-drawn "
                "segmentation.",
            ),
        ),
        Recipe(
            "coil",
            "COIL: 1,500 images, six classes",
            lambda stream, home: datasets.load_coil(home),
            {"fraction": 0.1},
            (3, 4),
            fidelity=100,
            epsilon=4,
            step=0.02,
            sweeps=1000,
            fixed=True,
            rivals=True,
            reported={
                "paper": Reported("multiclass GL", 93.2, 1.27, seconds=0.29),
                "neighbors": Reported("k nearest neighbours", 83.5),
                "laprls": Reported("LapRLS", 87.8),
                "squared-loss": Reported("SQ-Loss-I", 90.9),
                "measure-propagation": Reported("measure propagation", 91.1),
                "sGT": Reported("sGT", 89.9),
            },
            notes=(
                "N = 4 can be read as four others or as four with the point itself, that is three others. "
                "Both are run, and three others is nearer to the print.",
                "Counted over all points, as the paper's tables most likely are, three others come near the "
                "print. On 500 draws outside this table the printed update has 93.0, the printed energy "
                "93.4 and ours 93.6 (standard errors of 0.06); the 100 draws of this table happen to be "
                "harder by 0.3. The print's own standard error is 0.13, so that it agrees with the "
                "printed energy and is a little above the printed update.",
                "Other readings of the printed update, on 100 to 200 draws outside this table, of all "
                "points: in place, vertex after vertex, with an explicit fidelity term, as Algorithm 1 "
                "stands, +0.1; a loop at every vertex, the point being its own nearest neighbour, "
                "that counts in its degree, -1.0; the scale from the fourth other instead of the third, "
                "-0.1; the mean of w_ij and w_ji where the text has one or the other, +0.2; a tenth of "
                "each class as labels instead of a tenth of all, +0.1. None of them alone takes the "
                "printed update to 93.2; we keep to the words.",
                "The cited methods had their own graphs and tuned parameters (Subramanya & Bilmes 2011). "
                "Ours of the same names run on the graph of the same row, with parameters chosen once on "
                "other draws.",
            ),
        ),
        Recipe(
            "mnist",
            "MNIST: 70,000 digits, raw pixels",
            _mnist,
            {"n_per_class": 250},
            (8,),
            fidelity=50,
            sweeps=1500,
            runs=50,
            fixed=True,
            reported={
                "paper": Reported("multiclass GL", 96.9, 0.04, seconds=60.89),
                "p-Laplacian": Reported("p-Laplacian", 87.1),
                "1-cut": Reported("normalized 1-cut", 87.64),
                "Cheeger": Reported("Cheeger cuts", 88.2),
                "transductive": Reported("transductive classification", 92.6),
            },
        ),
    )
}
