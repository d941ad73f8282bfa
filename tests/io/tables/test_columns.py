"""What a column is taken for."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from phaselabel.io.tables import open_table, survey
from phaselabel.io.tables.columns import Observed, observe


def test_kinds_of_columns(mixed):
    columns, n_rows = survey(mixed)
    assert n_rows == 60
    assert {name: column.kind for name, column in columns.items()} == {
        "n": "number", "whole": "number", "yes": "number", "word": "category", "free": "text",
        "day": "date", "row": "counter", "same": "constant", "v": "vector", "gone": "empty",
    }  # fmt: skip


def test_the_same_kinds_from_text(mixed, tmp_path):
    kept = ["n", "whole", "yes", "word", "free", "day", "row", "same"]
    frame = pa.Table.from_batches(mixed.batches(kept)).to_pandas()
    frame["yes"] = frame["yes"].astype(int)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found, _ = survey(open_table(tmp_path / "t.csv"))
    expected, _ = survey(mixed)
    assert {n: c.kind for n, c in found.items()} == {n: expected[n].kind for n in kept}


def kinds(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    return survey(open_table(tmp_path / "t.csv"))[0]


def test_one_odd_cell_among_numbers_is_named(tmp_path):
    cells = [f"{i}.5" for i in range(100)]
    cells[57] = "0x10"
    column = kinds(tmp_path, "x\n" + "\n".join(cells) + "\n")["x"]
    assert column.kind == "text"
    assert "99 of its cells are numbers, but 1 cell is not (the first is '0x10' in row 57" in column.odd
    few = kinds(tmp_path, "x\n" + "1\n" * 50 + "2\n" * 50 + "n. d.\n")["x"]
    assert few.kind == "category"
    assert "'n. d.' in row 100" in few.odd


@pytest.mark.parametrize(
    "cells", [["red", "green", "1", "2", "3", "4"], ["a 1"] * 40 + [f"b {i}" for i in range(40)]]
)
def test_words_are_not_taken_for_odd_numbers(tmp_path, cells):
    assert kinds(tmp_path, "x\n" + "\n".join(cells) + "\n")["x"].odd == ""


@pytest.mark.parametrize(
    "column",
    [
        pa.array(range(40)),
        pa.array(range(1, 41)),
        pa.array([*range(20), *range(21, 41)]),
        pa.array([*range(39), None]),
        pa.array([f"{i},5" for i in range(20)] + [str(i) for i in range(20)]),
        pa.array([None] * 20 + [f"2024-05-{i:02}" for i in range(1, 21)]),
        pa.array(["x"] * 15 + ["y"] * 25),
        pa.array([f"w{i}" for i in range(40)]),
        pa.array([str(i) for i in range(39)] + ["0x10"]),
        pa.array([[1.0, 2.0]] * 40),
        pa.array([[1.0, 2.0]] * 39 + [[1.0]]),
        pa.array([[1.0]] + [None] * 39),
        pa.array([[]] * 40, pa.list_(pa.float64())),
        pa.array([[["a"]]] * 40),
        pa.nulls(40),
        pa.array([7.0] * 40),
        pa.array([True, False] * 20),
    ],
    ids=lambda column: str(column.to_pylist())[:30],
)
def test_observations_of_parts_merge_to_those_of_the_whole(column):
    whole = Observed(".")
    whole.add(column, 0)
    for cuts in ([0, 20, 40], [0, 1, 2, 39, 40], [0, 0, 15, 40]):
        parts = []
        for start, stop in pairwise(cuts):
            part = Observed(".")
            part.add(column.slice(start, stop - start), start)
            parts.append(part)
        for later in parts[1:]:
            parts[0].merge(later)
        assert parts[0].concluded("c", 40) == whole.concluded("c", 40)


def test_columns_are_observed_without_the_others(mixed):
    seen, n_rows = observe(mixed, ["n", "word"], 7)
    assert list(seen) == ["n", "word"]
    assert n_rows == 60
    assert observe(mixed, [])[1] == 60
    assert seen["n"].concluded("n", 60).kind == "number"
    assert np.isfinite(seen["n"].present)


def test_every_column_is_found_by_its_position(tmp_path, monkeypatch):
    # Finding each of 20,000 columns by its name took a minute.
    path = tmp_path / "wide.csv"
    path.write_text("a,b,c\n1,x,2\n4,y,3\n5,x,9\n")
    table = open_table(path)
    batches = table.batches

    class ByPosition:
        def __init__(self, batch):
            self.columns, self.num_rows = batch.columns, batch.num_rows

    monkeypatch.setattr(table, "batches", lambda names: map(ByPosition, batches(names)))
    columns, n_rows = survey(table, ["c"])
    assert n_rows == 3
    assert {name: column.kind for name, column in columns.items()} == {"a": "number", "b": "category"}
