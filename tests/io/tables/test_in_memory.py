from pathlib import Path

import pyarrow as pa

from phaselabel.io.tables import write_table
from phaselabel.io.tables.in_memory import MemoryTable
from tablefiles import rows_of


def test_only_named_columns_are_written(tmp_path):
    columns = {"a": pa.array([1, 2]), "v": pa.array([[1.0], [2.0]])}
    table = MemoryTable(Path("somewhere.arrow"), columns, ["a"])
    assert table.names == ["a", "v"]
    assert [batch.num_columns for batch in table.batches(["v"])] == [1]
    write_table(table, {"b": pa.array(["x", "y"])}, tmp_path / "o.csv")
    assert rows_of(tmp_path / "o.csv") == [["a", "b"], ["1", "x"], ["2", "y"]]
