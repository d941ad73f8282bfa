import json

import numpy as np
import pytest
from PIL import Image

from phaselabel.cli import main


@pytest.fixture
def photo(tmp_path):
    image = np.full((30, 40, 3), 60, np.uint8)
    image[10:20, 5:15] = image[10:20, 25:35] = (200, 120, 40)
    image += np.random.default_rng(0).integers(0, 15, image.shape).astype(np.uint8)
    Image.fromarray(image).save(tmp_path / "photo.png")
    return tmp_path


def test_painted_scribbles(photo, capsys):
    paint = np.zeros((30, 40, 4), np.uint8)
    paint[14, 7:13] = 255, 0, 0, 255
    paint[3, 5:30] = 0, 0, 255, 255
    Image.fromarray(paint).save(photo / "marks.png")
    (photo / "legend.json").write_text(json.dumps({"#ff0000": "box", "#0000ff": "ground"}))
    words = ["segment", str(photo / "photo.png"), "--scribbles", str(photo / "marks.png")]
    assert (
        main([*words, "--legend", str(photo / "legend.json"), "--out", str(photo / "out"), "--patch", "3"])
        == 0
    )
    shown = capsys.readouterr()
    assert "box" in shown.out
    assert "neighbours" in shown.err
    with Image.open(photo / "out" / "mask_1_box.png") as mask:
        assert np.mean(np.asarray(mask)[11:19, 26:34] == 255) > 0.95
    found = json.loads((photo / "out" / "result.json").read_text())
    assert found["classes"][0]["color"] == "#ff0000"
    assert found["image"] == "photo.png"


def test_points_and_shapes_together(photo, capsys):
    (photo / "points.csv").write_text("x,y,label\n10,14,box\n11,15,box\n")
    shape = {"label": "ground", "points": [[2, 2], [30, 2]], "shape_type": "line"}
    (photo / "shapes.json").write_text(json.dumps({"shapes": [shape]}))
    words = ["segment", str(photo / "photo.png"), "--points", str(photo / "points.csv")]
    assert main([*words, "--shapes", str(photo / "shapes.json"), "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert (photo / "photo_segmented" / "labels.png").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "There are no marks"),
        (["--points", "absent.csv"], "no such file"),
        (["--points", "one.csv"], "All marks are of one class (a)"),
        (["--points", "far.csv"], "outside the image"),
        (["--scribbles", "small.png"], "4 wide and 5 high"),
        (["--points", "two.csv", "--patch", "4"], "odd"),
    ],
)
def test_errors_are_sentences_and_nothing_is_written(photo, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(photo)
    (photo / "one.csv").write_text("x,y,label\n1,1,a\n2,2,a\n")
    (photo / "two.csv").write_text("x,y,label\n1,1,a\n2,2,b\n")
    (photo / "far.csv").write_text("x,y,label\n1,100,a\n2,2,b\n")
    Image.fromarray(np.ones((5, 4), np.uint8)).save(photo / "small.png")
    assert main(["segment", "photo.png", "--out", "out", *words]) == 1
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown
    assert not (photo / "out").exists()
