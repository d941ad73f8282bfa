"""Several images and marks on some of them in, a model that segments these and new images out."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage, sparse

from phaselabel.evidence.row_models import Forest
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.policy import EVIDENCE, LITERAL
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.evidence import Evidence
from phaselabel.flow.minimize import FlowSettings, Solution
from phaselabel.flow.star import LEAF, State, checked_fidelity
from phaselabel.graph import Graph, nearest_neighbors, similarity_graph
from phaselabel.io.archive import write_archive
from phaselabel.segmentation.bands import Bands, BandScale, Scale, as_bands, shared_scale
from phaselabel.segmentation.cell_model import CellModel
from phaselabel.segmentation.cells import cell_size, extend, into_cells, majority
from phaselabel.segmentation.features import check_patch, distinct_rows
from phaselabel.segmentation.frames import Color, Frame, Looks, chosen_position, is_volume
from phaselabel.segmentation.grid import Touching, joined
from phaselabel.segmentation.marks import Colour, Marks, as_marks, with_shared_classes
from phaselabel.segmentation.opinion import NEAR, PixelOpinion, experts_of, form_opinion
from phaselabel.segmentation.segmentation import Segmentation

log = logging.getLogger(__name__)

#: The share of true neighbours that the search must find; more of them changes the result very little.
RECALL = 0.9

#: The weight of touching cells in the graph, beside that of like cells.
TOUCHING_SHARE = 0.3

#: The weight of the evidence in the flow, beside 1 for all neighbours together.
VOICE = 1.0

#: Called with the stage and the share of it that is done, from 0 to 1.
Progress = Callable[[str, float], object]


@dataclass(frozen=True, eq=False)
class _Net:
    """The vertices of the graph, for one weight of the place.

    Cells that look exactly alike are one vertex.
    """

    vertices: NDArray[np.int64]
    graph: Graph
    looks: Graph
    grid: Graph
    scales: NDArray[np.float32]
    places: NDArray[np.float32]


class Segmenter:
    """A model that learns from marks on some images and segments these and new ones.

    The cells of all images are the vertices of one graph: each is joined to the cells that look most alike,
    in any image, and to those that it touches. Models of the looks and walks on the graph are pooled by marks
    held back, and are evidence in the energy of the flow (see :func:`~phaselabel.minimize`).

    Parameters
    ----------
    patch : int, default=5
        Pixels are compared by the square of this side around them; an odd number. On images reduced to
        cells, the number of cells that comes nearest to it.
    position : "auto" or float, default="auto"
        Weight of a pixel's place: how large a difference in brightness (of a full range of 1) counts as much
        as crossing the whole image. 0 compares appearance alone. "auto" takes 0 unless marks are near every
        pixel.
    color : {"auto", "lab", "bands"}, default="auto"
        "lab" compares the first three bands as colours in CIELAB, "bands" takes the numbers as they are;
        "auto" is "lab" for three or four bands that share one scale.
    scale : {"auto", "image", "band"}, default="auto"
        One scale for all bands, or one for each; "auto" takes "image" for at most four bands.
    n_neighbors : int, default=10
        Neighbours of a pixel in the graph.
    scale_neighbor : int, optional
        The neighbour whose distance is the local scale; the last one by default.
    epsilon : float, default=1.0
        Width of the interface between classes, as in :func:`~phaselabel.minimize`.
    fidelity : float, default=30.0
        Weight of the marks, as in :func:`~phaselabel.minimize`.
    step : "auto" or float, default="auto"
        Time step, as in :func:`~phaselabel.minimize`.
    max_iter : int, default=500
        Greatest number of sweeps.
    tol : float, default=1e-2
        The flow stops when at most this share of the pixels changes class in a sweep; see
        :func:`~phaselabel.minimize`.
    evidence : "auto" or None, default="auto"
        "auto" pools models of the looks and walks on the graph; None is the graph of like pixels alone.
    max_pixels : int, default=100_000
        Images with more pixels than this, all together, are averaged over cells until at most this many are
        left; the flow runs on the cells, and the result is extended to every pixel by likeness and nearness.
    progress : callable, optional
        Called with (stage, share done).

    Attributes
    ----------
    results_ : list of Segmentation
        One for every image; empty in a model that was loaded.
    classes_ : dict of int to str
        The name of every class number.
    choice_ : dict of str to float
        What counted: the weight of every expert in the pool, and ``position``.

    See Also
    --------
    segment : Segments one image.
    load : Opens a saved model.

    Examples
    --------
    >>> from phaselabel import Segmenter
    >>> rng = np.random.default_rng(0)
    >>> images = [np.clip(rng.normal(60, 9, (20, 30, 3)), 0, 255).astype(np.uint8) for _ in range(2)]
    >>> images[0][5:12, 4:12] = images[1][8:16, 15:25] = 200, 90, 40
    >>> marks = np.zeros((20, 30), int)
    >>> marks[8, 5:10] = 2
    >>> marks[17, 3:20] = 1
    >>> model = Segmenter(patch=3).fit(images, [marks, None])
    >>> bool((model.results_[1].labels[9:15, 16:24] == 2).all())  # the image without marks
    True
    >>> model.predict(images[1]).shape
    (20, 30)
    """

    def __init__(
        self,
        *,
        patch: int = 5,
        position: Literal["auto"] | float = "auto",
        color: Color = "auto",
        scale: Scale = "auto",
        n_neighbors: int = 10,
        scale_neighbor: int | None = None,
        epsilon: float = 1.0,
        fidelity: float = 30.0,
        step: Literal["auto"] | float = "auto",
        max_iter: int = 500,
        tol: float = 1e-2,
        evidence: Literal["auto"] | None = "auto",
        max_pixels: int = 100_000,
        progress: Progress | None = None,
    ) -> None:
        self.patch, self.position, self.color, self.scale = patch, position, color, scale
        self.n_neighbors, self.scale_neighbor = n_neighbors, scale_neighbor
        self.epsilon, self.fidelity, self.step = epsilon, fidelity, step
        self.max_iter, self.tol, self.evidence = max_iter, tol, evidence
        self.max_pixels, self.progress = max_pixels, progress

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Not used; scikit-learn passes it.

        Returns
        -------
        dict of str to object
            The parameters.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> Segmenter(patch=3).get_params()["patch"]
        3
        """
        return {name: getattr(self, name) for name in PARAMETERS}

    def fit(
        self,
        images: ArrayLike | Sequence[ArrayLike],
        marks: Any,
        *,
        features: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Learn from marks on some images, and segment all of them.

        Parameters
        ----------
        images : array or list of arrays
            One image (H, W) or (H, W, B), or a list of them, of any sizes; or volumes (Z, Y, X) or
            (Z, Y, X, B) with marks of shape (Z, Y, X). The frames of a time series are a list of images.
        marks : Marks, array, or list of those
            The marks of every image, as for :func:`segment`; None for an image without marks. Classes of the
            same name are one class.
        features : array or list of arrays, optional
            What to compare pixels by, (H, W, d) for every image, instead of the image.

        Returns
        -------
        Segmenter
            This model.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> image = np.array([[0, 9, 250, 255]], np.uint8)
        >>> model = Segmenter(patch=1).fit([image, image[:, ::-1]], [[[1, 0, 0, 2]], None])
        >>> model.results_[1].labels.tolist()
        [[2, 2, 1, 1]]
        """
        pictures, given = _paired(images, marks)
        ready = None if features is None else _listed(features)
        self._check()
        self._report("features", 0.0)
        volume = any(is_volume(image, mark) for image, mark in zip(pictures, given))
        self._volume = volume
        self._prepare(pictures, ready)
        read = [
            None if mark is None else as_marks(mark, None if volume else frame.shown.pixels)
            for mark, frame in zip(given, self._frames)
        ]
        self.results_ = [Segmentation(self, number) for number in range(len(pictures))]
        self._solve(self._checked_marks(read), None)
        return self

    def predict(self, image: ArrayLike, *, features: ArrayLike | None = None) -> NDArray[Any]:
        """The class number of every pixel of a new image.

        Parameters
        ----------
        image : array-like
            An image with as many bands as those of the fit.
        features : array-like, optional
            Ready-made features, if the model was fitted to such.

        Returns
        -------
        ndarray of int
            A class number for every pixel; 0 where there is no data.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> image = np.array([[0, 9, 250, 255]], np.uint8)
        >>> Segmenter(patch=1).fit(image, [[1, 0, 0, 2]]).predict(image[:, ::-1]).tolist()
        [[2, 2, 1, 1]]
        """
        return self.segment(image, features=features).labels

    def segment(self, image: ArrayLike, *, features: ArrayLike | None = None) -> Segmentation:
        """Segment a new image: labels, confidence, and all that can be saved of them.

        Models of the looks, fitted to the cells of the images of the fit as these came out, are the evidence;
        the flow runs on the graph of touching cells.

        Parameters
        ----------
        image : array-like
            An image with as many bands as those of the fit.
        features : array-like, optional
            Ready-made features, if the model was fitted to such.

        Returns
        -------
        Segmentation
            The result. It takes no marks: add those to the model with :meth:`update`.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> image = np.array([[0, 9, 250, 255]], np.uint8)
        >>> Segmenter(patch=1).fit(image, [[1, 0, 0, 2]]).segment(image).confidence.min() >= 0.5
        np.True_
        """
        self._require_fitted()
        frame = self._new_frame(image, features)
        model = self._cell_model
        bands = model.looks.bands(frame.cells.means)
        q = model.probabilities(model.looks.scales(bands))
        cells = np.arange(frame.cells.n_cells)
        grid = Touching.of([bands]).graph(cells, len(cells))
        unknown = np.full(len(cells), -1, np.int32)
        solution = self._flow(grid, unknown, Evidence.of(q, VOICE), PixelOpinion(q, {}, None).start())
        result = Segmentation(self, None)
        arms, heights = extend(frame.bands, frame.cells, solution.state, q.shape[1])
        numbers = np.array(sorted(self.classes_), np.int64)
        none = Marks(np.zeros(frame.bands.shape, np.int32), {})
        result._fill(frame, grid, solution, none, numbers, arms, heights, self.classes_, self._colors)
        return result

    def update(self, marks: Any, image: int | ArrayLike | None = None, *, warm: bool = False) -> Self:
        """Add marks, and segment again.

        Parameters
        ----------
        marks : Marks, array, or list of those
            New marks, put on top of those there are; 0 leaves a mark, -1 removes it. A list has an entry for
            every image, None where there is nothing new.
        image : int or array, optional
            The number of the image that the marks are on; or a new image, which joins the others. It can be
            left out if only one image has the size of the marks. A loaded model has no images: pass one.
        warm : bool, default=False
            Start the flow from the last result instead of the evidence; see :meth:`Segmentation.update`.

        Returns
        -------
        Segmenter
            This model.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> image = np.array([[0, 9, 120, 130, 255]], np.uint8)
        >>> model = Segmenter(patch=1).fit(image, [[1, 0, 0, 0, 2]])
        >>> model.update([[0, 0, 3, 0, 0]], image=0).results_[0].labels.tolist()
        [[1, 1, 3, 3, 2]]
        """
        self._require_fitted()
        if image is not None and not isinstance(image, int | np.integer):
            return self._join(image, marks)
        if not self.results_:
            raise ValueError(
                "A loaded model has no images; pass the image that the marks are on: image=array."
            )
        frames = self._frames
        if isinstance(marks, list | tuple) and image is None and _is_list_of_marks(marks, len(frames)):
            new = [None if m is None else self._as_marks(m, n) for n, m in enumerate(marks)]
        else:
            number = self._image_of(marks) if image is None else int(image)
            if not 0 <= number < len(frames):
                raise ValueError(f"image must be a number from 0 to {len(frames) - 1}; got {image}.")
            new = [None] * len(frames)
            new[number] = self._as_marks(marks, number)
        before = [result.marks for result in self.results_]
        merged = [m if n is None else m.merged(n) for m, n in zip(before, _named_alike(before, new))]
        self._solve(self._checked_marks(merged), self._last if warm else None)
        return self

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model to a folder, or to one file if the name ends in ``.zip``.

        What is kept is small: the parameters, models of the looks and the rows they were fitted to. There is
        no pickle in it, so opening a model of somebody else runs no code of theirs. The images are not kept.

        Parameters
        ----------
        path : str or Path
            Where to put it.
        overwrite : bool, default=False
            Whether a model that is there already may be replaced.

        Examples
        --------
        >>> import tempfile
        >>> import phaselabel
        >>> image = np.array([[0, 9, 250, 255]], np.uint8)
        >>> path = Path(tempfile.mkdtemp()) / "model"
        >>> phaselabel.Segmenter(patch=1).fit(image, [[1, 0, 0, 2]]).save(path)
        >>> phaselabel.load(path).predict(image).tolist()
        [[1, 1, 2, 2]]
        """
        self._require_fitted()
        parameters = {name: getattr(self, name) for name in PARAMETERS if name != "progress"}
        learned = {
            "numbers": list(self.classes_),
            "names": list(self.classes_.values()),
            "colors": [list(self._colors[number]) for number in self.classes_],
            "choice": dict(self.choice_),
            "cell": self._cell,
            "n_bands": self._n_bands,
            "volume": self._volume,
            "scale": self._scale,
            "model": self._cell_model,
        }
        body = {"parameters": parameters, "learned": learned}
        write_archive(path, {"estimator": type(self).__name__}, body, SAVED_PARTS, overwrite=overwrite)

    # -- helpers

    def _check(self) -> None:
        check_patch(self.patch, self.position)
        limit = self.max_pixels
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 4:
            raise ValueError(f"max_pixels must be a whole number of at least 4; got {limit!r}.")
        if self.color not in ("auto", "lab", "bands"):
            raise ValueError(f"color must be 'auto', 'lab' or 'bands'; got {self.color!r}.")
        if self.evidence not in ("auto", None):
            raise ValueError(f"evidence must be 'auto' or None; got {self.evidence!r}.")
        FlowSettings(self.epsilon, self.step, self.max_iter, self.tol)

    def _require_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise ValueError("The model has not been fitted; call fit(images, marks) first.")

    def _report(self, stage: str, share: float) -> None:
        if self.progress is not None:
            self.progress(stage, share)

    def _report_extending(self, done: int, total: int, share: float) -> None:
        self._report("extending", (done + share) / total)

    def _prepare(self, images: list[Any], ready: list[Any] | None) -> None:
        """Frames, rows and touching cells of all images."""
        self._scale = shared_scale(images, self.scale, volume=self._volume)
        shown = [as_bands(image, self.scale, volume=self._volume, known=self._scale) for image in images]
        bands = shown
        if ready is not None:
            if len(ready) != len(images):
                raise ValueError(f"There are {len(images)} images and {len(ready)} arrays of features.")
            bands = [self._ready_made(one, like) for one, like in zip(ready, shown)]
        if len({one.n_bands for one in bands}) > 1:
            raise ValueError(
                f"All images must have the same number of bands; got {[one.n_bands for one in bands]}."
            )
        total = sum(one.n_pixels for one in bands)
        cell = cell_size(total, self.max_pixels, len(bands[0].shape))
        self._cell, self._n_bands = cell, bands[0].n_bands
        self._frames = [Frame(s, b, into_cells(b, cell)) for s, b in zip(shown, bands)]
        # The patch keeps its size in the image: a patch of 5 × 5 cells would blur every outline by two cells.
        patch = 2 * round(self.patch // 2 / cell) + 1
        lab = ready is None and self._compares_colors(bands[0].n_bands)
        self._looks = Looks.of([f.cells for f in self._frames], patch, lab=lab, ready=ready is not None)
        base = [self._looks.bands(frame.cells.means) for frame in self._frames]
        self._rows = np.concatenate([self._looks.rows(one) for one in base])
        self._scales = np.concatenate([self._looks.scales(one) for one in base])
        self._touching = Touching.of(base)
        self._nets: dict[float, _Net] = {}
        self._made_model: CellModel | None = None

    def _compares_colors(self, n_bands: int) -> bool:
        if self.color == "auto":
            return n_bands in (3, 4) and self.scale != "band"
        if self.color == "lab" and n_bands < 3:
            raise ValueError(f"color='lab' needs three bands; the image has {n_bands}: use color='auto'.")
        return self.color == "lab"

    def _ready_made(self, features: ArrayLike, shown: Bands) -> Bands:
        scale: Scale = "image" if self.scale == "auto" else self.scale
        bands = as_bands(features, scale, "features", volume=self._volume)
        if bands.shape != shown.shape:
            raise ValueError(
                f"features must have the image's height and width, {shown.shape}; got {bands.shape}."
            )
        return bands

    def _as_marks(self, marks: Any, number: int) -> Marks:
        return as_marks(marks, None if self._volume else self._frames[number].shown.pixels)

    def _image_of(self, marks: Any) -> int:
        """The number of the only image that has the size of the marks."""
        shape = marks.labels.shape if isinstance(marks, Marks) else np.shape(marks)
        n_axes = 3 if self._volume else 2
        alike = [n for n, frame in enumerate(self._frames) if frame.shown.shape == shape[:n_axes]]
        if len(alike) == 1 or len(self._frames) == 1:
            return alike[0] if alike else 0
        raise ValueError(
            f"{len(alike)} of the {len(self._frames)} images have the size of the marks; say which one with "
            "image=number."
        )

    def _checked_marks(self, marks: Sequence[Marks | None]) -> list[Marks]:
        """Marks of all images with shared class numbers, those on pixels without data left out."""
        empty = [Marks(np.zeros(frame.bands.shape, np.int32), {}) for frame in self._frames]
        given = with_shared_classes([none if m is None else m for m, none in zip(marks, empty)])
        alone = len(given) == 1
        fitted = [m.fitted(f.bands.shape, f.bands.valid, alone=alone) for m, f in zip(given, self._frames)]
        names = {name for one in fitted for name in one.classes.values()}
        if len(names) < 2:
            raise ValueError(
                "There are no marks on any image: mark a few pixels of every class."
                if not names
                else f"All marks are of one class ({names.pop()}): mark at least two, such as the background."
            )
        return fitted

    def _net(self, position: float) -> _Net:
        """The graph for a weight of the place; built once."""
        if position in self._nets:
            return self._nets[position]
        rows, places = self._rows, np.concatenate([frame.places for frame in self._frames])
        if position > 0:
            rows = np.concatenate([rows, np.float32(position) * places], axis=1)
        unique, vertices = distinct_rows(rows)
        if len(unique) == 1:
            raise ValueError("All pixels look the same; give position a weight, or features that differ.")
        self._report("neighbours", 0.0)
        looks = self._like(unique)
        grid = self._touching.graph(vertices, len(unique))
        graph = looks if self.evidence is None else joined(looks, grid, TOUCHING_SHARE)
        _ = graph.normalized  # computed once, before the first update
        scales = self._scales
        if len(unique) < len(rows):
            scales, places = _means(scales, vertices), _means(places, vertices)
        self._nets = {position: _Net(vertices, graph, looks, grid, scales, places)}  # one graph at a time
        return self._nets[position]

    def _like(self, rows: NDArray[np.float32]) -> Graph:
        """Every row joined to the rows most like it, and all of them connected: marks reach every row."""
        n_neighbors, scale_neighbor = self.n_neighbors, self.scale_neighbor
        if isinstance(n_neighbors, int | np.integer) and n_neighbors >= len(rows):
            n_neighbors, scale_neighbor = len(rows) - 1, None
        return similarity_graph(
            nearest_neighbors(rows, n_neighbors, recall=RECALL, connect=True), scale_neighbor
        )

    def _solve(self, marks: list[Marks], before: "_Last | None") -> None:
        numbers = np.array(sorted({n for one in marks for n in one.classes}), np.int64)
        starts = np.cumsum([0, *(frame.cells.n_cells for frame in self._frames)])
        placed = [frame.marked_cells(one) for frame, one in zip(self._frames, marks)]
        cells = np.concatenate([some + start for (some, _), start in zip(placed, starts)])
        classes = np.searchsorted(numbers, np.concatenate([label for _, label in placed]))
        distance = float(
            np.concatenate([f.distances(some) for f, (some, _) in zip(self._frames, placed)]).mean()
        )
        position = chosen_position(distance) if self.position == "auto" else float(self.position)
        net = self._net(position)
        vertices, n_vertices = net.vertices, net.graph.n_vertices
        known = majority(vertices[cells], classes, n_vertices, len(numbers))

        opinion = None
        if self.evidence is not None:
            self._report("evidence", 0.0)
            experts = experts_of(
                net.scales,
                net.places,
                net.looks,
                net.grid,
                len(numbers),
                n_near=self._looks.near_columns(net.scales.shape[1]),
                near=distance <= NEAR,
            )
            strokes = np.zeros(n_vertices, np.int64)
            strokes[vertices[cells]] = np.concatenate(_strokes(self._frames, placed))
            opinion = form_opinion(experts, known, strokes, len(numbers))
        self._report("flow", 0.0)
        init: Any = "hub" if opinion is None else opinion.start()
        if before is not None and before.vertices is vertices:
            init = before.renamed(numbers)
        evidence = None if opinion is None else Evidence.of(opinion.probabilities, VOICE)
        solution = self._flow(net.graph, known, evidence, init)
        self._last = _Last(vertices, solution, numbers)
        self.classes_ = {int(n): _name_of(marks, int(n)) for n in numbers}
        together = Marks(np.zeros((1, 1), np.int32), self.classes_, _colors_of(marks))
        self._colors = together.palette()
        self.choice_ = {**({} if opinion is None else opinion.weights), "position": position}
        self._cell_classes = solution.arm[vertices].astype(np.int32)
        self._marked_cells, self._made_model = cells, None
        for k, (frame, one) in enumerate(zip(self._frames, marks)):
            mine = vertices[starts[k] : starts[k + 1]]
            arms, heights = extend(
                frame.bands,
                frame.cells,
                State(solution.arm[mine], solution.height[mine]),
                len(numbers),
                partial(self._report_extending, k, len(marks)),
            )
            # A marked pixel keeps its own class though its vertex has the class of the majority, unless the
            # flow gave the vertex yet another class.
            pixels = np.nonzero(one.labels > 0)
            own = np.searchsorted(numbers, one.labels[pixels])
            marked = mine[placed[k][0]]
            kept = (solution.arm == known)[marked] & (arms[pixels] != own)
            place = tuple(axis[kept] for axis in pixels)
            arms[place], heights[place] = own[kept], LEAF
            self.results_[k]._fill(
                frame, net.graph, solution, one, numbers, arms, heights, self.classes_, self._colors, mine
            )
        log.info("%r: %s", net.graph, solution.status)

    def _flow(self, graph: Graph, known: NDArray[np.int32], evidence: Evidence | None, init: Any) -> Solution:
        n_classes = evidence.probabilities.shape[1] if evidence is not None else int(known.max()) + 1
        sizes = class_sizes("estimate", np.arange(n_classes))
        settings = FlowSettings(self.epsilon, self.step, self.max_iter, self.tol)
        # A new image has no marks.
        fidelity = checked_fidelity(self.fidelity, known) if (known >= 0).any() else np.zeros(len(known))
        problem = Problem(graph, known, n_classes, fidelity, sizes, settings, evidence)
        return solve(problem, LITERAL if evidence is None else EVIDENCE, init=init)

    @property
    def _cell_model(self) -> CellModel:
        """The models for new images, fitted when they are first needed."""
        if self._made_model is None:
            self._made_model = CellModel.of(
                self._looks, self._scales, self._cell_classes, self._marked_cells, len(self.classes_)
            )
        return self._made_model

    def _new_frame(self, image: ArrayLike, features: ArrayLike | None) -> Frame:
        shown = as_bands(image, self.scale, volume=self._volume, known=self._scale)
        if self._cell_model.looks.ready != (features is not None):
            given = (
                "was fitted to ready-made features; pass features"
                if features is None
                else ("was fitted to images; leave features out")
            )
            raise ValueError(f"The model {given}.")
        bands = shown if features is None else self._ready_made(features, shown)
        if bands.n_bands != self._n_bands:
            raise ValueError(
                f"The image has {bands.n_bands} bands and the model was fitted to {self._n_bands}."
            )
        cell = max(self._cell, cell_size(bands.n_pixels, self.max_pixels, len(bands.shape)))
        return Frame(shown, bands, into_cells(bands, cell))

    def _join(self, image: ArrayLike, marks: Any) -> Self:
        """Take a new image into the model, with its marks."""
        if self._cell_model.looks.ready:
            raise ValueError(
                "A model of ready-made features takes no further image; fit it again with all images."
            )
        if self.results_:
            images = [*(result.image for result in self.results_), image]
            return self.fit(images, [*(result.marks for result in self.results_), marks])
        frame = self._new_frame(image, None)
        known = Marks(np.zeros((1, 1), np.int32), self.classes_, self._colors)
        given = as_marks(marks, None if self._volume else frame.shown.pixels)
        _, new = with_shared_classes([known, given])
        new = new.fitted(frame.bands.shape, frame.bands.valid, alone=False)
        numbers = sorted({*self.classes_, *new.classes})
        cells, labels = frame.marked_cells(new)
        looks = self._cell_model.looks
        rows = looks.scales(looks.bands(frame.cells.means))[cells]
        before = np.searchsorted(numbers, sorted(self.classes_))
        self._made_model = self._cell_model.with_rows(
            rows, np.searchsorted(numbers, labels), before, len(numbers)
        )
        together = Marks(known.labels, self.classes_ | new.classes, self._colors | new.colors)
        self.classes_, self._colors = dict(sorted(together.classes.items())), together.palette()
        return self

    def __getstate__(self) -> dict[str, Any]:
        # The callable for progress belongs to this process; a copy reports nothing.
        return self.__dict__ | {"progress": None}

    def __repr__(self) -> str:
        if not hasattr(self, "classes_"):
            return "Segmenter()"
        return f"Segmenter({len(self.results_)} images; {', '.join(self.classes_.values())})"


def segment(
    image: ArrayLike,
    scribbles: Marks | ArrayLike,
    *,
    features: ArrayLike | None = None,
    patch: int = 5,
    position: Literal["auto"] | float = "auto",
    color: Color = "auto",
    scale: Scale = "auto",
    n_neighbors: int = 10,
    scale_neighbor: int | None = None,
    epsilon: float = 1.0,
    fidelity: float = 30.0,
    step: Literal["auto"] | float = "auto",
    max_iter: int = 500,
    tol: float = 1e-2,
    evidence: Literal["auto"] | None = "auto",
    max_pixels: int = 100_000,
    progress: Progress | None = None,
) -> Segmentation:
    """Give every pixel of an image the class of the marks it resembles.

    Each pixel is joined to the pixels whose surroundings look most alike, wherever they are, and to those it
    touches. Models of the looks and walks on the graph are evidence in the energy whose minimum the flow
    finds (see :func:`~phaselabel.minimize`). Pixels that look exactly alike are one vertex of the graph; the
    majority of its marks is the label of the vertex. For several images see :class:`Segmenter`.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, B)
        Grey, colours or any number of bands; whole numbers or floats. Pixels that are masked or not finite
        have no data and get no class. A volume (Z, Y, X) or (Z, Y, X, B) has marks of shape (Z, Y, X).
    scribbles : Marks or array-like
        A label image (H, W) with 0 where nothing is marked; or a painting (H, W, 3 or 4) of bytes in which
        each colour is a class and black or transparent is not marked; or :class:`Marks` from points,
        strokes or polygons.
    features : array-like of shape (H, W, d), optional
        What to compare pixels by, for instance a network's features, instead of patches of the image.
    patch : int, default=5
        Pixels are compared by the square of this side around them; an odd number. On an image reduced to
        cells, the number of cells that comes nearest to it.
    position : "auto" or float, default="auto"
        Weight of a pixel's place: how large a difference in brightness (of a full range of 1) counts as much
        as crossing the whole image. 0 compares appearance alone. "auto" takes 0 unless marks are near every
        pixel.
    color : {"auto", "lab", "bands"}, default="auto"
        "lab" compares the first three bands as colours in CIELAB, "bands" takes the numbers as they are;
        "auto" is "lab" for three or four bands that share one scale.
    scale : {"auto", "image", "band"}, default="auto"
        One scale for all bands, or one for each; "auto" takes "image" for at most four bands.
    n_neighbors : int, default=10
        Neighbours of a pixel in the graph.
    scale_neighbor : int, optional
        The neighbour whose distance is the local scale; the last one by default.
    epsilon : float, default=1.0
        Width of the interface between classes, as in :func:`~phaselabel.minimize`.
    fidelity : float, default=30.0
        Weight of the marks, as in :func:`~phaselabel.minimize`.
    step : "auto" or float, default="auto"
        Time step, as in :func:`~phaselabel.minimize`.
    max_iter : int, default=500
        Greatest number of sweeps.
    tol : float, default=1e-2
        The flow stops when at most this share of the pixels changes class in a sweep; see
        :func:`~phaselabel.minimize`.
    evidence : "auto" or None, default="auto"
        "auto" pools models of the looks and walks on the graph, weighted by marks held back, as evidence in
        the energy; None is the graph of like pixels alone.
    max_pixels : int, default=100_000
        A larger image is averaged over cells until at most this many are left; the flow runs on the cells,
        and the result is extended to every pixel by likeness and nearness.
    progress : callable, optional
        Called with (stage, share done).

    Returns
    -------
    Segmentation
        ``labels``, ``confidence``, ``classes``; ``update`` takes more marks, ``save`` writes files.

    See Also
    --------
    Segmenter : Learns from several images, and segments new ones.
    read_image : Reads an image from a file.
    read_marks : Reads marks from a file.

    Examples
    --------
    >>> from phaselabel import segment
    >>> image = np.zeros((12, 16), np.uint8)
    >>> image[3:9, 2:6] = image[3:9, 10:14] = 200  # two bright squares
    >>> scribbles = np.zeros((12, 16), int)
    >>> scribbles[5, 3:5] = 2  # a stroke in one of them
    >>> scribbles[0, :5] = 1
    >>> result = segment(image, scribbles, patch=1)
    >>> bool((result.labels[3:9, 10:14] == 2).all())  # the other one is found
    True
    """
    model = Segmenter(
        patch=patch,
        position=position,
        color=color,
        scale=scale,
        n_neighbors=n_neighbors,
        scale_neighbor=scale_neighbor,
        epsilon=epsilon,
        fidelity=fidelity,
        step=step,
        max_iter=max_iter,
        tol=tol,
        evidence=evidence,
        max_pixels=max_pixels,
        progress=progress,
    )
    ready = None if features is None else [features]
    return model.fit([image], [scribbles], features=ready).results_[0]


#: The classes that a saved model may contain besides plain values and arrays.
SAVED_PARTS = {part.__name__: part for part in (BandScale, CellModel, Forest, Looks)}


#: The names of the parameters.
PARAMETERS = (
    *("patch", "position", "color", "scale", "n_neighbors", "scale_neighbor", "epsilon", "fidelity", "step"),
    *("max_iter", "tol", "evidence", "max_pixels", "progress"),
)


@dataclass(frozen=True, eq=False)
class _Last:
    """Where the last flow ended, for a warm start."""

    vertices: NDArray[np.int64]
    solution: Solution
    numbers: NDArray[np.int64]

    def renamed(self, numbers: NDArray[np.int64]) -> State:
        """The last state with the present arms; vertices of a class that is gone are at the hub."""
        arm_of = {number: k for k, number in enumerate(numbers.tolist())}
        table = np.array([arm_of.get(number, -1) for number in [*self.numbers.tolist(), None]], np.int32)
        arm = table[self.solution.arm]
        return State(arm, np.where(arm >= 0, self.solution.height, 0))


def _listed(images: Any) -> list[Any]:
    """Several images as a list; one image as a list of one."""
    return list(images) if isinstance(images, list | tuple) else [images]


def _paired(images: Any, marks: Any) -> tuple[list[Any], list[Any]]:
    if not isinstance(images, list | tuple):
        return [images], [marks]
    if not images:
        raise ValueError("images is empty; pass at least one image.")
    if not isinstance(marks, list | tuple) or len(marks) != len(images):
        given = f"{len(marks)}" if isinstance(marks, list | tuple) else "one"
        raise ValueError(
            f"marks must be a list with an entry for each of the {len(images)} images, None without marks; "
            f"got {given}."
        )
    return list(images), list(marks)


def _is_list_of_marks(marks: Any, n_images: int) -> bool:
    """Whether a list is one of marks of every image, and not a label image as nested lists."""
    if len(marks) != n_images:
        return False
    return any(m is None or isinstance(m, Marks) or np.ndim(m) > 1 for m in marks)


def _named_alike(before: list[Marks], new: list[Marks | None]) -> list[Marks | None]:
    """New marks with the numbers of the classes that other images have already."""
    known: dict[int, str] = {n: name for one in before for n, name in one.classes.items()}
    first = Marks(np.zeros((1, 1), np.int32), known)
    return [None if one is None else with_shared_classes([first, one])[1] for one in new]


def _strokes(
    frames: Sequence[Frame], placed: Sequence[tuple[NDArray[np.intp], NDArray[np.int32]]]
) -> list[NDArray[np.int64]]:
    """The number of the stroke of every marked pixel: cells of one class that touch are one stroke."""
    numbers, used = [], 0
    for frame, (cells, labels) in zip(frames, placed):
        of_cell = np.zeros(frame.cells.n_cells, np.int64)
        for number in np.unique(labels):
            here = np.zeros(frame.cells.n_cells, bool)
            here[cells[labels == number]] = True
            parts, count = ndimage.label(
                here.reshape(frame.cells.shape), np.ones((3,) * len(frame.cells.shape))
            )
            of_cell[here] = parts.ravel()[here] + used
            used += count
        numbers.append(of_cell[cells])
    return numbers


def _means(rows: NDArray[np.float32], vertices: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean row of every vertex."""
    n = len(rows)
    members = sparse.csr_array((np.ones(n, np.float32), (vertices, np.arange(n))))
    return np.asarray((members @ rows) / np.bincount(vertices)[:, None], np.float32)


def _name_of(marks: Sequence[Marks], number: int) -> str:
    return next(one.classes[number] for one in marks if number in one.classes)


def _colors_of(marks: Sequence[Marks]) -> dict[int, Colour]:
    colors: dict[int, Colour] = {}
    for one in marks:
        colors = one.colors | colors
    return colors
