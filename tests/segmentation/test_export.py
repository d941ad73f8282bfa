import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from phaselabel import Marks, segment
from phaselabel.segmentation.export import coco, mask_from_run_lengths, run_lengths
from phaselabel.segmentation.mark_files import read_marks


@pytest.fixture(scope="module")
def result():
    image = np.full((20, 30, 3), 40, np.uint8)
    image[:, 15:] = 200
    image += np.random.default_rng(0).integers(0, 20, image.shape).astype(np.uint8)
    strokes = [("left side", [(2, 3), (10, 15)]), ("right/side", [(20, 3), (28, 15)])]
    return segment(image, Marks.from_strokes(strokes, (20, 30)), patch=3)


@pytest.mark.parametrize("seed", range(5))
def test_run_lengths_there_and_back(seed):
    mask = np.random.default_rng(seed).random((7, 5)) < seed / 4
    assert (mask_from_run_lengths(run_lengths(mask), mask.shape) == mask).all()


def test_annotation_tools_read_the_run_lengths(result):
    tools = pytest.importorskip("pycocotools.mask")
    document = json.loads(json.dumps(coco(result)))
    assert len(document["annotations"]) == 2
    for annotation in document["annotations"]:
        rle = tools.frPyObjects(annotation["segmentation"], 20, 30)
        mask = result.labels == annotation["category_id"]
        assert annotation["iscrowd"] == 0
        assert (tools.decode(rle).astype(bool) == mask).all()  # each class is one object
        assert tools.area(rle) == annotation["area"] == mask.sum()
        assert tools.toBbox(rle).tolist() == annotation["bbox"]


def test_everything_is_written(result, tmp_path):
    paths = result.save(tmp_path / "new" / "folder")
    assert {path.name for path in paths} == {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert {path.name for path in paths} == {
        "labels.png", "overlay.png", "confidence.png", "coco.json", "result.json",
        "objects.csv", "objects.geojson",
        "mask_1_left-side.png", "mask_2_right-side.png",
    }  # fmt: skip
    found = json.loads((tmp_path / "new" / "folder" / "result.json").read_text())
    assert [c["name"] for c in found["classes"]] == ["left side", "right/side"]
    assert sum(c["pixels"] for c in found["classes"]) == 600
    with Image.open(tmp_path / "new" / "folder" / "mask_1_left-side.png") as mask:
        assert ((np.asarray(mask) == 255) == result.mask("left side")).all()
    with Image.open(tmp_path / "new" / "folder" / "overlay.png") as overlay:
        assert overlay.size == (30, 20)


def test_labels_come_back_as_marks(result, tmp_path):
    result.save(tmp_path)
    with Image.open(tmp_path / "labels.png") as picture:
        assert picture.mode == "P"
    marks = read_marks(tmp_path / "labels.png", (20, 30))
    assert (marks.labels == result.labels).all()
    assert marks.colors == result.colors


def test_a_second_run_leaves_no_stale_files_and_keeps_others(result, tmp_path):
    result.save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "result.json").write_text(
        json.dumps({"files": ["mask_9_old.png", "../notes", "notes.txt", 5]})
    )
    shutil.copy(next(tmp_path.glob("mask_1*.png")), tmp_path / "mask_9_old.png")
    result.save(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert "mask_9_old.png" not in names
    assert "notes.txt" in names


@pytest.mark.parametrize("name", ["overlay.png", "coco.json", "objects.csv", "labels.png", "result.json"])
def test_a_file_that_no_run_has_written_is_not_replaced(result, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(FileExistsError, match="not a result of phaselabel; write into another folder"):
        result.save(tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_a_picture_of_ones_own_beside_a_result_is_not_replaced(result, tmp_path):
    result.save(tmp_path)
    Image.new("RGB", (3, 2)).save(tmp_path / "overlay.png")
    mine = (tmp_path / "overlay.png").read_bytes()
    with pytest.raises(FileExistsError, match=r"overlay\.png would be overwritten, and it is not a result"):
        result.save(tmp_path)
    assert (tmp_path / "overlay.png").read_bytes() == mine


def test_a_result_of_the_first_version_is_replaced(result, tmp_path):
    names = [path.name for path in result.save(tmp_path)]
    for path in tmp_path.glob("*.png"):  # which did not sign its pictures
        with Image.open(path) as picture:
            picture.load()
        picture.info.clear()
        picture.save(path)
    assert [path.name for path in result.save(tmp_path)] == names


def test_a_file_in_place_of_the_folder(result, tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FileExistsError, match="out is a file, and the result is a folder"):
        result.save(tmp_path / "out")


@pytest.mark.parametrize("depth", [None, 4])
def test_a_run_killed_half_way_is_known_by_its_labels(result, tmp_path, depth):
    if depth:
        volume, marks = np.zeros((depth, 5, 6), np.uint8), np.zeros((depth, 5, 6), int)
        volume[:, 2:], marks[0, 0], marks[0, 4] = 200, 1, 2
        result = segment(volume, marks)
    names = [path.name for path in result.save(tmp_path)]
    assert names[0] == ("labels.ome.tif" if depth else "labels.png")
    for name in names[3:]:
        (tmp_path / name).unlink()
    assert [path.name for path in result.save(tmp_path)] == names


def test_nothing_is_written_when_something_fails(result, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("phaselabel.segmentation.export._write_json", fail)
    with pytest.raises(OSError, match="No space"):
        result.save(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_many_classes_take_16_bits(tmp_path):
    result = segment(np.array([[0, 0, 255]], np.uint8), [[1, 0, 300]], patch=1)
    result.save(tmp_path)
    with Image.open(tmp_path / "labels.png") as picture:
        assert np.asarray(picture).tolist() == [[1, 1, 300]]
    assert read_marks(tmp_path / "labels.png", (1, 3)).classes == {1: "1", 300: "300"}


def test_an_overlay_that_can_not_be_is_refused(result):
    for opacity in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="opacity must be a number from 0 to 1"):
            result.overlay(opacity)
    volume = np.zeros((2, 3, 5), np.uint8)
    volume[1] = 200
    marks = np.zeros(volume.shape, int)
    marks[0, 0, 0], marks[1, 0, 0] = 1, 2
    with pytest.raises(ValueError, match="volume has no overlay"):
        segment(volume, marks, patch=1).overlay()


def test_cubes_can_be_looked_at():
    cube = np.random.default_rng(0).random((9, 9, 40))
    scribbles = np.zeros((9, 9), int)
    scribbles[0], scribbles[8] = 1, 2
    assert segment(cube, scribbles, patch=1).overlay().shape == (9, 9, 3)


def test_what_a_killed_run_has_left_is_removed_by_the_next(tmp_path):
    result = segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1)
    code = (
        "import os, sys\nimport numpy as np\nfrom phaselabel import segment\n"
        "from phaselabel.io import atomic\n"
        "atomic._put_file = lambda *parts: os.kill(os.getpid(), 9)\n"
        "segment(np.array([[0, 9, 250, 255]], np.uint8), [[1, 0, 0, 2]], patch=1).save(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")])
    assert any((tmp_path / "s").iterdir())
    result.save(tmp_path / "s")
    assert not [path.name for path in (tmp_path / "s").iterdir() if path.name.startswith(".")]
