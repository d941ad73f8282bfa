"""The flow on cells: a warm start by class number, and marks that stay where they were made."""

import numpy as np

from phaselabel import Graph, minimize
from phaselabel.flow.schedule import FlowSettings
from phaselabel.segmentation.cell_flow import EarlierFlow, solve_cells

PATH = Graph.from_weights([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
KNOWN = np.array([0, -1, -1, 1], np.int32)


def test_a_class_keeps_its_vertices_and_one_that_is_gone_leaves_the_hub():
    solution = minimize(PATH, KNOWN)
    earlier = EarlierFlow(np.arange(4), solution, np.array([3, 7]))
    state = earlier.renamed(np.array([1, 7]))
    assert state.arm.tolist() == [-1, -1, 1, 1]
    np.testing.assert_array_equal(state.height, np.where(state.arm >= 0, solution.height, 0))


def test_without_marks_the_evidence_decides():
    believed = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]], np.float32)
    unknown = np.full(4, -1, np.int32)
    assert solve_cells(PATH, unknown, believed, "hub", FlowSettings(), 30.0).arm.tolist() == [0, 0, 1, 1]


def test_without_evidence_the_marks_decide():
    assert solve_cells(PATH, KNOWN, None, "hub", FlowSettings(), 30.0).arm.tolist() == [0, 0, 1, 1]
