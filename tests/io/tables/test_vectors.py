import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from phaselabel.io.tables import Recipe, open_table
from phaselabel.io.tables.vectors import vectors_of

RECIPE = Recipe({"v": "vector"})
LISTS = [[1.0, 2.0, 3.0]] * 5 + [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]]


def test_slices_and_rows_without_any_number():
    column = pa.array([[9], [1, 2], [3, 4], [9]])
    assert vectors_of(column.slice(1, 2), "v").tolist() == [[1, 2], [3, 4]]
    assert vectors_of(column.slice(1, 0), "v").shape == (0, 0)
    assert vectors_of(pa.array([[], []], pa.list_(pa.int8())), "v").shape == (2, 0)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_new_rows_of_two_lengths_are_refused(tmp_path, ending):
    """A model reads new tables without a look at all of their columns first."""
    path, table = tmp_path / f"new.{ending}", pa.table({"v": LISTS})
    if ending == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif ending == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=2)
    else:
        path.write_text("".join(json.dumps({"v": vector}) + "\n" for vector in LISTS))
    with pytest.raises(ValueError, match=r"'v' of new\.\w+ must .* of one length, 3; row 5, .* 2\."):
        RECIPE.transform(open_table(path))


def test_batches_of_two_lengths_are_refused(tmp_path):
    parquet.write_table(
        pa.table({"v": [[1.0, 2.0]] * 4 + [[1.0]] * 4}), tmp_path / "v.parquet", row_group_size=4
    )
    with pytest.raises(ValueError, match="row 4, counted from 0, has one of length 1"):
        RECIPE.transform(open_table(tmp_path / "v.parquet"))
    with pytest.raises(ValueError, match="row 4, counted from 0, has one of length 1"):
        RECIPE.values(open_table(tmp_path / "v.parquet"), "v")


def test_what_is_no_vector_is_refused(tmp_path):
    for number, column in enumerate(([1.0, 2.0], [["a"], ["b"]])):
        path = tmp_path / f"{number}.parquet"
        parquet.write_table(pa.table({"v": column}), path)
        with pytest.raises(ValueError, match="must hold vectors of numbers; it is of type"):
            RECIPE.transform(open_table(path))
