import struct

import numpy as np
import pytest

from bombs import deflated_zeros, peak_of_reading
from phaselabel import read_image, read_marks, segment

tifffile = pytest.importorskip("tifffile")


@pytest.fixture
def stack():
    return np.random.default_rng(0).integers(1, 60000, (7, 12, 17)).astype(np.uint16)


def test_one_page_and_channels(tmp_path, stack):
    tifffile.imwrite(tmp_path / "one.tif", stack[0])
    assert (read_image(tmp_path / "one.tif") == stack[0]).all()
    bands = np.moveaxis(stack, 0, 2)
    tifffile.imwrite(tmp_path / "samples.tif", bands, photometric="minisblack", planarconfig="contig")
    assert (read_image(tmp_path / "samples.tif") == bands).all()
    tifffile.imwrite(tmp_path / "planar.tif", stack, photometric="minisblack", planarconfig="separate")
    assert (read_image(tmp_path / "planar.tif") == bands).all()
    tifffile.imwrite(tmp_path / "channels.tif", stack, imagej=True, metadata={"axes": "CYX"})
    assert (read_image(tmp_path / "channels.tif") == bands).all()


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"imagej": True, "metadata": {"axes": "ZYX"}}, "depths"),
        ({"imagej": True, "metadata": {"axes": "TYX"}}, "times"),
        ({"ome": True, "metadata": {"axes": "ZYX"}}, "depths"),
        ({"metadata": {"axes": "ZYX"}}, "depths"),
        ({}, "pages"),
        ({"metadata": None}, "pages"),
    ],
    ids=["imagej depths", "imagej times", "ome", "named", "not named", "pages"],
)
def test_a_stack_is_not_taken_for_bands(tmp_path, stack, options, names):
    path = tmp_path / "stack.tif"
    tifffile.imwrite(path, stack, photometric="minisblack", **options)
    with pytest.raises(ValueError, match=rf"stack of 7 planes \({names}.*--variable.*as bands with 'bands'"):
        read_image(path)
    assert (read_image(path, "3") == stack[3]).all()
    assert (read_image(path, "bands") == np.moveaxis(stack, 0, 2)).all()
    with pytest.raises(ValueError, match="got '7'"):
        read_image(path, "7")


def test_a_plane_of_a_stack_with_channels(tmp_path):
    stack = np.random.default_rng(0).integers(0, 99, (3, 2, 12, 17)).astype(np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", stack, imagej=True, metadata={"axes": "ZCYX"})
    assert (read_image(tmp_path / "a.tif", "2") == np.moveaxis(stack[2], 0, 2)).all()


def write_geotiff(path, pixels, nodata):
    tifffile.imwrite(path, pixels, extratags=[(42113, "s", 0, nodata, True)])


@pytest.mark.parametrize(
    ("dtype", "nodata", "value"),
    [
        (np.float32, "-9999", -9999),
        (np.float32, "-3.40282306074e+38", -3.40282306074e38),
        (np.float64, "-1e+20", -1e20),
        (np.int16, "-32768", -32768),
        (np.uint16, "65535", 65535),
        (np.uint8, "0", 0),
        (np.int32, "-9999 ", -9999),
    ],
)
def test_pixels_without_data_are_nan(tmp_path, dtype, nodata, value):
    pixels = np.random.default_rng(0).integers(1, 100, (12, 17)).astype(dtype)
    empty = np.zeros((12, 17), bool)
    empty[:, 5:8] = True
    pixels[empty] = value
    write_geotiff(tmp_path / "a.tif", pixels, nodata)
    found = read_image(tmp_path / "a.tif")
    assert (np.isnan(found) == empty).all()
    assert (found[~empty] == pixels[~empty]).all()
    marks = np.zeros((12, 17), int)
    marks[:6, :3], marks[6:, 10:] = 1, 2
    result = segment(found, marks, patch=1)
    assert ((result.labels == 0) == empty).all()


def test_no_data_in_whole_numbers_needs_every_band(tmp_path):
    pixels = np.random.default_rng(0).integers(1, 255, (12, 17, 3)).astype(np.uint8)
    pixels[2, 3] = 0
    pixels[4, 5, 1] = 0
    write_geotiff(tmp_path / "a.tif", pixels, "0")
    assert np.argwhere(np.isnan(read_image(tmp_path / "a.tif")).all(axis=2)).tolist() == [[2, 3]]
    reflectance = pixels.astype(np.float32)
    reflectance[4, 5, 1] = -9999
    write_geotiff(tmp_path / "b.tif", reflectance, "-9999")
    assert np.argwhere(np.isnan(read_image(tmp_path / "b.tif"))).tolist() == [[4, 5, 1]]


@pytest.mark.parametrize("nodata", ["nan", "none", "", "-1"])
def test_values_for_no_data_that_do_not_occur(tmp_path, nodata):
    pixels = np.random.default_rng(0).integers(0, 255, (12, 17)).astype(np.uint8)
    write_geotiff(tmp_path / "a.tif", pixels, nodata)
    found = read_image(tmp_path / "a.tif")
    assert found.dtype == np.uint8
    assert (found == pixels).all()


def test_marks_are_read_as_they_are(tmp_path):
    """0 is both "not marked" and, in many GeoTIFFs, "no data"; half opaque paint keeps its colour."""
    labels = np.zeros((5, 6), np.uint8)
    labels[0], labels[4] = 1, 7
    write_geotiff(tmp_path / "labels.tif", labels, "0")
    assert (read_marks(tmp_path / "labels.tif", (5, 6)).labels == labels).all()
    paint = np.zeros((5, 6, 4), np.uint8)
    paint[0], paint[4] = (255, 0, 0, 200), (0, 0, 255, 255)
    tifffile.imwrite(tmp_path / "paint.tif", paint, photometric="rgb", extrasamples=["unassalpha"])
    assert sorted(read_marks(tmp_path / "paint.tif", (5, 6)).classes.values()) == ["#0000ff", "#ff0000"]


def one_strip_tiff(path, height, width, strip, compression):
    """A grey TIFF of one strip that may hold anything."""
    entries = [(256, width), (257, height), (258, 8), (259, compression), (262, 1), (273, 8)]
    entries += [(277, 1), (278, height), (279, len(strip))]
    head = struct.pack("<2sHI", b"II", 42, 8 + len(strip))
    tags = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
    path.write_bytes(head + strip + struct.pack("<H", len(entries)) + tags + bytes(4))


def test_a_small_file_that_declares_a_large_image(tmp_path):
    one_strip_tiff(tmp_path / "bomb.tif", 30_000, 30_000, deflated_zeros(2**22), 8)
    peak, sentence = peak_of_reading(tmp_path / "bomb.tif")
    assert "bomb.tif can't be read" in sentence
    assert "decompression bomb" in sentence
    assert peak < 100


def test_a_strip_that_unpacks_to_more_than_it_declares(tmp_path):
    one_strip_tiff(tmp_path / "bomb.tif", 100, 100, deflated_zeros(2**30), 8)
    assert (tmp_path / "bomb.tif").stat().st_size < 2_000_000
    peak, sentence = peak_of_reading(tmp_path / "bomb.tif")
    assert "more than the 10,000 bytes that it declares" in sentence
    assert peak < 100


def test_a_compressed_image_is_read(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (1200, 1700)).astype(np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", pixels, compression="zlib", rowsperstrip=1200)
    assert (tmp_path / "a.tif").stat().st_size > 2**20
    assert (read_image(tmp_path / "a.tif") == pixels).all()


def test_many_pages_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("phaselabel.segmentation.tiff.MAX_PAGES", 5)
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((6, 4, 4), np.uint8), photometric="minisblack")
    with pytest.raises(ValueError, match="6 pages, more than 5"):
        read_image(tmp_path / "a.tif")


@pytest.mark.parametrize(
    ("shape", "axes", "expected"),
    [((5, 6, 7), "ZYX", (5, 6, 7)), ((5, 2, 6, 7), "ZCYX", (5, 6, 7, 2)), ((3, 6, 7), "TYX", (3, 6, 7))],
)
def test_stacks_are_volumes_or_frames_if_that_is_said(tmp_path, shape, axes, expected):
    stack = np.random.default_rng(0).integers(0, 99, shape).astype(np.uint16)
    tifffile.imwrite(tmp_path / "stack.ome.tif", stack, ome=True, metadata={"axes": axes})
    for word in ("volume", "frames"):
        read = read_image(tmp_path / "stack.ome.tif", word)
        assert read.shape == expected
    assert (read[1] == (stack[1] if stack.ndim == 3 else np.moveaxis(stack[1], 0, -1))).all()
    with pytest.raises(ValueError, match="variable='volume'"):
        read_image(tmp_path / "stack.ome.tif")


def test_a_file_without_some_of_its_strips_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "whole.tif", np.ones((40, 8), np.uint8), rowsperstrip=8)
    assert read_image(tmp_path / "whole.tif").shape == (40, 8)
    data = (tmp_path / "whole.tif").read_bytes()
    assert data.count(struct.pack("<HHII", 257, 4, 1, 40)) == 1  # ImageLength
    longer = data.replace(struct.pack("<HHII", 257, 4, 1, 40), struct.pack("<HHII", 257, 4, 1, 400))
    (tmp_path / "part.tif").write_bytes(longer)
    with pytest.raises(ValueError, match="5 of the 50 strips or tiles"):
        read_image(tmp_path / "part.tif")
