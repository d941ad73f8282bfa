"""``phaselabel inspect``: what a labelled table or a saved model holds."""

import json
import re

import numpy as np
import pytest

from phaselabel.cli import main


def test_a_model_saved_from_python_is_inspected(command, tmp_path, digits):
    from phaselabel import GinzburgLandauClassifier

    X, y = digits
    GinzburgLandauClassifier().fit(X[:300], np.where(np.arange(300) < 60, y[:300], -1)).save(
        tmp_path / "m.zip"
    )
    done = command("inspect", "m.zip", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stderr
    assert re.search(
        r"suspects     \d+ of \d+ labels look wrong; about \d+ of these are expected", done.stderr
    )
    assert "What went in" not in (tmp_path / "r.html").read_text(encoding="utf-8")


TABLE = "x,k_predicted,k_confidence,k_reached\n1,a,0.99,true\n2,b,0.5,true\n3,,0.0,false\n4,a,0.8,true\n"


def test_a_labelled_table(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(TABLE)
    assert main(["inspect", str(tmp_path / "t.csv"), "--json", "--rows", "1"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["predicted"] == {"a": 2, "b": 1}
    assert (facts["rows"], facts["unreached"], facts["doubtful"]) == (4, 1, [1])
    assert facts["confidence"] == {
        "0.7": pytest.approx(2 / 3),
        "0.9": pytest.approx(1 / 3),
        "0.99": pytest.approx(1 / 3),
    }


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (TABLE.replace("0.5", "?"), [], "must hold a number in every row"),
        (TABLE, ["--label", "j"], "no column 'j_predicted'"),
        (TABLE, ["--report", "r.html"], "A report needs the model too"),
        (
            "a_predicted,a_confidence,a_reached,b_predicted,b_confidence,b_reached\nx,1,true,y,1,true\n",
            [],
            "several labels (a, b); choose one with --label",
        ),
    ],
)
def test_what_can_not_be_shown(text, words, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    assert main(["inspect", "t.csv", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_dry_run_shows_the_plan_of_a_table_that_would_be_refused(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("x,w,k\n1,u,a\n,v,b\n3,,a\n4,u,\n")
    for words, missing in ([], "3 values"), (["--label", "k"], "2 values"), (["--features", "x"], "1 value"):
        assert main(["inspect", str(tmp_path / "t.csv"), *words]) == 0
        said = capsys.readouterr().err
        assert "numbers      1, scaled" in said
        assert f"missing      {missing} (numbers not filled, categories: none of the words)" in said
        assert (
            "label would refuse this table: 1 value is missing in 1 column (x 1); fill in what is missing"
            in said
        )
    assert main(["inspect", str(tmp_path / "t.csv"), "--label", "k", "--drop", "x"]) == 0
    assert "refuse" not in capsys.readouterr().err
