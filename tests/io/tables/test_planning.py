"""Which columns are used, and what is said of the others."""

import pytest

from phaselabel.io.tables import Column, odd_cells, open_table, plan, survey


def test_missing_and_infinite_cells_are_named_together(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,z\n1,inf,3\n,2,4\n3,-inf,6\n7,1,inf\n")
    columns = survey(open_table(tmp_path / "t.csv"))[0]
    said = (
        r"1 value is missing in 1 column \(x 1\) and 3 values are infinite in 2 columns \(y 2, z 1\); fill in"
    )
    with pytest.raises(
        ValueError, match=f"{said}.*, replace what is infinite, or leave such columns out with --drop"
    ):
        plan(columns)
    with pytest.raises(ValueError, match=r"^3 values are infinite"):
        plan(columns, impute="median")
    with pytest.raises(ValueError, match=r"^1 value is infinite in 1 column \(z 1\); replace"):
        plan(columns, drop=["x", "y"])
    assert plan(columns, drop=["x", "y"], dry=True).left_out["x"] == "--drop names it"


def test_a_column_that_is_nearly_numbers_is_no_feature():
    odd = Column("x", "text", odd="98 of its cells are numbers, but 2 cells are not", n_odd=2)
    with pytest.raises(ValueError, match=r"^Column 'x' is not used as numbers: 98 of .* --drop x\.$"):
        plan({"x": odd}, features=["x"])
    columns = {"x": odd, "y": Column("y", "number")}
    assert plan(columns).left_out["x"].startswith("numbers, but for some cells")


def test_a_name_with_spaces_is_quoted_in_advice():
    day, odd = Column("day of birth", "date"), Column("net worth", "text", odd="9 are, 1 is not", n_odd=1)
    columns = {"day of birth": day, "net worth": odd, "y": Column("y", "number")}
    recipe = plan(columns)
    assert recipe.left_out["day of birth"] == "a date; --date 'day of birth' uses it"
    assert next(odd_cells(columns, recipe)).endswith("leave the column out with --drop 'net worth'")
    with pytest.raises(ValueError, match=r"pass --date 'day of birth' to use it as one\.$"):
        plan(columns, features=["day of birth"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "column 'x' is not used as numbers: 99 are, but 1 cell is not; correct"),
        ({"impute": "median"}, "column 'x': 99 are, but 1 cell is not; it counts as missing and is filled"),
        ({"drop": ["x"]}, None),
        ({"text": ["x"]}, None),
    ],
)
def test_what_is_said_of_odd_cells_is_what_is_done_with_them(options, said):
    odd = Column("x", "text", odd="99 are, but 1 cell is not", n_odd=1)
    columns = {"x": odd, "y": Column("y", "number")}
    notes = list(odd_cells(columns, plan(columns, **options)))
    assert [note[: len(said)] for note in notes] == [said] if said else notes == []
