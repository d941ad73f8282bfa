"""Saved models: the same answers back, and nothing in a stranger's file that could do harm."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import phaselabel as pl
from phaselabel.estimators.saving import load_with_extra, save


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits
    return pl.GinzburgLandauClassifier().fit(X[:300], np.where(np.arange(300) < 60, y[:300], -1))


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["model", "model.zip"])
def test_the_same_bits_come_back(model, digits, tmp_path, name):
    model.save(tmp_path / name)
    again = pl.load(tmp_path / name)
    X = digits[0][300:400]
    assert (again.predict(X) == model.predict(X)).all()
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    for attribute in ("transduction_", "confidence_", "label_distributions_", "classes_", "energy_"):
        assert (getattr(again, attribute) == getattr(model, attribute)).all()
    assert again.get_params() == model.get_params()
    assert again.solution_.status == model.solution_.status
    assert isinstance(again._fit_X, np.memmap) == (name == "model")


def test_a_loaded_model_can_be_fitted_and_saved_again(saved, digits, tmp_path):
    again = pl.load(saved)
    again.save(tmp_path / "second")
    assert again.fit(digits[0][:100], digits[1][:100]).n_iter_ > 0
    assert pl.load(tmp_path / "second").n_features_in_ == 64


@pytest.mark.parametrize("y", [["ä", None, 'b "q"\n', None], [True, None, False, None], [3, -1, 7, -1]])
def test_labels_of_every_type(y, tmp_path):
    X = [[0.0], [0.1], [5.0], [5.1]]
    for estimator in (pl.GinzburgLandauClassifier, pl.BinaryGinzburgLandauClassifier):
        model = estimator(n_neighbors=1).fit(X, y)
        model.save(tmp_path / "m", overwrite=True)
        again = pl.load(tmp_path / "m")
        assert again.classes_.tolist() == model.classes_.tolist()
        assert again.predict(X).tolist() == model.predict(X).tolist()


def test_ready_made_graphs_and_parameters_of_every_type(tmp_path):
    W = np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]])
    model = pl.GinzburgLandauClassifier(
        affinity="precomputed",
        epsilon=pl.Geometric(2.0, 0.5),
        fidelity=np.full(4, 3.0),
        init=pl.State(np.array([0, 0, 1, 1]), np.full(4, 0.2)),
        callbacks=pl.History(),
    ).fit(W, [0, -1, -1, 1])
    model.save(tmp_path / "m")
    again = pl.load(tmp_path / "m")
    assert again.epsilon == model.epsilon
    assert (again.init.height == model.init.height).all()
    assert (again.fidelity == model.fidelity).all()
    assert again.predict(W).tolist() == model.predict(W).tolist()


@pytest.mark.parametrize("evidence", ["auto", None])
def test_a_warm_start_is_not_kept(digits, tmp_path, evidence):
    X, y = digits[0][:300], np.where(np.arange(300) < 60, digits[1][:300], -1)
    earlier = pl.GinzburgLandauClassifier(evidence=evidence).fit(X, np.where(np.arange(300) < 50, y, -1))
    model = pl.GinzburgLandauClassifier(evidence=evidence, init=earlier, dask_options={"progress": print})
    model.fit(X, y).save(tmp_path / "m")
    again = pl.load(tmp_path / "m")
    assert (again.init, again.dask_options) == ("auto", None)
    assert (again.transduction_ == model.transduction_).all()
    assert (again.hold_out().found == model.hold_out().found).all()


def test_a_classifier_as_evidence_is_refused_with_a_remedy(tmp_path):
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    given = pl.GinzburgLandauClassifier(3, evidence=GaussianNB()).fit(X, np.where(np.arange(20) % 2, y, -1))
    with pytest.raises(ValueError, match=r"without pickle; give its predict_proba\(X\) as evidence, or"):
        given.save(tmp_path / "m")


def test_it_refuses_what_it_cannot_keep(model, tmp_path):
    with pytest.raises(ValueError, match="without pickle"):
        save(model, tmp_path / "m", extra={"odd": object()})
    with pytest.raises(Exception, match="not fitted"):
        pl.GinzburgLandauClassifier().save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_an_existing_model_is_kept_unless_told(model, saved):
    with pytest.raises(FileExistsError, match="overwrite"):
        model.save(saved)
    model.save(saved, overwrite=True)
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def edit(saved, change):
    manifest = json.loads((saved / "model.json").read_text())
    change(manifest)
    (saved / "model.json").write_text(json.dumps(manifest))


def test_a_newer_file_says_so(saved):
    edit(saved, lambda manifest: manifest.update(version=99, written_by="phaselabel 7.1"))
    with pytest.raises(ValueError, match=r"written by phaselabel 7\.1 .* upgrade"):
        pl.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(format="something"),
        lambda m: m.update(estimator="os.system"),
        lambda m: m["learned"]["dict"].update(fit=1),
        lambda m: m["learned"]["dict"].update({"__class__": 1}),
        lambda m: m["learned"]["dict"].pop("graph_"),
        lambda m: m["learned"]["dict"]["classes_"].update(array="../../secret"),
        lambda m: m["learned"]["dict"]["classes_"].update(array=77),
        lambda m: m["learned"]["dict"]["classes_"].update(shape=[3]),
        lambda m: m["learned"]["dict"]["solution_"].update({"class": "Popen"}),
        lambda m: m["learned"]["dict"]["solution_"]["fields"]["dict"].pop("arm"),
        lambda m: m["learned"].update(dict=[1, 2]),
    ],
)
def test_a_strange_manifest_is_refused(saved, change):
    edit(saved, change)
    with pytest.raises(ValueError, match="model"):
        pl.load(saved)


def array_of(saved, *keys):
    node = json.loads((saved / "model.json").read_text())["learned"]["dict"]
    for key in keys:
        node = node[key]
    return saved / f"array-{node['array']:03}.npy"


def test_indices_that_point_outside_are_refused(saved):
    weights = ("graph_", "fields", "dict", "weights", "csr", "dict")
    for keys, value in (((*weights, "indices"), 10**6), ((*weights, "indptr"), 10**6)):
        path = array_of(saved, *keys)
        good = np.load(path)
        bad = good.copy()
        bad[5] = value
        np.save(path, bad)
        with pytest.raises(ValueError, match="indices outside"):
            pl.load(saved)
        np.save(path, good)
    path = array_of(saved, "solution_", "fields", "dict", "arm")
    arm = np.load(path)
    arm[0] = 10
    np.save(path, arm)
    with pytest.raises(ValueError, match="has arms from 0 to 10"):
        pl.load(saved)


def test_no_pickle_is_opened(saved):
    np.save(array_of(saved, "classes_"), np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="pickle"):
        pl.load(saved)


def test_compressed_archives_are_refused(model, tmp_path):
    model.save(tmp_path / "m.zip")
    with (
        zipfile.ZipFile(tmp_path / "m.zip") as old,
        zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ValueError, match="compressed"):
        pl.load(tmp_path / "c.zip")


def test_what_is_no_model(tmp_path):
    (tmp_path / "text.zip").write_text("hello")
    (tmp_path / "empty").mkdir()
    for name, words in (
        ("text.zip", "not a model"),
        ("empty", "no model.json"),
        ("none", "There is no model"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            pl.load(tmp_path / name)
    shutil.rmtree(tmp_path / "empty")


def test_extra_values_are_kept(model, tmp_path):
    save(model, tmp_path / "m", extra={"label": "ä", "given": np.arange(3), "words": {"a": ("x", "y")}})
    _, extra = load_with_extra(tmp_path / "m")
    assert extra["label"] == "ä"
    assert extra["given"].tolist() == [0, 1, 2]
    assert extra["words"] == {"a": ("x", "y")}


def test_a_model_of_the_first_version_is_read():
    path = Path(__file__).parent / "data" / "model-version-1.zip"
    model, extra = load_with_extra(path)
    assert model.transduction_.tolist() == ["ä", "b", "c"] * 8
    assert model.epsilon == pl.Geometric(1.0, 0.5)
    assert model.predict([[0.0, 0.0], [6.0, 6.0], [12.0, 0.0]]).tolist() == ["ä", "b", "c"]
    assert extra == {"label": "k", "words": {"colour": ["red", "blue"]}}


@pytest.mark.parametrize(
    "labels",
    [
        [(1, 2), (3, 4)],
        [(1,), (3,)],
        [("a", (1, 2.5)), ("b", ())],
        ["a", "a\0"],
        [2**63, -(2**63) - 1],
        [b"a", b"b"],
        [np.datetime64("2024-01-01"), np.datetime64("2024-01-02")],
    ],
    ids=str,
)
def test_labels_come_back_as_they_were(labels, tmp_path):
    y = np.empty(4, object)
    y[:] = [None] * 4
    y[0], y[2] = labels
    model = pl.GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], y)
    model.save(tmp_path / "m")
    again = pl.load(tmp_path / "m")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert [type(label) for label in again.classes_.tolist()] == [
        type(label) for label in model.classes_.tolist()
    ]
    assert again.predict([[5.2]]).tolist() == model.predict([[5.2]]).tolist()
    assert model.predict([[5.2]])[0] == y[2]


@pytest.mark.parametrize("mark", [b"?", np.datetime64("1970-01-01"), (0, 0), None, float("nan")])
def test_markers_of_every_type(mark, tmp_path):
    model = pl.GinzburgLandauClassifier(1, unlabeled=mark, class_sizes={0: 0.5, 1: 0.5})
    model.fit([[0.0], [0.1], [5.0], [5.1]], np.array([0, None, 1, None], object)).save(tmp_path / "m")
    again = pl.load(tmp_path / "m")
    assert type(again.unlabeled) is type(mark)
    assert again.unlabeled == mark or mark != mark
    assert again.class_sizes == {0: 0.5, 1: 0.5}


# -- crafted models


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["parameters"]["dict"].update(affinity="precomputed"),
        lambda m: m["parameters"]["dict"].update(affinity="nothing"),
        lambda m: m["parameters"]["dict"].update(n_neighbors=10**9),
        lambda m: m["parameters"]["dict"].update(n_neighbors=-1),
        lambda m: m["parameters"]["dict"].update(scale_neighbor=10**9),
        lambda m: m["parameters"]["dict"].update(unknown=1),
        lambda m: m["learned"]["dict"].update(_tau=None),
        lambda m: m["learned"]["dict"].update(_fit_X=None),
        lambda m: m["learned"]["dict"].update(graph_=m["learned"]["dict"]["solution_"]),
        lambda m: m["learned"]["dict"].update(_calibrated={"list": [1]}),
        lambda m: m["learned"]["dict"]["classes_"].update(array=True),
        lambda m: m["learned"]["dict"]["classes_"].update(array=-1),
        lambda m: m["learned"]["dict"]["classes_"].update(array=10**400),
        lambda m: m["learned"]["dict"]["graph_"]["fields"]["dict"]["weights"].update(shape=[1e400, 2]),
        lambda m: m["learned"]["dict"]["graph_"]["fields"]["dict"]["weights"].update(shape=[300]),
        lambda m: m["learned"]["dict"].update(remarks_=[[]]),
        lambda m: m["learned"]["dict"].update(remarks_={"bytes": "?"}),
        lambda m: m["learned"]["dict"].update(remarks_={"scalar": 5}),
        lambda m: m["learned"]["dict"].update(remarks_={"pairs": {"list": [1]}}),
        lambda m: m["learned"]["dict"].update(remarks_={"pairs": {"list": [{"list": [{"list": []}, 1]}]}}),
        lambda m: m.update(parameters=7),
        lambda m: m.update(learned=None),
    ],
)
def test_crafted_values_are_refused(saved, change):
    edit(saved, change)
    with pytest.raises(ValueError, match="model"):
        pl.load(saved)


def nested(text, depth):
    """The manifest with a deep value that nobody asks for, and with one as its ``extra``."""
    deep = '{"list": [' * depth + "1" + "]}" * depth
    yield text.replace('"learned"', f'"more": {deep}, "learned"', 1)
    yield text.replace('"extra": {', f'"extra": {deep}, "other": {{', 1)


def test_nesting_without_end_is_refused(saved):
    for manifest in nested((saved / "model.json").read_text(), 10**6):
        (saved / "model.json").write_text(manifest)
        with pytest.raises(ValueError, match="maximum recursion depth"):
            pl.load(saved)


def test_deep_nesting_is_read_or_refused_as_the_version_of_python_can(saved, model):
    for manifest in nested((saved / "model.json").read_text(), 900):
        (saved / "model.json").write_text(manifest)
        try:
            again = pl.load(saved)
        except ValueError as error:
            assert "maximum recursion depth" in str(error)  # noqa: PT017
        else:
            assert (again.transduction_ == model.transduction_).all()


# -- saving beside others


def test_only_a_model_is_replaced(model, tmp_path):
    (tmp_path / "results" / "papers").mkdir(parents=True)
    (tmp_path / "results" / "papers" / "thesis.tex").write_text("three years")
    (tmp_path / "thesis.zip").write_text("three years")
    (tmp_path / "file").write_text("three years")
    for name in ("results", "thesis.zip", "file"):
        with pytest.raises(FileExistsError, match=r"not replaced|is a file, and a folder"):
            model.save(tmp_path / name, overwrite=True)
    model.save(tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="did not write"):
        model.save(tmp_path / "model", overwrite=True)
    (tmp_path / "model" / "notes.txt").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "model")
    with pytest.raises(FileExistsError, match="is a link"):
        model.save(tmp_path / "link", overwrite=True)
    model.save(tmp_path / "model", overwrite=True)
    assert (tmp_path / "results" / "papers" / "thesis.tex").read_text() == "three years"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link", "model", "results", "thesis.zip"]


@pytest.mark.parametrize("name", ["m", "m.zip"])
def test_threads_save_and_load_one_path(model, tmp_path, name):
    failures = []

    def work(function):
        try:
            for _ in range(10):
                function()
        except Exception as error:
            failures.append(repr(error))

    model.save(tmp_path / name)
    work_of = [lambda: model.save(tmp_path / name, overwrite=True)] * 4 + [
        lambda: pl.load(tmp_path / name)
    ] * 2
    threads = [threading.Thread(target=work, args=(function,)) for function in work_of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (pl.load(tmp_path / name).transduction_ == model.transduction_).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed between two instructions")
@pytest.mark.parametrize("name", ["m", "m.zip"])
def test_a_killed_process_leaves_a_whole_model(model, tmp_path, name):
    model.save(tmp_path / name)
    code = (
        "import sys, phaselabel as pl\n"
        "model = pl.load(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    model.save(sys.argv[1], overwrite=True)\n"
    )
    rng = np.random.default_rng(0)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / name)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.communicate()
        assert (pl.load(tmp_path / name).transduction_ == model.transduction_).all()
    model.save(tmp_path / name, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_model_of_the_second_version_is_read():
    path = Path(__file__).parent / "data" / "model-version-2.zip"
    model, extra = load_with_extra(path)
    expected = [("a", 1), ("b", 2), ("c", 3)]
    assert model.transduction_.tolist() == [label for label in expected for _ in range(3)]
    assert model.predict([[0.0, 0.2], [6.0, 5.9], [12.2, 0.0]]).tolist() == expected
    assert extra == {"day": np.datetime64("2026-01-01"), "raw": b"\0\1"}
