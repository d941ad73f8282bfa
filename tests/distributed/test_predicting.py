"""A model fitted on Dask does what a local one does; a local one labels Dask collections."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import phaselabel as pl
from clusters import blobs


@pytest.fixture(scope="module")
def fitted(client, digits):
    X, y = digits
    labels = pl.datasets.sample_labels(y, 5, random_state=0)
    labels[7] = (y[7] + 1) % 10
    model = pl.GinzburgLandauClassifier(dask_options={"client": client})
    return model.fit(da.from_array(X, chunks=(600, -1)), labels), local_fit(X, labels)


def local_fit(X, labels, **settings):
    return pl.GinzburgLandauClassifier(**settings).fit(X, labels)


def test_methods_of_a_model_fitted_on_dask_equal_those_of_a_local_one(fitted, digits):
    model, local = fitted
    new = digits[0][:200] + 0.25
    np.testing.assert_array_equal(model.predict(new), local.predict(new))
    np.testing.assert_allclose(model.predict_proba(new), local.predict_proba(new), rtol=1e-9)
    np.testing.assert_allclose(model.label_distributions_, local.label_distributions_, rtol=1e-9)
    np.testing.assert_allclose(model.class_size_intervals_, local.class_size_intervals_, rtol=1e-9)
    np.testing.assert_array_equal(model.suspect_labels_, local.suspect_labels_)
    assert len(model.suspect_labels_)
    np.testing.assert_array_equal(model.query(3), local.query(3))
    assert [row for row, *_ in model.explain(100)] == [row for row, *_ in local.explain(100)]
    assert model.hold_out(3).accuracy == local.hold_out(3).accuracy


def test_calibration_and_verdict_are_those_of_the_last_fit(client, fitted, digits):
    model, local = fitted
    assert model.calibration_ == local.calibration_
    assert model._summary()[1][0].startswith("About ")
    X, y = digits
    labels = pl.datasets.sample_labels(y, 5, random_state=1)
    model = pl.GinzburgLandauClassifier(evidence=None).fit(X[:900], labels[:900])
    earlier = model.calibration_
    model.dask_options = {"client": client}
    model.fit(da.from_array(X, chunks=(600, -1)), labels)
    assert model.calibration_ == local_fit(X, labels, evidence=None).calibration_ != earlier


def test_a_model_fitted_on_dask_is_saved_and_loaded(fitted, digits, tmp_path):
    model, local = fitted
    model.save(tmp_path / "model")
    loaded = pl.load(tmp_path / "model")
    new = digits[0][:50] + 0.25
    np.testing.assert_array_equal(loaded.predict(new), local.predict(new))
    np.testing.assert_array_equal(loaded.transduction_, local.transduction_)


def test_new_rows_in_a_dask_array(fitted, digits):
    model, local = fitted
    new = digits[0][:500] + 0.25
    labels = model.predict(da.from_array(new, chunks=(120, 40)))
    assert labels.chunks == ((120, 120, 120, 120, 20),)
    np.testing.assert_array_equal(labels.compute(), local.predict(new))
    odds = local.predict_proba(da.from_array(new, chunks=(200, -1)))
    assert odds.shape == (500, 10)
    with pytest.raises(ValueError, match="X has 30 features, but the model was fitted on 64"):
        model.predict(da.from_array(new[:, :30]))
    for _ in range(10):  # the model of the last call may still be on its way out
        assert labels.shape == model.predict(da.from_array(new, chunks=(250, -1))).compute().shape
    # Products round by the number of rows in a chunk: log-odds of up to 30, in single precision (6e-8 each).
    np.testing.assert_allclose(odds.compute(), local.predict_proba(new), rtol=1e-5)


def test_data_frames_in_and_new_ones_labelled(client):
    X, y = blobs(1_200, seed=5)
    names = np.array(["ant", "bee", "cow", "dog", "eel"], object)
    known = pl.datasets.sample_labels(y, 10, random_state=0) >= 0
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame = frame.astype({"x0": "Float64", "x1": "float32[pyarrow]"})
    labels = pd.Series(pd.Categorical(np.where(known, names[y], None)))
    model = pl.GinzburgLandauClassifier(unlabeled=None, dask_options={"client": client})
    model.fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels.to_frame(), npartitions=4))
    local = local_fit(frame, labels, unlabeled=None)
    np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    new = frame[:100] + 0.01
    predicted = model.predict(dd.from_pandas(new, npartitions=2)).compute()
    np.testing.assert_array_equal(predicted, local.predict(new))


def test_a_model_too_large_for_one_process_is_refused_in_a_sentence(client, digits, monkeypatch):
    X, y = digits
    labels = pl.datasets.sample_labels(y, 5, random_state=0)
    model = pl.GinzburgLandauClassifier(evidence=None, dask_options={"client": client})
    model.fit(da.from_array(X, chunks=(600, -1)), labels)
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 10_000}))
    with pytest.raises(ValueError, match="in one process, where 9"):
        model.predict(X[:5])


def words(n=900):
    """Sparse rows of two thousand columns, a topic in three."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    columns = (600 * y[:, None] + rng.integers(0, 900, (n, 30))).ravel()
    entries = np.ones(len(columns)), (np.repeat(np.arange(n), 30), columns)
    return sparse.csr_array(entries, shape=(n, 2_100)), y


@pytest.mark.parametrize("in_blocks", ["auto", True])
def test_sparse_rows(client, in_blocks):
    from scipy import sparse

    X, y = words()
    labels = pl.datasets.sample_labels(y, 8, random_state=0)
    settings = {"n_neighbors": 10, "metric": "cosine"}
    parts = [dask.delayed(X[start : start + 300]) for start in range(0, len(y), 300)]
    meta = sparse.csr_array((0, 0))
    rows = da.concatenate([da.from_delayed(part, (300, X.shape[1]), meta=meta) for part in parts])
    model = pl.GinzburgLandauClassifier(dask_options={"client": client, "in_blocks": in_blocks}, **settings)
    model.fit(rows, labels)
    local = local_fit(X, labels, **settings)
    np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
    assert model._fitted.outcome.in_blocks is (in_blocks is True)
    np.testing.assert_allclose(model.confidence_.compute(), local.confidence_, atol=5e-3)
    np.testing.assert_array_equal(model.predict(rows).compute(), local.predict(X))
