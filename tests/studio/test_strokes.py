"""Strokes as actions, as a label image and as files."""

import base64
import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

import phaselabel as pl
from phaselabel.studio.drawing import DrawingWorkspace
from phaselabel.studio.project import Action, Project
from phaselabel.studio.strokes import Drawing


def two_classes(square):
    square.act("class", {"name": "square"})
    square.act("class", {"name": "rest"})
    square.act("stroke", {"class": 1, "size": 3, "points": [[14, 15], [20, 22]]})
    square.act("stroke", {"class": 2, "size": 3, "points": [[35, 5], [40, 35]]})


def test_strokes_go_out_and_come_back_in(square, tmp_path):
    two_classes(square)
    square.act("stroke", {"class": 0, "size": 5, "points": [[14, 15]]})
    document = square.export("strokes.json")
    other = DrawingWorkspace(square.image, "p.png", Project(tmp_path / "q.studio", {}))
    other.import_file(document)
    assert (other.drawing.labels() == square.drawing.labels()).all()
    assert other.drawing.names == square.drawing.names
    third = DrawingWorkspace(square.image, "p.png", Project(tmp_path / "r.studio", {}))
    third.import_file(square.export("marks.png"))
    assert (third.drawing.labels() == square.drawing.labels()).all()
    third.act("undo", {})
    assert third.drawing.names == {}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("stroke", {"class": 7, "size": 3, "points": [[1, 1]]}),
        ("stroke", {"class": 1, "size": 1e9, "points": [[1, 1]]}),
        ("stroke", {"class": 1, "size": 3, "points": []}),
        ("stroke", {"class": 1, "size": 3, "points": [[1, float("nan")]]}),
        ("stroke", {"class": 1, "size": 3, "points": [[1, "x"]]}),
        ("stroke", {"class": True, "size": 3, "points": [[1, 1]]}),
        ("stroke", None),
        ("class", {"name": "bell\x07"}),
        ("class", {"name": "SQUARE"}),
        ("rename", {"class": 1, "color": "red; }"}),
        ("add", {"classes": [], "layers": []}),
        ("_do_clear", {}),
        ("labels", {}),
        (None, {}),
    ],
)
def test_nonsense_is_refused_and_not_kept(square, kind, body):
    two_classes(square)
    before = square.project.version
    with pytest.raises(ValueError):
        square.act(kind, body)
    assert square.project.version == before


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b"\x89PNG\r\n\x1a\n junk", b'{"shapes": [{"label": "a"}]}']
)
def test_files_without_strokes_are_refused(square, data):
    with pytest.raises(ValueError):
        square.import_file(data)
    assert square.project.version == 0


def test_removing_a_class_takes_its_strokes_and_undo_brings_them_back(square):
    two_classes(square)
    before = square.drawing.labels()
    square.act("remove", {"class": 1})
    assert set(np.unique(square.drawing.labels())) == {0, 2}
    square.act("undo", {})
    assert (square.drawing.labels() == before).all()


def test_a_later_stroke_lies_on_top():
    actions = [
        Action(1, "class", {"name": "a"}),
        Action(2, "class", {"name": "b"}),
        Action(3, "stroke", {"class": 1, "size": 4, "points": [[2, 5], [18, 5]]}),
        Action(4, "stroke", {"class": 2, "size": 2, "points": [[10, 5]]}),
        Action(5, "stroke", {"class": 0, "size": 2, "points": [[15, 5]]}),
    ]
    labels = Drawing.replay(actions, (10, 20)).labels()
    assert labels[5, 5] == 1
    assert labels[5, 10] == 2
    assert labels[5, 15] == 0


# -- LabelMe


def labelme(*shapes, height=40, width=50):
    document = {"version": "5.5.0", "flags": {}, "imagePath": "p.png", "imageData": None}
    return json.dumps({**document, "imageHeight": height, "imageWidth": width, "shapes": shapes}).encode()


def shape(kind, points, label="a", **more):
    return {"label": label, "points": points, "shape_type": kind, "group_id": None, "flags": {}, **more}


def imported(square, *shapes):
    square.import_file(labelme(*shapes))
    return square.drawing.labels() > 0


def test_a_labelme_polygon_is_filled(square):
    mask = imported(square, shape("polygon", [[10, 5], [30, 5], [30, 25], [10, 25]]))
    assert mask.sum() == 400
    assert mask[5:25, 10:30].all()


def test_a_labelme_shape_without_a_type_is_a_polygon(square):
    plain = {"label": "a", "points": [[10, 5], [30, 5], [30, 25]]}
    assert abs(imported(square, plain).sum() - 200) <= 10


def test_a_labelme_polygon_with_a_notch_keeps_it(square):
    notch = [[0, 0], [30, 0], [30, 30], [20, 30], [20, 10], [10, 10], [10, 30], [0, 30]]
    mask = imported(square, shape("polygon", notch))
    assert mask.sum() == 700
    assert not mask[10:30, 10:20].any()


@pytest.mark.parametrize("corners", [[[30, 25], [10, 5]], [[10, 5], [30, 5], [30, 25], [10, 25]]])
def test_a_labelme_rectangle_is_filled(square, corners):
    mask = imported(square, shape("rectangle", corners))
    assert mask.sum() == 400
    assert mask[5:25, 10:30].all()


def test_a_labelme_circle_is_filled(square):
    mask = imported(square, shape("circle", [[25, 20], [25, 10]]))
    rows, columns = np.mgrid[:40, :50] + 0.5
    assert (mask != ((rows - 20) ** 2 + (columns - 25) ** 2 < 100)).sum() <= 4


def test_a_labelme_mask_is_placed_by_its_corner(square):
    inside = np.ones((4, 6), bool)
    inside[0, 0] = False
    file = io.BytesIO()
    Image.fromarray(inside).save(file, format="PNG")
    data = base64.b64encode(file.getvalue()).decode()
    mask = imported(square, shape("mask", [[10, 20], [15, 23]], mask=data))
    assert (mask[20:24, 10:16] == inside).all()
    assert mask.sum() == 23


def test_labelme_points_and_lines_are_strokes(square):
    mask = imported(
        square, shape("point", [[5.5, 5.5]]), shape("line", [[10, 10], [20, 10]]),
        shape("linestrip", [[30, 5], [30, 15], [40, 15]]),
    )  # fmt: skip
    assert mask[5, 5]
    assert mask[10, 15]
    assert mask[10, 30]
    assert mask.sum() < 150


def test_the_studio_and_the_command_line_read_the_same_labelme_file_alike(square, tmp_path):
    shapes = [
        shape("polygon", [[3, 4], [28, 9], [17, 33]]),
        shape("rectangle", [[30, 5], [45, 15]], "b"),
        shape("circle", [[36, 28], [36, 20]], "c"),
    ]
    (tmp_path / "marks.json").write_bytes(labelme(*shapes))
    square.import_file(labelme(*shapes))
    there = pl.read_marks(tmp_path / "marks.json", (40, 50)).labels
    assert ((square.drawing.labels() > 0) != (there > 0)).mean() < 0.06  # one row of pixels at the edges


def test_all_kinds_of_layers_go_out_and_come_back_in(square, tmp_path):
    two_classes(square)
    circle = shape("circle", [[25, 20], [25, 10]])
    square.import_file(labelme(shape("polygon", [[10, 5], [30, 5], [30, 25]]), circle))
    square.act("stroke", {"class": 0, "size": 5, "points": [[20, 12]]})
    document = json.loads(square.export("strokes.json"))
    assert {"version", "flags", "imagePath", "imageData", "imageHeight", "imageWidth"} <= set(document)
    other = DrawingWorkspace(square.image, "p.png", Project(tmp_path / "q.studio", {}))
    other.import_file(square.export("strokes.json"))
    assert (other.drawing.labels() == square.drawing.labels()).all()


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (labelme(shape("spline", [[1, 1], [2, 2]])), "spline"),
        (labelme(shape("polygon", [[1, 1], [2, 2]])), "3 points"),
        (labelme(shape("circle", [[1, 1]])), "2 points"),
        (labelme(shape("polygon", [[1, 1], [9, 9], [1, 9]]), height=80, width=100), "100 × 80"),
        (labelme(shape("mask", [[1, 1], [9, 9]], mask="!!")), "mask"),
    ],
)
def test_labelme_files_that_cannot_be_used_are_refused(square, document, reason):
    with pytest.raises(ValueError, match=reason):
        square.import_file(document)
    assert square.project.version == 0


def test_a_slash_in_a_class_name_never_reaches_a_file_name(square):
    square.act("class", {"name": "grass/dry"})
    square.act("class", {"name": "../../etc/passwd"})
    square.act("stroke", {"class": 1, "size": 3, "points": [[14, 15], [20, 22]]})
    square.act("stroke", {"class": 2, "size": 3, "points": [[35, 5], [40, 35]]})
    square.prepare()
    square.segment_once()
    archive = zipfile.ZipFile(io.BytesIO(square.export("masks.zip")))
    assert archive.namelist() == ["mask_1_grass-dry.png", "mask_2_etc-passwd.png"]
    assert [c["name"] for c in json.loads(square.export("coco.json"))["categories"]] == [
        "grass/dry",
        "../../etc/passwd",
    ]
