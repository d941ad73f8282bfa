"""Several images and marks on some of them in, a model that segments these and new images out."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.counts import check_count, is_whole
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import State
from phaselabel.segmentation import saving
from phaselabel.segmentation.bands import Scale, as_bands
from phaselabel.segmentation.cell_flow import EarlierFlow, MarkedCells, pixels_of, solve_cells
from phaselabel.segmentation.cell_graph import CellGraph
from phaselabel.segmentation.cell_model import CellModel
from phaselabel.segmentation.cells import cell_size, extend, into_cells
from phaselabel.segmentation.features import check_patch
from phaselabel.segmentation.frames import Color, Frame, chosen_position, is_volume
from phaselabel.segmentation.grid import Touching
from phaselabel.segmentation.images import Images, ready_made
from phaselabel.segmentation.marked_images import (
    checked_marks,
    colors_of,
    listed,
    marks_by_image,
    named_alike,
    names_of,
    paired,
)
from phaselabel.segmentation.marks import Marks, as_marks, with_shared_classes
from phaselabel.segmentation.opinion import NEAR, Panel, PixelOpinion, experts_of
from phaselabel.segmentation.segmentation import Segmentation

log = logging.getLogger(__name__)

#: Called with the stage and the share of it that is done, from 0 to 1.
Progress = Callable[[str, float], object]


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
    strokes_found_ : float or None
        The share of the marks that was found again while whole strokes were hidden in turns; None without
        evidence, and where no class has a second stroke.

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
        return {name: getattr(self, name) for name in signature(Segmenter).parameters}

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
        pictures, given = paired(images, marks)
        ready = None if features is None else listed(features)
        self._check()
        self._report("features", 0.0)
        volume = any(is_volume(image, mark) for image, mark in zip(pictures, given))
        self._volume = volume
        self._take(pictures, ready)
        read = [
            None if mark is None else as_marks(mark, None if volume else frame.shown.pixels)
            for mark, frame in zip(given, self._frames)
        ]
        self.results_ = [Segmentation(self, number) for number in range(len(pictures))]
        self._pictures = pictures  # as given: those of the results are scaled, and have no gaps
        self._solve(checked_marks(read, self._frames))
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
        >>> bool(Segmenter(patch=1).fit(image, [[1, 0, 0, 2]]).segment(image).confidence.min() >= 0.5)
        True
        """
        self._require_fitted()
        frame = self._new_frame(image, features)
        model = self._cell_model
        bands = model.looks.bands(frame.cells.means)
        q = model.probabilities(model.looks.scales(bands))
        cells = np.arange(frame.cells.n_cells)
        grid = Touching.of([bands]).graph(cells, len(cells))
        unknown = np.full(len(cells), -1, np.int32)
        start = PixelOpinion(q, {}, None).start()
        solution = solve_cells(grid, unknown, q, start, self._flow_settings, self.fidelity)
        result = Segmentation(self, None)
        arms, heights = extend(frame.bands, frame.cells, solution.state, q.shape[1])
        numbers = np.array(sorted(self.classes_), np.int64)
        none = Marks(np.zeros(frame.bands.shape, np.int32), {})
        result._fill(frame, grid, solution, none, numbers, arms, heights, self.classes_, self._colors)
        return result

    def update(
        self,
        marks: Any,
        image: int | ArrayLike | None = None,
        *,
        warm: bool = False,
        early: Callable[[], object] | None = None,
    ) -> Self:
        """Add marks, and segment again, sooner than :meth:`fit` does.

        The graph stays, and so does what every expert counts, until there are twice as many marks or another
        class: then all is chosen anew. Few labels differ from those of :meth:`fit` with all marks;
        :meth:`settle` gives exactly these.

        Parameters
        ----------
        marks : Marks, array, or list of those
            New marks, put on top of those there are; 0 leaves a mark, -1 removes it. A list has an entry for
            every image, None where there is nothing new.
        image : int or array, optional
            The number of the image that the marks are on; or a new image, which joins the others. It can be
            left out if only one image has the size of the marks. A loaded model has no images: pass one.
        warm : bool, default=False
            Where all is chosen anew, start the flow from the last result instead of the evidence; see
            :meth:`Segmentation.update`.
        early : callable, optional
            Called when :meth:`cell_labels` has new labels that are not extended to the pixels yet, and again
            where all is chosen anew. What it raises ends the update.

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
        new = marks_by_image(marks, image, self._frames, volume=self._volume)
        before = [result.marks for result in self.results_]
        merged = [m if n is None else m.merged(n) for m, n in zip(before, named_alike(before, new))]
        before_flow = self._last if warm else None
        self._solve(checked_marks(merged, self._frames), live=True, before=before_flow, early=early)
        return self

    def settle(self) -> Self:
        """Ask the experts anew with all marks: to the last bit the labels that :meth:`fit` gives with them.

        :meth:`update` keeps what the experts count, so that it takes a fraction of the time. Where it has
        done so, :meth:`save`, :meth:`predict` and :meth:`Segmentation.save` settle first.

        Returns
        -------
        Segmenter
            This model.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> image = np.array([[0, 9, 120, 130, 255]], np.uint8)
        >>> model = Segmenter(patch=1).fit(image, [[1, 0, 0, 0, 2]])
        >>> model.update([[0, 1, 0, 0, 0]], image=0).settle().results_[0].labels.tolist()
        [[1, 1, 1, 1, 2]]
        """
        self._require_fitted()
        if self.results_ and not self._settled:
            self._solve([result.marks for result in self.results_])
        return self

    def cell_labels(self, image: int = 0) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Class number and confidence of every cell of an image, before they are extended to its pixels.

        Parameters
        ----------
        image : int, default=0
            The number of the image.

        Returns
        -------
        labels : ndarray of int
            The class number of every cell; 0 without one.
        confidence : ndarray of float32
            From ½ (between classes) to 1.

        Examples
        --------
        >>> from phaselabel import Segmenter
        >>> image = np.array([[0, 9, 250, 255]], np.uint8)
        >>> Segmenter(patch=1).fit(image, [[1, 0, 0, 2]]).cell_labels()[0].tolist()
        [[1, 1, 2, 2]]
        """
        self._require_fitted()
        if not is_whole(image) or not 0 <= image < len(self._frames):
            raise ValueError(
                f"image must be the number of one of the {len(self._frames)} images of the model, from 0; "
                f"got {image!r}."
            )
        sizes = [frame.cells.n_cells for frame in self._frames]
        start = sum(sizes[:image])
        mine = self._last.vertices[start : start + sizes[image]]
        arms, heights = self._last.solution.arm[mine], self._last.solution.height[mine]
        shape = self._frames[image].cells.shape
        labels = np.append(self._last.numbers, 0)[arms]
        confidence = np.where(arms >= 0, np.float32(0.5) + heights, np.float32(0))
        return labels.reshape(shape), confidence.reshape(shape).astype(np.float32)

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
        saving.save(self, path, overwrite=overwrite)

    # -- helpers

    def _check(self) -> None:
        check_patch(self.patch, self.position)
        check_count(self.max_pixels, 4, "max_pixels")
        if self.color not in ("auto", "lab", "bands"):
            raise ValueError(f"color must be 'auto', 'lab' or 'bands'; got {self.color!r}.")
        if self.evidence not in ("auto", None):
            raise ValueError(f"evidence must be 'auto' or None; got {self.evidence!r}.")
        _ = self._flow_settings  # checks the parameters of the flow

    def _require_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise ValueError("The model has not been fitted; call fit(images, marks) first.")

    def _report(self, stage: str, share: float) -> None:
        if self.progress is not None:
            self.progress(stage, share)

    def _report_extending(self, done: int, total: int, share: float) -> None:
        self._report("extending", (done + share) / total)

    def _take(self, images: list[Any], ready: list[Any] | None) -> None:
        """Read the images; nothing that was made of earlier ones stays."""
        self._images = Images.of(
            images, ready, patch=self.patch, color=self.color, scale=self.scale, max_pixels=self.max_pixels,
            volume=self._volume,
        )  # fmt: skip
        self._frames, self._scale = self._images.frames, self._images.scale
        self._cell, self._n_bands = self._frames[0].cells.cell, self._frames[0].bands.n_bands
        self._graph: CellGraph | None = None
        self._panel: Panel | None = None
        self._made_model: CellModel | None = None

    def _cell_graph(self, position: float) -> CellGraph:
        """The graph for a weight of the place; the last one is kept."""
        if self._graph is None or self._graph.position != position:
            self._report("neighbours", 0.0)
            self._panel = None  # its experts know the graph that there was
            self._graph = CellGraph.of(
                self._images, position, self.n_neighbors, self.scale_neighbor,
                with_grid=self.evidence is not None,
            )  # fmt: skip
        return self._graph

    def _solve(
        self,
        marks: list[Marks],
        *,
        live: bool = False,
        before: EarlierFlow | None = None,
        early: Callable[[], object] | None = None,
    ) -> None:
        """Segment by some marks; ``live`` with the graph and the weights of the experts that there are."""
        marked = MarkedCells.of(self._frames, marks)
        self._settled = not (live and self._follow(marked, early))
        if self._settled:
            self._begin_anew(marked, before)
            if early is not None:
                early()
        self._extend(marked, marks)

    def _follow(self, marked: MarkedCells, early: Callable[[], object] | None) -> bool:
        """Let the experts go on from their last answers; return whether that will do."""
        net, panel = self._graph, self._panel
        if net is None or panel is None or not np.array_equal(self._last.numbers, marked.numbers):
            return False
        known = marked.known(net.vertices, net.graph.n_vertices)
        serves = panel.serves(known)
        if serves or early is not None:
            opinion = panel.opinion(known, again=True)
            self._flow(net, marked.numbers, known, opinion, opinion.start())
            if early is not None:
                early()
        return serves

    def _begin_anew(self, marked: MarkedCells, before: EarlierFlow | None) -> None:
        """Choose the weight of the place, the experts and their weights by all marks."""
        position = chosen_position(marked.distance) if self.position == "auto" else float(self.position)
        net = self._cell_graph(position)
        known = marked.known(net.vertices, net.graph.n_vertices)
        opinion = None if self.evidence is None else self._opinion(net, marked, known)
        self.choice_ = {**({} if opinion is None else opinion.weights), "position": position}
        self.strokes_found_ = None if opinion is None else opinion.found
        init: Any = "hub" if opinion is None else opinion.start()
        if before is not None and before.vertices is net.vertices:
            init = before.renamed(marked.numbers)
        self._flow(net, marked.numbers, known, opinion, init)

    def _flow(
        self,
        net: CellGraph,
        numbers: NDArray[np.int64],
        known: NDArray[np.int32],
        opinion: PixelOpinion | None,
        init: Any,
    ) -> None:
        """Run the flow on the cells."""
        self._report("flow", 0.0)
        q = None if opinion is None else opinion.probabilities
        solution = solve_cells(net.graph, known, q, init, self._flow_settings, self.fidelity)
        self._last, self._known = EarlierFlow(net.vertices, solution, numbers), known
        log.info("%r: %s", net.graph, solution.status)

    def _extend(self, marked: MarkedCells, marks: list[Marks]) -> None:
        """Bring the classes of the cells to the pixels of all images."""
        net, solution, numbers = self._graph, self._last.solution, marked.numbers
        assert net is not None
        self.classes_ = names_of(marks, numbers)
        self._colors = Marks(np.zeros((1, 1), np.int32), self.classes_, colors_of(marks)).palette()
        self._cell_classes = solution.arm[net.vertices].astype(np.int32)
        self._marked_cells, self._made_model = marked.cells, None
        for k, (frame, one) in enumerate(zip(self._frames, marks)):
            mine = net.vertices[marked.starts[k] : marked.starts[k + 1]]
            kept = (solution.arm == self._known)[mine[marked.placed[k][0]]]
            state = State(solution.arm[mine], solution.height[mine])
            report = partial(self._report_extending, k, len(marks))
            arms, heights = pixels_of(frame, state, one, numbers, kept, report)
            self.results_[k]._fill(
                frame, net.graph, solution, one, numbers, arms, heights, self.classes_, self._colors, mine
            )

    def _opinion(self, net: CellGraph, marked: MarkedCells, known: NDArray[np.int32]) -> PixelOpinion:
        """What models of the looks and walks on the graph believe of every vertex."""
        pause = partial(self._report, "evidence", 0.0)
        pause()
        n_classes = len(marked.numbers)
        experts = experts_of(
            net.scales,
            net.places,
            net.looks,
            net.grid,
            known,
            n_classes,
            n_near=self._images.looks.near_columns(net.scales.shape[1]),
            near=marked.distance <= NEAR,
            texture=net.texture_graph if self._images.looks.has_textures else None,
        )
        strokes = marked.strokes(self._frames, net.vertices, net.graph.n_vertices)
        panel = Panel.weighed(experts, known, strokes, n_classes, pause)
        opinion = panel.opinion(known, pause=pause)
        self._panel = panel
        return opinion

    @property
    def _flow_settings(self) -> FlowSettings:
        return FlowSettings(self.epsilon, self.step, self.max_iter, self.tol)

    @property
    def _cell_model(self) -> CellModel:
        """The models for new images, fitted when they are first needed."""
        self.settle()
        if self._made_model is None:
            self._made_model = CellModel.of(
                self._images.looks,
                self._images.scales,
                self._cell_classes,
                self._marked_cells,
                len(self.classes_),
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
        bands = shown if features is None else ready_made(features, shown, self.scale, self._volume)
        if bands.n_bands != self._n_bands:
            raise ValueError(
                f"The number of bands is {bands.n_bands}, and {self._n_bands} in the images of the fit; "
                "convert it, or fit a model to such images."
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
            of_all = [*(result.marks for result in self.results_), marks]
            return self.fit([*self._pictures, image], of_all)
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
