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
        (["--scribbles", "out/../labels.png", "--out", "."], "would overwrite out/../labels.png"),
    ],
)
def test_errors_are_sentences_and_nothing_is_written(photo, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(photo)
    (photo / "one.csv").write_text("x,y,label\n1,1,a\n2,2,a\n")
    (photo / "two.csv").write_text("x,y,label\n1,1,a\n2,2,b\n")
    (photo / "far.csv").write_text("x,y,label\n1,100,a\n2,2,b\n")
    for name in ("small.png", "labels.png"):
        Image.fromarray(np.ones((5, 4), np.uint8)).save(photo / name)
    assert main(["segment", "photo.png", "--out", "out", *words]) == 1
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown
    assert not (photo / "out").exists()


@pytest.fixture
def album(photo):
    """Three images, marks of two of them, and a broken one."""
    (photo / "images").mkdir()
    (photo / "marks").mkdir()
    for k in range(3):
        image = np.full((30, 40, 3), 60, np.uint8)
        image[10:20, 5 + 4 * k : 15 + 4 * k] = (200, 120, 40)
        image += np.random.default_rng(k).integers(0, 15, image.shape).astype(np.uint8)
        Image.fromarray(image).save(photo / "images" / f"img{k}.png")
    (photo / "images" / "broken.png").write_bytes(b"not a picture")
    (photo / "marks" / "img0.csv").write_text(
        "x,y,label\n8,14,box\n9,15,box\n10,14,box\n2,2,ground\n30,3,ground\n"
    )
    (photo / "marks" / "img1.csv").write_text("x,y,label\n14,14,box\n2,25,ground\n")
    return photo


def test_a_folder_of_images_is_segmented_from_marks_on_some(album, capsys):
    out = album / "masks"
    (album / "marks" / "broken.csv").write_text("x,y,label\n1,1,box\n")
    with (album / "marks" / "img1.csv").open("a") as marks:
        marks.write("30,25,box\n")  # it looks like ground
    words = ["segment", "--train", str(album / "marks"), str(album / "images"), "--patch", "3"]
    assert main([*words, "--out", str(out), "--save", str(album / "model")]) == 1
    shown = capsys.readouterr().err
    assert "learning from 2 of 4 images; 1 without marks are in the same graph" in shown
    assert "broken.png" in shown
    assert "3 of 4 images" in shown
    for k in range(3):
        with Image.open(out / f"img{k}.png") as mask:
            assert np.mean(np.asarray(mask)[11:19, 6 + 4 * k : 14 + 4 * k] == 1) > 0.9
    with Image.open(out / "img1.png") as mask:
        assert mask.getpixel((30, 25)) == 1  # marked images come from the fit itself, which keeps marks
    lines = (out / "summary.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 2
    assert lines[1].startswith("img0.png,1,box,")

    # The model that is there is not replaced, and nothing is learned before that is said.
    assert main([*words, "--out", str(out), "--save", str(album / "model")]) == 1
    shown = capsys.readouterr().err
    assert f"go on with it (--model {album / 'model'})" in shown
    assert "learning" not in shown

    # A second run leaves out what is there; a removed image is done again, and so is a removed summary.
    (out / "img1.png").unlink()
    (out / "img2.json").unlink()
    again = [
        "segment",
        "--model",
        str(album / "model"),
        str(album / "images" / "img*.png"),
        "--out",
        str(out),
    ]
    assert main(again) == 0
    shown = capsys.readouterr().err
    assert shown.count("is there already") == 1
    assert "img0.png: is there already" in shown
    assert (out / "img1.png").is_file()
    assert (out / "img2.json").is_file()
    assert not list(out.glob("*.part"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["images", "--train", "absent"], "no such folder of marks"),
        (["images", "--train", "images", "--model", "m"], "either --train"),
        (["photo.png", "photo.png"], "need --train FOLDER"),
        (["nothing*.png", "--train", "marks"], "no such image"),
        (["photo.png", "--train", "marks"], "No image has a file of marks of its name"),
        (["images", "--model", "absent"], "no model at"),
    ],
)
def test_wrong_words_for_many_images_are_refused(album, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(album)
    assert main(["segment", *words]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("name", ["img0.png", "img0.json"])
def test_images_and_marks_are_never_overwritten(album, capsys, monkeypatch, name, force):
    monkeypatch.chdir(album)
    (album / "marks" / "img0.json").write_text('{"shapes": []}')
    folder = "images" if name.endswith("png") else "marks"
    kept = (album / folder / name).read_bytes()
    assert main(["segment", "images", "--train", "marks", "--out", folder, *force]) == 1
    assert "would be overwritten, and it is not a result of phaselabel" in capsys.readouterr().err
    assert (album / folder / name).read_bytes() == kept
