import numpy as np
import pytest
from PIL import Image

from phaselabel.cli import main
from tablefiles import rows_of
from text_models import write_mean_model


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Sunsets and forests: two mixtures of colours, noisy."""
    monkeypatch.setenv("PHASELABEL_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    folder.mkdir()
    lines = ["file,label"]
    for k in range(40):
        colour = np.array([(220, 120, 60), (40, 120, 50)][k % 2])
        pixels = np.clip(colour + rng.normal(0, 40, (48, 64, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{k:02}.jpg")
        if k < 6:
            lines.append(f"{k:02}.jpg,{['sunset', 'forest'][k % 2]}")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_folder_of_pictures_is_labelled(photos, capsys):
    command = ["label", str(photos / "photos"), "--labels", str(photos / "labels.csv")]
    assert main([*command, "--report", str(photos / "r.html")]) == 0
    said = capsys.readouterr().err
    assert "simple colours and textures" in said
    assert "table        photos: 40 rows" in said
    header, *rows = rows_of(photos / "photos_labelled.csv")
    assert header == ["file", "label", "label_predicted", "label_confidence", "label_reached"]
    assert [row[0] for row in rows] == [f"{k:02}.jpg" for k in range(40)]
    assert [row[2] for row in rows] == ["sunset", "forest"] * 20
    assert (photos / "r.html").stat().st_size > 1000


def test_pictures_are_compared_by_a_model_in_a_file(photos, capsys):
    write_mean_model(photos / "eye.onnx")
    command = ["label", str(photos / "photos"), "--labels", str(photos / "labels.csv")]
    assert main([*command, "--embed", str(photos / "eye.onnx")]) == 0
    assert "features     3, vectors of eye.onnx" in capsys.readouterr().err
    _, *rows = rows_of(photos / "photos_labelled.csv")
    assert [row[2] for row in rows] == ["sunset", "forest"] * 20


def test_what_is_wrong_is_said(photos, capsys):
    folder = str(photos / "photos")
    for words, sentence in (
        ([], "--label folder"),
        (["--labels", str(photos / "labels.csv"), "--embed", "nowhere.onnx"], "There is no ONNX file"),
        (["--labels", str(photos / "labels.csv"), "--text", "file"], "not for folders of pictures: --text."),
        (["--labels", str(photos / "labels.csv"), "--drop", "a", "--impute", "mean"], ": --drop, --impute."),
        (["--labels", str(photos / "labels.csv"), "--id", "photo"], "no column 'photo'"),
        (["--labels", str(photos / "labels.csv"), "--label", "kind"], "no column 'kind'"),
    ):
        assert main(["label", folder, *words]) == 1
        assert sentence in capsys.readouterr().err
    (photos / "empty").mkdir()
    assert main(["label", str(photos / "empty"), "--labels", str(photos / "labels.csv")]) == 1
    assert "folder without pictures" in capsys.readouterr().err
    (photos / "wrong.csv").write_text("file,label\nnowhere.jpg,sunset\n")
    assert main(["label", folder, "--labels", str(photos / "wrong.csv")]) == 1
    assert "names a picture that is not in photos, 'nowhere.jpg'; correct" in capsys.readouterr().err
    (photos / "wrong.csv").write_text("file,label\nnowhere.jpg,sunset\nnor_here.jpg,forest\n")
    assert main(["label", folder, "--labels", str(photos / "wrong.csv")]) == 1
    assert "names 2 pictures that are not in photos, such as 'nor_here.jpg'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (1, "1 file can't be read and is left out: x0.png"),
        (2, "2 files can't be read and are left out: x0.png"),
    ],
)
def test_files_that_are_no_pictures_are_left_out(photos, capsys, broken, sentence):
    for k in range(broken):
        (photos / "photos" / f"x{k}.png").write_bytes(b"no picture")
    assert main(["label", str(photos / "photos"), "--labels", str(photos / "labels.csv")]) == 0
    said = capsys.readouterr().err
    assert sentence in said
    assert "Is it complete, and an image?\n" in said
    assert len(rows_of(photos / "photos_labelled.csv")) == 41


@pytest.mark.parametrize(("header", "options"), [("Filename,Label", []), ("shot,LABEL", ["--id", "shot"])])
def test_columns_of_the_table_of_labels_may_have_other_names(photos, capsys, header, options):
    table = photos / "labels.csv"
    table.write_text(table.read_text().replace("file,label", header))
    assert main(["label", str(photos / "photos"), "--labels", str(table), *options]) == 0
    assert "label: 6 of 40 rows, 2 classes" in capsys.readouterr().err


def test_names_of_folders_are_labels(photos, capsys):
    folder = photos / "photos"
    for k in range(6):
        inner = folder / ["sunset", "forest"][k % 2]
        inner.mkdir(exist_ok=True)
        (folder / f"{k:02}.jpg").rename(inner / f"{k:02}.jpg")
    assert main(["label", str(folder), "--label", "folder", "--out", str(photos / "o.csv")]) == 0
    _, *rows = rows_of(photos / "o.csv")
    assert {row[0]: row[2] for row in rows}["10.jpg"] == "sunset"
