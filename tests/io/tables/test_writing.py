"""Every format can be written from every other one."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phaselabel.io.tables import open_table, write_table


@pytest.mark.parametrize("target", ["csv", "tsv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet"])
def test_every_format_becomes_every_other(source, target, tmp_path):
    pq.write_table(pa.table({"a": ["ä,1", "b\n2"], "b": ["x", "y"]}), tmp_path / "t.parquet")
    new = {"c": pa.array([0.5, None]), "d": pa.array([True, False])}
    first = tmp_path / f"s.{source}"
    write_table(open_table(tmp_path / "t.parquet"), {"z": pa.array(["p", "q"])}, first)
    write_table(open_table(first), new, tmp_path / f"o.{target}")
    found = [row for batch in open_table(tmp_path / f"o.{target}").batches() for row in batch.to_pylist()]
    assert [row["a"] for row in found] == ["ä,1", "b\n2"]
    assert [str(row["d"]).lower() for row in found] == ["true", "false"]
    assert list(found[0]) == ["a", "b", "z", "c", "d"]
