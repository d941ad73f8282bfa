import csv
import io
from itertools import pairwise

import numpy as np
import pytest

from phaselabel.segmentation.export import run_lengths
from phaselabel.segmentation.objects import geojson, object_table, objects_of, outlines


@pytest.fixture
def labels():
    """A square with a hole that holds a smaller square, and two parts that meet at a corner."""
    labels = np.ones((12, 16), np.uint8)
    labels[1:8, 1:8] = 2
    labels[3:6, 3:6] = 1
    labels[4, 4] = 2
    labels[2:4, 10:12] = labels[4:6, 12:14] = 2
    return labels


def painted(rings, shape):
    """The pixels inside rings by the even-odd rule, at their middles."""
    y, x = np.mgrid[: shape[0], : shape[1]] + 0.5
    inside = np.zeros(shape, bool)
    for ring in rings:
        for (x0, y0), (x1, y1) in pairwise(ring):
            if y0 != y1:
                crosses = (min(y0, y1) <= y) & (y < max(y0, y1)) & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
                inside ^= crosses
    return inside


def in_image(part, shape):
    """The pixels of an object in an image of a shape."""
    out = np.zeros(shape, bool)
    out[part.box] = part.mask
    return out


def test_objects_are_connected_parts_of_a_class(labels):
    parts = objects_of(labels, [1, 2], min_pixels=1)
    assert sorted(part.n_pixels for part in parts if part.number == 2) == [1, 4, 4, 40]
    total = sum(in_image(part, labels.shape) * part.number for part in parts)
    assert (total == labels).all()
    assert len(objects_of(labels, [1, 2])) == len(parts) - 1  # one pixel is noise


def test_run_lengths_of_a_box_are_those_of_the_image(labels):
    labels[-1, -1] = 2
    for part in objects_of(labels, [1, 2], min_pixels=1):
        assert part.run_lengths(labels.shape) == run_lengths(in_image(part, labels.shape))


def test_outlines_enclose_the_mask(labels):
    mask = labels == 2
    rings = outlines(mask)
    assert len(rings) == 5
    assert all(ring[0] == ring[-1] for ring in rings)
    assert (painted(rings, mask.shape) == mask).all()
    rng = np.random.default_rng(0).random((20, 30)) < 0.5
    assert (painted(outlines(rng), rng.shape) == rng).all()


def test_polygons_have_holes_and_coordinates(labels):
    document = geojson(labels, {2: "cow"}, (10.0, 0, 500, 0, -10.0, 900), crs="EPSG:32633", min_pixels=1)
    assert document["crs"]["properties"]["name"] == "EPSG:32633"
    largest = max(document["features"], key=lambda feature: feature["properties"]["pixels"])
    outer, hole = largest["geometry"]["coordinates"]
    assert [min(x for x, _ in outer), max(y for _, y in outer)] == [510, 890]
    area = lambda ring: sum(x * v - u * y for (x, y), (u, v) in pairwise(ring)) / 2  # noqa: E731
    assert area(outer) == 4900
    assert area(hole) == -900


def test_the_table_has_a_line_for_every_object(labels):
    confidence = np.full(labels.shape, 0.75, np.float32)
    text = object_table(objects_of(labels, [2]), {2: "cow"}, confidence)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["name"], row["pixels"], row["confidence"]) for row in rows] == [
        ("cow", "40", "0.75"), ("cow", "4", "0.75"), ("cow", "4", "0.75"),
    ]  # fmt: skip
    assert (rows[1]["x"], rows[1]["y"], rows[1]["left"], rows[1]["width"]) == ("10.5", "2.5", "10", "2")
    assert object_table([], {}).startswith("object,class")


def test_objects_of_a_volume():
    volume = np.zeros((3, 4, 5), int)
    volume[0:2, 1:3, 1:3] = 1
    (part,) = objects_of(volume, [1])
    assert part.n_pixels == 8
    row = object_table([part], {1: "cell"}).splitlines()[1].split(",")
    assert row[:7] == ["1", "1", "cell", "8", "1.5", "1.5", "0.5"]
