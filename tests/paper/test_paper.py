import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from phaselabel.cli import main
from phaselabel.paper import RECIPES, report, reproduce
from phaselabel.paper.probe import probe
from phaselabel.paper.provenance import source_digest
from probes import same_results

DOCS = Path(__file__).parents[2] / "docs"
ACCURACY = {"mean", "std", "standard_error", "min", "max"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The command as a user calls it, twice into the same folder."""
    out = tmp_path_factory.mktemp("paper")
    for name in ("three-moons", "swiss-roll"):
        assert main(["paper", name, "--runs", "2", "--out", str(out), "--json", str(out / "copy.json")]) == 0
    return out


def test_json_has_its_schema(written):
    doc = json.loads((written / "copy.json").read_text())
    assert doc == json.loads((written / "paper.json").read_text())
    assert doc["schema"] == 2
    assert [e["experiment"] for e in doc["experiments"]] == ["three-moons", "swiss-roll"]
    moons = doc["experiments"][0]
    assert (moons["points"], moons["classes"], moons["labels"]) == (1500, 3, 75)
    variants = [row["variant"] for row in moons["results"]]
    flows = ["paper", "paper-adaptive", "printed-energy", "ours"]
    assert variants[:9] == [*flows, *flows, "defaults"]
    assert [row["n_neighbors"] for row in moons["results"][:8]] == [10] * 4 + [9] * 4
    assert {"k-means", "spectral", "neighbors", "label-spreading", "svm", "logistic"} < set(variants)
    for row in moons["results"]:
        assert {"experiment", "variant", "n_neighbors", "runs", "accuracy", "sweeps", "seconds"} <= set(row)
        assert set(row["accuracy"]) == set(row["accuracy_all"]) == ACCURACY
        assert row["runs"] == 2
        assert 0 <= row["accuracy"]["min"] <= row["accuracy"]["mean"] <= row["accuracy"]["max"] <= 100
        assert row["seconds"]["flow"] > 0
    by_variant = {row["variant"]: row for row in moons["results"]}
    assert by_variant["paper"]["sweeps"] == 1000
    assert by_variant["paper-adaptive"]["sweeps"] == 51 * 40
    assert by_variant["ours"]["sweeps"] < 500
    assert by_variant["ours"]["accuracy"]["mean"] > 94
    assert moons["reported"]["paper"]["accuracy"] == 95.1
    assert re.fullmatch(r"[0-9a-f]{40}\+?", moons["ran_on"]["commit"])
    assert moons["ran_on"]["source"] == source_digest()


def test_pages_and_pictures(written):
    page = (written / "paper.md").read_text()
    for words in ("## Three moons", "## Swiss roll", "95.1 (2.33)", "*reported*", "numba", "disagree"):
        assert words in page
    web = (written / "paper.html").read_text()
    assert web.count("data:image/png;base64") == 3
    assert "http" not in web.split("</head>")[1], "the page needs nothing from elsewhere"
    pictures = sorted(path.name for path in (written / "paper").glob("*.png"))
    assert pictures == ["swiss-roll.png", "three-moons-evolution.png", "three-moons-segmentation.png"]
    for name in pictures:
        assert f"(paper/{name})" in page
        assert (written / "paper" / name).stat().st_size < 500_000
    assert not list(written.rglob("*.part"))


def test_processes_side_by_side_give_the_same_records(tmp_path):
    one, two = (
        reproduce(("swiss-roll",), tmp_path / str(jobs), runs=3, jobs=jobs)["experiments"][0]["results"]
        for jobs in (1, 2)
    )
    for alone, shared in zip(one, two, strict=True):
        assert shared["runs"] == 3
        assert alone["accuracy"] == shared["accuracy"]
        assert alone["sweeps"] == shared["sweeps"]


def test_a_missing_set_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PHASELABEL_DATA", raising=False)
    assert main(["paper", "cows", "--out", str(tmp_path / "out"), "--quiet"]) == 1
    message = capsys.readouterr().err
    assert "cows_1_20.npz" in message
    assert "PHASELABEL_DATA" in message
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_all_goes_on_without_a_missing_set(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PHASELABEL_DATA", raising=False)
    doc = reproduce(("cows", "two-moons"), tmp_path, runs=1)
    assert list(doc["absent"]) == ["cows"]
    assert "Not run: The data set cows_1_20.npz" in (tmp_path / "paper.md").read_text()
    assert {row["variant"] for row in doc["experiments"][0]["results"]} >= {"binary", "binary-sizes", "paper"}


@pytest.mark.parametrize(
    "words", [["--runs", "0"], ["--runs", "many"], ["--seed", "-1"]], ids=["none", "word", "negative"]
)
def test_wrong_numbers_are_usage_errors(words, capsys):
    with pytest.raises(SystemExit) as done:
        main(["paper", "three-moons", *words])
    assert done.value.code == 2
    assert "whole number" in capsys.readouterr().err


def test_a_folder_that_is_not_there(capsys):
    assert main(["paper", "coil", "--data", os.path.join("no", "such", "folder")]) == 1
    assert "--data" in capsys.readouterr().err


def test_foreign_results_are_not_overwritten(tmp_path, capsys):
    (tmp_path / "paper.json").write_text(json.dumps({"mine": np.pi}))
    assert main(["paper", "swiss-roll", "--runs", "1", "--out", str(tmp_path), "--quiet"]) == 1
    assert "schema" in capsys.readouterr().err
    words = ["--out", str(tmp_path / "out"), "--json", str(tmp_path / "paper.json"), "--quiet"]
    assert main(["paper", "swiss-roll", "--runs", "1", *words]) == 1
    assert "schema" in capsys.readouterr().err
    assert json.loads((tmp_path / "paper.json").read_text()) == {"mine": np.pi}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "paper.md").write_text("three years")
    assert main(["paper", "swiss-roll", "--runs", "1", "--out", str(tmp_path / "mine"), "--quiet"]) == 1
    assert "paper.md would be overwritten" in capsys.readouterr().err
    assert (tmp_path / "mine" / "paper.md").read_text() == "three years"


def test_committed_results_are_those_of_this_code():
    """``phaselabel paper all --out docs`` has to be run again when the results of the flow have changed."""
    doc = json.loads((DOCS / "paper.json").read_text(encoding="utf-8"))
    assert doc["schema"] == 2
    now = probe()
    for experiment in doc["experiments"]:
        assert re.fullmatch(r"[0-9a-f]{40}", experiment["ran_on"]["commit"]), "made with a known commit"
        assert same_results(experiment["ran_on"]["probe"], now), experiment["experiment"]


def test_committed_page_and_results_belong_together():
    """docs/paper.md and docs/paper.json are written by the command; the promised figures stand in them."""
    doc = json.loads((DOCS / "paper.json").read_text(encoding="utf-8"))
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    assert [e["experiment"] for e in doc["experiments"]] == list(RECIPES)
    assert not doc["absent"]
    means = {}
    for experiment in doc["experiments"]:
        name, recipe = experiment["experiment"], RECIPES[experiment["experiment"]]
        assert report.table(experiment) in page
        assert recipe.description in " ".join(page.split())  # it may be wrapped
        for row in experiment["results"]:
            assert row["runs"] == recipe.runs
            if row["n_neighbors"] == recipe.n_neighbors[0]:
                means[name, row["variant"]] = row["accuracy"]["mean"]
                means[name, row["variant"], "all"] = row["accuracy_all"]["mean"]
    assert means["three-moons", "ours"] >= 96.5
    assert means["swiss-roll", "ours"] >= 94.0
    assert means["mnist", "ours"] >= 96.95
    assert means["cows", "ours"] >= 97.5
    assert means["three-moons", "paper"] >= 95.1
    assert means["mnist", "paper"] >= 96.9
    # At the print's precision and counting all points; the page says what is known of the rest.
    assert round(means["coil", "ours", "all"], 1) >= 93.2


def test_committed_page_says_why_the_cows_are_not_shown():
    assert "non-commercial research" in (DOCS / "paper.md").read_text(encoding="utf-8")


def test_committed_page_shows_only_pictures_of_our_own():
    page = (DOCS / "paper.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\((paper/[^)]+)\)", page))
    kept = {f"paper/{path.name}" for path in (DOCS / "paper").iterdir()}
    assert shown == kept
    assert not [name for name in kept if "cows" in name]
