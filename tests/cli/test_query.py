"""From a table to rows to label, and back: query, fill in, label."""

import csv

import pytest

from phaselabel.cli.main import main
from tablefiles import rows_of


def test_the_loop_of_query_and_label(customers, tmp_path, monkeypatch, capsys):
    path, truth = customers
    monkeypatch.chdir(tmp_path)
    assert main(["query", str(path), "--label", "segment", "-n", "5", "--out", "ask.csv"]) == 0
    assert "ask.csv (5 rows to label)" in capsys.readouterr().err
    asked = rows_of(tmp_path / "ask.csv")
    assert asked[0][:4] == ["row", "segment", "segment_guess", "segment_confidence"]
    given = {row: fields[6] for row, fields in enumerate(rows_of(path)[1:])}
    assert len(asked) == 6
    for row, answer, guess, confidence, *fields in asked[1:]:
        assert given[int(row)] in ("", "?", "NA")
        assert answer == ""
        assert guess in truth
        assert 0 < float(confidence) <= 1
        assert fields[0] == row  # the id of the customer

    with (tmp_path / "ask.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(asked[0])
        out.writerows([row, truth[int(row)], *rest] for row, _, *rest in asked[1:])
    assert main(["label", str(path), "--label", "segment", "--labels", "ask.csv", "--out", "o.csv"]) == 0
    known = sum(label not in ("", "?", "NA") for label in given.values())
    assert f"segment: {known + 5} of 300 rows" in capsys.readouterr().err


def test_only_csv_can_be_filled_in(customers, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["query", str(customers[0]), "--label", "segment", "--out", "a.parquet"]) == 1
    assert "--out must be a .csv file" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["query", "label"])
def test_a_graph_without_evidence_is_refused_before_anything_is_read(task, capsys):
    assert main([task, "t.csv", "--label", "k", "--graph", "e.csv", "--evidence", "none"]) == 1
    assert "leave out --evidence none" in capsys.readouterr().err


@pytest.mark.parametrize("n", ["0", "x"])
def test_a_number_of_rows(n, customers, capsys):
    with pytest.raises(SystemExit):
        main(["query", str(customers[0]), "--label", "segment", "-n", n])
