"""The drawings of the report: points and lines inside their boxes."""

import numpy as np
import pytest

from phaselabel import GinzburgLandauClassifier
from phaselabel.report.picture import COLORS, GREY, MOST_POINTS, class_colors, draw_energy, draw_rows


def test_the_largest_classes_get_the_colours():
    sizes = np.arange(12)
    colors = class_colors(sizes)
    assert colors[11] == COLORS[0]
    assert colors[:2] == [GREY, GREY]
    assert len(set(colors)) == 11


@pytest.mark.parametrize(
    ("n", "width", "how"), [(40, 1, "principal"), (3_000, 2, "principal"), (300, 30, "t-SNE")]
)
def test_points_are_inside_the_picture(n, width, how):
    rng = np.random.default_rng(0)
    X, arm = rng.normal(size=(n, width)), rng.integers(-1, 3, n)
    labels = np.where(rng.random(n) < 0.5, arm, -1)
    picture = draw_rows(X, arm, labels, ["a", "b", "c"])
    assert how in picture["how"]
    assert picture["n"] == len(picture["points"]) == min(n, MOST_POINTS)
    assert picture["sampled"] == (n > MOST_POINTS)
    for point in picture["points"]:
        assert -20 <= point["x"] <= 620
        assert -20 <= point["y"] <= 420
        row = int(point["title"].split(":")[0].removeprefix("row "))
        assert point["known"] == (labels[row] >= 0)
        assert (point["color"] == "none") == (arm[row] < 0)
    known = [point["known"] for point in picture["points"]]
    assert known == sorted(known)


def test_equal_rows_are_one_point():
    picture = draw_rows(np.ones((20, 3)), np.zeros(20, int), np.zeros(20, int), ["a"])
    assert len({(point["x"], point["y"]) for point in picture["points"]}) == 1


def test_curves_fall_from_the_top():
    energy = np.zeros(3, [(n, float) for n in ("sweep", "smoothing", "potential", "fidelity", "total")])
    energy["sweep"], energy["total"] = [0, 5, 10], [8.0, 4.0, 2.0]
    curves = draw_energy(energy)
    assert (curves["last"], curves["top"]) == (10, 8.0)
    total = curves["lines"][0]
    assert (total["name"], total["last"]) == ("total", 2.0)
    assert total["points"] == "0.0,0.0 300.0,100.0 600.0,150.0"


def test_the_parts_of_the_energy_add_up_to_the_total(digits):
    X, y = digits
    trace = (
        GinzburgLandauClassifier().fit(X[:300], np.where(np.arange(300) < 40, y[:300], -1)).solution_.energy
    )
    total, *parts = (line["last"] for line in draw_energy(trace)["lines"])
    assert len(parts) == 4
    assert sum(parts) == pytest.approx(total)
