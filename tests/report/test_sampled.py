"""The report on a model whose rows stay on a cluster, beside the report on the same model in one process."""

import warnings

import dask.array as da
import numpy as np
import pytest

import phaselabel as pl
from clusters import overlapping
from phaselabel.report.findings import gather
from phaselabel.report.page import render
from phaselabel.report.sampled import gather_sample


def fitted(client, **settings):
    X, y = overlapping(1500)
    labels = pl.datasets.sample_labels(y, 20, random_state=3)
    labels[np.flatnonzero(labels >= 0)[:3]] = 2 - labels[np.flatnonzero(labels >= 0)[:3]]
    names = np.array(["ant", "bee", "cow"], object)
    model = pl.GinzburgLandauClassifier(10, unlabeled=None, dask_options={"client": client}, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(da.from_array(X, chunks=(400, -1)), np.where(labels >= 0, names[labels], None))


def test_counts_are_those_of_all_rows_and_the_picture_is_a_sample(client, monkeypatch):
    model = fitted(client)
    expected = gather(model.gathered(), title="rows")
    monkeypatch.setattr(type(model), "gathered", None)  # nothing else may come here
    found = gather_sample(model, title="rows")
    for name in (
        "n_rows",
        "n_given",
        "unreached",
        "shares",
        "bands",
        "suspects",
        "sides",
        "confusion",
        "n_novel",
    ):
        assert getattr(found, name) == getattr(expected, name), name
    np.testing.assert_array_equal(found.histogram, expected.histogram)
    assert found.mean_confidence == pytest.approx(expected.mean_confidence)
    for row, other in zip(found.classes, expected.classes, strict=True):
        assert row == other | {"confidence": pytest.approx(other["confidence"])}
    assert str(found.held) == str(expected.held)
    assert [row["row"] for row in found.query] == [row["row"] for row in expected.doubtful]
    assert [row["found"] for row in found.query] == [row["found"] for row in expected.doubtful]
    picture = found.picture
    assert picture["sampled"]
    assert picture["n"] == len(picture["points"]) <= 1200
    assert sum(point["known"] for point in picture["points"]) == found.n_given
    classes = model.transduction_.compute()
    for point in picture["points"][::50]:
        row, name = point["title"].removeprefix("row ").split(": ")
        assert classes[int(row)] == name
    page = render(found)
    assert "The rows it is least sure of" in page
    assert f"A sample of {picture['n']:,} rows" in page


def test_without_evidence_there_is_nothing_to_report_on(client):
    with pytest.raises(ValueError, match="labels that evidence held back; use evidence"):
        gather_sample(fitted(client, evidence=None))
