import json

import numpy as np
import pytest
from PIL import Image

from maps import check_result, write_scene
from phaselabel.cli import main
from phaselabel.segmentation import read_image


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
        (["--points", "semi.csv"], "semi.csv is separated by ';'"),
        (["--scribbles", "marks.jpg"], "marks.jpg is a JPEG file"),
        (["--scribbles", "photo.png"], "the painting is equal to the image"),
        (["--scribbles", "."], ". is a folder"),
        (
            ["--model", "m", "--points", "two.csv", "--legend", "no.json"],
            "--model needs no marks; leave out --points, --legend.",
        ),
        (
            ["--train", ".", "--scribbles", "small.png"],
            "The marks are in the folder of --train; leave out --scribbles.",
        ),
        (["--scribbles", "small.png"], "4 wide and 5 high"),
        (["--points", "two.csv", "--patch", "4"], "odd"),
        (["--points", "high.csv"], "Class numbers above 65535"),
        (["--scribbles", "out/../labels.png", "--out", "."], "would overwrite out/../labels.png"),
    ],
)
def test_errors_are_sentences_and_nothing_is_written(photo, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(photo)
    (photo / "one.csv").write_text("x,y,label\n1,1,a\n2,2,a\n")
    (photo / "two.csv").write_text("x,y,label\n1,1,a\n2,2,b\n")
    (photo / "high.csv").write_text("x,y,label\n1,1,7\n2,2,65536\n")
    (photo / "far.csv").write_text("x,y,label\n1,100,a\n2,2,b\n")
    (photo / "semi.csv").write_text("x;y;label\n1;1;a\n2;2;b\n")
    with Image.open(photo / "photo.png") as picture:
        picture.convert("RGB").save(photo / "marks.jpg")
    for name in ("small.png", "labels.png"):
        Image.fromarray(np.ones((5, 4), np.uint8)).save(photo / name)
    assert main(["segment", "photo.png", "--out", "out", *words]) == 1
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown
    assert not (photo / "out").exists()


def test_a_folder_of_images_is_called_one(photo, capsys):
    assert main(["segment", str(photo), "--points", "two.csv"]) == 1
    assert f"{photo} is a folder; name one file of images, or learn from a folder" in capsys.readouterr().err


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
    for hidden in ("images/._img0.png", "marks/._img0.csv"):  # macOS writes such files
        (photo / hidden).write_bytes(b"\0")
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


@pytest.mark.parametrize("name", ["summary.csv", "img1/overlay.png"])
def test_a_table_and_pictures_of_ones_own_stay(album, capsys, monkeypatch, name):
    monkeypatch.chdir(album)
    (album / "out" / "img1").mkdir(parents=True)
    (album / "out" / name).write_text("my,results\n1,2\n")
    words = ["segment", "images", "--train", "marks", "--out", "out", "--everything", "--force"]
    assert main(words) == 1
    shown = capsys.readouterr().err
    assert f"{name} would be overwritten" in shown
    assert "learning" not in shown
    assert (album / "out" / name).read_text() == "my,results\n1,2\n"


@pytest.fixture
def film(tmp_path):
    """A bright box that moves through six frames of 12 × 17: a TIFF of depths, and an array without names."""
    tifffile = pytest.importorskip("tifffile")
    frames = np.random.default_rng(0).integers(0, 60, (6, 12, 17)).astype(np.uint16)
    for number, frame in enumerate(frames):
        frame[3:9, 3 + number : 10 + number] += 500
    tifffile.imwrite(tmp_path / "film.tif", frames, imagej=True, metadata={"axes": "ZYX"})
    np.save(tmp_path / "film.npy", frames)
    labels = np.zeros((6, 12, 17), np.uint8)
    labels[0, 1, 1:16], labels[3, 5, 7:12] = 1, 2
    tifffile.imwrite(tmp_path / "marks.tif", labels)
    np.save(tmp_path / "marks.npy", labels)
    Image.fromarray(np.where(labels[0], 1, 0).astype(np.uint8)).save(tmp_path / "first.png")
    (tmp_path / "first.csv").write_text("x,y,label\n4,4,2\n6,6,2\n8,5,2\n1,1,1\n15,1,1\n")
    (tmp_path / "broken.tif").write_bytes(b"II*\0not a picture")
    return tmp_path


def masks_of(folder, names):
    found = {}
    for name in names:
        with Image.open(folder / f"{name}.png") as mask:
            found[name] = np.asarray(mask)
    return found


@pytest.mark.parametrize("source", ["film.tif", "film.npy"])
@pytest.mark.parametrize(
    "marks", [["--scribbles", "marks.tif"], ["--scribbles", "marks.npy"], ["--points", "first.csv"]]
)
def test_frames_are_images_of_one_model(film, capsys, monkeypatch, source, marks):
    monkeypatch.chdir(film)
    words = ["segment", source, "--variable", "frames", *marks, "--patch", "1"]
    assert main(words) == 0
    joined = "learning from 1 of 6 images; 5" if "first.csv" in marks else "learning from 2 of 6 images; 4"
    assert joined in capsys.readouterr().err
    masks = masks_of(film / "film_segmented", [f"film_{number}" for number in range(6)])
    for number, mask in enumerate(masks.values()):
        assert mask.shape == (12, 17)
        box = np.zeros((12, 17), bool)
        box[3:9, 3 + number : 10 + number] = True
        assert np.mean((mask == 2) == box) > 0.95
    table = (film / "film_segmented" / "summary.csv").read_text()
    assert table.count(f"{source} frame") == 12


def test_frames_are_learned_from_a_folder_of_marks_and_segmented_by_a_model(film, capsys, monkeypatch):
    monkeypatch.chdir(film)
    (film / "marks").mkdir()
    (film / "first.csv").rename(film / "marks" / "film_0.csv")
    words = ["segment", "film.tif", "broken.tif", "--variable", "frames", "--patch", "1"]
    assert main([*words, "--train", "marks", "--save", "boxes", "--out", "a"]) == 1
    assert "broken.tif can't be read" in capsys.readouterr().err
    assert main([*words[:-2], "--model", "boxes", "--out", "b"]) == 1
    capsys.readouterr()
    names = [f"film_{number}" for number in range(6)]
    fitted, predicted = masks_of(film / "a", names), masks_of(film / "b", names)
    for name in names:
        assert np.mean(fitted[name] == predicted[name]) > 0.9
        assert fitted[name].shape == (12, 17)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["film.tif", "--variable", "frames"], "There are no marks"),
        (["film.tif", "--variable", "frames", "--scribbles", "short.npy"], "shape (5, 12, 17)"),
        (
            ["film.tif", "--variable", "frames", "--scribbles", "empty.npy"],
            "No image that can be read has marks",
        ),
        (["broken.tif", "--variable", "frames", "--points", "first.csv"], "broken.tif can't be read"),
        (["first.png", "--variable", "frames", "--points", "first.csv"], "it has one plane"),
        (["film.npy", "--variable", "6", "--points", "first.csv"], "0 to 5"),
        (["deep.npy", "--points", "first.csv"], "--variable volume or --variable frames"),
    ],
)
def test_what_is_no_series_is_refused(film, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(film)
    np.save("short.npy", np.load("marks.npy")[:5])
    np.save("empty.npy", 0 * np.load("marks.npy"))
    np.save("deep.npy", np.zeros((3, 12, 17, 2), np.uint8))
    assert main(["segment", *words, "--out", "out"]) == 1
    assert sentence in capsys.readouterr().err
    assert not (film / "out").exists()


def test_it_is_said_how_an_array_without_names_of_axes_was_read(film, capsys, monkeypatch):
    monkeypatch.chdir(film)
    (film / "inside.csv").write_text("x,y,label\n1,1,a\n8,3,b\n")
    assert main(["segment", "film.npy", "--points", "inside.csv", "--patch", "1"]) == 0
    assert "film.npy: 12 × 6 pixels, 17 bands" in capsys.readouterr().err
    assert main(["segment", "film.npy", "--points", "inside.csv", "--patch", "1", "--variable", "3"]) == 0
    assert "film.npy: 17 × 12 pixels, 1 band" in capsys.readouterr().err


def test_volumes_alone_and_many(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scans").mkdir()
    (tmp_path / "marks").mkdir()
    rng = np.random.default_rng(0)
    truth = np.ones((8, 9, 10), np.uint8)
    truth[2:6, 3:7, 3:8] = 2
    for name in ("first", "second"):
        np.save(
            tmp_path / "scans" / f"{name}.npy", (100 * truth + rng.integers(0, 20, truth.shape)).astype("u1")
        )
    marks = np.zeros_like(truth)
    marks[0, 0, :5], marks[4, 5, 4:7] = 1, 2
    np.save(tmp_path / "marks" / "first.npy", marks)
    words = ["segment", "--variable", "volume", "--patch", "1"]
    assert main([*words, "scans/first.npy", "--scribbles", "marks/first.npy", "--out", "alone"]) == 0
    assert "first.npy: 10 × 9 × 8 voxels, 1 band" in capsys.readouterr().err
    assert main([*words, "scans", "--train", "marks", "--out", "masks", "--save", "model", "--quiet"]) == 0
    assert main([*words, "scans/second.npy", "--model", "model", "--out", "new", "--quiet"]) == 0
    for folder in ("alone", "masks/first", "masks/second", "new/second"):
        labels = read_image(tmp_path / folder / "labels.ome.tif", "volume")
        assert np.mean(labels == truth) > 0.97, folder
    time = (tmp_path / "masks" / "first.json").stat().st_mtime_ns
    assert main([*words, "scans", "--train", "marks", "--out", "masks"]) == 0
    assert "first.npy: is there already" in capsys.readouterr().err
    assert (tmp_path / "masks" / "first.json").stat().st_mtime_ns == time


def test_maps_in_and_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_scene(tmp_path)
    (tmp_path / "marks").mkdir()
    (tmp_path / "marks" / "scene.csv").write_text(
        "x,y,label\n10,8,field\n15,8,field\n5,17,other\n25,2,other\n"
    )
    words = ["segment", "scene.tif", "--quiet", "--patch", "1"]
    assert main([*words, "--points", "marks/scene.csv", "--out", "alone"]) == 0
    check_result(tmp_path / "alone", field=1)
    assert main([*words, "--train", "marks", "--out", "masks", "--save", "fields", "--everything"]) == 0
    check_result(tmp_path / "masks" / "scene", field=1)
    assert json.loads((tmp_path / "masks" / "scene" / "coco.json").read_text())["annotations"]
    assert main([*words, "--model", "fields", "--out", "new", "--everything"]) == 0
    check_result(tmp_path / "new" / "scene", field=1)
    assert main([*words, "--model", "fields", "--out", "few"]) == 0
    assert {path.name for path in (tmp_path / "few").iterdir()} == {"scene.json", "scene.png", "summary.csv"}
