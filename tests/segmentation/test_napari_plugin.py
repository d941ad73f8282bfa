import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from phaselabel.segmentation import napari_plugin
from phaselabel.segmentation.napari_plugin import (
    CONFIDENCE,
    RESULT,
    LiveSegmentation,
    segment_layers,
    segment_widget,
)


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


class Event:
    """Calls what is connected, as an event of napari does."""

    def __init__(self):
        self.connected = []

    def connect(self, callback):
        self.connected.append(callback)

    def disconnect(self, callback):
        self.connected.remove(callback)

    def __call__(self):
        for callback in list(self.connected):
            callback(self)


class Layers(dict):
    """Layers by name; one of them is selected."""

    selection = SimpleNamespace(active=None)


class Viewer:
    """What the plug-in uses of a viewer."""

    def __init__(self):
        self.layers = Layers()

    def add_labels(self, data, name, **_):
        self.layers[name] = SimpleNamespace(data=data)

    add_image = add_labels


@pytest.fixture
def widget(monkeypatch):
    """The function behind the button, without napari."""
    layers = SimpleNamespace(Image=object, Labels=object)
    monkeypatch.setitem(sys.modules, "napari", SimpleNamespace(Viewer=object, layers=layers))
    by_button = SimpleNamespace(magicgui=lambda function, call_button: function)
    monkeypatch.setitem(sys.modules, "magicgui", by_button)
    return segment_widget()


@pytest.fixture
def asked(monkeypatch):
    """How often a segmentation was asked for its layers."""
    calls = []
    layers = LiveSegmentation.layers

    def counted(self, labels):
        calls.append(self)
        return layers(self, labels)

    monkeypatch.setattr(LiveSegmentation, "layers", counted)
    return calls


def test_pressing_again_follows_strokes_once(picture, widget, asked):
    image, marks = picture
    viewer, shown = Viewer(), SimpleNamespace(data=image, rgb=True)
    strokes = SimpleNamespace(data=marks, events=SimpleNamespace(paint=Event()))
    others = SimpleNamespace(data=marks.copy(), events=SimpleNamespace(paint=Event()))
    widget(viewer, shown, others)
    widget(viewer, shown, strokes)
    widget(viewer, shown, strokes)
    assert (viewer.layers[RESULT].data[10:18, 12:23] == 2).all()
    assert CONFIDENCE in viewer.layers
    assert not others.events.paint.connected
    del asked[:]
    marks[25, 5:15] = 3
    strokes.events.paint()
    assert len(asked) == 1
    assert (viewer.layers[RESULT].data == 3).any()
    assert viewer.layers.selection.active is strokes
    widget(viewer, shown, strokes, live=False)
    assert not strokes.events.paint.connected
    with pytest.raises(ValueError, match="Choose an image layer"):
        widget(viewer, None, strokes)


def test_the_manifest_names_the_widget():
    yaml = pytest.importorskip("yaml")
    manifest = yaml.safe_load(Path(napari_plugin.__file__).with_name("napari.yaml").read_text())
    (command,) = manifest["contributions"]["commands"]
    (shown,) = manifest["contributions"]["widgets"]
    assert shown["command"] == command["id"]
    module, _, name = command["python_name"].partition(":")
    assert getattr(importlib.import_module(module), name) is segment_widget


def test_without_napari_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "napari", None)
    with pytest.raises(ImportError, match=r"phaselabel\[napari\]"):
        segment_widget()


@pytest.fixture
def viewer(monkeypatch):
    """Headless: napari's model of a viewer, without a window."""
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    components = pytest.importorskip("napari.components")
    return components.ViewerModel()


def test_the_viewer_shows_the_layers_and_follows_strokes(picture, viewer):
    image, marks = picture
    shown, strokes = viewer.add_image(image, rgb=True), viewer.add_labels(marks.copy())
    live = segment_layers(viewer, shown, strokes)
    assert RESULT in viewer.layers
    assert CONFIDENCE in viewer.layers
    before = viewer.layers[RESULT].data.copy()
    strokes.selected_label = 3
    with strokes.block_history():  # one stroke
        strokes.paint((25, 35), 3)
    assert (viewer.layers[RESULT].data == 3).any()
    assert not (before == 3).any()
    live.stop()
    before = viewer.layers[RESULT].data.copy()
    with strokes.block_history():
        strokes.paint((25, 5), 4)
    assert (viewer.layers[RESULT].data == before).all()


def test_the_button_of_the_widget_that_napari_finds(picture, viewer, monkeypatch, asked):
    """The plug-in as installed: its manifest, its command, a widget of Qt, its button."""
    npe2, widgets = pytest.importorskip("npe2"), pytest.importorskip("qtpy.QtWidgets")
    application = widgets.QApplication.instance() or widgets.QApplication([])
    assert application is not None
    monkeypatch.setattr("napari.viewer.current_viewer", lambda: viewer)
    image, marks = picture
    viewer.add_image(image, rgb=True, name="photo")
    strokes = viewer.add_labels(marks.copy(), name="strokes")
    plugins = npe2.PluginManager()
    plugins.discover()
    plugins.activate("phaselabel")
    (found,) = [one for one in plugins.iter_widgets() if one.display_name == "Segment from a few strokes"]
    widget = plugins.commands.execute(found.command)
    widget.reset_choices()
    assert (widget.image.value.name, widget.marks.value.name) == ("photo", "strokes")
    widget.call_button.clicked.emit(True)
    widget.call_button.clicked.emit(True)
    assert len(asked) == 2
    strokes.selected_label = 3
    with strokes.block_history():
        strokes.paint((25, 35), 3)
    assert len(asked) == 3
    assert (viewer.layers[RESULT].data == 3).any()
    widget.live.value = False
    widget.call_button.clicked.emit(True)
    with strokes.block_history():
        strokes.paint((5, 35), 3)
    assert len(asked) == 4
