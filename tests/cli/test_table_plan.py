"""The plan of a table, as it is printed before the work starts."""

import argparse
import re

import pytest

from phaselabel.cli.console import Console
from phaselabel.cli.main import build_parser
from phaselabel.cli.table_plan import announce, make_plan
from phaselabel.io.tables import Labels, open_table, survey
from phaselabel.labels import encode


def planned(path, *words):
    arguments = build_parser().parse_args(["label", str(path), *words])
    console = Console(argparse.Namespace(json=False, quiet=False))
    plan = make_plan(open_table(path), arguments, survey, Labels.of)
    announce(console, plan)
    return plan, console


def write(path, columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_every_decision_is_printed(tmp_path, capsys):
    n = 60
    columns = {
        "id": range(n),
        "x": [i * 7 % 59 for i in range(n)],
        "size": [f"{i * 11 % 47}.5" if i != 9 else "n. d." for i in range(n)],
        "day": [f"2024-05-{1 + i % 30:02}" for i in range(n)],
        "k": ["a", "b", "?"] * 20,
    }
    write(tmp_path / "t.csv", columns)
    plan, console = planned(tmp_path / "t.csv", "--label", "k")
    assert list(plan.recipe.roles) == ["x"]
    assert capsys.readouterr().err.splitlines()[:8] == [
        "table        t.csv: 60 rows, 5 columns",
        "numbers      1, scaled to mean 0, deviation 1: x",
        "left out     id: numbers the rows; name it among --features to use it",
        "left out     size: numbers, but for some cells; --impute median counts these as missing",
        "left out     day: a date; --date day uses it",
        "labels       k: 40 of 60 rows, 2 classes",
        "             a 20, b 20",
        "unlabelled   every empty entry, ?, NA",
    ]
    assert ["'n. d.' in row 9" in note for note in console.notes] == [True]
    assert console.facts["left_out"].keys() == {"id", "size", "day"}
    _, console = planned(tmp_path / "t.csv", "--label", "k", "--drop", "size")
    assert console.notes == []


@pytest.mark.parametrize(
    ("labels", "note"),
    [
        (["a", "-1", "b"] * 20, "-1 is taken as a class"),
        ([f"w{i}" for i in range(60)], "all classes of 'k' have a single label"),
        (
            [f"w{i // 2}" for i in range(42)] + [f"v{i}" for i in range(18)],
            "most classes of 'k' have a single label",
        ),
        ([*"abcdefgh", *[""] * 52], "all classes of 'k' have a single label"),
        (
            ["cat", "dog", "Dog", "dog ", "?", ""] * 10,
            "'dog' (10), 'Dog' (10), 'dog ' (10) look like one class; they are kept apart, and "
            "--clean-labels joins them",
        ),
        (
            ["cat", "dog", "N/A"] * 20,
            "'N/A' looks like 'no label' and counts as a class; pass --missing-labels 'N/A' if it is none",
        ),
        (
            ["cat", "dog", "N/A", "unknown"] * 15,
            "'N/A', 'unknown' look like 'no label' and count as classes; pass --missing-labels "
            "'N/A,unknown' if they are none",
        ),
    ],
)
def test_labels_that_look_wrong_are_noted(tmp_path, labels, note):
    write(tmp_path / "t.csv", {"x": [i * 7 % 59 for i in range(60)], "k": labels})
    plan, console = planned(tmp_path / "t.csv", "--label", "k")
    assert [note in said for said in console.notes] == [True]
    assert set(plan.labels.counts) == set(labels) - {"", "?"}  # nothing is joined or dropped unasked


def test_spellings_that_are_joined_and_words_that_mean_no_label_are_named(tmp_path, capsys):
    labels = ["cat", "dog", "N/A", "Dog", "dog ", "?"] * 10
    write(tmp_path / "t.csv", {"x": [i * 7 % 59 for i in range(60)], "k": labels})
    words = ("--label", "k", "--clean-labels", "--missing-labels", "n/a,?")
    plan, console = planned(tmp_path / "t.csv", *words)
    assert plan.labels.counts == {"cat": 10, "dog": 30}
    assert "unlabelled   every empty entry, ?, NA, N/A" in capsys.readouterr().err.splitlines()
    assert console.notes == ["'Dog' (10), 'dog ' (10) counted as 'dog'"]


def test_a_table_of_labels_alone_is_refused(tmp_path):
    write(tmp_path / "t.csv", {"k": ["a", "b", "?"]})
    with pytest.raises(ValueError, match=r"^The labels are the only column; rows are told apart by others"):
        planned(tmp_path / "t.csv", "--label", "k")


def test_labels_of_another_file_are_joined_by_an_id(tmp_path):
    n = 60
    columns = {
        "customer": [f"c{i * 7 % 60}" for i in range(n)],
        "x": [i * 7 % 59 for i in range(n)],
        "k": ["a", "b", *[""] * 58],
    }
    write(tmp_path / "t.csv", columns)
    by_id = ("--label", "k", "--labels", str(tmp_path / "l.csv"), "--id", "customer")
    write(tmp_path / "l.csv", {"k": ["b", "a", "b"], "customer": ["c35", "c0 ", "c21"]})
    plan, _ = planned(tmp_path / "t.csv", *by_id)
    assert dict(zip(plan.labels.rows.tolist(), plan.labels.values)) == {0: "a", 1: "b", 3: "b", 5: "b"}
    assert "customer" not in plan.recipe.roles
    for names, said in (
        (
            ["c35", "c99"],
            "has a label for 'c99' in column 'customer', which t.csv does not have (1 such row)",
        ),
        (["c35", "c35"], "l.csv has 'c35' in column 'customer' more than once; --id needs one row each"),
    ):
        write(tmp_path / "l.csv", {"k": ["a", "b"], "customer": names})
        with pytest.raises(ValueError, match=re.escape(said)):
            planned(tmp_path / "t.csv", *by_id)
    write(tmp_path / "l.csv", {"k": ["a", "b"], "client": ["c1", "c2"]})
    with pytest.raises(ValueError, match=r"l\.csv has no column 'customer'"):
        planned(tmp_path / "t.csv", *by_id)


def test_a_column_without_a_name_is_seen(tmp_path, capsys):
    """As the index that pandas writes."""
    write(
        tmp_path / "t.csv", {"": range(60), " x": [i * 7 % 59 for i in range(60)], "k": ["a", "b", ""] * 20}
    )
    planned(tmp_path / "t.csv", "--label", "k")
    said = capsys.readouterr().err
    assert "left out     '': numbers the rows" in said
    assert "deviation 1: ' x'\n" in said


def test_empty_entries_are_no_label_whatever_else_is(tmp_path, capsys):
    write(tmp_path / "t.csv", {"x": [f"{i * 7 % 59}.5" for i in range(40)], "k": ["a", "b", "", "TBD"] * 10})
    plan, console = planned(tmp_path / "t.csv", "--label", "k", "--unlabeled", "TBD")
    assert plan.labels.counts == {"a": 10, "b": 10}
    assert "unlabelled   every TBD, empty entry" in capsys.readouterr().err
    assert console.notes == []


def test_words_for_missing_values_are_noted_once(tmp_path, capsys):
    write(tmp_path / "t.csv", {"x": [f"{i * 7 % 59}.5" for i in range(40)], "k": ["a", "b", "", "nan"] * 10})
    plan, console = planned(tmp_path / "t.csv", "--label", "k")
    with console.listening():
        encode(plan.labels.entries, None)
    assert len(console.notes) == 1
    assert "--missing-labels 'nan'" in console.notes[0]
