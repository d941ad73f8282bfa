import numpy as np
import pytest

from maps import TRANSFORM, check_result, write_scene
from phaselabel import read_image, segment
from phaselabel.segmentation.geotiff import Reference, read_reference, write_labels

rasterio = pytest.importorskip("rasterio")


def test_a_segmentation_keeps_reference_and_nodata(tmp_path):
    scene = write_scene(tmp_path)
    marks = np.zeros((20, 30), int)
    marks[8, 10:15], marks[17, 5:20] = 2, 1
    result = segment(read_image(scene), marks, patch=1)
    result.save(tmp_path / "out", source=scene)
    check_result(tmp_path / "out", field=2)
    with rasterio.open(tmp_path / "out" / "labels.tif") as written:
        assert written.tags(1)["class_2"] == "2"


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
