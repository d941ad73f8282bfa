import numpy as np

from phaselabel.segmentation.cell_model import MOST_CELLS, CellModel
from phaselabel.segmentation.frames import Looks

READY = Looks(1, False, True, np.zeros(0, np.float32), np.zeros((0, 0), np.float32))


def two_classes(n=400, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    classes = (rows[:, 0] > 0).astype(np.int32)
    return rows, classes


def test_cells_without_a_class_do_not_count_and_marked_ones_come_first():
    rows, classes = two_classes(2 * MOST_CELLS + 900)
    marked = np.flatnonzero(classes == 1)[-50:]
    classes[:10] = -1
    model = CellModel.of(READY, rows, classes, marked, 2)
    assert len(model.rows) <= 2 * MOST_CELLS
    assert (model.rows[:, None] == rows[None, marked[:3]]).all(axis=2).any(axis=0).all()
    new, truth = two_classes(seed=1)
    assert np.mean(model.probabilities(new).argmax(axis=1) == truth) > 0.95
    np.testing.assert_allclose(model.probabilities(new).sum(axis=1), 1, rtol=1e-5)


def test_more_rows_bring_a_class_between_the_others():
    rows, classes = two_classes()
    model = CellModel.of(READY, rows, classes, np.arange(20), 2)
    far = rows + np.float32(50)
    taught = model.with_rows(far, np.ones(len(far), int), np.array([0, 2]), 3)
    assert (taught.probabilities(far + np.float32(0.1)).argmax(axis=1) == 1).mean() > 0.95
    assert np.mean(taught.probabilities(rows).argmax(axis=1) == 2 * classes) > 0.95
