import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

import phaselabel as pl
from phaselabel import Marks, segment
from phaselabel.segmentation.opacity import multiplied_by_opacity


def two_discs(noise=10, seed=0):
    """Two separate bright discs on dark ground; the truth: 1 ground, 2 discs."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:60, :90]
    truth = np.ones((60, 90), int)
    for centre in (22, 68):
        truth[(x - centre) ** 2 + (y - 30) ** 2 < 144] = 2
    colours = np.array([[0, 0, 0], [60, 90, 60], [190, 150, 60]])
    image = np.clip(colours[truth] + rng.normal(0, noise, (60, 90, 3)), 0, 255).astype(np.uint8)
    return image, truth


def one_sided_marks():
    scribbles = np.zeros((60, 90), np.uint8)
    scribbles[5, 5:25] = 1
    scribbles[30, 15:30] = 2
    return scribbles


def test_a_mark_on_one_disc_finds_the_other():
    image, truth = two_discs()
    result = segment(image, one_sided_marks())
    assert np.mean(result.labels == truth) > 0.97
    assert result.classes == {1: "1", 2: "2"}
    assert result.confidence.min() >= 0.5
    wrong = result.labels != truth
    assert result.confidence[wrong].mean() < result.confidence[~wrong].mean()


def test_suggested_marks_lie_where_nothing_is_marked():
    image, _ = two_discs()
    result = segment(image, one_sided_marks())
    places = result.suggest_marks(4)
    assert places.shape == (4, 2)
    rows, columns = places.astype(int).T
    assert ((rows >= 0) & (rows < 60) & (columns >= 0) & (columns < 90)).all()
    assert not one_sided_marks()[rows, columns].any()
    assert len({tuple(place) for place in places.tolist()}) == 4


def test_the_same_bits_every_time():
    image, _ = two_discs()
    first, second = (segment(image, one_sided_marks()) for _ in range(2))
    assert (first.labels == second.labels).all()
    assert (first.confidence == second.confidence).all()


@pytest.mark.parametrize(
    "convert",
    [
        lambda image: image.mean(axis=2),
        lambda image: image.mean(axis=2).astype(np.uint8),
        lambda image: image.astype(np.uint16) * 16,
        lambda image: image.astype(np.float32) / 255,
        lambda image: image * 1e300,
        lambda image: image * 1e-3 + 1e7,
        lambda image: np.dstack([image, np.full(image.shape[:2], 255, np.uint8)]),
        lambda image: image.astype(float) @ np.random.default_rng(0).random((3, 30)),
    ],
    ids=["grey float", "grey bytes", "16 bit", "float", "huge", "far from zero", "rgba", "30 bands"],
)
def test_kinds_of_images(convert):
    image, truth = two_discs(noise=6)
    result = segment(convert(image), one_sided_marks(), patch=3)
    assert np.mean(result.labels == truth) > 0.95


def test_ready_made_features_take_the_place_of_patches():
    image, truth = two_discs(noise=80)
    features = np.eye(2)[truth - 1] + np.random.default_rng(0).normal(0, 0.05, (60, 90, 2))
    assert np.mean(segment(image, one_sided_marks(), features=features).labels == truth) == 1
    with pytest.raises(ValueError, match="features must have the image's height"):
        segment(image, one_sided_marks(), features=features[1:])


@pytest.mark.parametrize("patch", [1, 5])
def test_flat_areas_are_one_vertex_and_no_pixel_is_out_of_reach(patch):
    truth = np.kron(two_discs()[1], np.ones((4, 4), int))  # 86,400 pixels of two brightnesses
    marks = np.kron(one_sided_marks(), np.ones((4, 4), int))
    result = segment(np.where(truth == 2, 200, 10).astype(np.uint8), marks, patch=patch)
    assert result.graph.n_components == 1
    assert result.graph.n_vertices < 200
    assert np.mean(result.labels == truth) == 1 if patch == 1 else np.mean(result.labels == truth) > 0.97


def test_contradicting_marks_on_the_same_looks_stand_where_they_are():
    image = np.zeros((20, 30), np.uint8)
    image[:, 15:] = 200
    scribbles = np.zeros((20, 30), int)
    scribbles[5, 2:12], scribbles[8, 4], scribbles[5, 20:25] = 1, 2, 2
    result = segment(image, scribbles, patch=1)
    assert result.labels[8, 4] == 2
    assert (result.labels[:, :15] == 1).sum() == 299
    with pytest.raises(ValueError, match="All pixels look the same"):
        segment(np.zeros((20, 30)), scribbles)


def test_pixels_without_data_get_no_class():
    image = two_discs()[0].astype(np.float32)
    whole = segment(image, one_sided_marks())
    image[:, 40:45] = np.nan
    result = segment(image, one_sided_marks())
    assert (result.labels[:, 40:45] == 0).all()
    assert (result.confidence[:, 40:45] == 0).all()
    rest = np.isfinite(image[..., 0])
    # A gap says nothing about its surroundings; only pixels on the outline of a disc may change.
    y, x = np.mgrid[:60, :90]
    from_outline = np.abs(np.minimum(np.hypot(x - 22, y - 30), np.hypot(x - 68, y - 30)) - 12)
    assert (result.labels == whole.labels)[rest & (from_outline > 1)].all()
    assert np.mean((result.labels == whole.labels)[rest]) > 0.99
    masked = np.ma.masked_invalid(image)
    assert (segment(masked, one_sided_marks()).labels == result.labels).all()
    with pytest.raises(ValueError, match="no marks on pixels with data"):
        segment(image, np.isnan(image[..., 0]).astype(int))


@pytest.mark.parametrize("hot", [0, 65535])
@pytest.mark.parametrize("n_bands", [1, 3])
def test_one_hot_pixel_changes_only_its_surroundings(hot, n_bands):
    """With the range from the lowest to the highest pixel a third of the labels changed."""
    image = two_discs()[0].astype(np.uint16)[:, :, :n_bands] * 12 + 500
    before = segment(image, one_sided_marks(), position=0.2)
    image[50, 80] = hot
    after = segment(image, one_sided_marks(), position=0.2)
    assert np.mean(before.labels != after.labels) < 0.01


@pytest.mark.parametrize("position", [0.0, 1.0])
def test_one_hot_pixel_of_a_cube_changes_only_its_surroundings(position):
    mixture = np.random.default_rng(1).random((3, 8))
    cube = (two_discs()[0].astype(float) @ mixture * 4).astype(np.uint16)
    before = segment(cube, one_sided_marks(), position=position)
    cube[50, 80] = 65535
    after = segment(cube, one_sided_marks(), position=position)
    assert np.mean(before.labels != after.labels) < 0.01


def test_a_transparent_strip_gets_a_class():
    """Its patches resemble nothing else; only edges between touching pixels lead there."""
    image = load_sample_image("flower.jpg")[::3, ::3]
    strokes = [("flower", [(77, 60), (100, 47), (123, 57)]), ("leaves", [(13, 50), (20, 87)])]
    alpha = np.full(image.shape[:2], 255, np.uint8)
    alpha[:, 150:190] = 0
    shown = multiplied_by_opacity(np.dstack([image, alpha]))
    result = segment(shown, Marks.from_strokes(strokes, image.shape[:2], width=3))
    assert (result.labels > 0).all()


def through_pickle(result):
    return pickle.loads(pickle.dumps(result))


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
@pytest.mark.parametrize("max_pixels", [100_000, 600])
def test_a_copy_can_be_refined_further(copied, max_pixels):
    stages = []
    image, _ = two_discs()
    result = segment(
        image, one_sided_marks(), max_pixels=max_pixels, progress=lambda stage, share: stages.append(stage)
    )
    seen = len(stages)
    again = copied(result)
    assert (again.labels == result.labels).all()
    more = np.zeros((60, 90), int)
    more[50, 60:80] = 3
    again.update(more)
    assert len(stages) == seen  # a copy reports nothing
    assert list(again.classes) == [1, 2, 3]
    assert list(result.classes) == [1, 2]
    assert (again.labels == result.update(more).labels).all()


def test_numbers_of_classes_may_be_anything():
    image, truth = two_discs()
    scribbles = np.where(one_sided_marks() == 2, 70000, one_sided_marks().astype(int))
    result = segment(image, scribbles)
    assert set(np.unique(result.labels)) == {1, 70000}
    assert np.mean((result.labels == 70000) == (truth == 2)) > 0.97


def test_a_settled_update_equals_segment_with_all_marks(tmp_path):
    image, _ = two_discs()
    more = np.zeros((60, 90), int)
    more[50, 60:80] = 1
    more[30, 66:70] = 2
    result = segment(image, one_sided_marks())
    graph = result.graph
    assert result.update(more) is result
    assert result.graph is graph
    together = segment(image, np.where(more > 0, more, one_sided_marks()))
    assert np.mean(result.labels == together.labels) > 0.98
    assert result.settle() is result
    assert (result.labels == together.labels).all()
    assert (result.confidence == together.confidence).all()
    result.update(np.where(more == 2, -1, 0))
    result.save(tmp_path)  # settles first
    fewer = segment(image, np.where(more == 1, more, one_sided_marks()))
    assert (result.labels == fewer.labels).all()
    assert (pl.read_marks(tmp_path / "labels.png", (60, 90)).labels == fewer.labels).all()


def test_update_brings_new_classes_and_takes_marks_away():
    image, _ = two_discs()
    image[:8] = (40, 60, 200)
    result = segment(image, np.roll(one_sided_marks(), 10, axis=0))  # the ground's stroke is below the sky
    sky = Marks.from_strokes([("sky", [(5, 3), (80, 3)])], (60, 90))
    result.update(sky)
    assert list(result.classes.values()) == ["1", "2", "sky"]
    assert result.mask("sky")[:7].all()
    assert not result.mask("sky")[10:].any()  # patches of rows 8 and 9 reach into the sky
    result.update(np.where(sky.labels > 0, -1, 0))
    assert list(result.classes.values()) == ["1", "2"]
    assert set(np.unique(result.labels)) == {1, 2}
    with pytest.raises(ValueError, match="no class 'sky'"):
        result.mask("sky")


@pytest.mark.parametrize("evidence", [None, "auto"])
@pytest.mark.parametrize("steps", [("sky",), ("sky", "gone")])
def test_a_warm_start_knows_new_and_lost_classes(steps, evidence):
    image, _ = two_discs()
    sky = Marks.from_strokes([("a sky", [(5, 50), (80, 50)])], (60, 90))
    marks = {"sky": sky, "gone": np.where(sky.labels > 0, -1, 0)}
    result, cold = (segment(image, one_sided_marks(), evidence=evidence) for _ in range(2))
    for step in steps:
        result.update(marks[step], warm=True)
        cold.update(marks[step])
    if evidence is None:
        assert result.solution.n_iter < cold.solution.n_iter
    else:  # a start from the evidence is near rest already, and both come to the same rest
        assert np.mean(result.labels == cold.labels) > 0.99
    assert ("a sky" in result.classes.values()) == (len(steps) == 1)
    assert (result.labels > 0).all()


def test_update_refuses_what_does_not_fit_and_changes_nothing():
    image, _ = two_discs()
    result = segment(image, one_sided_marks())
    before = result.labels.copy()
    with pytest.raises(ValueError, match="wide"):
        result.update(np.ones((5, 5), int))
    with pytest.raises(ValueError, match="one class"):
        result.update(np.where(one_sided_marks() == 2, -1, 0))
    assert (result.labels == before).all()
    assert result.classes == {1: "1", 2: "2"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"patch": 4}, "odd"),
        ({"position": -1}, "position"),
        ({"max_pixels": 0}, "max_pixels"),
        ({"scale": "none"}, "scale"),
        ({"epsilon": 0}, "epsilon"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": "ten"}, "n_neighbors"),
    ],
)
def test_parameters_are_checked(options, sentence):
    image, _ = two_discs()
    with pytest.raises(ValueError, match=sentence):
        segment(image, one_sided_marks(), **options)


def test_a_tiny_image():
    result = segment(np.array([[0, 0, 255]], np.uint8), [[1, 0, 2]], patch=1)
    assert result.labels.tolist() == [[1, 1, 2]]


def test_the_result_says_what_it_is():
    image, _ = two_discs()
    assert "90 × 60" in repr(segment(image, one_sided_marks()))
    assert pl.Segmentation is type(segment(image, one_sided_marks()))


def test_the_cows_from_nine_strokes(data_home):
    data = np.load(f"{data_home}/cows_1_20.npz", allow_pickle=False)
    strokes = pl.read_marks(Path(__file__).parents[2] / "benchmarks/marks/cows.json", data["labels"].shape)
    result = segment(data["img"], strokes, max_pixels=20_000)  # cells of 2 × 2, for the sake of time
    found = np.array(["", *result.classes.values()])[result.labels]
    right = found == data["class_names"][data["labels"]]
    assert right.mean() > 0.95
    assert min(right[data["labels"] == k].mean() for k in range(4)) > 0.8


@pytest.mark.parametrize("n", [0, -1, 1.5, "a", True])
def test_a_number_of_suggested_marks_that_makes_no_sense_is_refused(n):
    result = segment(np.array([[0, 9, 120, 250, 255]], np.uint8), [[1, 0, 0, 0, 2]], patch=1)
    with pytest.raises(ValueError, match="n must be a whole number"):
        result.suggest_marks(n)
