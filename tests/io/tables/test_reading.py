"""The format of a file is that of its extension."""

import pytest

from phaselabel.io.tables import format_of, open_table


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.csv", "There is no file"),
        ("empty.csv", "is empty"),
        ("t.xls", "save the sheet as CSV"),
        ("t.csv.gz", "not a whole gz file"),
        ("t.json", "one object per line"),
        ("t.doc", "rename or convert the file"),
    ],
)
def test_what_is_no_table(name, words, tmp_path):
    if name != "none.csv":
        (tmp_path / name).write_text("" if name == "empty.csv" else "x\n1\n")
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        open_table(tmp_path / name)


def test_extensions_in_capitals(tmp_path):
    (tmp_path / "T.TSV").write_text("a\tb\n1\t2\n")
    assert open_table(tmp_path / "T.TSV").names == ["a", "b"]
    assert format_of("x.Feather") == ".arrow"
