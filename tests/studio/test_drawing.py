"""The drawing room, driven by a mouse in a real browser."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import phaselabel as pl
from driving import number_of, recorded, shoot
from phaselabel.studio.drawing import DrawingRoom
from phaselabel.studio.project import Action, Project
from phaselabel.studio.strokes import Board

MARKS = Path(__file__).parents[2] / "benchmarks" / "marks"
STROKES = [(s["label"], s["points"]) for s in json.loads((MARKS / "flower.json").read_text())["shapes"]]


def add_classes(page, *names):
    for name in names:
        page.get_by_label("Name of a new class").fill(name)
        page.keyboard.press("Enter")
        page.get_by_label(f"Draw {name}", exact=True).wait_for()


def place(page, state, x, y):
    """Where a pixel of the fitted picture is on the screen."""
    box = page.locator(".stage canvas").bounding_box()
    scale = min(box["width"] / state["width"], box["height"] / state["height"]) * 0.97
    left = box["x"] + (box["width"] - scale * state["width"]) / 2
    top = box["y"] + (box["height"] - scale * state["height"]) / 2
    return left + x * scale, top + y * scale


def draw(page, points):
    state = page.request.get(page.url + "ask/state").json()
    first, *rest = [place(page, state, x, y) for x, y in points]

    def stroke():
        page.mouse.move(*first)
        page.mouse.down()
        for point in rest:
            page.mouse.move(*point, steps=6)
        page.mouse.up()

    recorded(page, stroke)


def draw_flower(page, strokes=STROKES):
    for label, points in strokes:
        page.keyboard.press("1" if label == "flower" else "2")
        draw(page, points)


def segmented(page):
    """Wait until the segmentation has followed."""
    page.wait_for_function(
        "n => Number(document.querySelector('#room').dataset.segmented ?? -1) >= n", arg=number_of(page)
    )


def labels_of(page):
    answer = page.request.get(page.url + "export/labels.png")
    assert answer.ok, answer.text()
    return np.array(Image.open(io.BytesIO(answer.body())))


def share_right(labels):
    """Among pixels far from the rim, by polygons that were drawn by hand."""
    truth = pl.read_marks(MARKS / "flower_check.json", labels.shape)
    numbers = {"flower": 1, "leaves": 2}
    right = [labels[truth.labels == n] == numbers[name] for n, name in truth.classes.items()]
    return float(np.mean(np.concatenate(right)))


def test_draw_a_flower_with_the_mouse(studio, flower, page_of):
    page = page_of(studio(flower).address)
    add_classes(page, "flower", "leaves")
    page.locator(".stage canvas").focus()
    draw_flower(page)
    segmented(page)
    labels = labels_of(page)
    assert share_right(labels) > 0.97
    shoot(page, "drawing")

    # Undo takes the last stroke away, redo brings it back, and the answer is the same again.
    recorded(page, lambda: page.keyboard.press("z"))
    segmented(page)
    recorded(page, lambda: page.keyboard.press("Shift+Z"))
    segmented(page)
    assert (labels_of(page) == labels).all()

    for name in ("outline", "confidence", "picture"):
        page.keyboard.press("v")
        assert page.locator(f"input[value={name}]").is_checked()
        if name != "picture":
            shoot(page, f"drawing-{name}")

    page.keyboard.press("h")
    assert "stroke in the ring" in page.locator("#status").inner_text()

    # What is exported is what the command line makes of the same strokes.
    strokes = page.request.get(page.url + "export/strokes.json").json()
    assert [s["label"] for s in strokes["shapes"]] == [label for label, _ in STROKES]
    masks = zipfile.ZipFile(io.BytesIO(page.request.get(page.url + "export/masks.zip").body()))
    assert sorted(masks.namelist()) == ["mask_1_flower.png", "mask_2_leaves.png"]
    mask = np.array(Image.open(io.BytesIO(masks.read("mask_1_flower.png"))))
    assert ((mask == 255) == (labels == 1)).all()
    coco = page.request.get(page.url + "export/coco.json").json()
    assert [c["name"] for c in coco["categories"]] == ["flower", "leaves"]
    marks = np.array(Image.open(io.BytesIO(page.request.get(page.url + "export/marks.png").body())))
    image = np.array(Image.open(flower))
    assert np.mean(pl.segment(image, marks).labels == labels) > 0.999


def test_reload_kill_and_second_tab_lose_nothing(studio, flower, page_of, tmp_path):
    first = studio(flower)
    page = page_of(first.address)
    add_classes(page, "flower", "leaves")
    page.locator(".stage canvas").focus()
    draw_flower(page, STROKES[:3])
    page.reload()
    page.get_by_label("Draw leaves", exact=True).wait_for()
    second = page_of.tab(page, first.address)
    second.get_by_label("Draw leaves", exact=True).wait_for()
    second.locator(".stage canvas").focus()
    second.keyboard.press("2")
    draw(second, STROKES[3][1])
    page.wait_for_function("() => document.querySelector('#undo').disabled === false")
    states = [p.request.get(p.url + "ask/state").json() for p in (page, second)]
    assert len(states[0]["layers"]) == len(states[1]["layers"]) == 4
    second.close()
    first.kill()
    page.get_by_text("Waiting for the studio").wait_for()
    page.close()
    page_of.forgive()

    again = page_of(studio(flower).address)
    again.get_by_label("Draw leaves", exact=True).wait_for()
    assert again.request.get(again.url + "ask/state").json()["layers"] == states[0]["layers"]
    again.locator(".stage canvas").focus()
    draw_flower(again, STROKES[4:])
    segmented(again)
    assert share_right(labels_of(again)) > 0.97


def test_a_stroke_before_the_first_frame_is_where_it_was_drawn(studio, flower, page_of):
    page = page_of(studio(flower).address)
    add_classes(page, "flower")
    page.add_init_script("window.requestAnimationFrame = (paint) => setTimeout(paint, 20000)")
    page.reload()
    page.get_by_label("Draw flower", exact=True).wait_for()
    points = STROKES[0][1]
    draw(page, points)
    (layer,) = page.request.get(page.url + "ask/state").json()["layers"]
    for found, drawn in ((layer["points"][0], points[0]), (layer["points"][-1], points[-1])):
        assert np.abs(np.subtract(found, drawn)).max() < 2


def test_a_phone_sized_window_and_the_keyboard_alone(studio, flower, page_of):
    page = page_of(studio(flower).address, 400, 800, color_scheme="dark", has_touch=True)
    page.get_by_label("Name of a new class").wait_for()
    page.keyboard.press("n")
    page.keyboard.type("flower")
    page.keyboard.press("Enter")
    page.get_by_label("Draw flower", exact=True).wait_for()
    page.keyboard.type("leaves")
    page.keyboard.press("Enter")
    page.get_by_label("Draw leaves", exact=True).wait_for()
    page.locator(".stage canvas").focus()
    for keys in (
        ["1", "Space", *["ArrowUp"] * 3, "Space"],
        ["2", *["Shift+ArrowLeft"] * 4, "Space", "ArrowDown", "Space"],
    ):
        recorded(page, lambda keys=keys: [page.keyboard.press(key) for key in keys])
    segmented(page)
    assert set(np.unique(labels_of(page))) == {1, 2}
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    shoot(page, "drawing-phone")


# -- without a browser


@pytest.fixture
def room(tmp_path):
    rng = np.random.default_rng(0)
    image = rng.normal(60, 8, (40, 50, 3))
    image[10:30, 10:25] += 120
    project = Project(tmp_path / "p.studio", {})
    return DrawingRoom(np.clip(image, 0, 255).astype(np.uint8), "p.png", project)


def two_classes(room):
    room.do("class", {"name": "square"})
    room.do("class", {"name": "rest"})
    room.do("stroke", {"class": 1, "size": 3, "points": [[14, 15], [20, 22]]})
    room.do("stroke", {"class": 2, "size": 3, "points": [[35, 5], [40, 35]]})


def test_strokes_go_out_and_come_back_in(room, tmp_path):
    two_classes(room)
    room.do("stroke", {"class": 0, "size": 5, "points": [[14, 15]]})
    document = room.export("strokes.json")
    other = DrawingRoom(room.image, "p.png", Project(tmp_path / "q.studio", {}))
    other.take(document)
    assert (other.board.labels() == room.board.labels()).all()
    assert other.board.names == room.board.names
    third = DrawingRoom(room.image, "p.png", Project(tmp_path / "r.studio", {}))
    third.take(room.export("marks.png"))
    assert (third.board.labels() == room.board.labels()).all()
    third.do("undo", {})
    assert third.board.names == {}


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
        ("class", {"name": "../../etc"}),
        ("class", {"name": "SQUARE"}),
        ("rename", {"class": 1, "color": "red; }"}),
        ("add", {"classes": [], "layers": []}),
        ("_do_clear", {}),
        ("labels", {}),
        (None, {}),
    ],
)
def test_nonsense_is_refused_and_not_kept(room, kind, body):
    two_classes(room)
    before = room.project.number
    with pytest.raises(ValueError):
        room.do(kind, body)
    assert room.project.number == before


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b"\x89PNG\r\n\x1a\n junk", b'{"shapes": [{"label": "a"}]}']
)
def test_files_without_strokes_are_refused(room, data):
    with pytest.raises(ValueError):
        room.take(data)
    assert room.project.number == 0


def test_removing_a_class_takes_its_strokes_and_undo_brings_them_back(room):
    two_classes(room)
    before = room.board.labels()
    room.do("remove", {"class": 1})
    assert set(np.unique(room.board.labels())) == {0, 2}
    room.do("undo", {})
    assert (room.board.labels() == before).all()


def test_a_later_stroke_lies_on_top():
    actions = [
        Action(1, "class", {"name": "a"}),
        Action(2, "class", {"name": "b"}),
        Action(3, "stroke", {"class": 1, "size": 4, "points": [[2, 5], [18, 5]]}),
        Action(4, "stroke", {"class": 2, "size": 2, "points": [[10, 5]]}),
        Action(5, "stroke", {"class": 0, "size": 2, "points": [[15, 5]]}),
    ]
    labels = Board.after(actions, (10, 20)).labels()
    assert labels[5, 5] == 1
    assert labels[5, 10] == 2
    assert labels[5, 15] == 0
