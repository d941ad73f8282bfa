"""Numbers and dates as people write them."""

import numpy as np
import pytest

from phaselabel.io.tables import Column, describe, open_table, plan, survey


def read(tmp_path, cells, options=(), **planned):
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(f'"{cell}"' for cell in cells) + "\n", encoding="utf-8")
    table = open_table(tmp_path / "t.csv", **dict(options))
    columns, _ = survey(table)
    recipe = plan(columns, scale="none", **planned)
    return recipe.fit_transform(table).ravel(), dict(describe(recipe, columns)), columns["x"]


@pytest.mark.parametrize(
    ("cells", "values", "said"),
    [
        (["1,234", "56", "1,234,567.5"], [1234, 56, 1234567.5], "thousands separators"),
        (["12.5%", "3 %", "100%"], [12.5, 3, 100], "%"),
        (["$1,200.50", "-$5", "$ 7"], [1200.5, -5, 7], "$ and thousands separators"),
        (["10 €", "20,500 €"], [10, 20500], "thousands separators and €"),
        (["(1,234.50)", "7", "(8)"], [-1234.5, 7, -8], "parentheses for minus and thousands separators"),
        (["($5.00)", "$7", "$(8)"], [-5, 7, -8], "$ and parentheses for minus"),
    ],
)
def test_numbers_with_signs(tmp_path, cells, values, said):
    found, lines, _ = read(tmp_path, cells)
    np.testing.assert_array_equal(found, values)
    assert lines["read as"] == f"x: numbers, written with {said}"


def test_european_thousands(tmp_path):
    found, _, _ = read(tmp_path, ["1.234,5", "7,25", "€ 1.000.000"], {"decimal": ","})
    np.testing.assert_array_equal(found, [1234.5, 7.25, 1e6])


def test_a_decimal_comma_is_no_separator(tmp_path):
    (tmp_path / "t.csv").write_text('x\n"1,5"\n"2,75"\n')
    assert survey(open_table(tmp_path / "t.csv"))[0]["x"].kind == "comma"


def test_a_point_beside_decimal_commas_marks_thousands_or_no_number(tmp_path):
    found, lines, _ = read(tmp_path, ["4.327", "682", "1.582,09"], {"decimal": ","})
    np.testing.assert_array_equal(found, [4327, 682, 1582.09])
    assert lines["read as"] == "x: numbers, written with thousands separators"
    (tmp_path / "t.csv").write_text("x\n" + '"1,5"\n' * 20 + "4.32\n")
    table = open_table(tmp_path / "t.csv", decimal=",")
    columns = survey(table)[0]
    assert columns["x"].kind == "comma"
    assert "or with both" in plan(columns | {"z": Column("z", "number")}).left_out["x"]


def test_decimal_commas_with_thousands_get_a_hint(tmp_path):
    (tmp_path / "t.csv").write_text('x\n"1.582,09"\n"2,75"\n"€ 7"\n')
    assert survey(open_table(tmp_path / "t.csv"))[0]["x"].kind == "comma"


def test_a_recipe_of_plain_numbers_reads_european_ones_or_names_the_option(tmp_path):
    (tmp_path / "old.csv").write_text("x\n1582.09\n7.5\n")
    (tmp_path / "new.csv").write_text('x\n7\n"1.582,09"\n')
    (tmp_path / "percent.csv").write_text("x\n7%\n8%\n")
    old = open_table(tmp_path / "old.csv")
    recipe = plan(survey(old)[0], scale="none")
    recipe.fit_transform(old)
    with pytest.raises(
        ValueError, match=r"it holds '1\.582,09' in row 1, counted from 0; --decimal , reads it\."
    ):
        recipe.transform(open_table(tmp_path / "new.csv"))
    found = recipe.transform(open_table(tmp_path / "new.csv", decimal=","))
    np.testing.assert_array_equal(found.ravel(), [7, 1582.09])
    with pytest.raises(ValueError, match=r"it holds '7%' in row 0, counted from 0\."):
        recipe.transform(open_table(tmp_path / "percent.csv", decimal=","))


@pytest.mark.parametrize(
    "cells", [["12%", "0.12", "3%"], ["$5", "5 €", "7 €"], ["1,23", "4,5678"], ["(5", "6)"]]
)
def test_two_scales_are_not_one(tmp_path, cells):
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(f'"{cell}"' for cell in cells) + "\n", encoding="utf-8")
    assert survey(open_table(tmp_path / "t.csv"))[0]["x"].kind != "number"


@pytest.mark.parametrize(
    ("cells", "days", "said"),
    [
        (["31.12.2023", "01.01.2024"], [19722, 19723], "31.12.2023"),
        (["12/31/2023", "01/02/2024"], [19722, 19724], "12/31/2023"),
        (["2023/12/31", "2024/01/01"], [19722, 19723], "2023/12/31"),
        (["31.12.2023 6:00", "01.01.2024 18:00"], [19722.25, 19723.75], "31.12.2023 14:05"),
        (["12/31/2023 00:00:00", "1/2/2024 12:00:00"], [19722, 19724.5], "12/31/2023 14:05:00"),
    ],
)
def test_dates(tmp_path, cells, days, said):
    found, lines, column = read(tmp_path, cells, date=["x"])
    assert column.kind == "date"
    np.testing.assert_array_equal(found, days)
    assert lines["read as"] == f"x: dates like {said}"


def test_odd_cells_are_filled_if_missing_ones_are(tmp_path):
    cells = [str(i) + ".5" for i in range(100)]
    cells[3], cells[7] = "n. d.", ""
    found, lines, _ = read(tmp_path, cells, impute="median")
    assert found[3] == found[7] == np.median(np.delete(found, [3, 7]))
    assert lines["missing"].startswith("2 values (numbers filled with the median")
    assert lines["read as"] == "x: numbers; cells that are none count as missing"
