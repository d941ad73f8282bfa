"""Saved models: the same answers back, and nothing in a stranger's file that could do harm."""

import json
import shutil
import zipfile

import numpy as np
import pytest

import phaselabel as pl
from phaselabel.storage import load_extra, save


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
    with pytest.raises(ValueError, match="fit together"):
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
    extra = load_extra(tmp_path / "m")
    assert extra["label"] == "ä"
    assert extra["given"].tolist() == [0, 1, 2]
    assert extra["words"] == {"a": ["x", "y"]}
