"""Compressed text, UTF-16 and UTF-32 are read; a bomb is refused."""

import bz2
import errno
import gzip
import lzma
from unittest.mock import Mock

import pyarrow as pa
import pytest

from phaselabel.io.tables import open_table, plain_copy

TEXT = b"a,b\n1,x\n2,y\n"


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_compressed_tables(tmp_path, suffix, pack):
    path = tmp_path / f"t.csv.{suffix.upper()}"
    path.write_bytes(pack(TEXT))
    table = open_table(path)
    copy = table.path
    assert table.source == path
    assert table.names == ["a", "b"]
    assert table.column("b").to_pylist() == ["x", "y"]
    del table
    assert not copy.exists()


def test_damaged_and_huge_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT)[:-6])
    with pytest.raises(ValueError, match="not a whole gz file"):
        open_table(tmp_path / "t.csv.gz")
    damaged = bytearray(gzip.compress(TEXT))
    damaged[12] ^= 255
    (tmp_path / "t.csv.gz").write_bytes(damaged)
    with pytest.raises(ValueError, match="not a whole gz file"):
        open_table(tmp_path / "t.csv.gz")
    monkeypatch.setattr(plain_copy, "LARGEST", 1000)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * 10**6))
    with pytest.raises(ValueError, match="200 times its size"):
        open_table(tmp_path / "b.csv.gz")


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("utf-16", "utf-8"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "UTF_16BE"),
        ("utf-32", "utf-8"),
    ],
)
def test_wide_text(tmp_path, written, named):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,b\r\n1,x\r\n2,ÿ😀\r\n".encode(written))
    table = open_table(path, encoding=named)
    assert table.names == ["größe", "b"]
    assert table.column("b").to_pylist() == ["x", "ÿ😀"]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert open_table(tmp_path / "t.csv.gz", encoding=named).column("b").to_pylist() == ["x", "ÿ😀"]


def test_half_a_letter_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,x\n".encode("utf-16")[:-1])
    with pytest.raises(ValueError, match=r"t.csv is not utf-16 text; name its encoding with --encoding"):
        open_table(tmp_path / "t.csv")


def test_a_full_disk_is_no_damaged_file(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT))
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(plain_copy, "_copied", Mock(side_effect=full))
    with pytest.raises(OSError, match="No space left"):
        open_table(tmp_path / "t.csv.gz")
