"""``phaselabel predict``: rows of another table, read as those of the model."""

from pathlib import Path

import pytest

import phaselabel as pl
from phaselabel.cli import main

TABLE = "x,y,colour,k\n" + "".join(
    f"{i % 2 * 9 + i / 40},{i},{['red', 'blue'][i % 2]},{'ab'[i % 2] if i < 8 else ''}\n" for i in range(40)
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    assert main(["label", "t.csv", "--label", "k", "--model", "m.zip", "--drop", "y", "--quiet"]) == 0
    return tmp_path


def test_new_rows_are_labelled(home, capsys):
    (home / "new.csv").write_text("colour,x\nred,0.4\nblue,9.4\n")
    assert main(["predict", "m.zip", "new.csv"]) == 0
    assert "result" in capsys.readouterr().err
    rows = [line.split(",") for line in (home / "new_predicted.csv").read_text().splitlines()]
    assert rows[0] == ["colour", "x", "k_predicted", "k_confidence", "k_reached"]
    assert [row[2] for row in rows[1:]] == ["a", "b"]


def test_a_model_of_a_table_of_the_second_version_is_read(tmp_path):
    model = Path(__file__).parent / "data" / "model-of-a-table-version-2.zip"
    rows = ["say,colour,age,day", "a cat at sea,red,0.5,2024-01-12", "the dog on land,blue,9.1,2024-07-15"]
    (tmp_path / "new.csv").write_text("\n".join(rows) + "\n")
    assert main(["predict", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "o.csv")]) == 0
    found = [line.split(",") for line in (tmp_path / "o.csv").read_text().splitlines()]
    assert found[0][4:] == ["kind_predicted", "kind_confidence", "kind_reached"]
    assert [row[4] for row in found[1:]] == ["a", "b"]


def test_a_model_that_abstains_does_so_for_new_rows(home, capsys):
    rows = [f"{i % 2 * 2 + i % 7 / 2},{'ab'[i % 2] if i < 30 else ''}" for i in range(60)]
    (home / "u.csv").write_text("x,k\n" + "\n".join(rows) + "\n")
    assert main(["label", "u.csv", "--label", "k", "--model", "u.zip", "--abstain-below", "0.8"]) == 0
    assert "rows have a confidence below 0.8; they are left empty" in capsys.readouterr().err
    (home / "new.csv").write_text("x\n0.1\n2.3\n2.4\n4.9\n")
    assert main(["predict", "u.zip", "new.csv"]) == 0
    assert "abstained    2 rows have a confidence below 0.8; they are left empty" in capsys.readouterr().err
    found = [line.split(",")[1:] for line in (home / "new_predicted.csv").read_text().splitlines()[1:]]
    assert [label for label, _, _ in found] == ["a", "", "", "b"]
    assert [float(sure) < 0.8 for _, sure, _ in found] == [False, True, True, False]
    assert pl.load(home / "u.zip").abstain_below == 0.8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n1\n", "lacks the column 'colour', which the model was fitted with"),
        ("x,colour\n1,red\n?,blue\n", "Column 'x' of new.csv has 1 missing value;"),
        (
            "x,colour\n1,red\nlots,red\n2,red\n",
            "Column 'x' of new.csv must hold numbers; it holds 'lots' in row 1, counted from 0.",
        ),
        ("x,colour,k_reached\n1,red,1\n", "'k_reached' already"),
        ("x,colour\n", "has no rows"),
    ],
)
def test_tables_that_do_not_fit_the_model(home, capsys, text, message):
    (home / "new.csv").write_text(text)
    assert main(["predict", "m.zip", "new.csv"]) == 1
    assert message in capsys.readouterr().err
    assert not (home / "new_predicted.csv").exists()


def test_a_model_saved_from_python_has_no_columns(home, capsys):
    pl.GinzburgLandauClassifier(1).fit([[0.0], [1.0], [5.0]], [0, -1, 1]).save(home / "python.zip")
    assert main(["predict", "python.zip", "t.csv"]) == 1
    assert "was saved from Python" in capsys.readouterr().err


def test_a_model_that_is_not_there_is_named_before_anything_is_loaded(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["predict", "none.zip", "none.csv"]) == 1
    said = "There is no model at none.zip; check the name and the folder you are in."
    assert capsys.readouterr().err == f"phaselabel predict: {said}\n"
