"""A recipe, a seed and the number of a run in, the points, labels and graphs of that run out."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from phaselabel.datasets import sample_labels
from phaselabel.graph import Graph, Neighbors, nearest_neighbors, similarity_graph
from phaselabel.io.atomic import replacing
from phaselabel.io.npy import read_npz
from phaselabel.paper.recipes import Recipe

#: The default of ``GinzburgLandauClassifier(n_neighbors=...)``.
DEFAULT_NEIGHBORS = 10

#: Neighbours of at most 20,000 points are searched on one thread, of more points on all cores.
MAX_POINTS_ON_ONE_THREAD = 20_000


@dataclass(frozen=True, eq=False)
class Problem:
    """One run: points, true classes, known labels, graphs, and the seeds of the start and of clusterings."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    labels: NDArray[np.int64]
    graphs: dict[int, Graph]
    graph_seconds: dict[int, float]
    start: np.random.SeedSequence
    clustering: np.random.SeedSequence

    @property
    def n_classes(self) -> int:
        """The number of classes, with and without labels."""
        return int(self.y.max()) + 1

    @property
    def known(self) -> NDArray[np.bool_]:
        """True for rows with a label."""
        return self.labels >= 0

    def score(self, classes: NDArray[np.integer[Any]]) -> tuple[float, float]:
        """Per cent right among the unlabelled rows, and among all rows."""
        right = classes == self.y
        return 100 * float(np.mean(right[~self.known])), 100 * float(np.mean(right))


class Experiment:
    """Makes the problems of one recipe; points that are the same in every run get their graphs once.

    Parameters
    ----------
    recipe : Recipe
        What to make.
    seed : int, default=0
        Seed of all random numbers.
    data_home : str or Path, optional
        The folder of the real data sets.
    keep : Path, optional
        A file for the neighbours of points that are the same in every run.
    resume : bool, default=False
        Read the neighbours from ``keep`` if they are there.
    """

    def __init__(
        self,
        recipe: Recipe,
        seed: int = 0,
        data_home: str | Path | None = None,
        *,
        keep: Path | None = None,
        resume: bool = False,
    ) -> None:
        self.recipe, self.seed, self.data_home = recipe, seed, data_home
        self._fixed = recipe.points(None, data_home) if recipe.fixed else None
        self.keep, self._resume = keep, resume
        self._graphs: tuple[dict[int, Graph], dict[int, float]] | None = None

    def problem(self, run: int) -> Problem:
        """The problem of one run; the same for the same seed and number, whatever the number of runs."""
        # Points, labels, start and clustering must not share a stream: with one seed for all of them the
        # random start is a function of the position on the moon.
        streams = np.random.SeedSequence(self.seed, spawn_key=(run,)).spawn(4)
        points, choice, start, clustering = streams
        X, y = self._fixed or self.recipe.points(points, self.data_home)
        if self._graphs is None or not self.recipe.fixed:
            self._graphs = self._build(X)
        labels = sample_labels(y, random_state=choice, **self.recipe.sample)
        return Problem(X, y, labels, *self._graphs, start, clustering)

    def _build(self, X: NDArray[Any]) -> tuple[dict[int, Graph], dict[int, float]]:
        """The exact graph for each number of neighbours, from one search, and the seconds each took."""
        sizes = {*self.recipe.n_neighbors, DEFAULT_NEIGHBORS}
        neighbors, search_seconds = self._search(X, max(sizes))
        graphs, seconds = {}, {}
        for size in sorted(sizes):
            started = process_time()
            nearest = Neighbors(neighbors.indices[:, :size], neighbors.distances[:, :size])
            graphs[size] = similarity_graph(nearest)
            seconds[size] = search_seconds + process_time() - started
        return graphs, seconds

    def _search(self, X: NDArray[Any], size: int) -> tuple[Neighbors, float]:
        keep = self.keep if self.recipe.fixed else None
        if keep and self._resume and keep.is_file():
            with suppress(ValueError, KeyError, TypeError):  # a damaged file is made again
                kept = read_npz(keep)
                if kept["indices"].shape == (len(X), size):
                    return Neighbors(kept["indices"], kept["distances"]), float(kept["seconds"])
        with nullcontext() if len(X) > MAX_POINTS_ON_ONE_THREAD else one_thread():
            started = process_time()
            neighbors = nearest_neighbors(X, size, method="exact")
            seconds = process_time() - started
        if keep:
            keep.parent.mkdir(parents=True, exist_ok=True)
            with replacing(keep, overwrite=True) as part, part.open("wb") as file:
                np.savez(file, indices=neighbors.indices, distances=neighbors.distances, seconds=seconds)
        return neighbors, seconds


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for the kernels and for scikit-learn: faster on small problems, and times are comparable."""
    from threadpoolctl import threadpool_limits

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        numba.set_num_threads(before)
