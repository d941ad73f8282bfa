import numpy as np
import pytest

from phaselabel import Marks
from phaselabel.segmentation.marks import as_marks

RED, BLUE = (255, 0, 0), (0, 0, 255)


def painting(shape=(10, 12), channels=3):
    paint = np.zeros((*shape, channels), np.uint8)
    paint[2, 1:5, :3] = RED
    paint[7, 3:9, :3] = BLUE
    return paint


def test_each_colour_is_a_class_and_black_is_not_marked():
    marks = Marks.from_painting(painting())
    assert sorted(marks.classes.values()) == ["#0000ff", "#ff0000"]
    assert (marks.labels > 0).sum() == 10
    red = next(n for n, name in marks.classes.items() if name == "#ff0000")
    assert marks.colors[red] == RED
    assert (marks.labels[2, 1:5] == red).all()


def test_transparent_is_not_marked_whatever_its_colour():
    paint = painting(channels=4)
    paint[..., :3][paint[..., :3].sum(axis=2) == 0] = (10, 200, 10)
    paint[2, 1:5, 3] = paint[7, 3:9, 3] = 255
    assert sorted(Marks.from_painting(paint).classes.values()) == ["#0000ff", "#ff0000"]


def test_soft_brush_edges_are_no_classes(caplog):
    paint = np.zeros((60, 60, 3), np.uint8)
    paint[5:20, 5:50] = RED
    paint[30:45, 5:50] = BLUE
    paint[50, :40, 0] = np.arange(1, 41) * 5  # forty shades of one pixel each
    marks = Marks.from_painting(paint)
    assert len(marks.classes) == 2
    assert "brush edges" in caplog.text


def test_strokes_painted_over_a_copy_of_the_image():
    image = np.random.default_rng(0).integers(1, 200, (20, 30, 3)).astype(np.uint8)
    paint = image.copy()
    paint[3, 4:12] = RED
    paint[12, 4:12] = BLUE
    assert sorted(as_marks(paint, image).classes.values()) == ["#0000ff", "#ff0000"]
    with pytest.raises(ValueError, match="like a photograph"):
        as_marks(image)


def test_a_legend_names_colours_and_leaves_out_others():
    marks = Marks.from_painting(painting(), legend={"#ff0000": "cow"})
    assert marks.classes == {1: "cow"}
    with pytest.raises(ValueError, match="'red'"):
        Marks.from_painting(painting(), legend={"red": "cow"})


def test_points_strokes_and_polygons():
    points = Marks.from_points([(1.9, 0, "b"), (5, 4, "a")], (6, 8), radius=0)
    assert points.classes == {1: "a", 2: "b"}
    assert points.labels[0, 1] == 2
    assert points.labels[4, 5] == 1
    assert (Marks.from_points([(4, 3, "a")], (6, 8), radius=1).labels > 0).sum() == 5
    stroke = Marks.from_strokes([("a", [(1, 2), (6, 2)])], (6, 8), width=1)
    assert stroke.labels[2].tolist() == [0, 1, 1, 1, 1, 1, 1, 0]
    square = Marks.from_polygons([("a", [(1, 1), (4, 1), (4, 4), (1, 4)])], (6, 8))
    assert square.labels.sum() == 16


def test_whole_numbers_are_the_same_classes_in_any_type():
    assert Marks.from_array([[0.0, 1.0, 7.0]]).classes == {1: "1", 7: "7"}
    assert Marks.from_array([[False, True]]).classes == {1: "1"}


def test_whole_numbers_keep_their_number():
    assert Marks.from_points([(0, 0, 5), (1, 0, "2")], (1, 2)).classes == {2: "2", 5: "5"}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Marks.from_points([(9, 0, "a")], (4, 4)), "outside the image, 4 wide and 4 high"),
        (lambda: Marks.from_points([(float("nan"), 0, "a")], (4, 4)), "outside the image"),
        (lambda: Marks.from_points([(4, 0, "a")], (4, 4)), "outside the image"),
        (lambda: Marks.from_points([(1, 0, " ")], (4, 4)), "empty label"),
        (lambda: Marks.from_polygons([("a", [(0, 0), (1, 1)])], (4, 4)), "needs 3"),
        (lambda: Marks.from_labelme({"shapes": [{"label": "a"}]}, (4, 4)), "LabelMe"),
        (lambda: Marks.from_labelme({}, (4, 4)), "LabelMe"),
        (lambda: Marks.from_array(np.zeros((2, 2, 2, 2))), "height, width"),
        (lambda: Marks.from_array([[0.5, 1]]), "whole numbers"),
        (lambda: Marks.from_array([[-3, 1]]), "from 1"),
        (lambda: Marks.from_painting(np.zeros((4, 4, 3), np.uint8)), "no marks"),
        (lambda: Marks.from_array(np.zeros((4, 4), int)).fitted((4, 4)), "no marks"),
        (lambda: Marks.from_array(np.ones((4, 4), int)).fitted((4, 4)), "one class"),
        (lambda: Marks.from_array(np.ones((4, 5), int)).fitted((5, 4)), "turned"),
        (lambda: Marks.from_array(np.ones((4, 5), int)).fitted((9, 9)), "5 wide and 4 high"),
    ],
)
def test_errors_say_what_is_wrong(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_merging_meets_by_name_and_takes_away():
    first = Marks.from_points([(0, 0, "cow"), (1, 0, "sky")], (1, 5))
    more = Marks.from_points([(2, 0, "grass"), (3, 0, "sky")], (1, 5))
    both = first.merged(more)
    assert both.classes == {1: "cow", 2: "sky", 3: "grass"}
    assert both.labels.tolist() == [[1, 2, 3, 2, 0]]
    less = both.merged(Marks.from_array([[-1, 0, -1, 0, 0]]))
    assert less.labels.tolist() == [[0, 2, 0, 2, 0]]
    assert less.classes == {2: "sky"}


@pytest.mark.parametrize("shape", [(2**31, 7), (0, 7), (-1, 7), ("a", 7), (6.5, 7), (6,), None, 10**30])
def test_an_image_of_no_such_size_is_refused(shape):
    with pytest.raises(ValueError, match="shape must be the height and width"):
        Marks.from_points([(1, 1, "a")], shape)
    with pytest.raises(ValueError, match="shape must be the height and width"):
        Marks.from_polygons([("a", [(1, 1), (2, 2), (3, 1)])], shape)


@pytest.mark.parametrize("width", [0, -1, 2**31, 1.5, "a", True])
def test_a_pen_of_no_such_width_is_refused(width):
    with pytest.raises(ValueError, match="width must be a whole number"):
        Marks.from_strokes([("a", [(1, 1), (2, 2)])], (6, 7), width)
