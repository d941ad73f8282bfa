import copy
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

import phaselabel
from phaselabel import Marks, Segmenter, segment


def blobs(seed, shape=(40, 50), noise=8):
    """A picture of bright and of striped squares on dark ground, and its classes 1, 2, 3."""
    rng = np.random.default_rng(seed)
    truth = np.ones(shape, int)
    y, x = rng.integers(3, 10), rng.integers(3, 10)
    truth[y : y + 12, x : x + 14] = 2
    truth[-y - 12 : -y, -x - 14 : -x] = 3
    colors = np.array([[0, 0, 0], [60, 80, 60], [200, 120, 50], [70, 90, 200]])
    image = colors[truth] + rng.normal(0, noise, (*shape, 3))
    return np.clip(image, 0, 255).astype(np.uint8), truth


def strokes(truth):
    """A short stroke through the middle of every square, and one near the upper edge of the ground."""
    marks = np.zeros(truth.shape, int)
    marks[1, 4:24] = 1
    for k in np.unique(truth[truth > 1]):
        row, column = (round(place.mean()) for place in np.nonzero(truth == k))
        marks[row, column - 4 : column + 4] = k
    return marks


def right(labels, truth):
    """The share of pixels with the right class, those within two pixels of an outline not counted."""
    inner = np.zeros(truth.shape, bool)
    for k in np.unique(truth):
        inner |= ndimage.binary_erosion(truth == k, iterations=2, border_value=1)
    return np.mean((labels == truth)[inner])


@pytest.fixture(scope="module")
def pair():
    images, truths = zip(*(blobs(seed) for seed in (1, 2)))
    model = Segmenter().fit(list(images), [strokes(truths[0]), None])
    return model, images, truths


def test_marks_on_one_image_label_the_other(pair):
    model, _, truths = pair
    for result, truth in zip(model.results_, truths):
        assert right(result.labels, truth) > 0.97
    assert model.results_[1].marks.classes == {}
    assert model.results_[0].graph is model.results_[1].graph
    assert model.classes_ == {1: "1", 2: "2", 3: "3"}
    assert model.choice_["position"] == 0


def test_a_new_image_is_predicted(pair):
    model, _, _ = pair
    image, truth = blobs(3, shape=(50, 70))
    result = model.segment(image)
    assert right(result.labels, truth) > 0.97
    assert (model.predict(image) == result.labels).all()
    assert result.confidence.min() >= 0.5
    with pytest.raises(ValueError, match="not fitted to this image"):
        result.update(np.ones((50, 70), int))


def test_a_saved_model_predicts_the_same_and_holds_no_pickle(pair, tmp_path):
    model, _, _ = pair
    image, _ = blobs(3)
    for path in (tmp_path / "cows", tmp_path / "cows.zip"):
        model.save(path)
        again = phaselabel.load(path)
        assert again.results_ == []
        assert again.classes_ == model.classes_
        assert (again.predict(image) == model.predict(image)).all()
        assert again.get_params() == model.get_params()
    assert sum(file.stat().st_size for file in (tmp_path / "cows").iterdir()) < 5e6
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "cows")
    with pytest.raises(ValueError, match="has no images"):
        again.update(strokes(blobs(3)[1]))


@pytest.mark.parametrize(
    ("part", "value"),
    [("numbers", {"list": [1, 1, 3]}), ("cell", 0), ("n_bands", 2), ("names", {"list": ["a"]}), ("model", 5)],
)
def test_a_damaged_model_is_refused(pair, tmp_path, part, value):
    pair[0].save(tmp_path / "cows")
    manifest = json.loads((tmp_path / "cows" / "model.json").read_text())
    manifest["learned"]["dict"][part] = value
    (tmp_path / "cows" / "model.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="damaged"):
        phaselabel.load(tmp_path / "cows")


def test_a_loaded_model_learns_a_new_class_from_a_new_image(pair, tmp_path):
    pair[0].save(tmp_path / "cows")
    again = phaselabel.load(tmp_path / "cows")
    image, truth = blobs(4)
    image[:, 40:] = 250, 250, 250
    marks = np.zeros((40, 50), int)
    marks[10:14, 44:48] = 9
    again.update(marks, image=image)
    assert again.classes_ == {1: "1", 2: "2", 3: "3", 9: "9"}
    labels = again.predict(image)
    assert np.mean(labels[:, 42:] == 9) > 0.9
    assert right(labels[:, :36], truth[:, :36]) > 0.9


def test_marks_on_the_second_image_count_for_both(pair):
    _, images, truths = pair
    first = strokes(truths[0])
    model = Segmenter().fit(list(images), [np.where(first == 3, 0, first), None])
    assert model.classes_ == {1: "1", 2: "2"}
    third = np.where(truths[1] == 3, strokes(truths[1]), 0)
    model.update(third, image=1)
    for result, truth in zip(model.results_, truths):
        assert right(result.labels, truth) > 0.97
    model.update([None, np.where(third > 0, -1, 0)])
    assert model.classes_ == {1: "1", 2: "2"}
    with pytest.raises(ValueError, match="2 of the 2 images have the size"):
        model.update(third)


def test_a_third_image_joins(pair):
    model = copy.deepcopy(pair[0])
    image, truth = blobs(5)
    model.update(strokes(truth), image=image)
    assert len(model.results_) == 3
    assert right(model.results_[2].labels, truth) > 0.97


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_an_image_that_joins_counts_as_if_it_had_been_there(kind):
    # A scale of its own would stretch its 0.4 to the 0.8 of the first image; gaps stay gaps.
    levels = np.array([0.2, 0.4, 0.8])
    first = np.random.default_rng(0).normal(levels.repeat(20), 0.01, (20, 60)).astype(kind)
    second, marks = first[:, :40].copy(), np.zeros((20, 60), int)
    first[0, :5] = np.nan
    marks[10, 5:15], marks[10, 25:35], marks[10, 45:55] = 1, 2, 3
    some = np.where(marks == 1, marks, 0)[:, :40]
    model = Segmenter(patch=3).fit([first], [marks]).update(some, image=second)
    together = Segmenter(patch=3).fit([first, second], [marks, some])
    for joined, expected in zip(model.results_, together.results_, strict=True):
        assert np.array_equal(joined.labels, expected.labels)
    assert (model.results_[1].labels[:, 20:] == 2).all()


def test_classes_of_one_name_are_one_class(pair):
    _, images, truths = pair
    first = Marks.from_array(strokes(truths[0]), {1: "ground", 2: "box", 3: "bag"})
    swapped = np.array([0, 0, 2, 1])[strokes(truths[1])]
    second = Marks.from_array(swapped, {1: "bag", 2: "box"})
    model = Segmenter().fit(list(images), [first, second])
    assert model.classes_ == {1: "ground", 2: "box", 3: "bag"}
    for result, truth in zip(model.results_, truths):
        assert right(result.labels, truth) > 0.97


def test_the_one_liner_is_a_model_of_one_image(pair):
    _, images, truths = pair
    alone = Segmenter().fit(images[0], strokes(truths[0])).results_[0]
    assert (segment(images[0], strokes(truths[0])).labels == alone.labels).all()


def test_16_bit_images_share_one_scale():
    (first, truth), (second, other) = blobs(1), blobs(2)
    wide = [image.astype(np.uint16) * 100 + 1000 for image in (first, second)]
    wide[1][0, 0] = 65535  # a hot pixel
    model = Segmenter().fit(wide, [strokes(truth), None])
    assert right(model.results_[1].labels, other) > 0.97
    darker = wide[1] // 2
    assert right(model.predict(wide[1]), other) > 0.97
    assert right(model.predict(darker), other) < 0.95  # half as bright is another thing


@pytest.mark.parametrize("n_bands", [1, 2])
def test_volumes(n_bands, tmp_path):
    rng = np.random.default_rng(0)
    z, y, x = np.mgrid[:16, :24, :24]
    truth = np.where((z - 8) ** 2 + (y - 12) ** 2 + (x - 12) ** 2 < 40, 2, 1)
    volume = np.where(truth == 2, 170, 60) + rng.normal(0, 12, truth.shape)
    volume = np.clip(np.stack([volume] * n_bands, axis=-1), 0, 255).astype(np.uint8)
    marks = np.zeros(truth.shape, int)
    marks[8, 12, 10:15], marks[2, 3, 3:15] = 2, 1
    volume = volume[..., 0] if n_bands == 1 else volume
    result = segment(volume, marks, patch=3)
    assert result.labels.shape == truth.shape
    assert right(result.labels, truth) > 0.97
    assert result.suggest_marks(2).shape == (2, 3)
    small = segment(volume, marks, patch=3, max_pixels=1500)
    assert small.cell == 2
    assert right(small.labels, truth) > 0.97
    names = {path.name for path in small.save(tmp_path)}
    assert names == {"labels.ome.tif", "confidence.ome.tif", "objects.csv", "result.json"}
    back = phaselabel.read_image(tmp_path / "labels.ome.tif", "volume")
    assert (back == small.labels).all()


def test_a_loaded_volume_model_predicts_volumes(tmp_path):
    volume = np.zeros((4, 6, 8), np.uint8)
    volume[:, 2:5, 3:7] = 200
    marks = np.zeros(volume.shape, int)
    marks[1, 3, 4:6], marks[0, 0, :4] = 2, 1
    model = Segmenter(patch=1).fit(volume, marks)
    model.save(tmp_path / "m")
    assert (phaselabel.load(tmp_path / "m").predict(volume) == np.where(volume > 0, 2, 1)).all()


def test_frames_of_a_series_follow_the_marks_of_the_first():
    truth = np.ones((30, 40), int)
    frames = []
    for shift in range(3):
        moved = truth.copy()
        moved[8:18, 5 + 6 * shift : 16 + 6 * shift] = 2
        rng = np.random.default_rng(shift)
        frames.append((np.where(moved == 2, 190, 50) + rng.normal(0, 9, moved.shape), moved))
    model = Segmenter().fit([f for f, _ in frames], [strokes(frames[0][1]), None, None])
    for result, (_, moved) in zip(model.results_, frames):
        assert right(result.labels, moved) > 0.97


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([], []), "images is empty"),
        (([np.zeros((4, 4))], []), "entry for each of the 1 images"),
        (([np.zeros((4, 4)), np.zeros((4, 4))], [None, None]), "no marks on any image"),
        (([np.zeros((4, 4)), np.zeros((4, 4, 3))], [np.eye(4, dtype=int), None]), "same number of bands"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Segmenter().fit(*arguments)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"color": "hsv"}, "color must be"),
        ({"evidence": 3}, "evidence must be"),
        ({"position": "far"}, "position"),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(options, sentence):
    image, truth = blobs(0)
    with pytest.raises(ValueError, match=sentence):
        Segmenter(**options).fit(image, strokes(truth))


def test_predicting_needs_a_fit_and_the_same_bands(pair):
    with pytest.raises(ValueError, match="has not been fitted"):
        Segmenter().predict(np.zeros((4, 4)))
    with pytest.raises(ValueError, match="number of bands is 1, and 3 in the images of the fit"):
        pair[0].predict(np.zeros((4, 4), np.uint8))


def test_images_of_a_single_cell_have_no_neighbours():
    marks = [np.zeros((3, 3), int), np.zeros((3, 3), int)]
    marks[0][0, 0], marks[1][2, 2] = 1, 2
    images = [np.zeros((3, 3), np.uint8), np.full((3, 3), 200, np.uint8)]
    model = Segmenter(max_pixels=4).fit(images, marks)
    assert [np.unique(result.labels).tolist() for result in model.results_] == [[1], [2]]


@pytest.mark.parametrize("image", [2, -1, True, 0.0, "a", None])
def test_cells_of_an_image_that_is_none_are_refused(image, pair):
    with pytest.raises(ValueError, match="number of one of the 2 images"):
        pair[0].cell_labels(image)


def test_a_model_of_the_second_version_is_read():
    model = phaselabel.load(Path(__file__).parent / "data" / "segmenter-version-2.zip")
    pixels = np.random.default_rng(1).integers(0, 60, (8, 10, 3), dtype=np.uint8)
    pixels[:, 5:] += 150
    np.testing.assert_array_equal(
        model.segment(pixels).labels, np.repeat([[1, 2]], 5, axis=1).repeat(8, axis=0)
    )
    assert model.classes_ == {1: "1", 2: "2"}
