"""Sources of items: tables, texts, arrays and folders of pictures."""

import io

import numpy as np
import pyarrow.csv
import pytest
from PIL import Image

from phaselabel.studio.items import read_items
from tablefiles import write_customers


def test_a_table_a_text_and_a_folder(tmp_path, answering):
    write_customers(tmp_path / "c.csv")
    workspace = answering(read_items(tmp_path / "c.csv", label="segment"))
    state = workspace.state()
    assert state["answered"] > 0
    assert state["question"]["item"]["kind"] == "row"
    assert b"segment_predicted" in workspace.export("labels.csv").splitlines()[0]

    words = ["red apple pear plum", "bolt nut screw gear"]
    rng = np.random.default_rng(0)
    lines = ["body"] + [" ".join(rng.choice(words[i % 2].split(), 6)) for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    workspace = answering(read_items(tmp_path / "t.csv", text=["body"]), name="t")
    assert workspace.state()["question"]["item"]["kind"] == "text"
    workspace.act("answer", {"rows": [0], "name": "fruit"})
    workspace.act("answer", {"rows": [1], "name": "tools"})
    table = pyarrow.csv.read_csv(io.BytesIO(workspace.export("labels.csv")))
    assert table["label_predicted"].to_pylist() == ["fruit", "tools"] * 30

    (tmp_path / "pictures").mkdir()
    for i in range(24):
        shade = rng.integers(0, 60, (20, 20, 3)) + (150 if i % 2 else 0)
        Image.fromarray(shade.astype(np.uint8)).save(tmp_path / "pictures" / f"{i:02}.png")
    (tmp_path / "pictures" / "broken.png").write_bytes(b"no picture")
    items = read_items(tmp_path / "pictures")
    assert "1 file can" in items.notes[0]
    workspace = answering(items, name="f")
    workspace.act("answer", {"rows": [0], "name": "dark"})
    workspace.act("answer", {"rows": [1], "name": "light"})
    table = pyarrow.csv.read_csv(io.BytesIO(workspace.export("labels.csv")))
    assert table["file"][0].as_py() == "00.png"
    assert table["label_predicted"].to_pylist() == ["dark", "light"] * 12


# -- what is compared is said


def about(items):
    return "\n".join(f"{heading}: {text}" for heading, text in items.description)


def test_the_columns_that_are_compared_are_listed(tmp_path):
    write_customers(tmp_path / "c.csv")
    items = read_items(tmp_path / "c.csv", label="segment")
    for name in items.recipe.roles:
        assert name in about(items)
    for name in items.recipe.left_out:
        assert f"left out: {name}" in about(items)


@pytest.mark.parametrize("name", ["truth", "Ground_Truth", "label", "class", "TARGET", "segment_predicted"])
def test_a_column_that_looks_like_labels_is_left_out_and_that_is_said(tmp_path, name):
    rows = "\n".join(f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(40))
    (tmp_path / "t.csv").write_text(f"u,v,{name}\n{rows}\n")
    items = read_items(tmp_path / "t.csv")
    assert list(items.recipe.roles) == ["u", "v"]
    assert any(name in note and "--label" in note and "--features" in note for note in items.notes)
    with_it = read_items(tmp_path / "t.csv", features=["u", name])
    assert list(with_it.recipe.roles) == ["u", name]
    assert with_it.notes == []


def test_arrays_and_folders_say_what_is_compared(tmp_path, digit_file, pictures):
    assert "64 numbers" in about(read_items(digit_file))
    assert "8 × 8" in about(read_items(digit_file))
    assert "compared by: simple colours and textures" in about(read_items(pictures))


# -- labels that are there already


@pytest.mark.parametrize(
    ("given", "known"),
    [([0.0, 1.0, np.nan, -1.0], {0: "0.0", 1: "1.0"}), (["a", "b", "?", " "], {0: "a", 1: "b"})],
)
def test_entries_of_an_array_that_mean_no_label_are_no_classes(tmp_path, given, known):
    np.savez(tmp_path / "t.npz", x=np.arange(12.0).reshape(4, 3), y=np.array(given))
    assert read_items(tmp_path / "t.npz", label="y").known_labels == known


def test_entries_of_a_table_that_mean_no_label_are_no_classes(tmp_path, pictures):
    (tmp_path / "t.csv").write_text("u,v,kind\n1,3,a\n2,5,b\n3,1, \n4,2, ? \n5,1,NA\n")
    assert read_items(tmp_path / "t.csv", label="kind").known_labels == {0: "a", 1: "b"}
    (pictures / "known.csv").write_text("file,shade\n00.png,dark\n01.png, \n02.png, ? \n")
    assert read_items(pictures, label="shade").known_labels == {0: "dark"}


# -- text files that are not quite ordinary


def test_a_table_is_read_as_the_options_say(tmp_path):
    text = "größe;breite\n" + "\n".join(f"{i},5;{i % 3}" for i in range(30))
    (tmp_path / "t.csv").write_text(text, encoding="latin-1")
    reading = {"delimiter": ";", "encoding": "latin-1", "decimal": ",", "header": True}
    items = read_items(tmp_path / "t.csv", reading=reading)
    assert list(items.recipe.roles) == ["größe", "breite"]


def test_options_that_an_error_advises_exist(tmp_path, command):
    (tmp_path / "t.csv").write_bytes("größe,breite\n1,2\n3,4\n".encode("latin-1"))
    done = command("studio", "t.csv", "--no-browser")
    assert "--encoding" in done.stderr
    help_text = command("studio", "--help").stdout
    for option in ("--delimiter", "--encoding", "--decimal", "--no-header", "--date", "--text", "--drop"):
        assert option in help_text


# -- folders


@pytest.fixture
def pictures(tmp_path):
    """Dark and light pictures: 00.png, 01.png, …"""
    rng = np.random.default_rng(0)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(12):
        shade = rng.integers(0, 60, (20, 20, 3)) + (150 if i % 2 else 0)
        Image.fromarray(shade.astype(np.uint8)).save(folder / f"{i:02}.png")
    return folder


def test_one_and_two_unreadable_files_are_counted_in_english(pictures):
    (pictures / "broken.png").write_bytes(b"no picture")
    assert "1 file can't be read and is left out: broken.png" in read_items(pictures).notes[0]
    (pictures / "broken2.png").write_bytes(b"no picture")
    assert "2 files can't be read and are left out: broken.png" in read_items(pictures).notes[0]


def test_labels_of_a_folder_come_from_a_table_in_it(pictures):
    (pictures / "known.csv").write_text("file,shade\n00.png,dark\n01.png,light\n02.png,\nother.png,dark\n")
    items = read_items(pictures, label="shade")
    assert items.known_labels == {0: "dark", 1: "light"}
    assert items.label == "shade"
    assert any("other.png" in note for note in items.notes)


def test_labels_of_a_folder_come_from_its_folders(pictures):
    for i in range(6):
        side = pictures / ("dark" if i % 2 == 0 else "light")
        side.mkdir(exist_ok=True)
        (pictures / f"{i:02}.png").rename(side / f"{i:02}.png")
    items = read_items(pictures, label="folder")
    names = items.identifiers()[1]
    assert {names[row]: label for row, label in items.known_labels.items()} == {
        "dark/00.png": "dark", "dark/02.png": "dark", "dark/04.png": "dark",
        "light/01.png": "light", "light/03.png": "light", "light/05.png": "light",
    }  # fmt: skip
    assert len(items) == 12
    assert b"PNG" in items.picture(names.index("dark/00.png"))


def test_a_label_that_a_folder_does_not_have_is_refused(pictures):
    with pytest.raises(ValueError, match="shade"):
        read_items(pictures, label="shade")
    with pytest.raises(ValueError, match="folder"):
        read_items(pictures, label="folder")


# -- the exported model


def test_predict_opens_the_exported_model_of_an_array(tmp_path, digit_file, digits, answering, command):
    workspace = answering(read_items(digit_file), list("0123456789"))
    for row in range(30):
        workspace.act("answer", {"rows": [row], "class": int(digits[1][row]) + 1})
    (tmp_path / "model.zip").write_bytes(workspace.export("model.zip"))
    np.save(tmp_path / "new.npy", digits[0][:100].astype(np.float64))
    done = command("predict", "model.zip", digit_file, "--out", "out.csv")
    assert done.returncode == 0, done.stderr
    found = pyarrow.csv.read_csv(tmp_path / "out.csv")["label_predicted"].to_numpy()
    assert np.mean(found == digits[1][: len(found)]) > 0.8


def test_predict_opens_the_exported_model_of_a_table(tmp_path, answering, command):
    write_customers(tmp_path / "c.csv")
    workspace = answering(read_items(tmp_path / "c.csv", label="segment"))
    (tmp_path / "model.zip").write_bytes(workspace.export("model.zip"))
    done = command("predict", "model.zip", "c.csv", "--out", "out.csv")
    assert done.returncode == 0, done.stderr


def test_words_that_speak_for_the_class_are_marked(tmp_path, answering):
    rng = np.random.default_rng(0)
    words = [["apple", "pear", "plum"], ["bolt", "nut", "screw"]]
    lines = ["body", *(f"the {' '.join(rng.choice(words[i % 2], 5))}" for i in range(40))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    workspace = answering(read_items(tmp_path / "t.csv", text=["body"]))
    workspace.act("answer", {"rows": [0], "name": "fruit"})
    workspace.act("answer", {"rows": [1], "name": "tools"})
    (described,) = workspace.queries["items"](rows="3")
    text = described["item"]["text"]
    marked = {text[start:end] for start, end in described["item"]["speaks"]}
    assert marked == set(text.split()) - {"the"}


def test_a_column_of_pictures_is_shown_beside_embeddings(tmp_path, answering):
    rng = np.random.default_rng(0)
    (tmp_path / "in").mkdir()
    Image.fromarray(np.full((5, 7, 3), 90, np.uint8)).save(tmp_path / "in" / "a.png")
    (tmp_path / "secret.txt").write_text("secret")
    files = ["in/a.png", "../a.png", "secret.txt", "in/gone.png"] * 5
    rows = [f"{x:.3f},{y:.3f},{name}" for (x, y), name in zip(rng.normal(size=(20, 2)), files)]
    (tmp_path / "t.csv").write_text("x,y,photo\n" + "\n".join(rows) + "\n")
    items = read_items(tmp_path / "t.csv", picture="photo")
    assert items.X.shape == (20, 2)
    assert items.view(4) == {"row": 4, "kind": "image", "caption": "in/a.png"}
    assert Image.open(io.BytesIO(items.picture(4))).size == (7, 5)
    Image.fromarray(np.full((30, 3000), 90, np.uint8)).save(tmp_path / "in" / "a.png")
    sizes = [Image.open(io.BytesIO(items.picture(4, large))).size for large in (False, True)]
    assert sizes == [(640, 6), (2560, 26)]
    for row in (1, 2):
        with pytest.raises(ValueError, match="not a picture in the folder"):
            items.picture(row)
    with pytest.raises(ValueError, match="can't be read"):
        items.picture(3)
    with pytest.raises(ValueError, match="photos"):
        read_items(tmp_path / "t.csv", picture="photos")
