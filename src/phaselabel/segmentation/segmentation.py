"""What a model found in one image in, labels that can be looked at, saved and refined with more marks out."""

from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import gen_batches

from phaselabel.assess.query import choose_queries
from phaselabel.assess.verdict import as_html, verdict_on_strokes
from phaselabel.counts import check_count
from phaselabel.flow.minimize import Solution
from phaselabel.graph import Graph
from phaselabel.segmentation import export
from phaselabel.segmentation.cells import STRIP_ROWS, majority
from phaselabel.segmentation.color import Colour
from phaselabel.segmentation.frames import Frame
from phaselabel.segmentation.marks import Marks


class Model(Protocol):
    """What a segmentation needs of the model that made it."""

    strokes_found_: float | None

    def update(self, marks: Any, image: Any = None, *, warm: bool = False) -> Any:
        """Add marks and segment again."""

    def settle(self) -> Any:
        """Segment as a fit with all marks does."""


class Segmentation:
    """A label and a confidence for every pixel, and what is needed to refine them.

    :func:`segment` and :class:`Segmenter` make it.

    Parameters
    ----------
    model : Segmenter
        The model that makes it.
    number : int or None
        The number of the image in the model; None for an image that the model was not fitted to.

    Attributes
    ----------
    labels : ndarray of int, shape (H, W)
        The class number of every pixel, with the numbers of the scribbles; 0 where there is no data.
    confidence : ndarray of float32, shape (H, W)
        From ½ (between classes) to 1; 0 where there is no data.
    classes : dict of int to str
        The name of every class number.
    colors : dict of int to tuple of int
        A colour (red, green, blue) for every class number: the painted one where there was one.
    marks : Marks
        All marks.
    graph : Graph
        The similarity graph of the pixels, or cells, that differ in looks, of all images of the model.
    solution : Solution
        Where the flow ended.
    cell : int
        Side of the cells that the flow ran on; 1 if it ran on the pixels themselves.

    See Also
    --------
    segment : Makes a segmentation.

    Examples
    --------
    >>> from phaselabel import segment
    >>> result = segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
    >>> result.labels.tolist()
    [[1, 1, 2, 2]]
    """

    def __init__(self, model: "Model", number: int | None) -> None:
        self._model, self._number = model, number

    def update(self, more_scribbles: Marks | ArrayLike, *, warm: bool = False) -> Self:
        """Segment again with more marks, on the same graph.

        What the experts count is chosen anew when there are twice as many marks, or another class. Until then
        few labels differ from those of :func:`segment` with all marks; :meth:`settle` gives exactly these.

        Parameters
        ----------
        more_scribbles : Marks or array-like
            As for :func:`segment`, put on top of the marks there are; 0 leaves a mark, -1 removes it. New
            classes may appear.
        warm : bool, default=False
            Start the flow from the last result. Without evidence that takes a tenth of the sweeps, but a
            settled state resists: the new marks then change their near surroundings only.

        Returns
        -------
        Segmentation
            This object, with new labels.

        Examples
        --------
        >>> from phaselabel import segment
        >>> result = segment(np.array([[0, 9, 120, 130, 255]], np.uint8), [[1, 0, 0, 0, 2]], patch=1)
        >>> result.update([[0, 0, 3, 0, 0]]).labels.tolist()
        [[1, 1, 3, 3, 2]]
        """
        if self._number is None:
            raise ValueError(
                "The model was not fitted to this image; add it with model.update(marks, image=image)."
            )
        self._model.update(more_scribbles, self._number, warm=warm)
        return self

    def settle(self) -> Self:
        """After updates, the labels that :func:`segment` gives with all marks, to the last bit.

        Returns
        -------
        Segmentation
            This object.

        Examples
        --------
        >>> from phaselabel import segment
        >>> image, marks = np.array([[0, 9, 120, 130, 255]], np.uint8), np.array([[1, 0, 0, 0, 2]])
        >>> result = segment(image, marks, patch=1).update([[0, 1, 0, 0, 0]]).settle()
        >>> marks[0, 1] = 1
        >>> bool((result.labels == segment(image, marks, patch=1).labels).all())
        True
        """
        if self._number is not None:
            self._model.settle()
        return self

    @property
    def image(self) -> NDArray[Any]:
        """The image, (H, W, B); numbers of eight bytes are scaled to four.

        Returns
        -------
        ndarray of shape (H, W, B)
            The pixels.

        Examples
        --------
        >>> from phaselabel import segment
        >>> result = segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
        >>> result.image.shape
        (1, 4, 1)
        """
        return self._frame.shown.pixels

    def mask(self, name: int | str) -> NDArray[np.bool_]:
        """The pixels of one class.

        Parameters
        ----------
        name : int or str
            Number or name of the class.

        Returns
        -------
        ndarray of bool, shape (H, W)
            True where the pixel is of this class.

        Examples
        --------
        >>> from phaselabel import segment
        >>> result = segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
        >>> result.mask(2).tolist()
        [[False, False, True, True]]
        """
        for number, known in self.classes.items():
            if name in (number, known):
                return np.asarray(self.labels == number)
        raise ValueError(f"There is no class {name!r}; there are {', '.join(self.classes.values())}.")

    def suggest_marks(self, n: int = 3) -> NDArray[np.float64]:
        """The places where further marks would help most, the best first.

        Parameters
        ----------
        n : int, default=3
            Number of places.

        Returns
        -------
        ndarray of shape (n, 2)
            (row, column) in pixels, (plane, row, column) of a volume; the middle of the cell that the flow
            ran on.

        Examples
        --------
        >>> from phaselabel import segment
        >>> result = segment(np.array([[0, 9, 120, 250, 255]], np.uint8), [[1, 0, 0, 0, 2]], patch=1)
        >>> result.suggest_marks(1).shape
        (1, 2)
        """
        check_count(n, 1, "n")
        # Vertices of other images count as known: only those of this image are chosen.
        others = np.ones(self.graph.n_vertices, bool)
        others[self._vertices] = False
        known = np.where(others, self.solution.arm, self._known).astype(np.int32)
        chosen = choose_queries(self.graph, known, self.solution.arm, len(self._numbers), n)
        shape = self._frame.cells.shape
        first = [int(np.flatnonzero(self._vertices == vertex)[0]) for vertex in chosen]
        cells = np.stack(np.unravel_index(np.array(first, np.intp), shape), axis=1)
        return (cells.astype(np.float64) + 0.5) * self.cell

    def overlay(self, opacity: float = 0.45) -> NDArray[np.uint8]:
        """The image with every class in its colour and white lines between classes.

        Parameters
        ----------
        opacity : float, default=0.45
            Of the colours, from 0 to 1.

        Returns
        -------
        ndarray of uint8, shape (H, W, 3)
            Red, green and blue.

        Examples
        --------
        >>> from phaselabel import segment
        >>> result = segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
        >>> result.overlay().shape
        (1, 4, 3)
        """
        return export.overlay(self, opacity)

    def save(self, folder: str | Path, *, source: str | Path | None = None) -> list[Path]:
        """Write label image, overlay, confidence, masks, objects and a summary into a folder.

        Parameters
        ----------
        folder : str or Path
            Where to write; made if it is not there. All files appear at once, and files of an earlier
            result are replaced.
        source : str or Path, optional
            The file of the image. If it is a GeoTIFF, the labels are written as one too, and the polygons
            have its coordinates.

        Returns
        -------
        list of Path
            The files that were written.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from phaselabel import segment
        >>> result = segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
        >>> with TemporaryDirectory() as folder:
        ...     sorted(path.name for path in result.save(folder))[:3]
        ['coco.json', 'confidence.png', 'labels.png']
        """
        return export.save(self.settle(), folder, source=source)

    def _repr_html_(self) -> str:
        """The segmentation in a notebook: how good and how sure it is, and the share of every class."""
        shares = [(name, float(np.mean(self.labels == number))) for number, name in self.classes.items()]
        facts = {str(name): f"{share:.1%} of the pixels" for name, share in shares}
        inside = self.confidence[self.labels > 0]
        sure = float(np.mean(inside >= 0.9)) if inside.size else 0.0
        words = f"{sure:.0%} of the pixels have a confidence of 0.9 or more."
        sentences = [verdict_on_strokes(self._model.strokes_found_), words, self.solution.status]
        return as_html("Segmentation", sentences, facts)

    def __repr__(self) -> str:
        size = " × ".join(str(side) for side in reversed(self.labels.shape))
        return f"Segmentation({size}, {', '.join(self.classes.values())}; {self.solution.status})"

    def _fill(
        self,
        frame: Frame,
        graph: Graph,
        solution: Solution,
        marks: Marks,
        numbers: NDArray[np.int64],
        arms: NDArray[np.int32],
        heights: NDArray[np.float32],
        classes: dict[int, str],
        colors: dict[int, Colour],
        vertices: NDArray[np.int64] | None = None,
    ) -> None:
        """Take a result of the model; the arrays of the pixels are its own from now on."""
        table = np.append(numbers, 0)
        table = table.astype(np.min_scalar_type(int(table.max())))
        labels, confidence = np.empty(arms.shape, table.dtype), heights
        for some in gen_batches(len(arms), STRIP_ROWS):  # indices take four times the memory of the labels
            labels[some] = table[arms[some]]
            confidence[some] += np.float32(0.5)
            confidence[some][arms[some] < 0] = 0
        valid = frame.bands.valid
        if valid is not None:
            labels[~valid] = 0
            confidence[~valid] = 0
        self._frame, self._numbers = frame, numbers
        self._vertices = np.arange(frame.cells.n_cells) if vertices is None else vertices
        self._known = known_of(frame, marks, numbers, self._vertices, graph.n_vertices)
        self.graph, self.solution, self.marks, self.cell = graph, solution, marks, frame.cells.cell
        self.labels, self.confidence = labels, confidence
        self.classes, self.colors = dict(classes), dict(colors)


def known_of(
    frame: Frame,
    marks: Marks,
    numbers: NDArray[np.int64],
    vertices: NDArray[np.int64],
    n_vertices: int,
) -> NDArray[np.int32]:
    """The class of every vertex that is marked on one image, -1 for the others."""
    cells, labels = frame.marked_cells(marks)
    return majority(vertices[cells], np.searchsorted(numbers, labels), n_vertices, len(numbers))
