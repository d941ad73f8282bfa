"""Text files: every field and every byte comes back."""

import csv

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaselabel.io.tables import open_table, write_table
from phaselabel.io.tables.text import CsvTable, quoted
from tablefiles import rows_of


@given(
    st.lists(
        st.tuples(st.text(max_size=12), st.text(alphabet=",;\"\n\r\tä 'x", max_size=6)),
        min_size=2,
        max_size=8,
    )
)
def test_fields_of_any_text_come_back(rows):
    import tempfile
    from pathlib import Path

    # pyarrow and csv read a bare carriage return as a line end; NUL and lone surrogates are no CSV text.
    rows = [[f"x{t}".replace("\0", "").encode("utf-8", "ignore").decode() for t in row] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "t.csv"), Path(folder, "o.csv")
        lines = [",".join(quoted(field, ",") for field in row) + "\n" for row in [["p", "q"], *rows]]
        source.write_bytes("".join(lines).encode())
        table = open_table(source)
        write_table(table, {"new": pa.array([row[1] for row in rows])}, out)
        assert [row[2] for row in rows_of(out)[1:]] == [row[1] for row in rows]
        assert [row[:2] for row in rows_of(out)[1:]] == rows
        assert [list(row.values()) for batch in table.batches() for row in batch.to_pylist()] == rows


def test_a_name_that_occurs_twice_is_refused_in_a_wide_header(tmp_path, monkeypatch):
    """A header is checked in one pass: each name is hashed a few times, not compared with all the others."""

    class Name(str):
        compared = 0

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    text = CsvTable._text
    monkeypatch.setattr(CsvTable, "_text", lambda table, field: Name(text(table, field)))
    names = [f"column {i}" for i in range(3_000)]
    path = tmp_path / "t.csv"
    path.write_text(",".join(names) + "\n" + ",".join("1" * 3_000) + "\n")
    open_table(path)
    assert Name.compared < 30_000
    path.write_text(",".join([*names, "column 7"]) + "\n")
    with pytest.raises(ValueError, match="more than one column 'column 7'"):
        open_table(path)


@pytest.mark.parametrize(
    "line", ["null", "1", '"a"', "[1]", '{"a": 1} null', '{"a": 1} {"a": 2}', "{", "[" * 5000, "\x00"]
)
def test_a_line_that_is_no_object_is_refused(tmp_path, line):
    # Arrow's reader ended the process on "null".
    (tmp_path / "t.jsonl").write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(ValueError, match=r"Line 2 of t\.jsonl is not one JSON object"):
        open_table(tmp_path / "t.jsonl")


@pytest.mark.parametrize("quote", ["", '"'])
def test_empty_lines_before_the_header_are_no_rows(tmp_path, quote):
    # The header was read as the first row.
    (tmp_path / "t.csv").write_text(f"\n\r\na,b\n1,{quote}x{quote}\n\n2,y\n")
    table = open_table(tmp_path / "t.csv")
    assert table.names == ["a", "b"]
    assert table.column("a").to_pylist() == ["1", "2"]
    assert table.column("b").to_pylist() == ["x", "y"]


def test_a_byte_order_mark_may_stand_before_an_empty_line(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf\na,b\n1,2\n")
    table = open_table(tmp_path / "t.csv")
    assert table.names == ["a", "b"]
    assert table.column("a").to_pylist() == ["1"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_of_empty_lines_is_empty(tmp_path, encoding):
    # A byte order mark counted as the name of a column.
    (tmp_path / "t.csv").write_bytes("\n\n".encode(encoding))
    with pytest.raises(ValueError, match=r"t\.csv is empty"):
        open_table(tmp_path / "t.csv")


def test_odd_line_ends_before_the_header_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\r\r\na\r\n1\r\n2\r\n")
    with pytest.raises(ValueError, match=r"t\.csv"):
        open_table(tmp_path / "t.csv")


def test_a_long_field_is_read_and_the_limit_of_the_process_stays(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"' + "x" * 200_000 + '"\n2,"y"\n')
    before = csv.field_size_limit()
    texts = pa.Table.from_batches(open_table(path).batches(["b"])).column("b").to_pylist()
    assert [len(text) for text in texts] == [200_000, 1]
    assert csv.field_size_limit() == before


def test_a_title_above_the_names_is_called_one(tmp_path):
    (tmp_path / "title.csv").write_text("Sales 2024,,\nx,y,k\n1,2,a\n")
    with pytest.raises(ValueError, match=r"leaves 2 columns without a name; remove the line if"):
        open_table(tmp_path / "title.csv")
