import json
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image

from phaselabel.segmentation.mark_files import read_marks, read_marks_of_frames


def test_indexed_and_grey_marks_are_class_numbers(tmp_path):
    values = np.zeros((5, 6), np.uint8)
    values[0], values[4] = 1, 7
    picture = Image.fromarray(values).convert("P")
    picture.putpalette([0, 0, 0, 255, 0, 0] + [9] * 15 + [0, 0, 255])
    picture.save(tmp_path / "indexed.png")
    marks = read_marks(tmp_path / "indexed.png", (5, 6))
    assert marks.classes == {1: "1", 7: "7"}
    assert marks.colors == {1: (255, 0, 0), 7: (0, 0, 255)}
    Image.fromarray(values).save(tmp_path / "grey.png")
    np.save(tmp_path / "labels.npy", values)
    for name in ("grey.png", "labels.npy"):
        assert (read_marks(tmp_path / name, (5, 6)).labels == values).all()


def test_labelme_shapes(tmp_path):
    document = {
        "shapes": [
            {"label": "cow", "points": [[1, 1], [6, 1]], "shape_type": "line"},
            {"label": "sky", "points": [[0, 4], [3, 6]], "shape_type": "rectangle"},
            {"label": "sun", "points": [[8, 5], [8, 6]], "shape_type": "circle"},
            {"label": "dot", "points": [[9, 0]], "shape_type": "point"},
        ]
    }
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps(document))
    marks = read_marks(path, (8, 10), width=1)
    assert list(marks.classes.values()) == ["cow", "dot", "sky", "sun"]
    assert {n: int((marks.labels == n).sum()) for n in marks.classes} == {1: 6, 2: 1, 3: 12, 4: 5}


def test_nonsense_files(tmp_path):
    (tmp_path / "text.png").write_text("this is not a picture")
    with pytest.raises(ValueError, match="can't be read"):
        read_marks(tmp_path / "text.png", (4, 4))
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ValueError, match="not JSON"):
        read_marks(tmp_path / "broken.json", (4, 4))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y\n1,2\n", "x, y and label"),
        ("", "x, y and label"),
        ("x,y,label\n", "no points"),
        ("x,y,label\n1,2,a\none,2,a\n", "Line 3"),
        ("x,y,label\n1\n", "Line 2"),
    ],
)
def test_point_files_with_faults(tmp_path, text, sentence):
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_marks(path, (10, 10))


def test_point_files(tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes("\ufeffX, Y ,Label\n1,2,größe\n3,4,kuh\n".encode())
    assert list(read_marks(path, (10, 10)).classes.values()) == ["größe", "kuh"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.csv", b"x,y,label\n1,1,caf\xe9\n"),
        ("m.csv", b"x,y,label\n" + b"[" * 9000 + b",1,a\n"),
        ("m.csv", b'x,y,label\n1,1,"a' + b"a" * 200_000),
        ("m.json", b"[" * 200_000),
        ("m.json", b'{"shapes": [{"label": "a", "points": [[1, 1]], "shape_type": ["point"]}]}'),
        ("m.json", b'{"shapes": ' + b"[" * 500 + b"]" * 500 + b"}"),
    ],
)
def test_hostile_marks_are_refused_in_a_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r".") as caught:
        read_marks(tmp_path / name, (6, 7))
    assert type(caught.value) is ValueError
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("legend", [b"1.5", b"[1]", b'"a"', b"true", b'{"#ff00": "a"}'])
def test_a_legend_that_is_none_is_refused(tmp_path, legend):

    Image.new("RGB", (7, 6), (255, 0, 0)).save(tmp_path / "p.png")
    (tmp_path / "l.json").write_bytes(legend)
    with pytest.raises(ValueError, match="A legend maps colours"):
        read_marks(tmp_path / "p.png", (6, 7), legend=tmp_path / "l.json")


def test_a_label_image_of_infinite_numbers_is_refused(tmp_path):
    np.save(tmp_path / "m.npy", np.full((6, 7), np.inf))
    with pytest.raises(ValueError, match="must hold whole numbers"):
        read_marks(tmp_path / "m.npy", (6, 7))
    np.save(tmp_path / "n.npy", np.full((6, 7), 2**31, np.float32))
    with pytest.raises(ValueError, match="class numbers from 1"):
        read_marks(tmp_path / "n.npy", (6, 7))


def test_a_painting_of_another_size_is_not_unpacked(tmp_path, monkeypatch):
    Image.new("RGB", (7, 9)).save(tmp_path / "p.png")
    monkeypatch.setattr(Image.Image, "load", Mock(side_effect=AssertionError))
    with pytest.raises(ValueError, match="7 wide and 9 high but the image is 7 wide and 6 high"):
        read_marks(tmp_path / "p.png", (6, 7))


@pytest.mark.parametrize("suffix", [".tif", ".npy"])
def test_marks_of_frames_are_a_stack_of_label_images(tmp_path, suffix):
    tifffile = pytest.importorskip("tifffile")

    def written(name, labels, nodata="0"):
        path = tmp_path / f"{name}{suffix}"
        if suffix == ".npy":
            np.save(path, labels)
        else:
            tags = [(42113, "s", 0, nodata, True)]  # 0 is no data, and not marked
            tifffile.imwrite(path, labels, photometric="minisblack", extratags=tags)
        return path

    labels = np.zeros((3, 5, 6), np.uint8)
    labels[0, 1], labels[2, 3] = 1, 7
    first, second, third = read_marks_of_frames(written("stack", labels), (3, 5, 6))
    assert (first.labels == labels[0]).all()
    assert second is None
    assert third.classes == {7: "7"}
    assert read_marks_of_frames(written("one", labels[0]), (3, 5, 6)) is None
    with pytest.raises(ValueError, match="they must be equal"):
        read_marks_of_frames(written("short", labels[:2]), (3, 5, 6))
    assert read_marks_of_frames(tmp_path / "points.csv", (3, 5, 6)) is None
