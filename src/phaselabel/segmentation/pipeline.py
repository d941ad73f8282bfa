"""An image and marks in, a segmentation that can be refined with more marks out."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.flow import Solution, minimize
from phaselabel.graph import Graph, nearest_neighbors, similarity_graph
from phaselabel.query import choose_queries
from phaselabel.segmentation import reduction
from phaselabel.segmentation.features import (
    COMPONENTS,
    Bands,
    Scale,
    as_bands,
    check_patch,
    distinct,
    leading_components,
    pixel_features,
)
from phaselabel.segmentation.marks import Colour, Marks, as_marks
from phaselabel.star import LEAF, State

log = logging.getLogger(__name__)

#: The share of true neighbours to look for. On the cows the accuracy is the same, to 0.01 %, from 0.94 to 1.
RECALL = 0.9

#: Told the stage and the share of it that is done, from 0 to 1.
Progress = Callable[[str, float], object]


def segment(
    image: ArrayLike,
    scribbles: Any,
    *,
    features: ArrayLike | None = None,
    patch: int = 5,
    position: float = 0.0,
    scale: Scale = "auto",
    n_neighbors: int = 10,
    scale_neighbor: int | None = None,
    epsilon: float = 1.0,
    fidelity: float = 30.0,
    step: Literal["auto"] | float = "auto",
    max_iter: int = 500,
    tol: float = 1e-2,
    max_pixels: int = 100_000,
    progress: Progress | None = None,
) -> "Segmentation":
    """Give every pixel of an image the class of the marks it resembles.

    Pixels are joined to the pixels whose surroundings look most alike, wherever they are; on that graph the
    Ginzburg-Landau flow spreads the marks (see :func:`~phaselabel.minimize`). Pixels that look exactly alike
    are one vertex of the graph; marks that contradict each other there count by majority.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, B)
        Grey, colours or any number of bands; whole numbers or floats. Pixels that are not finite have no
        data and get no class.
    scribbles : Marks or array-like
        A label image (H, W) with 0 where nothing is marked; or a painting (H, W, 3 or 4) of bytes in which
        each colour is a class and black or transparent is not marked; or :class:`Marks` from points,
        strokes or polygons.
    features : array-like of shape (H, W, d), optional
        What to compare pixels by, for instance a network's features, instead of patches of the image.
    patch : int, default=5
        Side of the patch around each pixel that stands for it; odd. On a reduced image it covers as many
        cells as come nearest to that.
    position : float, default=0.0
        Weight of a pixel's place: how large a difference in brightness (of a full range of 1) counts as much
        as crossing the whole image. 0 compares appearance alone.
    scale : {"auto", "image", "band"}, default="auto"
        One scale for all bands, or one for each; "auto" takes "image" for up to four bands.
    n_neighbors, scale_neighbor : int
        Neighbours of a pixel in the graph, and which of them sets the local scale (the last by default).
    epsilon, fidelity, step, max_iter, tol
        As in :func:`~phaselabel.minimize`. A hundredth of the pixels may change class when the flow stops: on
        the cows that takes half as many sweeps as a thousandth, and is as accurate.
    max_pixels : int, default=100_000
        A larger image is averaged over cells until this many are left; the flow runs on these and the answer
        is extended to every pixel by likeness and nearness.
    progress : callable, optional
        Called with (stage, share done).

    Returns
    -------
    Segmentation
        ``labels``, ``confidence``, ``classes``; ``update`` takes more marks, ``save`` writes files.

    Examples
    --------
    >>> image = np.zeros((12, 16), np.uint8)
    >>> image[3:9, 2:6] = image[3:9, 10:14] = 200  # two bright squares
    >>> scribbles = np.zeros((12, 16), int)
    >>> scribbles[5, 3:5] = 2  # a stroke in one of them
    >>> scribbles[0, :5] = 1
    >>> result = segment(image, scribbles, patch=1)
    >>> bool((result.labels[3:9, 10:14] == 2).all())  # the other one is found
    True
    """
    tell = progress or (lambda stage, share: None)
    check_patch(patch, position)
    if isinstance(max_pixels, bool) or not isinstance(max_pixels, int | np.integer) or max_pixels < 4:
        raise ValueError(f"max_pixels must be a whole number of at least 4; got {max_pixels!r}.")
    shown = as_bands(image, scale)
    bands = shown if features is None else _ready_made(features, shown, scale)
    marks = as_marks(scribbles, shown.pixels).fitted(bands.shape, bands.valid)

    tell("features", 0.0)
    cells = reduction.into_cells(bands, reduction.cell_size(bands.shape[0] * bands.shape[1], max_pixels))
    # The patch keeps its size in the image: its border blurs what it straddles, and cells are blurred enough.
    around = 1 if features is not None else 2 * round(patch // 2 / cells.cell) + 1
    rows, vertices = distinct(_rows(cells.means, around, position, bands.n_bands))
    if len(rows) == 1:
        raise ValueError("All pixels look the same; give position a weight, or features that differ.")
    tell("neighbours", 0.0)
    graph = _graph(rows, n_neighbors, scale_neighbor)
    flow = {"epsilon": epsilon, "fidelity": fidelity, "step": step, "max_iter": max_iter, "tol": tol}
    return Segmentation(shown, bands, cells, vertices.reshape(cells.shape), graph, marks, flow, tell)


class Segmentation:
    """A label and a confidence for every pixel, and what is needed to refine them.

    Attributes
    ----------
    labels : ndarray of int, shape (H, W)
        The class number of every pixel, with the numbers of the scribbles; 0 where there is no data.
    confidence : ndarray of float32, shape (H, W)
        From ½ (between classes) to 1; 0 where there is no data.
    classes : dict of int to str
        The name of every class number.
    colors : dict of int to (red, green, blue)
        A colour for every class number: the painted one where there was one.
    marks : Marks
        All marks so far.
    graph : Graph
        The similarity graph of the pixels, or cells, that differ in looks.
    solution : Solution
        Where the flow ended.
    cell : int
        Side of the cells that the flow ran on; 1 if it ran on the pixels themselves.
    """

    def __init__(
        self,
        shown: Bands,
        bands: Bands,
        cells: reduction.Cells,
        vertices: NDArray[np.int64],
        graph: Graph,
        marks: Marks,
        flow: dict[str, Any],
        progress: Progress,
    ) -> None:
        self._shown, self._bands, self._cells, self._flow = shown, bands, cells, flow
        self._vertices, self._progress = vertices, progress
        self.graph, self.cell = graph, cells.cell
        self._solve(marks, None)

    def update(self, more_scribbles: Any, *, warm: bool = False) -> Self:
        """Segment again with more marks, on the same graph.

        Parameters
        ----------
        more_scribbles : Marks or array-like
            As for :func:`segment`, put on top of the marks there are; 0 leaves them, -1 takes them away.
            New classes may appear.
        warm : bool, default=False
            Start the flow where it ended instead of at the hub. That takes a tenth of the sweeps, but a
            settled state resists: the new marks then change their near surroundings only. Without it the
            answer is that of :func:`segment` with all the marks, in whatever order they came.

        Returns
        -------
        self : Segmentation
            The same object, with new labels.
        """
        marks = self.marks.merged(as_marks(more_scribbles, self._shown.pixels))
        self._solve(marks.fitted(self._bands.shape, self._bands.valid), self.solution if warm else None)
        return self

    @property
    def image(self) -> NDArray[Any]:
        """The image, (H, W, B); numbers of eight bytes are scaled to four."""
        return self._shown.pixels

    def mask(self, name: int | str) -> NDArray[np.bool_]:
        """Where the class of this number or name is."""
        for number, known in self.classes.items():
            if name in (number, known):
                return np.asarray(self.labels == number)
        raise ValueError(f"There is no class {name!r}; there are {', '.join(self.classes.values())}.")

    def suggest_marks(self, n: int = 3) -> NDArray[np.float64]:
        """Where further marks would help most: (row, column) of ``n`` places, the best first.

        Returns
        -------
        ndarray of shape (n, 2)
            In pixels; the middle of the cell that the flow ran on.
        """
        found = choose_queries(self.graph, self._known, self.solution.arm, len(self._numbers), n)
        cells = [np.argwhere(self._vertices == vertex)[0] for vertex in found]
        return (np.array(cells, np.float64).reshape(-1, 2) + 0.5) * self.cell

    def overlay(self, opacity: float = 0.45) -> NDArray[np.uint8]:
        """The image with every class in its colour and white lines between classes."""
        from phaselabel.segmentation.output import overlay

        return overlay(self, opacity)

    def save(self, folder: str | Path) -> list[Path]:
        """Write label image, overlay, confidence, masks, COCO annotations and a summary into a folder."""
        from phaselabel.segmentation.output import save

        return save(self, folder)

    def __repr__(self) -> str:
        height, width = self.labels.shape
        return f"Segmentation({width} × {height}, {', '.join(self.classes.values())}; {self.solution.status})"

    def _solve(self, marks: Marks, before: Solution | None) -> None:
        numbers = np.array(sorted(marks.classes), np.int64)
        spots = np.nonzero(marks.labels > 0)
        classes = np.searchsorted(numbers, marks.labels[spots])
        at = self._vertices[spots[0] // self.cell, spots[1] // self.cell]
        known = reduction.majority(at, classes, self.graph.n_vertices, len(numbers))
        self._progress("flow", 0.0)
        init: Any = "hub" if before is None else self._renamed(before, numbers)
        solution = minimize(self.graph, known, init=init, n_classes=len(numbers), **self._flow)
        everyone = self._vertices.ravel()
        arms, heights = reduction.extend(
            self._bands,
            self._cells,
            State(solution.arm[everyone], solution.height[everyone]),
            len(numbers),
            lambda share: self._progress("extending", share),
        )
        # A mark stands though its vertex heard others, too; not if the flow has outvoted them all.
        stands = (solution.arm == known)[at] & (arms[spots] != classes)
        place = tuple(axis[stands] for axis in spots)
        arms[place], heights[place] = classes[stands], LEAF
        self._known = known
        self._keep(marks, numbers, solution, arms, heights)

    def _keep(self, marks: Marks, numbers: Any, solution: Solution, arms: Any, heights: Any) -> None:
        table = np.append(numbers, 0)
        labels = table.astype(np.min_scalar_type(int(table.max())))[arms]
        confidence = np.where(arms >= 0, np.float32(0.5) + heights, np.float32(0))
        if self._bands.valid is not None:
            labels[~self._bands.valid] = 0
            confidence[~self._bands.valid] = 0
        self._numbers, self.solution, self.marks = numbers, solution, marks
        self.labels, self.confidence = labels, confidence
        self.classes = {int(n): marks.classes[int(n)] for n in numbers}
        self.colors: dict[int, Colour] = marks.palette()
        log.info("%r: %s", self.graph, solution.status)

    def _renamed(self, before: Solution, numbers: NDArray[np.int64]) -> State:
        """Where the flow ended, with the class numbers of now; a class that is gone is back at the hub."""
        place = {number: k for k, number in enumerate(numbers.tolist())}
        table = np.array([place.get(number, -1) for number in [*self._numbers.tolist(), None]], np.int32)
        arm = table[before.arm]
        return State(arm, np.where(arm >= 0, before.height, 0))


def _rows(means: NDArray[np.float32], patch: int, position: float, n_bands: int) -> NDArray[np.float32]:
    """One row per cell; of a cube with many bands only the leading components are cut into patches."""
    if patch > 1 and n_bands > COMPONENTS:
        means = leading_components(means, COMPONENTS)
    return pixel_features(means, patch, position)


def _graph(rows: NDArray[np.float32], n_neighbors: int, scale_neighbor: int | None) -> Graph:
    """Every row joined to those most like it, all in one part: no pixel is out of the marks' reach."""
    if isinstance(n_neighbors, int | np.integer) and n_neighbors >= len(rows):
        n_neighbors, scale_neighbor = len(rows) - 1, None
    neighbors = nearest_neighbors(rows, n_neighbors, recall=RECALL, connect=True)
    graph = similarity_graph(neighbors, scale_neighbor)
    _ = graph.normalized  # now, not in the first update
    return graph


def _ready_made(features: ArrayLike, shown: Bands, scale: Scale) -> Bands:
    bands = as_bands(features, "image" if scale == "auto" else scale, "features")
    if bands.shape != shown.shape:
        raise ValueError(
            f"features must have the image's height and width, {shown.shape}; got {bands.shape}."
        )
    return bands
