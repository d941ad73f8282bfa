"""A folder of pictures, drawn on with one model."""

import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

import phaselabel as pl
from phaselabel.studio.album import AlbumWorkspace
from phaselabel.studio.opening import open_workspace

PLACES = {"a.png": (4, 5), "b.png": (10, 14), "c.png": (6, 16)}


def write_picture(folder, name, mode="RGB"):
    """A noisy picture with a bright square."""
    rng = np.random.default_rng(sorted(PLACES).index(name))
    pixels = np.clip(rng.normal(60, 8, (24, 30, 3)), 0, 255).astype(np.uint8)
    y, x = PLACES[name]
    pixels[y : y + 9, x : x + 9] = 200
    Image.fromarray(pixels).convert(mode).save(folder / name)


def is_segmented(result, name):
    """Whether the square and what surrounds it were found; pixels near the edge may be of either class."""
    y, x = PLACES[name]
    labels = result.labels.copy()
    inside = labels[y + 2 : y + 7, x + 2 : x + 7]
    around = np.ones((24, 30), bool)
    around[y - 3 : y + 12, x - 3 : x + 12] = False
    return (inside == 1).all() and (labels[around] == 2).all()


@pytest.fixture
def album(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("a.png", "b.png"):
        write_picture(folder, name)

    def opened():
        workspace = open_workspace(
            folder, lambda event: None, project=str(tmp_path / "p.studio"), mode="drawing"
        )
        assert isinstance(workspace, AlbumWorkspace)
        return workspace

    opened.folder = folder
    return opened


def draw(workspace):
    workspace.act("class", {"name": "square"})
    workspace.act("class", {"name": "rest"})
    workspace.act("stroke", {"class": 1, "size": 3, "points": [[8, 6], [11, 10]], "image": 0})
    workspace.act("stroke", {"class": 2, "size": 3, "points": [[25, 3], [26, 20]], "image": 0})
    assert workspace.prepare()
    workspace.segment_once()


def test_strokes_on_one_picture_segment_the_others_and_new_ones_join(album):
    workspace = album()
    draw(workspace)
    state = workspace.state("1")
    assert is_segmented(workspace.results[1], "b.png")
    assert state["layers"] == []
    assert state["segmented"] == workspace.project.version == 4
    assert [entry["strokes"] for entry in state["images"]] == [2, 0]
    assert workspace.state("0")["next_image"] == 1
    assert state["hints"]
    json.dumps(state)
    content, _, version = workspace.data["segmentation"](image="1")
    assert np.frombuffer(content[12 : 12 + 2 * 24 * 30], np.uint16).max() == 2
    assert version == 4
    workspace.close()

    write_picture(album.folder, "c.png", "L")
    again = album()
    assert "1 picture is new" in again.notes[-1]
    assert again.prepare()
    again.segment_once()
    assert list(again.pictures.values()) == ["a.png", "b.png", "c.png"]
    assert is_segmented(again.results[2], "c.png")
    again.close()

    (album.folder / "a.png").unlink()
    third = album()
    assert list(third.pictures) == [1, 2]
    assert "come back" in third.notes[-1] or "comes back" in third.notes[-1]
    assert third._album.layers[0]["image"] == 0
    third.close()


def test_exports_hold_every_picture(album, tmp_path):
    workspace = album()
    with pytest.raises(ValueError, match="no segmentation yet"):
        workspace.export("labels.zip")
    draw(workspace)
    with zipfile.ZipFile(io.BytesIO(workspace.export("labels.zip"))) as archive:
        assert archive.namelist() == ["a.png/labels.png", "b.png/labels.png"]
        found = np.asarray(Image.open(io.BytesIO(archive.read("b.png/labels.png"))))
    assert (found == workspace.results[1].labels).all()
    with zipfile.ZipFile(io.BytesIO(workspace.export("masks.zip"))) as archive:
        assert len(archive.namelist()) == 4
    coco = json.loads(workspace.export("coco.json"))
    assert [entry["file_name"] for entry in coco["images"]] == ["a.png", "b.png"]
    assert sorted({entry["image_id"] for entry in coco["annotations"]}) == [1, 2]
    assert len({entry["id"] for entry in coco["annotations"]}) == len(coco["annotations"]) == 4
    with zipfile.ZipFile(io.BytesIO(workspace.export("strokes.zip"))) as archive:
        assert len(json.loads(archive.read("a.png.json"))["shapes"]) == 2
        assert json.loads(archive.read("b.png.json"))["shapes"] == []
    (tmp_path / "m.zip").write_bytes(workspace.export("model.zip"))
    model = pl.load(tmp_path / "m.zip")
    assert model.predict(workspace.images[1]).shape == (24, 30)
    assert list(model.classes_.values()) == [entry["name"] for entry in coco["categories"]]
    assert model.segment(workspace.images[1]).colors == workspace.results[1].colors


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("stroke", {"class": 1, "size": 3, "points": [[1, 1]]}),
        ("stroke", {"class": 1, "size": 3, "points": [[1, 1]], "image": 7}),
        ("stroke", {"class": 1, "size": 3, "points": [[1, 1]], "image": True}),
        ("clear", {"image": "0"}),
    ],
)
def test_a_stroke_on_no_picture_is_refused(album, kind, body):
    workspace = album()
    workspace.act("class", {"name": "square"})
    with pytest.raises(ValueError, match="no picture"):
        workspace.act(kind, body)
    with pytest.raises(ValueError, match="no such picture"):
        workspace.state("x")
    assert workspace.project.version == 1


def test_undo_says_which_picture_it_concerns(album):
    workspace = album()
    assert "concerns" not in workspace.act("undo", {})  # there is nothing to take back
    draw(workspace)
    stroke = {"class": 1, "size": 1, "points": [[2, 2]], "image": 1}
    assert "concerns" not in workspace.act("stroke", stroke)
    assert [workspace.act(kind, {})["concerns"] for kind in ("undo", "undo", "redo")] == [1, 0, 0]
    workspace.close()


def test_clearing_one_picture_leaves_the_others(album):
    workspace = album()
    workspace.act("class", {"name": "square"})
    for image in (0, 1):
        workspace.act("stroke", {"class": 1, "size": 3, "points": [[1, 1]], "image": image})
    assert workspace.act("clear", {"image": 1})["image"] == 1
    assert [layer["image"] for layer in workspace._album.layers] == [0]


def test_a_folder_that_is_too_large_is_refused(album, monkeypatch):
    monkeypatch.setattr("phaselabel.studio.opening.MAX_PIXELS", 1000)
    with pytest.raises(ValueError, match="1,000 pixels together"):
        album()
