"""A graph of cells and marked cells in, a class and a height for every cell, then for every pixel, out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.policy import EVIDENCE, LITERAL
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.evidence import Evidence
from phaselabel.flow.minimize import Solution
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import LEAF, State, checked_fidelity
from phaselabel.graph import Graph
from phaselabel.segmentation.cells import extend, majority
from phaselabel.segmentation.frames import Frame
from phaselabel.segmentation.marked_images import stroke_numbers
from phaselabel.segmentation.marks import Marks

#: The weight of the evidence in the flow, beside 1 for all neighbours together.
VOICE = 1.0


@dataclass(frozen=True, eq=False)
class MarkedCells:
    """The marks of all images on their cells.

    Attributes
    ----------
    numbers : ndarray of int, shape (K,)
        The class numbers, in order.
    placed : list of (ndarray of int, ndarray of int32)
        The cell and the class number of every marked pixel, image by image.
    starts : ndarray of int
        The number of the first cell of every image, and of all cells.
    cells : ndarray of int
        The cells of all marked pixels, numbered one image after the other.
    classes : ndarray of int
        The class of each, counted from 0.
    distance : float
        The mean distance of a cell to the nearest mark in its image, in longer sides.
    """

    numbers: NDArray[np.int64]
    placed: list[tuple[NDArray[np.intp], NDArray[np.int32]]]
    starts: NDArray[np.int64]
    cells: NDArray[np.intp]
    classes: NDArray[np.intp]
    distance: float

    @classmethod
    def of(cls, frames: Sequence[Frame], marks: Sequence[Marks]) -> "MarkedCells":
        """Find the cells of all marks."""
        numbers = np.array(sorted({n for one in marks for n in one.classes}), np.int64)
        starts = np.cumsum([0, *(frame.cells.n_cells for frame in frames)])
        placed = [frame.marked_cells(one) for frame, one in zip(frames, marks)]
        cells = np.concatenate([some + start for (some, _), start in zip(placed, starts)])
        classes = np.searchsorted(numbers, np.concatenate([label for _, label in placed]))
        distances = [frame.distances(some) for frame, (some, _) in zip(frames, placed)]
        return cls(numbers, placed, starts, cells, classes, float(np.concatenate(distances).mean()))

    def known(self, vertices: NDArray[np.int64], n_vertices: int) -> NDArray[np.int32]:
        """The class that most marks of every vertex have; -1 without a mark."""
        return majority(vertices[self.cells], self.classes, n_vertices, len(self.numbers))

    def strokes(
        self, frames: Sequence[Frame], vertices: NDArray[np.int64], n_vertices: int
    ) -> NDArray[np.int64]:
        """The number of the stroke through every vertex; 0 without one."""
        strokes = np.zeros(n_vertices, np.int64)
        strokes[vertices[self.cells]] = np.concatenate(stroke_numbers(frames, self.placed))
        return strokes


@dataclass(frozen=True, eq=False)
class EarlierFlow:
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


def solve_cells(
    graph: Graph,
    known: NDArray[np.int32],
    probabilities: NDArray[np.floating] | None,
    init: Any,
    settings: FlowSettings,
    fidelity: float,
) -> Solution:
    """Run the flow from marked vertices and, unless it is None, from what is believed of every vertex."""
    evidence = None if probabilities is None else Evidence.of(probabilities, VOICE)
    n_classes = int(known.max()) + 1 if probabilities is None else probabilities.shape[1]
    sizes = class_sizes("estimate", np.arange(n_classes))
    # A new image has no marks.
    trust = checked_fidelity(fidelity, known) if (known >= 0).any() else np.zeros(len(known))
    problem = Problem(graph, known, n_classes, trust, sizes, settings, evidence)
    return solve(problem, LITERAL if evidence is None else EVIDENCE, init=init)


def pixels_of(
    frame: Frame,
    state: State,
    marks: Marks,
    numbers: NDArray[np.int64],
    kept: NDArray[np.bool_],
    report: Callable[[float], object],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Class and height of every pixel of one image.

    Parameters
    ----------
    frame : Frame
        The image.
    state : State
        Arm and height of its cells.
    marks : Marks
        Its marks.
    numbers : ndarray of int, shape (K,)
        The class numbers.
    kept : ndarray of bool
        For every marked pixel, whether its cell has the class of the majority of its marks. If so, the pixel
        keeps the class that it was marked with, though the majority may have another.
    report : callable
        Called with the share that is done.
    """
    arms, heights = extend(frame.bands, frame.cells, state, len(numbers), report)
    pixels = np.nonzero(marks.labels > 0)
    own = np.searchsorted(numbers, marks.labels[pixels])
    changed = kept & (arms[pixels] != own)
    place = tuple(axis[changed] for axis in pixels)
    arms[place], heights[place] = own[changed], LEAF
    return arms, heights
