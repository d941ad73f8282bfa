"""Models from files: what a kernel could not trust is refused."""

import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import phaselabel as pl
from phaselabel.estimators.model_checks import check_model
from phaselabel.evidence.forest import Forest
from phaselabel.evidence.row_models import Curve, Linear, Scale


@pytest.fixture(scope="module")
def model(digits):
    X, y = digits
    return pl.GinzburgLandauClassifier().fit(X[:300], np.where(np.arange(300) < 60, y[:300], -1))


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def change_array(saved, keys, change):
    """Put another array in the place of one, and say so in model.json."""
    manifest = json.loads((saved / "model.json").read_text())
    node = manifest["learned"]["dict"]
    for key in keys:
        node = node[key]
    path = saved / f"array-{node['array']:03}.npy"
    array = change(np.load(path))
    np.save(path, array)
    node.update(dtype=str(array.dtype), shape=list(array.shape))
    (saved / "model.json").write_text(json.dumps(manifest))


def with_value(index, value):
    def change(array):
        array[index] = value
        return array

    return change


WEIGHTS = ("graph_", "fields", "dict", "weights", "csr", "dict")
SOLUTION = ("solution_", "fields", "dict")


@pytest.mark.parametrize(
    ("keys", "change"),
    [
        (("_tau",), lambda a: a[:0]),
        (("_tau",), lambda a: a[:-1]),
        (("_tau",), with_value(3, np.nan)),
        (("_tau",), with_value(3, -1.0)),
        (("_tau",), lambda a: a.astype(int)),
        ((*SOLUTION, "height"), with_value(3, np.nan)),
        ((*SOLUTION, "height"), with_value(3, 0.7)),
        ((*SOLUTION, "height"), lambda a: a[:, None]),
        ((*SOLUTION, "arm"), with_value(0, -2)),
        ((*SOLUTION, "arm"), lambda a: a[:-1]),
        ((*SOLUTION, "arm"), lambda a: a.astype(np.uint32)),
        ((*SOLUTION, "arm"), lambda a: a.astype(float)),
        (("_labels",), with_value(0, 10)),
        (("_labels",), lambda a: a.astype("U1")),
        (("classes_",), lambda a: a[:3]),
        (("classes_",), lambda a: a[:0]),
        (("classes_",), lambda a: a[:, None]),
        (("_fit_X",), lambda a: a[:-1]),
        (("_fit_X",), lambda a: a[:, :-1]),
        (("_fit_X",), lambda a: a.astype(complex)),
        (("_fit_X",), lambda a: a.ravel()),
        (("transduction_",), lambda a: a[:-1]),
        ((*WEIGHTS, "data"), with_value(3, np.nan)),
        ((*WEIGHTS, "data"), with_value(3, -1.0)),
        ((*WEIGHTS, "data"), with_value(3, np.inf)),
        ((*WEIGHTS, "data"), with_value(3, 5.0)),  # the other direction of the edge has another weight
        ((*WEIGHTS, "data"), lambda a: a * np.float32(1e32)),
        ((*WEIGHTS, "data"), lambda a: a.astype(int)),
        ((*WEIGHTS, "data"), lambda a: a[:-1]),
        ((*WEIGHTS, "indices"), lambda a: a.astype(np.int16)),
        ((*WEIGHTS, "indices"), lambda a: a.astype(float)),
        ((*WEIGHTS, "indices"), with_value(3, -1)),
        ((*WEIGHTS, "indptr"), lambda a: a[:-1]),
        ((*WEIGHTS, "indptr"), with_value(3, 0)),
    ],
)
def test_arrays_that_kernels_could_not_trust_are_refused(saved, keys, change):
    pl.load(saved)
    change_array(saved, keys, change)
    with pytest.raises(ValueError, match=r"^(?!.*is damaged.*is damaged).* is damaged"):
        pl.load(saved)


# -- evidence


def with_evidence(model, **changes):
    other = copy(model)
    other._believed = replace(model._believed, **changes)
    return other


@pytest.fixture(scope="module")
def rows(digits):
    """The labelled rows on their scale, and their classes."""
    X, y = digits
    scale = Scale.of(X[:300])
    return scale, scale(X[:60]), y[:60]


@pytest.fixture(scope="module")
def forest(rows):
    return Forest.fit(rows[1], rows[2], 10, 20)


def test_every_model_of_the_rows_is_accepted(model, rows, forest):
    scale, X, y = rows
    wide = np.eye(64, 20, dtype=np.float32)
    models = [
        forest,
        Linear.fit(X, y, 10),
        Curve.fit(X, y, 10, np.zeros((0, 0), np.float32)),
        Curve.fit(X, y, 10, wide),
    ]
    check_model(with_evidence(model, models=models, model_weights=[0.25] * 4, scale=scale))
    check_model(with_evidence(model, models=[], model_weights=[], scale=None))


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    "change",
    [
        lambda f: {"left": changed(f.left, 0, 10**6)},
        lambda f: {"right": changed(f.right, 0, 10**6)},
        lambda f: {"right": changed(f.right, 0, -1)},
        lambda f: {"left": changed(f.left, 0, 0)},  # a node that is its own child: a walk without end
        lambda f: {"left": changed(f.left, 5, 2) if f.left[5] >= 0 else changed(f.left, 5, 4)},
        lambda f: {"left": f.left[:-1]},
        lambda f: {"left": f.left.astype(float)},
        lambda f: {"roots": changed(f.roots, 0, len(f.left))},
        lambda f: {"roots": changed(f.roots, 0, -1)},
        lambda f: {"roots": f.roots[:0]},
        lambda f: {"feature": changed(f.feature, 0, 64)},
        lambda f: {"feature": changed(f.feature, 0, -3)},
        lambda f: {"feature": f.feature[:0]},
        lambda f: {"threshold": f.threshold[:-1]},
        lambda f: {"value": f.value[:-1]},
        lambda f: {"value": f.value[:, :-1]},
        lambda f: {"value": changed(f.value, (0, 0), np.nan)},
        lambda f: {"value": changed(f.value, (0, 0), -1)},
    ],
)
def test_trees_that_lead_nowhere_are_refused(model, rows, forest, change):
    with pytest.raises(ValueError, match="trees"):
        check_model(
            with_evidence(
                model, models=[replace(forest, **change(forest))], model_weights=[1.0], scale=rows[0]
            )
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda o: {"probabilities": o.probabilities[:-1]},
        lambda o: {"confidence": o.confidence[:, :-1]},
        lambda o: {"graph_logits": changed(o.graph_logits, (0, 0), np.nan)},
        lambda o: {"offsets": o.offsets[:-1]},
        lambda o: {"offsets": None},
        lambda o: {"hidden_rows": changed(o.hidden_rows, 0, 300)},
        lambda o: {"hidden_rows": changed(o.hidden_rows, 0, -1)},
        lambda o: {"hidden_probabilities": o.hidden_probabilities[:-1]},
        lambda o: {"voice": float("nan")},
        lambda o: {"voice": "1"},
        lambda o: {"n_folds": None},
        lambda o: {"choice": None},
        lambda o: {"models": [None] * len(o.models)},
        lambda o: {"models": [*o.models, *o.models]},
        lambda o: {"model_weights": [float("inf")] * len(o.models)},
        lambda o: {"scale": Scale(np.zeros(63, np.float32), 1.0)},
        lambda o: {"scale": Scale(np.zeros(64, np.float32), 0.0)},
        lambda o: {"scale": replace(o.scale, columns=np.arange(63))},
        lambda o: {"scale": replace(o.scale, columns=np.arange(1, 65))},
        lambda o: {"scale": replace(o.scale, columns=np.arange(-1, 63))},
        lambda o: {"scale": replace(o.scale, columns="all")},
        lambda o: {"models": [Linear(np.zeros((10, 63), np.float32), np.zeros(10, np.float32))]},
        lambda o: {"models": [Linear(np.full((10, 64), np.nan, np.float32), np.zeros(10, np.float32))]},
        lambda o: {"models": [Linear(np.full((10, 64), 1e30, np.float32), np.zeros(10, np.float32))]},
    ],
)
def test_evidence_that_does_not_fit_is_refused(model, rows, change):
    line = Linear.fit(*rows[1:], 10)
    one = with_evidence(model, models=[line], model_weights=[0.5], scale=rows[0])
    check_model(one)
    with pytest.raises((ValueError, AttributeError, TypeError)):
        check_model(with_evidence(one, **change(one._believed)))


@pytest.mark.parametrize("used", [0, 300, -1, 2.0, "5", True])
def test_numbers_of_neighbours_that_no_search_takes(model, used):
    other = copy(model)
    other.n_neighbors_ = used
    with pytest.raises(ValueError, match="neighbours"):
        check_model(other)


def test_sparse_rows_and_ready_made_graphs_are_accepted(digits):
    X, y = digits
    labels = np.where(np.arange(200) < 40, y[:200], -1)
    check_model(pl.GinzburgLandauClassifier(5).fit(sparse.csr_array(X[:200]), labels))
    graph = pl.similarity_graph(pl.nearest_neighbors(X[:200], 5))
    check_model(pl.GinzburgLandauClassifier(affinity="precomputed").fit(graph, labels))
    check_model(pl.BinaryGinzburgLandauClassifier(5).fit(X[:200], np.where(labels >= 0, labels > 4, None)))


@pytest.mark.parametrize("below", ["0.5", True, 2.0, [0.5]])
def test_a_model_that_abstains_by_something_else_than_a_number_is_refused(tmp_path, below):
    fitted = pl.GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
    fitted.abstain_below = below
    fitted.save(tmp_path / "m")
    with pytest.raises(ValueError, match="abstain_below"):
        pl.load(tmp_path / "m")


def test_names_of_classes_that_are_no_letters_are_refused(tmp_path):
    fitted = pl.GinzburgLandauClassifier(1).fit([[0.0], [0.1], [5.0], [5.1]], ["a", None, "b", None])
    check_model(fitted)
    fitted.classes_ = np.full(2, 0x7FFFFFFF, np.uint32).view("<U1")
    with pytest.raises(ValueError, match="classes"):
        check_model(fitted)
