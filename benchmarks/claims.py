"""Check every statement of docs/compare.md about another library against that library: assertions, no output.

Run in the benchmarks' environment (``make bench``); a statement that a newer version makes untrue fails here.
"""

import inspect
import warnings

import graphlearning as gl
import numpy as np
import sklearn.base
import sknetwork.classification as skn
from scipy import sparse
from sklearn.semi_supervised import LabelSpreading


def two_parts():
    """Two separate paths of five rows; the first has a label of either class at its ends."""
    weights = np.zeros((10, 10))
    for start in (0, 5):
        for i in range(start, start + 4):
            weights[i, i + 1] = weights[i + 1, i] = 1
    labels = np.full(10, -1)
    labels[0], labels[4] = 0, 1
    return np.r_[np.arange(5.0), np.arange(5.0) + 1000][:, None], sparse.csr_matrix(weights), labels


def check_scikit_learn():
    """LabelSpreading: two kernels, a dense one by default; new rows; a class for unconnected rows."""
    X, _, labels = two_parts()
    model = LabelSpreading()
    assert (model.kernel, model.gamma) == ("rbf", 20)
    dense = model.fit(X, labels)._get_kernel(X)
    assert isinstance(dense, np.ndarray)
    assert dense.shape == (10, 10)
    near = LabelSpreading(kernel="knn", n_neighbors=2).fit(X, labels)
    graph = near.nn_fit.kneighbors_graph(X, 2, mode="connectivity")
    assert sparse.issparse(graph)
    assert set(graph.data) == {1.0}
    own = LabelSpreading(kernel=lambda a, b: np.exp(-np.abs(a - b.T))).fit(X, labels)
    for model in (LabelSpreading(), near, own):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, labels)
        assert (model.transduction_[5:] == 0).all()
    assert (near.label_distributions_[5:] == 0).all()
    assert near.predict([[0.1]]) == [0]
    assert isinstance(near, sklearn.base.BaseEstimator)


def check_graphlearning():
    """Many methods; graphs from rows; no prediction for new rows; a class for unconnected rows."""
    _, weights, labels = two_parts()
    methods = {name for name, kind in vars(gl.ssl).items() if inspect.isclass(kind) and name != "ssl"}
    assert {
        "laplace",
        "poisson",
        "multiclass_mbo",
        "poisson_mbo",
        "volume_mbo",
        "plaplace",
        "randomwalk",
    } <= methods
    rows = np.random.default_rng(0).normal(size=(60, 3))
    near = gl.weightmatrix.knn(rows, 5)
    distances = gl.weightmatrix.knnsearch(rows, 6)[1]
    i, j = 0, gl.weightmatrix.knnsearch(rows, 6)[0][0][2]
    raw = gl.weightmatrix.knn(rows, 5, symmetrize=False)
    assert sparse.issparse(near)
    assert np.isclose(raw[i, j], np.exp(-4 * distances[0][2] ** 2 / distances[0][5] ** 2))
    graph, known = gl.graph(weights), np.flatnonzero(labels >= 0)
    for model in (
        gl.ssl.laplace(graph),
        gl.ssl.poisson(graph, solver="gradient_descent"),
        gl.ssl.randomwalk(graph),
    ):
        assert (model.fit_predict(known, labels[known])[5:] == 0).all()
        assert list(inspect.signature(model.predict).parameters) == ["ignore_class_priors"]
        assert not isinstance(model, sklearn.base.BaseEstimator)


def check_scikit_network():
    """Four classifiers of a graph's nodes; unreached nodes depend on the method; nothing for new nodes."""
    _, weights, labels = two_parts()
    for name, expected in (("DiffusionClassifier", -1), ("Propagation", -1), ("PageRankClassifier", 0)):
        model = getattr(skn, name)()
        assert (model.fit_predict(weights, labels)[5:] == expected).all()
        assert list(inspect.signature(model.predict).parameters) == ["columns"]
        assert not isinstance(model, sklearn.base.BaseEstimator)
    assert "input_matrix" in inspect.signature(skn.NNClassifier.fit).parameters


if __name__ == "__main__":
    check_scikit_learn()
    check_graphlearning()
    check_scikit_network()
