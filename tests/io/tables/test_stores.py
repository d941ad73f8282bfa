"""Workbooks and databases."""

import sqlite3
import tracemalloc
import zipfile
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
    for name in ("out.xlsx", "out.sqlite"):
        with pytest.raises(ValueError, match=r"are read, not written; write \.csv or"):
            write_table(open_table(workbook), {}, tmp_path / name)


@pytest.mark.parametrize("name", ["t.xlsx", "t.db", "t.duckdb"])
@pytest.mark.parametrize(
    "content", [b"nonsense" * 100, b"PK\x03\x04" + b"\0" * 50, b"SQLite format 3\0" + b"\1" * 200]
)
def test_damaged_files_are_refused_in_a_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        open_table(tmp_path / name)


def sheet_of(path, rows, dimension="A1:B2"):
    """A workbook whose only sheet has these rows, as XML."""
    book = openpyxl.Workbook()
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    start, end = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">',
        b"</worksheet>",
    )
    size = f'<dimension ref="{dimension}"/>'.encode()
    members["xl/worksheets/sheet1.xml"] = start + size + b"<sheetData>" + rows + b"</sheetData>" + end
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_a_sheet_that_names_far_cells_takes_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("phaselabel.io.tables.stores.MOST_CELLS", 2**20)
    first = b'<row r="1"><c r="A1"><v>1</v></c></row>'
    sheet_of(tmp_path / "a.xlsx", first + b'<row r="9000"><c r="A9000"><v>2</v></c></row>', "A1:XFD1048576")
    sheet_of(tmp_path / "rows.xlsx", first + b'<row r="99999999999"><c r="A2"><v>2</v></c></row>')
    wide = b'<row><c r="XFD2"><v>2</v></c></row>'
    sheet_of(tmp_path / "cells.xlsx", first + 100 * wide)
    sheet_of(tmp_path / "padding.xlsx", 100 * b"<row><c><v>1</v></c></row>" + wide)
    tracemalloc.start()
    try:
        assert open_table(tmp_path / "a.xlsx").column("1").to_pylist() == [2]
        for name in ("rows", "cells", "padding"):
            with pytest.raises(ValueError, match=f"{name}.xlsx has more than"):
                open_table(tmp_path / f"{name}.xlsx")
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_computed_columns_of_a_small_database_take_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("phaselabel.io.tables.stores.SMALL_BYTES", 2**22)
    for size, said in ((2**29, "too big"), (2**21, "far more than its size")):
        path = tmp_path / f"{size}.db"
        with sqlite3.connect(path) as base:
            base.execute(f"CREATE TABLE t (a, b AS (zeroblob({size})))")
            base.executemany("INSERT INTO t VALUES (?)", [(1,)] * 9)
        base.close()
        with pytest.raises(ValueError, match=said):
            open_table(path)


def test_bytes_beside_texts_are_read_as_text(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as base:
        base.execute("CREATE TABLE t (a)")
        base.executemany("INSERT INTO t VALUES (?)", [(1.5,), (b"x\xff",), ("y",)])
    base.close()
    assert open_table(tmp_path / "t.db").column("a").to_pylist() == ["1.5", "x\ufffd", "y"]


def test_a_view_of_a_database_is_no_table(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS a")
        base.execute("CREATE VIEW endless AS SELECT * FROM range(1000000000000)")
    assert open_table(tmp_path / "t.duckdb").names == ["a"]
    with pytest.raises(ValueError, match="no table 'endless'"):
        open_table(tmp_path / "t.duckdb", sheet="endless")
