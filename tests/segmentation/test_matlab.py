import struct

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from bombs import deflated_zeros, peak_of_reading
from phaselabel import read_image


def test_only_the_image_is_read(tmp_path):
    cube = np.arange(120, dtype=np.uint16).reshape(4, 5, 6)
    others = {
        "wavelengths": np.arange(6.0),
        "text": "made by hand",
        "info": {"a": 1},
        "mask": np.ones((4, 5)) > 0,
    }
    for compressed in (False, True):
        savemat(tmp_path / "a.mat", {"cube": cube, **others}, do_compression=compressed)
        assert (read_image(tmp_path / "a.mat") == cube).all()
        assert read_image(tmp_path / "a.mat", "mask").shape == (4, 5)
        with pytest.raises(ValueError, match="no array 'text' of numbers; it has cube, wavelengths, mask"):
            read_image(tmp_path / "a.mat", "text")
    savemat(tmp_path / "old.mat", {"a": cube[:, :, 0]}, format="4")
    assert (read_image(tmp_path / "old.mat") == cube[:, :, 0]).all()


def test_files_of_the_new_version_are_named(tmp_path):
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(512))
    with pytest.raises(ValueError, match=r"MATLAB 7\.3 file; save it with -v7"):
        read_image(tmp_path / "new.mat")


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(shape, n_bytes):
    """The start of an array of bytes whose content is said to have ``n_bytes`` bytes."""
    head = element(6, struct.pack("<II", 9, 0)) + element(5, struct.pack("<ii", *shape)) + element(1, b"a")
    return head + struct.pack("<II", 2, n_bytes)


def bomb(path, shape, content_bytes):
    start = matrix(shape, content_bytes)
    data = deflated_zeros(content_bytes, struct.pack("<II", 14, len(start) + content_bytes) + start)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
    path.write_bytes(header + struct.pack("<II", 15, len(data)) + data)


@pytest.mark.parametrize("shape", [(32768, 32768), (10, 10)], ids=["declared", "hidden"])
def test_a_small_file_takes_little_memory(tmp_path, shape):
    bomb(tmp_path / "bomb.mat", shape, 2**30)
    assert (tmp_path / "bomb.mat").stat().st_size < 2_000_000
    peak, sentence = peak_of_reading(tmp_path / "bomb.mat")
    assert "bomb.mat can't be read" in sentence
    assert "decompression bomb" in sentence
    assert peak < 100


def test_an_element_longer_than_the_file(tmp_path):
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
    (tmp_path / "a.mat").write_bytes(header + struct.pack("<II", 15, 2**31) + deflated_zeros(2**22))
    with pytest.raises(ValueError, match=r"a\.mat can't be read"):
        read_image(tmp_path / "a.mat")


def test_a_damaged_flag_does_not_end_the_process(tmp_path):
    # The flag says that the numbers are complex, and there is no imaginary part.
    savemat(tmp_path / "a.mat", {"a": np.arange(20, dtype=np.uint8).reshape(5, 4), "s": "text"})
    data = bytearray((tmp_path / "a.mat").read_bytes())
    at = data.index(struct.pack("<II", 6, 8)) + 9
    data[at] |= 0x08
    (tmp_path / "a.mat").write_bytes(data)
    with pytest.raises(ValueError, match="0 arrays that may be the image"):
        read_image(tmp_path / "a.mat")


@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "i1", "u2", "i2", "i4", "u4", "i8", "u8", "?"])
@pytest.mark.parametrize("options", [{}, {"do_compression": True}, {"format": "4"}], ids=str)
def test_arrays_are_those_that_scipy_reads(tmp_path, kind, options):
    if options.get("format") == "4" and kind not in ("f8", "f4", "u1", "i2", "u2", "i4"):
        pytest.skip("version 4 has no such numbers")
    values = (np.random.default_rng(0).normal(size=(3, 4)) * 50).astype(kind)
    savemat(tmp_path / "a.mat", {"a": values, "t": "text"}, **options)
    read, expected = read_image(tmp_path / "a.mat", "a"), loadmat(tmp_path / "a.mat")["a"]
    assert read.dtype == expected.dtype
    np.testing.assert_array_equal(read, expected)
