"""Earlier work that is brought in: COCO documents and ZIP files of masks."""

import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from phaselabel.segmentation.export import run_lengths
from phaselabel.studio.imported_files import read_file
from phaselabel.studio.strokes import Drawing

SHAPE = (4, 6)
MASK = np.zeros(SHAPE, bool)
MASK[1:3, 2:5] = True
PICTURES = {0: ("a.png", SHAPE), 1: ("b.png", SHAPE)}


def coco(segmentation, **image):
    document = {
        "images": [{"id": 9, "file_name": "x/b.png", "height": 4, "width": 6, **image}],
        "categories": [{"id": 3, "name": "cow"}],
        "annotations": [{"id": 1, "image_id": 9, "category_id": 3, "segmentation": segmentation}],
    }
    return json.dumps(document).encode()


def png(values):
    file = io.BytesIO()
    Image.fromarray(values).save(file, format="PNG")
    return file.getvalue()


def archive(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, data in files.items():
            file.writestr(name, data)
    return content.getvalue()


def labels_of(layers):
    """The pixels that layers of one class mark."""
    drawing = Drawing(SHAPE)
    drawing._do_add({"classes": [{"name": layers[0]["name"]}], "layers": layers})
    return drawing.labels() > 0


@pytest.mark.parametrize(
    "segmentation",
    [
        {"size": SHAPE, "counts": run_lengths(MASK)},
        {"size": SHAPE, "counts": "9220003"},  # the same, as pycocotools packs it
        [[2, 1, 5, 1, 5, 3, 2, 3]],
    ],
)
def test_coco_in_all_its_forms(segmentation):
    layers, _ = read_file(coco(segmentation), PICTURES, 0, {})
    assert list(layers) == [1]
    assert layers[1][0]["name"] == "cow"
    assert (labels_of(layers[1]) == MASK).all()


def test_the_only_picture_of_a_coco_file_needs_no_name_but_the_right_size():
    rings = [[2, 1, 5, 1, 5, 3, 2, 3]]
    only = {0: ("photo.jpg", SHAPE)}
    assert (labels_of(read_file(coco(rings), only, 0, {})[0][0]) == MASK).all()
    with pytest.raises(ValueError, match="7 × 4"):
        read_file(coco(rings, width=7), only, 0, {})
    with pytest.raises(ValueError, match="file names"):
        read_file(coco(rings, file_name="c.png"), PICTURES, 0, {})
    with pytest.raises(ValueError, match="can't be read"):
        read_file(b'{"annotations": [1], "categories": [], "images": []}', only, 0, {})


def test_masks_and_label_pictures_of_several_pictures_in_one_zip():
    mask = (255 * MASK).astype(np.uint8)
    data = archive({
        "b.png/mask_1_black_cow.png": png(mask),
        "a.png/labels.png": png(2 * MASK.astype(np.uint8)),
        "a.png/overlay.png": b"is left out",
        "sky.png": png(mask),
        "masks/b/dog.png": png(mask),
        "__MACOSX/b.png/._dog.png": b"is left out",
    })  # fmt: skip
    layers, _ = read_file(data, PICTURES, 0, {2: "grass"})
    assert [layer["name"] for layer in layers[0]] == ["grass", "sky"]
    assert [layer["name"] for layer in layers[1]] == ["black cow", "dog"]
    for layer in (*layers[0], *layers[1]):
        assert (labels_of([layer]) == MASK).all()


def test_masks_of_a_picture_that_is_not_here_are_not_put_on_another_one():
    data = archive({"c.png/sky.png": png(MASK.astype(np.uint8))})
    with pytest.raises(ValueError, match=r"a folder 'c.png', but there is no such picture.*a.png/sky.png"):
        read_file(data, PICTURES, 0, {})
    layers, _ = read_file(data, {0: PICTURES[0]}, 0, {})  # a single picture can't be mistaken
    assert [layer["name"] for layer in layers[0]] == ["sky"]


def test_files_of_labelme_name_their_picture():
    shape = {"label": "cow", "points": [[2, 1], [5, 1], [5, 3], [2, 3]], "shape_type": "polygon"}
    document = {"shapes": [shape], "imagePath": "..\\photos\\b.png"}
    named = json.dumps(document).encode()
    assert list(read_file(named, PICTURES, 0, {})[0]) == [1]
    assert list(read_file(archive({"whatever.json": named}), PICTURES, 0, {})[0]) == [1]
    unnamed = json.dumps({"shapes": [shape]}).encode()
    assert list(read_file(unnamed, PICTURES, 0, {})[0]) == [0]
    assert list(read_file(archive({"b.json": unnamed}), PICTURES, 0, {})[0]) == [1]


@pytest.mark.parametrize("data", [b"PK\x03\x04 is no archive", archive({"readme.txt": b"no masks"})])
def test_a_zip_without_masks_is_refused(data):
    with pytest.raises(ValueError, match="ZIP file"):
        read_file(data, PICTURES, 0, {})
