"""Lines for a reader, one object for a program."""

import argparse
import json
import logging
import re
import warnings

import pytest

from phaselabel.cli import main
from phaselabel.cli.console import Console, output_of, positive


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["label", "t.csv", "--labels", "l.csv", "--out", "l.csv"], "--out l.csv is a file that is read"),
        (["label", "t.csv", "--label", "k", "--report", "t.csv"], "--report t.csv is a file that is read"),
        (
            ["label", "t.csv", "--label", "k", "--out", "o.csv", "--report", "sub/../o.csv"],
            "the file of --out too",
        ),
        (
            ["label", "t.csv", "--label", "k", "--model", "m.zip", "--report", "m.zip"],
            "the file of --report too",
        ),
        (
            ["label", "t.csv", "--label", "k", "--graph", "l.csv", "--out", "l.csv"],
            "l.csv is a file that is read",
        ),
        (
            ["label", "t.csv", "--label", "k", "--evidence", "l.csv", "--out", "l.csv"],
            "l.csv is a file that is",
        ),
        (
            ["label", "t.csv", "--label", "k", "--dask", "local", "--out", "o.npy", "--report", "t.csv"],
            "is read",
        ),
        (["label", "c.h5ad", "--label", "k", "--out", "c.h5ad"], "c.h5ad is a file that is read"),
        (["query", "t.csv", "--label", "k", "--out", "t.csv"], "--out t.csv is a file that is read"),
        (
            ["inspect", "t.csv", "--model", "m.zip", "--report", "t.csv"],
            "--report t.csv is a file that is read",
        ),
        (["inspect", "m", "--report", "m/model.json"], "--report m/model.json is a file that is read"),
        (
            ["inspect", "t.csv", "--model", "m", "--report", "m/model.json"],
            "model.json is a file that is read",
        ),
        (
            ["label", "photos", "--label", "subfolders", "--report", "photos/a/1.png"],
            "--report photos/a/1.png is a file that is read",
        ),
        (
            ["label", "d", "--label", "k", "--dask", "local", "--out", "o.npy", "--report", "d/0.parquet"],
            "--report d/0.parquet is a file that is read",
        ),
        (
            ["segment", "photos/a", "--train", "marks", "--save", "photos/a/1.png"],
            "--save photos/a/1.png is a file that is read",
        ),
        (
            ["segment", "photos/a", "--train", "marks", "--save", "marks/1.csv"],
            "--save marks/1.csv is a file that is read",
        ),
        (["segment", "photos/a", "--train", "marks", "--save", "o", "--out", "o"], "the file of --save too"),
        (
            ["segment", "photos/a", "--train", "marks", "--out", "l.csv"],
            "l.csv is a file, and the results are",
        ),
    ],
)
def test_force_never_replaces_what_is_read_or_written(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    folders = ("m/model.json", "photos/a/1.png", "d/0.parquet", "marks/1.csv")
    for name in ("t.csv", "l.csv", "c.h5ad", *folders):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("row,k\n0,a\n1,b\n")
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert main([*words, "--force"]) == 1
    assert said in capsys.readouterr().err
    assert {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == before


def console(**options):
    return Console(argparse.Namespace(**{"json": False, "quiet": False} | options))


def test_lines_go_to_standard_error(capsys):
    talk = console()
    with talk.stage("reading"), talk.listening():
        warnings.warn("twice\n the same", stacklevel=1)
        warnings.warn("twice the same", stacklevel=1)
        logging.getLogger("phaselabel.flow").warning("a log entry")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines()[:2] == ["note         twice the same", "note         a log entry"]
    assert shown.err.splitlines()[2].startswith("reading      0.")
    assert talk.notes == ["twice the same"]
    talk.say("labels", "a\nb 3, \x1b[31mred 4, Söhne 2")
    assert capsys.readouterr().err == "labels       a b 3,  [31mred 4, Söhne 2\n"


def test_one_object_and_nothing_else(capsys):
    talk = console(json=True)
    talk.say("table", "ä")
    talk.facts["rows"] = 3
    talk.finish(out="ö")
    shown = capsys.readouterr()
    assert shown.err == ""
    assert json.loads(shown.out) == {"rows": 3, "out": "ö", "notes": [], "seconds": {}}


@pytest.mark.parametrize("word", ["0", "-1", "1.5", "x", "²"])
def test_counts_are_whole_and_positive(word):
    assert positive("12") == 12
    with pytest.raises(argparse.ArgumentTypeError, match="at least 1"):
        positive(word)


def test_where_the_output_goes(tmp_path):
    source = tmp_path / "t.npy"
    source.touch()
    given = argparse.Namespace(table=str(source), out=None, force=False)
    assert output_of(given, "labelled") == tmp_path / "t_labelled.csv"
    given.out = str(source)
    with pytest.raises(ValueError, match="is the table itself"):
        output_of(given, "labelled")
    given.table = str(tmp_path)
    with pytest.raises(ValueError, match="is a folder"):
        output_of(given, "labelled")


def test_a_long_stage_prints_lines_where_no_bar_can_be_drawn(capsys, monkeypatch):
    with console().stage("embedding", 400, unit="text") as bar:
        bar.update(100)
    assert "of 400" not in capsys.readouterr().err  # it has not been long
    monkeypatch.setattr("phaselabel.cli.console.SECONDS_A_LINE", 0)
    with console().stage("embedding", 400, unit="text") as bar:
        for _ in range(2):
            bar.update(200)
    shown = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"embedding    200 of 400 texts, about \d+ s left", shown[0])
    assert re.fullmatch(r"embedding    0\.\d s", shown[1])  # at the end there is nothing left to say
    with console(quiet=True).stage("embedding", 400) as bar:
        bar.update(100)
    assert capsys.readouterr().err == ""
