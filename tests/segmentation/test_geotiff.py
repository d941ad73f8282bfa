import json

import numpy as np
import pytest

from phaselabel import read_image, segment
from phaselabel.segmentation.geotiff import Reference, read_reference, write_labels

rasterio = pytest.importorskip("rasterio")

TRANSFORM = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_400_000.0)


@pytest.fixture
def scene(tmp_path):
    pixels = np.full((20, 30), 50, np.uint16)
    pixels[5:12, 8:20] = 900
    pixels[:, :3] = 7  # no data
    path = tmp_path / "scene.tif"
    with rasterio.open(
        path, "w", driver="GTiff", height=20, width=30, count=1, dtype="uint16", nodata=7, crs="EPSG:32633",
        transform=rasterio.Affine(*TRANSFORM),
    ) as target:  # fmt: skip
        target.write(pixels, 1)
    return path


def test_a_segmentation_keeps_reference_and_nodata(scene, tmp_path):
    marks = np.zeros((20, 30), int)
    marks[8, 10:15], marks[17, 5:20] = 2, 1
    result = segment(read_image(scene), marks, patch=1)
    result.save(tmp_path / "out", source=scene)
    with rasterio.open(tmp_path / "out" / "labels.tif") as written:
        assert written.crs.to_epsg() == 32633
        assert tuple(written.transform)[:6] == TRANSFORM
        assert written.nodata == 0
        labels = written.read(1)
        assert written.tags(1)["class_2"] == "2"
    assert (labels[:, :3] == 0).all()
    assert (labels[5:12, 8:20] == 2).all()
    document = json.loads((tmp_path / "out" / "objects.geojson").read_text())
    assert document["crs"]["properties"]["name"] == "EPSG:32633"
    (box,) = [f["geometry"]["coordinates"][0] for f in document["features"] if f["properties"]["class"] == 2]
    assert min(x for x, _ in box) == 500_080
    assert max(y for _, y in box) == 5_399_950


def test_other_files_have_no_reference(tmp_path):
    import tifffile

    tifffile.imwrite(tmp_path / "plain.tif", np.zeros((4, 5), np.uint8))
    assert read_reference(tmp_path / "plain.tif") is None
    assert read_reference(tmp_path / "photo.jpg") is None


def test_many_classes_take_16_bits(tmp_path):
    labels = np.array([[1, 300]])
    write_labels(tmp_path / "l.tif", labels, Reference(TRANSFORM, ""), {1: "a", 300: "b"}, {1: (255, 0, 0)})
    with rasterio.open(tmp_path / "l.tif") as written:
        assert written.read(1).tolist() == [[1, 300]]
        assert written.crs is None
