"""NPY and NPZ files: headers that lie are refused before any memory is taken."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from phaselabel.io.npy import map_array, read_array, read_header, read_npz
from phaselabel.io.tables import open_table

ARRAYS = [
    np.arange(12).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.zeros((0, 3)),
    np.array(5),
    np.array(["a", "über"]),
    np.array(["2024-01-01", "NaT"], "M8[D]"),
    np.array([(1, 2.5)], [("a", "i4"), ("b", "f8")]),
    np.arange(3, dtype=">i4"),
]


def npy(shape, dtype="<f8", values=b"", magic=b"\x93NUMPY\x01\x00"):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return magic + struct.pack("<H", len(header)) + header + values


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_arrays_come_back(array, tmp_path):
    np.save(tmp_path / "a.npy", array)
    content = (tmp_path / "a.npy").read_bytes()
    with (tmp_path / "a.npy").open("rb") as file:
        mapped = map_array(file)
    for found in (mapped, read_array(io.BytesIO(content), len(content))):
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
    assert isinstance(mapped, np.memmap) == (array.size > 0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        npy((3,))[:40],
        npy((3,), values=bytes(23)),
        npy((10**15,), values=bytes(8)),
        npy((-3,), values=bytes(8)),
        npy((10**30, 10**30)),
        npy((10**12,), "|S0"),
        npy((10**12,), "|V0"),
        npy((1,), "|O", bytes(8)),
        npy("(3", values=bytes(24)),
        npy("[3]", values=bytes(24)),
        npy("(True,)", "nonsense"),
        npy((3,), values=bytes(24), magic=b"\x93NUMPY\x09\x00"),
        npy("(" * 60 + ")" * 60),
    ],
    ids=lambda content: content[10:60].decode("latin-1"),
)
def test_what_is_no_array(content, tmp_path):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"), (tmp_path / "a.npy").open("rb") as file:
        map_array(file)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"\w"):
            read_array(io.BytesIO(content), len(content))
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_archives_come_back(write, tmp_path):
    write(tmp_path / "a.npz", x=np.arange(9).reshape(3, 3), y=np.array(["a", "b", "c"]))
    found = read_npz(tmp_path / "a.npz")
    assert list(found) == ["x", "y"]
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert found["y"].tolist() == ["a", "b", "c"]


def test_a_header_takes_no_more_memory_than_it_may(tmp_path):
    """NumPy reads a header whole before it looks at its length."""
    content = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**27) + bytes(2**27)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 10,000 letters"):
            read_header(io.BytesIO(content))
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def bomb(path, n_bytes):
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w", force_zip64=True) as file,
    ):
        file.write(npy((1024, n_bytes // 8192)))
        for _ in range(n_bytes >> 22):
            file.write(bytes(1 << 22))


def test_a_small_file_that_would_take_gigabytes_is_refused(tmp_path):
    bomb(tmp_path / "b.npz", 2**29)
    assert (tmp_path / "b.npz").stat().st_size < 2**22
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"b\.npz would expand from .* write it with np\.savez"):
            open_table(tmp_path / "b.npz")
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()
    np.savez_compressed(tmp_path / "zeros.npz", x=np.zeros((1000, 1000)))  # a hundredfold, but small
    assert read_npz(tmp_path / "zeros.npz")["x"].shape == (1000, 1000)


def test_members_that_share_their_bytes_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(500))
    content = (tmp_path / "a.npz").read_bytes()
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry = content[start:end]
    entries = b"".join(entry.replace(b"x.npy", f"{i}.npy".encode()) for i in range(9))
    tail = content[end : end + 8] + struct.pack("<HHII", 9, 9, len(entries), start) + b"\0\0"
    (tmp_path / "b.npz").write_bytes(content[:start] + entries + tail)
    with pytest.raises(ValueError, match="overlap"):
        read_npz(tmp_path / "b.npz")


def test_a_zip_that_names_a_position_before_its_beginning_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    data = bytearray((tmp_path / "a.npz").read_bytes())
    at = data.rindex(b"PK\x01\x02") + 42
    data[at : at + 4] = (2**31 - 1).to_bytes(4, "little")
    end = data.rindex(b"PK\x05\x06") + 16
    data[end : end + 4] = (int.from_bytes(data[end : end + 4], "little") + 10**6).to_bytes(4, "little")
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ValueError, match=r"."):
        read_npz(tmp_path / "a.npz")
