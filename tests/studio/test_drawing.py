"""The drawing workspace without a browser: what comes first after a stroke."""

import numpy as np
import pytest

from phaselabel import segment
from phaselabel.segmentation import export
from phaselabel.studio import drawing


def stroke(workspace, number, points):
    workspace.act("stroke", {"class": number, "size": 3, "points": points})


def test_cells_come_first_and_a_newer_stroke_ends_what_is_under_way(square):
    events = []
    square.publish = events.append
    assert square.prepare()
    for name in ("bright", "dark"):
        square.act("class", {"name": name})
    stroke(square, 1, [[14, 14], [20, 25]])
    stroke(square, 2, [[35, 5], [40, 30]])
    square.segment_once()
    square.settle_once()
    stroke(square, 2, [[35, 8], [40, 30]])
    square.segment_once()
    kinds = [key for event in events for key in ("previewed", "segmented", "settled") if key in event]
    assert kinds == ["segmented", "settled", "previewed", "segmented"]
    assert (square.previews[0].labels == square.result.labels).all()
    # The pen rests, or something is exported: exactly what a segmentation by all strokes is.
    square.export("labels.png")
    assert "settled" in events[-1]
    exact = segment(square.image, square.drawing.labels())
    assert (square.result.labels == exact.labels).all()
    assert (square.result.confidence == exact.confidence).all()
    first = square.result

    # A stroke that comes while the pixels are computed: they are given up, and nothing has failed.
    def interrupt(event):
        if "previewed" in event and square.project.version == 6:
            stroke(square, 2, [[45, 5], [45, 30]])

    square.publish = interrupt
    stroke(square, 2, [[5, 35], [40, 35]])
    square.segment_once()
    assert square.result is first
    assert square.status == "segmenting"
    content, _, version = square.data["segmentation"]()
    assert version == 6
    assert np.frombuffer(content[:12], np.uint32).tolist() == [50, 40, 1]
    square.segment_once()
    assert square.result.version == 7


@pytest.fixture
def made(monkeypatch):
    """The names of the functions that make files for an export, as they are called."""
    names = []
    for place, name in (
        (drawing, "label_png"), (drawing, "mask_pngs"), (export, "coco"), (export, "save"),
    ):  # fmt: skip
        make = getattr(place, name)

        def spy(*arguments, make=make, name=name):
            names.append(name)
            return make(*arguments)

        monkeypatch.setattr(place, name, spy)
    return names


def test_an_export_makes_the_one_file_that_is_asked_for(square, made):
    assert square.prepare()
    for name in ("bright", "dark"):
        square.act("class", {"name": name})
    stroke(square, 1, [[14, 14], [20, 25]])
    stroke(square, 2, [[35, 5], [40, 30]])
    square.segment_once()
    for name, makers in {
        "labels.png": ["label_png"], "masks.zip": ["mask_pngs"], "coco.json": ["coco"],
        "strokes.json": [], "marks.png": [],
    }.items():  # fmt: skip
        made.clear()
        assert square.export(name)
        assert made == makers, name
