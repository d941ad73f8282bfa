import io
import struct
import zipfile

import numpy as np
import pytest

from bombs import peak_of_reading
from phaselabel import read_image


def header(shape, version=1, length=None):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    form = "<H" if version == 1 else "<I"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(form, length or len(text)) + text


def bomb(path, start, n_bytes):
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("image.npy", "w", force_zip64=True) as file,
    ):
        file.write(start)
        for _ in range(n_bytes // 2**22):
            file.write(bytes(2**22))


@pytest.mark.parametrize(
    "start", [header((8192, 16384)), header((2, 2), version=2, length=2**30)], ids=["array", "header"]
)
def test_a_small_file_takes_little_memory(tmp_path, start):
    bomb(tmp_path / "bomb.npz", start, 2**30)
    assert (tmp_path / "bomb.npz").stat().st_size < 8_000_000
    peak, sentence = peak_of_reading(tmp_path / "bomb.npz")
    assert "bomb.npz can't be read" in sentence
    assert peak < 100


def test_only_the_image_is_read(tmp_path):
    """Another array may be large, pickled or broken."""
    cube = np.arange(120).reshape(4, 5, 6)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        buffer = io.BytesIO()
        np.save(buffer, cube)
        archive.writestr("cube.npy", buffer.getvalue())
        archive.writestr("other.npy", header((10**9,)))
    assert (read_image(tmp_path / "a.npz") == cube).all()
    with pytest.raises(ValueError, match="no array 'text' of numbers; it has cube, other"):
        read_image(tmp_path / "a.npz", "text")


def test_objects_and_records_beside_the_image(tmp_path):
    records = np.zeros(2, [("жар", "i4")])  # a header of another version
    with pytest.warns(UserWarning, match=r"format 3\.0"):
        np.savez(tmp_path / "a.npz", cube=np.ones((4, 5, 6)), objects=np.array([None, {}]), records=records)
    assert read_image(tmp_path / "a.npz").shape == (4, 5, 6)
    with pytest.raises(ValueError, match="no array 'objects' of numbers"):
        read_image(tmp_path / "a.npz", "objects")
