"""A model from a file in, an error out where a kernel could not trust it.

Kernels check no bounds, and follow every index they are given. So every index of a model that comes from a
file is checked once, and numbers that must be finite are.
"""

from typing import Any

import numpy as np
from scipy import sparse

from phaselabel.assess.calibration import Calibration
from phaselabel.counts import is_whole
from phaselabel.evidence.forest import Forest
from phaselabel.evidence.opinion import Choice, Opinion
from phaselabel.evidence.row_models import Curve, Linear, Scale
from phaselabel.flow.minimize import Solution
from phaselabel.flow.star import checked_state
from phaselabel.graph import Graph
from phaselabel.graph.graph import MAX_WEIGHT, SYMMETRY_TOLERANCE
from phaselabel.graph.rungs import asked_neighbors
from phaselabel.graph.weights import check_scale_neighbor

#: Numbers of a model of the rows have at most this size; scaled rows have numbers around 1.
MOST_NUMBER = 1e12


def check_model(model: Any) -> None:
    """Raise ``ValueError`` if the parts of a model don't fit together.

    Parameters
    ----------
    model : estimator
        A classifier whose learned attributes are from a file.
    """
    n, k = _check_graph(model.graph_), len(model.classes_)
    require(_is_array(model.classes_, (k,)) and k > 0, "classes")
    for labels in (model.classes_, model.transduction_):
        require(isinstance(labels, np.ndarray) and _is_readable(labels), "classes")
    require(isinstance(model.solution_, Solution), "solution")
    checked_state(model.solution_, n, k, "its solution")
    require(_is_class_numbers(model.solution_.arm, n, k), "solution")
    require(_is_array(model.solution_.height, (n,), "f"), "solution")
    require(isinstance(model.solution_.energy, np.ndarray), "energy")
    require(_is_class_numbers(model._labels, n, k), "labels")
    require(len(model.transduction_) == n, "transduction")
    novel = getattr(model, "novel_", None)
    require(novel is None or _is_array(novel, (n,), "b"), "far rows")
    _check_rows(model, n)
    calibrations: Any = getattr(model, "_calibrated", None if hasattr(type(model), "calibration_") else [])
    require(isinstance(calibrations, list), "calibration")
    for calibration in calibrations:
        require(isinstance(calibration, Calibration), "calibration")
        require(_is_finite(calibration.base) and _is_finite(calibration.slope), "calibration")
    if hasattr(model, "abstain_below"):
        model._check_abstention()
    opinion = getattr(model, "_believed", None)
    if opinion is not None:
        _check_opinion(opinion, n, k, model.n_features_in_)


def _check_graph(graph: Any) -> int:
    """The number of vertices of a graph whose weights are not negative, not too large and symmetric."""
    weights = graph.weights
    require(isinstance(graph, Graph) and isinstance(weights, sparse.csr_array), "graph")
    n = int(weights.shape[0])
    require(weights.shape == (n, n) and n > 0 and weights.dtype in (np.float32, np.float64), "graph")
    if weights.nnz:
        require(bool(weights.data.min() >= 0 and weights.data.max() <= MAX_WEIGHT), "weights")
        # Two products instead of a transposed copy: by chance alone they would not be equal.
        trial = np.random.default_rng(0).uniform(1, 2, n)
        there, back = weights @ trial, weights.T @ trial
        require(np.allclose(there, back, rtol=SYMMETRY_TOLERANCE, atol=0), "weights")
    return n


def _check_rows(model: Any, n: int) -> None:
    """The fitted rows, where there are any, and a local scale for every one of them."""
    rows, tau = model._fit_X, model._tau
    if model.affinity == "precomputed":
        require(rows is None, "rows")
        return
    require(_is_array(tau, (n,), "f"), "local scales")
    require(bool(tau.min() >= 0 and tau.max() < np.inf), "local scales")
    asked, used = asked_neighbors(model.n_neighbors, n), getattr(model, "n_neighbors_", None)
    require(used is None or (is_whole(used) and 1 <= used < n), "neighbours")
    check_scale_neighbor(model.scale_neighbor, used or asked)
    if model.affinity == "precomputed_nearest_neighbors":
        require(rows is None, "rows")
        return
    require(model.affinity == "nearest_neighbors", "affinity")
    require(isinstance(rows, np.ndarray | sparse.csr_array), "rows")
    require(rows.shape == (n, model.n_features_in_), "rows")
    require(rows.dtype in (np.float32, np.float64, np.uint8), "rows")


def _check_opinion(opinion: Any, n: int, k: int, n_features: int) -> None:
    """What is believed of the rows, and the models of the rows that new rows are shown to."""
    what = "evidence"
    require(isinstance(opinion, Opinion) and isinstance(opinion.choice, Choice), what)
    for table in (opinion.probabilities, opinion.confidence, opinion.graph_logits):
        require(_is_array(table, (n, k), "f") and bool(np.isfinite(table).all()), what)
    require(_is_array(opinion.offsets, (k,), "f") and bool(np.isfinite(opinion.offsets).all()), what)
    sizes = opinion.choice.class_sizes
    require(_is_array(sizes, (k,), "f") and bool(np.isfinite(sizes).all() and (sizes > 0).all()), what)
    m = len(opinion.hidden_rows)
    require(_is_class_numbers(opinion.hidden_rows, m, n) and (m == 0 or opinion.hidden_rows.min() >= 0), what)
    require(_is_array(opinion.hidden_probabilities, (m, k), "f"), what)
    require(_is_finite(opinion.voice) and is_whole(opinion.n_folds), what)
    require(len(opinion.models) == len(opinion.model_weights), what)
    require(all(_is_finite(weight) for weight in opinion.model_weights), what)
    if opinion.scale is not None:
        n_features = _check_scale(opinion.scale, n_features)
    for model in opinion.models:
        _check_row_model(model, k, n_features)


def _check_scale(scale: Any, n_features: int) -> int:
    """The number of columns that the models of the rows see."""
    require(isinstance(scale, Scale) and _is_finite(scale.factor) and scale.factor > 0, "scale")
    if scale.columns is not None:
        m = len(scale.columns)
        require(
            _is_class_numbers(scale.columns, m, n_features) and m > 0 and scale.columns.min() >= 0, "scale"
        )
        n_features = m
    require(_is_array(scale.mean, (n_features,), "f") or _is_array(scale.mean, (0,), "f"), "scale")
    require(bool(np.isfinite(scale.mean).all()), "scale")
    return n_features


def _check_row_model(model: Any, k: int, n_features: int) -> None:
    if isinstance(model, Forest):
        check_forest(model, k, n_features)
    elif isinstance(model, Linear):
        require(_is_array(model.coef, (k, n_features), "f"), "line")
        require(_is_array(model.intercept, (k,), "f"), "line")
        require(_is_moderate(model.coef) and _is_moderate(model.intercept), "line")
    else:
        require(isinstance(model, Curve), "models of the rows")
        m, width = model.landmarks.shape
        expected = model.directions.shape[1] if model.directions.size else n_features
        require(width == expected and _is_array(model.coef, (m, k), "f"), "curve")
        require(_is_array(model.mean, (k,), "f"), "curve")
        parts = (model.landmarks, model.directions, model.coef, model.mean)
        require(all(_is_moderate(part) for part in parts), "curve")


def check_forest(forest: Forest, k: int, n_features: int) -> None:
    """Every child comes after its parent, so each walk ends; every column exists."""
    n = len(forest.feature)
    require(n > 0 and len(forest.roots) > 0, "trees")
    for nodes in (forest.left, forest.right, forest.feature):
        require(_is_array(nodes, (n,), "i"), "trees")
    require(_is_array(forest.roots, (len(forest.roots),), "i"), "trees")
    require(bool(forest.roots.min() >= 0 and forest.roots.max() < n), "trees")
    inner = np.flatnonzero(forest.left >= 0)
    for children in (forest.left[inner], forest.right[inner]):
        require(bool((children > inner).all() and (children < n).all()), "trees")
    columns = forest.feature[inner]
    require(bool((columns >= 0).all() and (columns < n_features).all()), "trees")
    require(_is_array(forest.threshold, (n,), "f"), "trees")
    require(_is_array(forest.value, (n, k), "f") and bool(np.isfinite(forest.value).all()), "trees")
    require(bool((forest.value >= 0).all()), "trees")


def _is_array(value: Any, shape: tuple[int, ...], kind: str = "") -> bool:
    return isinstance(value, np.ndarray) and value.shape == shape and (not kind or value.dtype.kind == kind)


def _is_moderate(values: Any) -> bool:
    """Whether all numbers are finite, and so small that sums of their products are."""
    numbers = values.data if sparse.issparse(values) else values
    return not numbers.size or bool(np.abs(numbers).max() <= MOST_NUMBER)


def _is_readable(labels: Any) -> bool:
    """Whether the texts among labels are made of letters that exist."""
    if labels.dtype.kind != "U":
        return True
    letters = np.ascontiguousarray(labels).view(np.uint32)
    return not letters.size or bool(letters.max() <= 0x10FFFF)


def _is_class_numbers(arm: Any, n: int, k: int) -> bool:
    """Whether these are n class numbers below k, -1 where there is none."""
    return _is_array(arm, (n,), "i") and (n == 0 or bool(arm.min() >= -1 and arm.max() < k))


def _is_finite(value: Any) -> bool:
    return (is_whole(value) or isinstance(value, float | np.floating)) and bool(np.isfinite(value))


def require(sound: bool, what: str) -> None:
    """Refuse a model, naming the part that is not sound."""
    if not sound:
        raise ValueError(f"its {what} and its other parts don't fit together")
