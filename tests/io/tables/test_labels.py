"""The few labels of a table: from a column or another file, from a whole or from parts."""

import numpy as np
import pyarrow as pa
import pytest

from phaselabel.io.tables import Labels, found_columns, open_table

MARKS = ("", "?", "NA")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "?", " NA ", "b", None, "a"]),
        pa.array([3, None, 5, -1, 3, 3]),
        pa.array([1.0, float("nan"), 2.0, None, 1.0, 2.0]),
        pa.array(["a", "b", None, "a", "?", ""]).dictionary_encode(),
        pa.array([True, None, False, None, True, True]),
    ],
    ids=str,
)
def test_parts_merge_to_the_whole(column):
    whole = Labels(column, MARKS)
    parts = [Labels(column.slice(a, b - a), MARKS, a) for a, b in ((0, 2), (2, 2), (2, 5), (5, 6))]
    merged = Labels.merged(parts)
    assert merged.rows.tolist() == whole.rows.tolist()
    assert merged.values.tolist() == whole.values.tolist()
    assert merged.entries.tolist() == whole.entries.tolist()
    assert (merged.n_rows, merged.type, merged.counts) == (6, whole.type, whole.counts)


def test_minus_one_is_a_marker_in_arrays_only(tmp_path):
    np.savez(tmp_path / "t.npz", x=np.ones((4, 2)), k=[-1, 2, 3, -1])
    assert Labels.of(open_table(tmp_path / "t.npz"), "k", 4).rows.tolist() == [1, 2]
    np.savez(tmp_path / "t.npz", x=np.ones((4, 2)), k=[-1.0, 2, 3, np.nan])
    assert Labels.of(open_table(tmp_path / "t.npz"), "k", 4).rows.tolist() == [1, 2]
    assert Labels(pa.array([99.0, 1.0, 99.5]), ["99"]).values.tolist() == [1.0, 99.5]
    (tmp_path / "t.csv").write_text("x,k\n1,-1\n2,2\n3,3\n4,\n")
    assert Labels.of(open_table(tmp_path / "t.csv"), "k", 4).rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array(np.array(["2024-01-01"] * 2, "M8[D]"))])
def test_labels_that_are_no_words_or_numbers_are_refused(column):
    with pytest.raises(ValueError, match="can't be of type"):
        Labels(column, MARKS)


def test_new_columns_have_the_type_of_the_labels():
    reached = np.array([True, False])
    columns = found_columns("k", np.array([4, 9]), np.array([0.123456, 0.0]), reached, pa.int64())
    assert columns["k_predicted"].to_pylist() == [4, None]
    assert columns["k_predicted"].type == pa.int64()
    assert columns["k_confidence"].to_pylist() == [0.1235, 0.0]
    assert columns["k_reached"].to_pylist() == [True, False]
