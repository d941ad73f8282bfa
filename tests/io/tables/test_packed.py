"""Compressed text is read, a bomb is refused."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

from phaselabel.io.tables import open_table, packed

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
    path = tmp_path / f"t.csv.{suffix}"
    path.write_bytes(pack(TEXT))
    table = open_table(path)
    copy = table.path
    assert table.names == ["a", "b"]
    assert table.column("b").to_pylist() == ["x", "y"]
    del table
    assert not copy.exists()


def test_damaged_and_huge_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT)[:-6])
    with pytest.raises(ValueError, match="not a whole gz file"):
        open_table(tmp_path / "t.csv.gz")
    monkeypatch.setattr(packed, "LARGEST", 1000)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"a\n" + b"1\n" * 10**6))
    with pytest.raises(ValueError, match="200 times its size"):
        open_table(tmp_path / "b.csv.gz")
