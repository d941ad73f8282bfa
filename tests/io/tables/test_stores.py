"""Workbooks and databases."""

import sqlite3
from datetime import datetime

import duckdb
import openpyxl
import pyarrow as pa
import pytest

from phaselabel.io.tables import open_table, survey, write_table

ROWS = [(1.5, "x", None), (2.5, "y", "cat"), (None, "x", "dog")]


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "data"
    book.active.append(["a", "b", "label", "when"])
    for row in ROWS:
        book.active.append([*row, datetime(2024, 1, 1)])
    book.active["F9"] = None
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_a_sheet(workbook):
    table = open_table(workbook)
    assert table.names == ["a", "b", "label", "when"]
    assert table.column("a").to_pylist() == [1.5, 2.5, None]
    assert table.column("label").to_pylist() == [None, "cat", "dog"]
    assert survey(table)[0]["b"].kind == "category"


def test_several_sheets(workbook):
    book = openpyxl.load_workbook(workbook)
    book.create_sheet("more").append(["z"])
    book.save(workbook)
    with pytest.raises(ValueError, match=r"2 sheets \('data', 'more'\); name one with --sheet"):
        open_table(workbook)
    assert open_table(workbook, sheet="data").names[0] == "a"
    with pytest.raises(ValueError, match="no sheet 'x'"):
        open_table(workbook, sheet="x")


def test_sqlite(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as base:
        base.execute("CREATE TABLE animals (a REAL, b TEXT, label TEXT)")
        base.executemany("INSERT INTO animals VALUES (?, ?, ?)", ROWS)
    base.close()
    table = open_table(tmp_path / "t.db")
    assert table.column("a").to_pylist() == [1.5, 2.5, None]
    assert table.column("label").to_pylist() == [None, "cat", "dog"]


def test_duckdb(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute("CREATE TABLE animals (a DOUBLE, b VARCHAR, label VARCHAR)")
        base.executemany("INSERT INTO animals VALUES (?, ?, ?)", ROWS)
    table = open_table(tmp_path / "t.duckdb")
    assert table.column("a").to_pylist() == [1.5, 2.5, None]


def test_a_workbook_with_new_columns_is_written_as_text(workbook, tmp_path):
    write_table(open_table(workbook), {"found": pa.array(["p", "q", "p"])}, tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "a,b,label,when,found"
    assert [line.rsplit(",", 1)[1] for line in lines[1:]] == ["p", "q", "p"]


@pytest.mark.parametrize("name", ["t.xlsx", "t.db", "t.duckdb"])
@pytest.mark.parametrize(
    "content", [b"nonsense" * 100, b"PK\x03\x04" + b"\0" * 50, b"SQLite format 3\0" + b"\1" * 200]
)
def test_damaged_files_are_refused_in_a_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        open_table(tmp_path / name)
