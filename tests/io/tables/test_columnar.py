"""Parquet, Arrow and NumPy files: all rows, or some of them, in order."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaselabel.io.tables import ArrayTable, ParquetTable, open_table, survey, write_table


def test_some_row_groups(tmp_path):
    pq.write_table(pa.table({"x": range(25), "y": range(25)}), tmp_path / "t.parquet", row_group_size=10)
    table = ParquetTable(tmp_path / "t.parquet", [0, 2])
    assert table.column("x").to_pylist() == [*range(10), *range(20, 25)]
    assert [batch.schema.names for batch in table.batches(["y", "x"])] == [["y", "x"]] * 2


@pytest.mark.parametrize("name", ["a\nb", "表 ü", "%41?x#", "b\udcff"])
def test_files_of_any_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for kind in ("csv", "tsv", "jsonl", "parquet", "arrow"):
        path = Path(f"{name}.{kind}")
        try:
            path.touch()
        except (OSError, UnicodeError):
            pytest.skip("this system has no such names")
        path.unlink()
        write_table(ArrayTable(Path("x.npy"), {"x": np.arange(3)}), {}, path)
        assert len(open_table(path).column("x")) == 3


def test_an_arrow_stream_is_read_like_an_arrow_file(tmp_path):
    table = pa.table({"x": [1.5, 2.5], "w": ["a", "ü"]})
    with pa.ipc.new_file(tmp_path / "f.arrow", table.schema) as file:
        file.write_table(table)
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    for name in ("f.arrow", "s.arrow"):
        assert open_table(tmp_path / name).column("w").to_pylist() == ["a", "ü"]


def damaged(content, place, value):
    return content[:place] + value + content[place + len(value) :]


@pytest.mark.parametrize("stream", [False, True])
def test_offsets_and_indices_outside_an_arrow_file_are_refused(tmp_path, stream):
    words = [f"word {i:03}" for i in range(100)]
    table = pa.table({"w": words, "d": pa.array(["a", "b"] * 50).dictionary_encode(), "v": [[1.0]] * 100})
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    offsets = np.arange(101, dtype=np.int32)
    for buffer in (8 * offsets, offsets[:100] % 2, offsets):  # of the words, the dictionary, the lists
        place = content.index(buffer.astype(np.int32).tobytes()) + 40
        for value in (np.int32(800_000_000), np.int32(-8)):
            (tmp_path / "t.arrow").write_bytes(damaged(content, place, value.tobytes()))
            with pytest.raises(ValueError, match=r"t\.arrow is damaged|is not an Arrow file"):
                open_table(tmp_path / "t.arrow")


def test_damaged_arrow_files_end_in_an_error(tmp_path):
    """Each file is read in a process of its own: a signal would end this one."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=40), "w": [f"w{i}" for i in range(40)], "v": [[1.0, 2.0]] * 40})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    for number in range(60):
        bad = content
        for _ in range(3):
            bad = damaged(bad, int(rng.integers(len(bad) - 8)), rng.bytes(8))
        (tmp_path / f"{number}.arrow").write_bytes(bad)
    code = (
        "import sys\nfrom pathlib import Path\nfrom phaselabel.io.tables import open_table, survey\n"
        "for path in sorted(Path(sys.argv[1]).glob('*.arrow')):\n"
        "    try:\n        survey(open_table(path))\n    except (ValueError, OSError):\n        pass\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-500:]


def test_a_damaged_parquet_file_is_named(tmp_path):
    pq.write_table(pa.table({"x": np.random.default_rng(0).normal(size=5000)}), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(damaged(content, 4, bytes(range(255)) * 8))
    with pytest.raises(ValueError, match=r"t\.parquet is damaged"):
        open_table(tmp_path / "t.parquet").column("x")


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.table([[1], [2]], names=["x", "x"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    for name in ("t.parquet", "t.arrow"):
        with pytest.raises(ValueError, match="more than one column 'x'"):
            open_table(tmp_path / name)


def test_dates_that_python_does_not_know(tmp_path):
    days = pa.array([2_000_000_000, -2_000_000_000, 5], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"day": days, "x": [1, 2, 3]}), tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet")
    assert survey(table)[0]["day"].kind == "date"
    write_table(table, {}, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text().splitlines()[3] == "1970-01-06,3"


def test_arrays_of_different_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "t.npz", x=np.ones((3, 2)), y=np.ones(2))
    with pytest.raises(ValueError, match=r"The arrays of t\.npz have different numbers of rows \(x 3, y 2\)"):
        open_table(tmp_path / "t.npz")


def test_a_matrix_is_a_column_of_vectors(tmp_path):
    table = ArrayTable(
        tmp_path / "t.npz", {"x": np.arange(12).reshape(3, 2, 2), "y": np.arange(3), "n": np.array(4)}
    )
    assert table.names == ["x", "y"]
    assert table.scalar_names == ["y"]
    assert table.column("x").to_pylist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_numbers_of_another_byte_order_are_numbers(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=">f8").reshape(3, 2))
    (batch,) = open_table(tmp_path / "a.npy").batches()
    assert batch.column(0).to_pylist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("array", [np.zeros((3, 0)), np.zeros(3, complex), np.zeros(3, "V4")])
def test_arrays_that_are_no_columns_are_refused(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=r"The array 'x' of a\.npy has the type"):
        open_table(tmp_path / "a.npy")


def test_python_objects_are_no_damage(tmp_path):
    objects = np.array([{"a": 1}, None], object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=objects)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match=f"^{name} holds Python objects, which need pickle; save"):
            open_table(tmp_path / name)


def test_letters_that_are_none_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.full(3, 0x7FFFFFFF, "<u4").view("<U1"))
    with pytest.raises(ValueError, match=r"a\.npy is damaged"):
        list(open_table(tmp_path / "a.npy").batches())


def test_texts_of_a_parquet_file_that_are_no_letters_are_refused(tmp_path):
    words = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"w": words, "x": [1.0, 2.0]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet is damaged"):
        survey(open_table(tmp_path / "t.parquet"))
