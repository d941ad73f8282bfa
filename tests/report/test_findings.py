"""What the report says about a model."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import phaselabel as pl
from phaselabel.io.tables import open_table
from phaselabel.report.findings import gather


def test_counts_and_rows(findings):
    suspects = [row["row"] for row in findings.suspects]
    assert len(suspects) > 2
    assert np.mean([row % 10 == 3 for row in suspects]) >= 0.7
    assert sum(row["given"] for row in findings.classes) == 120
    assert sum(row["found"] for row in findings.classes) == 400
    assert findings.histogram.sum() == findings.n_found == 400 - 120  # rows with a given label don't count
    assert findings.unreached == 0
    assert sum(band["labels"] for band in findings.bands) == len(findings.held.rows)
    confidences = [row["confidence"] for row in findings.doubtful]
    assert confidences == sorted(confidences)
    assert dict(findings.graph)["vertices"] == "400"


def test_rows_are_shown_as_they_stand_in_the_table(findings, tmp_path):
    names = {"digit": ["x"] * 400, "digit_predicted": ["x"] * 400, "n": range(400), "f": np.arange(400) / 3}
    pq.write_table(pa.table(names | {"long": ["w" * 199] * 400}), tmp_path / "t.parquet")
    findings.show_rows(open_table(tmp_path / "t.parquet"))
    row = findings.doubtful[0]
    assert row["shown"] == f"n {row['row']} · f {row['row'] / 3:.4g} · long {'w' * 157}…"
    assert all(entry["shown"].startswith(f"n {entry['row']} ") for entry in findings.suspects)


def test_rows_without_a_label_in_their_component():
    X = np.r_[np.zeros((5, 1)), np.ones((5, 1)) * 9, np.ones((5, 1)) * 99] + np.arange(15)[:, None] / 50
    labels = np.full(15, -1)
    labels[[0, 5]] = 0, 1
    with pytest.warns(UserWarning, match="no label"):
        model = pl.GinzburgLandauClassifier(3, evidence=None).fit(X, labels)
    findings = gather(model, picture=False)
    assert findings.unreached == 5
    assert findings.picture is None
    assert findings.bands == []
    assert dict(findings.graph)["parts with a label"] == "2 of 3"


def test_neighbours_are_sought_as_many_as_the_chosen_graph_has():
    X, y = (part[:500] for part in load_breast_cancer(return_X_y=True))
    known = np.random.default_rng(2).random(len(y)) < 0.4
    model = pl.GinzburgLandauClassifier().fit(scale(X), np.where(known, y, -1))
    assert model.n_neighbors_ == 3  # the usual number is 10
    facts = dict(gather(model, picture=False).graph)
    assert facts["true neighbours that are joined"] == "100.0% of a sample"


def test_the_remarks_of_the_model_are_its_notes():
    model = pl.GinzburgLandauClassifier(2).fit(
        [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], [0, 0, -1, 1, 1, -1]
    )
    model.remarks_ = ["The graph adds nothing here.", "70% of the rows come out as 'a'."]
    assert gather(model, picture=False).notes == model.remarks_


def test_sides_mistakes_and_rows_to_label(findings):
    assert [side["name"] for side in findings.sides] == [
        "guessing",
        "columns alone",
        "graph alone",
        "together",
    ]
    assert sum(sum(counts) for _, counts in findings.confusion["rows"]) == len(findings.held.rows)
    assert findings.mistakes == []
    assert len(findings.query) == 12
    assert all(row["row"] >= 120 for row in findings.query)
    assert findings.verdict.startswith("About ")
