"""The files of an answer: one for each part, and nothing else in the folder."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from phaselabel.distributed.answer_files import is_answer, target_kind, write_part
from phaselabel.distributed.sources import open_source


def test_an_answer_is_a_folder():
    assert [target_kind(name) for name in ("o.parquet", "o.ZARR", "o")] == [".parquet", ".zarr", ".npy"]
    with pytest.raises(ValueError, match="the output is a folder"):
        target_kind("o.csv")


def test_a_part_without_any_class_has_the_type_of_the_others(folder, tmp_path):
    source = open_source(folder)
    reached = np.zeros(10, bool)
    for number, part in enumerate(source.parts):
        predicted = np.full(10, None, object)
        if number == 1:
            predicted[3], reached = 5, np.arange(10) == 3
        write_part(str(tmp_path), ".parquet", number, "k", pa.int64(), part, predicted, np.zeros(10), reached)
        reached = np.zeros(10, bool)
    table = parquet.read_table([tmp_path / f"part-{number:06d}.parquet" for number in range(3)])
    assert table.column_names == ["x", "name", "k_predicted", "k_confidence", "k_reached"]
    assert table.schema.field("k_predicted").type == pa.int64()
    assert table.column("k_predicted").to_pylist() == [None] * 13 + [5] + [None] * 16
    assert table.column("x").to_pylist() == list(range(30))


@pytest.mark.parametrize("kind", [".parquet", ".npy", ".zarr"])
def test_only_an_answer_is_an_answer(kind, tmp_path):
    import dask.array as da

    out = tmp_path / f"out{kind}"
    out.mkdir()
    assert not is_answer(out, "k", kind)
    answer = np.array(["a", "b"]), np.ones(2), np.ones(2, bool)
    if kind == ".zarr":
        for name, column in zip(("k_predicted", "k_confidence", "k_reached"), answer):
            da.from_array(column, chunks=1).to_zarr(str(out), component=name)
    else:
        write_part(str(out), kind, 0, "k", pa.string(), None, *answer)
    assert is_answer(out, "k", kind)
    assert not is_answer(out, "j", kind)
    for name in ("thesis.tex", "deep/thesis.tex", "part-0.parquet", "k_predicted/thesis.tex"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).touch()
        assert not is_answer(out, "k", kind)
        (out / name).unlink()
    (out / "link").symlink_to(tmp_path)
    assert not is_answer(out, "k", kind)


def test_other_parquet_files_are_no_answer(folder):
    (folder / "0.parquet").rename(folder / "part-000000.parquet")
    for number in (1, 2):
        (folder / f"{number}.parquet").unlink()
    assert not is_answer(folder, "k", ".parquet")
