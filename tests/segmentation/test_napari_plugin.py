import os

import numpy as np
import pytest

from phaselabel.segmentation.napari_plugin import CONFIDENCE, RESULT, LiveSegmentation, segment_layers


@pytest.fixture
def picture():
    image = np.full((30, 40, 3), 60, np.uint8)
    image[8:20, 10:25] = 200, 90, 40
    marks = np.zeros((30, 40), np.int32)
    marks[14, 12:22], marks[3, 4:30] = 2, 1
    return image, marks


def test_layers_of_the_present_strokes(picture):
    image, marks = picture
    live = LiveSegmentation(image, rgb=True, patch=1)
    assert live.layers(np.where(marks == 1, 1, 0)) == []
    (labels, about, kind), (confidence, other, _) = live.layers(marks)
    assert (kind, about["name"], other["name"]) == ("labels", RESULT, CONFIDENCE)
    assert (labels == np.where(image[..., 0] > 100, 2, 1)).all()
    assert confidence.min() >= 0.5
    marks[25, 5:15] = 3  # the same looks as class 1, near it: some pixels follow
    assert set(np.unique(live.layers(marks)[0][0])) >= {2, 3}
    with pytest.raises(ValueError, match="labels have the shape"):
        live.layers(marks[1:])


def test_the_viewer_shows_the_layers_and_follows_strokes(picture, monkeypatch):
    """Headless: napari's model of a viewer, without a window."""
    monkeypatch.setitem(os.environ, "QT_QPA_PLATFORM", "offscreen")
    components = pytest.importorskip("napari.components")
    image, marks = picture
    viewer = components.ViewerModel()
    shown, strokes = viewer.add_image(image, rgb=True), viewer.add_labels(marks.copy())
    segment_layers(viewer, shown, strokes)
    assert RESULT in viewer.layers
    assert CONFIDENCE in viewer.layers
    before = viewer.layers[RESULT].data.copy()
    strokes.paint((25, 35), 3)
    strokes.events.paint(value=[])
    assert (viewer.layers[RESULT].data == 3).any()
    assert not (before == 3).any()
