"""Rows in, a graph out; a solution in, votes on new rows out: what the graph classifiers share."""

import logging
import warnings
from abc import ABC, abstractmethod
from datetime import date
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from phaselabel.assess.calibration import as_distributions
from phaselabel.estimators import saving
from phaselabel.estimators.notebook import InNotebook, shares
from phaselabel.few_labels.sharpen import sharpened
from phaselabel.flow.minimize import Solution
from phaselabel.flow.vote_shares import LARGEST_TABLE, vote_shares, votes_on
from phaselabel.graph import Graph, Neighbors, nearest_neighbors, similarity_graph
from phaselabel.graph.rungs import asked_neighbors
from phaselabel.graph.table_checks import as_float
from phaselabel.graph.weights import check_scale_neighbor, local_scales, scaled_squares
from phaselabel.io.rows import as_rows
from phaselabel.labels import as_array, decode, is_known

log = logging.getLogger(__name__)

#: Libraries whose graphs are converted by a method of Graph.
GRAPH_LIBRARIES = {"networkx": "networkx", "igraph": "igraph", "torch_geometric": "pyg"}

AFFINITIES = ("nearest_neighbors", "precomputed", "precomputed_nearest_neighbors")


class GraphClassifier(InNotebook, ClassifierMixin, BaseEstimator, ABC):
    """What the graph classifiers share: the graph before the flow, and new rows after it."""

    n_neighbors: int | Literal["auto"]
    scale_neighbor: int | None
    affinity: str
    metric: str = "euclidean"
    verbose: bool = False
    unlabeled: Any
    tol: float

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Label every row of ``X`` from the known entries of ``y``."""

    def fit_predict(self, X: Any, y: Any) -> NDArray[Any]:
        """Fit and return the label of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or Graph
            The rows, as in :meth:`fit`.
        y : array-like of shape (n_samples,)
            The few labels, as in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``transduction_``.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model.fit_predict([[0.0], [0.1], [5.0], [5.1]], ["a", None, "b", None]).tolist()
        ['a', 'a', 'b', 'b']
        """
        return self.fit(X, y).transduction_

    def predict(self, X: Any) -> NDArray[Any]:
        """Label new rows by the vote of their neighbours among the fitted rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or DataFrame of shape (n_rows, n_features)
            New rows; with another ``affinity`` their similarities or distances to the fitted rows. The chunks
            of a Dask collection are labelled by the workers; the labels are a Dask array.

        Returns
        -------
        ndarray of shape (n_rows,)
            A row that equals a fitted row gets the label of that row (of the first one, if there are
            several); ``unlabeled`` where none of the neighbours has a label.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model.fit([[0.0], [0.1], [5.0], [5.1]], ["a", None, "b", None]).predict([[4.0]]).tolist()
        ['b']
        """
        if hasattr(X, "__dask_graph__"):
            return self._predict_on_dask(X, "predict")
        if (model := self.gathered()) is not self:
            return model.predict(X)
        check_is_fitted(self, "solution_")
        X = self._validated_rows(X, reset=False)
        arms = np.empty(X.shape[0], np.int64)
        # Some rows at a time: with many classes the table of shares is large.
        for rows in gen_batches(X.shape[0], max(1, LARGEST_TABLE // len(self.classes_))):
            shares = self._shares(X[rows], plain=True)
            arms[rows] = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
        return decode(arms, self.classes_, self.unlabeled)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities of new rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            New rows, as in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_rows, K)
            One column per class; even odds where nothing is known.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], ["a", None, "b", None])
        >>> model.predict_proba([[4.0]]).argmax(axis=1).tolist()
        [1]
        """
        if hasattr(X, "__dask_graph__"):
            return self._predict_on_dask(X, "predict_proba")
        if (model := self.gathered()) is not self:
            return model.predict_proba(X)
        check_is_fitted(self, "solution_")
        return _even_where_empty(self._shares(self._validated_rows(X, reset=False)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the labelled rows whose prediction is right; rows without a label don't count.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows, as in :meth:`predict`.
        y : array-like of shape (n_rows,)
            Their labels; ``unlabeled`` or missing where not known.
        sample_weight : array-like of shape (n_rows,), optional
            What each row counts.

        Returns
        -------
        float
            The accuracy on the rows with a label. A row without a prediction counts as wrong.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> X, y = [[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1]
        >>> GinzburgLandauClassifier(n_neighbors=1).fit(X, y).score([[0.0], [0.2], [5.2]], [0, -1, 0])
        0.5
        """
        check_is_fitted(self, "solution_")
        entries = np.ravel(as_array(y))
        rows = np.flatnonzero(is_known(entries, self.unlabeled))
        if not len(rows):
            raise ValueError(
                f"y has no labelled row to score: all {len(entries)} entries are missing or equal to "
                f"unlabeled={self.unlabeled!r}."
            )
        found = np.asarray(self.predict(X))
        right = [bool(found[row] == entries[row]) for row in rows]
        weights = None if sample_weight is None else np.ravel(np.asarray(sample_weight, np.float64))[rows]
        return float(np.average(right, weights=weights))

    @property
    def label_distributions_(self) -> NDArray[np.float64]:
        """Class probabilities of the fitted rows, one column per class; computed when used.

        The class of a row has its ``confidence_``; the votes of the neighbours share the rest.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.label_distributions_.argmax(axis=1).tolist()
        [0, 0, 1, 1]
        """
        if (model := self.gathered()) is not self:
            return model.label_distributions_
        check_is_fitted(self, "solution_")
        confidence = self.confidence_
        return _even_where_empty(self._distributions(np.arange(len(confidence)), confidence))

    @property
    def confidence_(self) -> NDArray[np.float64]:
        """From 0 (no class) over ½ (between classes) to 1.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.confidence_.shape
        (4,)
        """
        check_is_fitted(self, "solution_")
        return self.solution_.state.confidence(len(self.classes_))

    def save(self, path: Any, *, overwrite: bool = False) -> None:
        """Keep the fitted model in a folder (or one ``.zip`` file) that :func:`phaselabel.load` opens.

        It holds plain arrays and JSON, no pickle; ``callbacks``, ``dask_options``, ``random_state``,
        ``verbose`` and an ``init`` that is a classifier are not kept: a loaded model has the defaults.

        Parameters
        ----------
        path : path-like
            Where to put it; written under a temporary name and renamed.
        overwrite : bool, default=False
            Whether a model that is there already may be replaced.

        Examples
        --------
        >>> import tempfile, pathlib, phaselabel
        >>> model = phaselabel.GinzburgLandauClassifier(n_neighbors=1)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.zip"
        >>> model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1]).save(path)
        >>> phaselabel.load(path).transduction_.tolist()
        [0, 0, 1, 1]
        """
        saving.save(self.gathered(), path, overwrite=overwrite)

    def gathered(self) -> Self:
        """The model with all of its arrays in this process; the model itself, unless it was fitted on Dask.

        Returns
        -------
        GraphClassifier
            A fitted model that can predict, explain and be saved without a cluster.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier
        >>> model = GinzburgLandauClassifier(n_neighbors=1).fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> model.gathered() is model
        True
        """
        return self

    def _predict_on_dask(self, X: Any, method: Literal["predict", "predict_proba"]) -> Any:
        from phaselabel.distributed.predicting import predict_chunks

        check_is_fitted(self, "solution_")
        return predict_chunks(self.gathered(), X, method)

    # -- fit, stage by stage

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        if self.affinity not in AFFINITIES:
            raise ValueError(f"affinity must be one of {', '.join(AFFINITIES)}; got {self.affinity!r}.")
        X = self._validated_rows(X, reset=True)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                f"pass one label per row, {self.unlabeled!r} where not known."
            )
        check_consistent_length(X.weights if isinstance(X, Graph) else X, y)
        return X, y

    def _validated_rows(self, X: Any, reset: bool) -> Any:
        X = as_rows(X)
        if isinstance(X, Graph) and reset:
            if self.affinity != "precomputed":
                raise ValueError(f"X is a graph: affinity must be 'precomputed'; got {self.affinity!r}.")
            self.n_features_in_ = X.n_vertices
            return X
        if (library := type(X).__module__.split(".")[0]) in GRAPH_LIBRARIES:
            raise ValueError(
                f"X is a graph of {library}; pass Graph.from_{GRAPH_LIBRARIES[library]}(X) with "
                "affinity='precomputed'."
            )
        given = self.affinity != "nearest_neighbors"
        # Large whole numbers are not converted here, where they would be rounded without a word.
        try:
            rows = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32] + ([] if given else [np.uint8, np.int64, np.uint64]),
                ensure_min_samples=2 if reset and not given else 1,
            )
        except (TypeError, ValueError) as error:
            raise _placed(error, X) from None
        rows = as_float(rows, "X")
        fitted = rows if reset or given else self._fit_X
        if sparse.issparse(fitted) == sparse.issparse(rows):
            return rows
        return sparse.csr_array(rows) if sparse.issparse(fitted) else rows.toarray()

    def _graph(self, X: Any) -> tuple[Graph, Neighbors | None]:
        """The similarity graph, and the neighbours it is made of where there are any."""
        if self.affinity == "precomputed":
            return X if isinstance(X, Graph) else Graph.from_weights(X, np.float32), None
        neighbors = self._search(X, asked_neighbors(self.n_neighbors, X.shape[0]))
        return similarity_graph(neighbors, self.scale_neighbor), neighbors

    def _search(self, X: Any, n_neighbors: int) -> Neighbors:
        """The nearest neighbours of every row."""
        check_scale_neighbor(self.scale_neighbor, n_neighbors)
        if self.affinity == "precomputed_nearest_neighbors":
            return Neighbors.from_distances(X, n_neighbors)
        return nearest_neighbors(X, n_neighbors, metric=self.metric, progress=self.verbose)

    def _learn(
        self,
        X: Any,
        neighbors: Neighbors | None,
        graph: Graph,
        classes: NDArray[Any],
        labels: NDArray[np.int32],
        solution: Solution,
    ) -> None:
        """Keep what was found; all at once, so that a fit that fails leaves the model as it was."""
        self.classes_, self.graph_, self.solution_ = classes, graph, solution
        self.neighbor_recall_ = None if neighbors is None else neighbors.recall
        self._fit_X = X if self.affinity == "nearest_neighbors" else None
        self._tau = np.zeros(0) if neighbors is None else local_scales(neighbors, self.scale_neighbor)
        self._labels, self._packed = labels, solution.state.packed()
        self.energy_, self.n_iter_, self.converged_ = solution.energy, solution.n_iter, solution.converged
        log.info("%r: %s", graph, solution.status)

    @abstractmethod
    def _sentences(self) -> list[str]:
        """How many labels are right, as far as it is known, and what else must be said of the answer."""

    def _counted(self) -> tuple[int, int, NDArray[np.int64]]:
        """The number of rows, of given labels, and of the rows of every class."""
        given = int((self._labels >= 0).sum())
        return len(self._labels), given, self.solution_.state.sizes(len(self.classes_))

    def _summary(self) -> tuple[str, list[str], dict[str, str]]:
        """What a notebook shows of the answer."""
        n_rows, n_given, sizes = self._counted()
        facts = {
            "rows": f"{n_rows:,}, {n_given:,} of them with a given label",
            "classes": shares(zip(self.classes_, sizes / max(int(sizes.sum()), 1))),
            "flow": self.solution_.status,
        }
        return "Labels for every row", self._sentences(), facts

    @property
    def flow_graph_(self) -> Graph:
        """The graph that the flow ran on and that ``energy_`` is counted on.

        After a spread from few labels its edges are those of ``graph_``, weighted by how many neighbours
        their ends share; otherwise it is ``graph_`` itself.

        Examples
        --------
        >>> from phaselabel import GinzburgLandauClassifier, energy
        >>> model = GinzburgLandauClassifier(n_neighbors=1, evidence=None)
        >>> model = model.fit([[0.0], [0.1], [5.0], [5.1]], [0, -1, 1, -1])
        >>> now = energy.evaluate(model.flow_graph_, model.solution_.state, [0, -1, 1, -1])
        >>> bool(np.isclose(now.total, model.energy_["total"][-1]))
        True
        """
        check_is_fitted(self, "solution_")
        return sharpened(self.graph_) if self.solution_.sharpened else self.graph_

    @property
    def _n_unreached(self) -> int:
        """The number of rows without a class, in components without a known label."""
        lost = self.solution_.arm < 0
        return int((lost & ~self.graph_.reached(self._labels >= 0)).sum()) if lost.any() else 0

    def _warn(self, lost: int, n_rows: int, stacklevel: int = 3) -> None:
        """Say what the user should know; ``stacklevel`` is the distance to the line that called ``fit``."""
        if lost:
            missing = decode(np.array([-1]), self.classes_, self.unlabeled).tolist()[0]
            warnings.warn(
                f"{lost} of {n_rows} rows have no label: none reaches them, because they lie in "
                f"parts of the graph without a known label. They are returned as {missing!r} with "
                "confidence 0; label one row in each part, or raise n_neighbors.",
                UserWarning,
                stacklevel=stacklevel,
            )
        if self.solution_.reason == "limit" and self.tol > 0:
            status = self.solution_.status
            warnings.warn(f"The flow has not converged. {status}", ConvergenceWarning, stacklevel=stacklevel)

    # -- new rows

    def _as_probabilities(self, shares: NDArray[np.float64], votes: sparse.csr_array) -> NDArray[np.float64]:
        """Probabilities of new rows from the shares in the vote; ``votes`` has the weight of every voter."""
        return shares

    def _shares(self, X: Any, plain: bool = False) -> NDArray[np.float64]:
        """Probabilities of every new row, zeros without any vote; ``plain`` if only the winner counts."""
        n_classes = len(self.classes_)
        if self.affinity == "precomputed":
            edges = sparse.csr_array(X, dtype=np.float32)
            if edges.nnz and not edges.data.min() >= 0:
                raise ValueError(f"X has a negative similarity, {edges.data.min():.3g}; clip it at 0.")
            weights = edges.data * self._inverse_root[edges.indices]
            shares = vote_shares(edges.indptr, edges.indices, weights, self._packed, n_classes)
            edges.data = weights
            return shares if plain else self._as_probabilities(shares, edges)
        neighbors, weights = self._near(X)
        votes = self._votes(neighbors, weights)
        shares = vote_shares(votes.indptr, votes.indices, votes.data, self._packed, n_classes)
        seen = neighbors.distances[:, 0] == 0
        rows = neighbors.indices[seen, 0]
        sure = np.ones(len(rows)) if plain else self.confidence_[rows]
        shares = shares if plain else self._as_probabilities(shares, votes)
        shares[seen] = self._distributions(rows, sure)
        return shares

    def _near(self, X: Any) -> tuple[Neighbors, NDArray[np.float64]]:
        """The neighbours of new rows among the fitted ones, and the weight of each in their vote."""
        k = getattr(self, "n_neighbors_", None) or asked_neighbors(self.n_neighbors, self.graph_.n_vertices)
        if self.affinity == "nearest_neighbors":
            neighbors = nearest_neighbors(
                self._fit_X, k, queries=X, metric=self.metric, progress=self.verbose
            )
        else:
            neighbors = Neighbors.from_query(X, k)
        tau = local_scales(neighbors, self.scale_neighbor)
        exponents = scaled_squares(neighbors, tau, self._tau)
        # Only shares count, so the nearest neighbour may have weight 1: far-off rows don't underflow.
        weights = np.exp(exponents.min(axis=1, keepdims=True) - exponents)
        return neighbors, weights * self._inverse_root[neighbors.indices]

    def _votes(self, neighbors: Neighbors, weights: NDArray[np.float64]) -> sparse.csr_array:
        """The weight of every fitted row in the vote on every new one."""
        indptr = np.arange(0, weights.size + 1, weights.shape[1])
        shape = len(weights), self.graph_.n_vertices
        return sparse.csr_array((weights.ravel(), neighbors.indices.ravel(), indptr), shape=shape)

    @property
    def _inverse_root(self) -> NDArray[np.float64]:
        """1/√d_j, the factor of a fitted row in its neighbours' votes."""
        degrees = self.graph_.degrees
        return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)

    def _distributions(
        self, rows: NDArray[np.integer[Any]], confidence: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Class probabilities of fitted rows; zeros where there is no class."""
        votes = votes_on(self.graph_, self.solution_.state, rows, len(self.classes_))
        return as_distributions(votes, self.solution_.arm[rows], confidence)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity != "nearest_neighbors"
        tags.input_tags.sparse = True
        return tags


def _placed(error: Exception, X: Any) -> Exception:
    """The error of scikit-learn, with the column at fault where a value is no number or not finite."""
    words = str(error)
    if isinstance(odd := _no_number(X), tuple):
        kind = "words" if isinstance(odd[1], str) else "dates"
        return ValueError(
            f"Column {odd[0]!r} of X holds {kind}, such as {str(odd[1])!r:.40}; make numbers of it, for "
            "instance with sklearn.preprocessing.OneHotEncoder, leave it out, or label a file with "
            "phaselabel label."
        )
    what = "NaN" if "contains NaN" in words else "infinity" if "contains infinity" in words else ""
    if not what or sparse.issparse(X):
        return error
    try:
        values = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        return error
    bad = np.argwhere(np.isnan(values) if what == "NaN" else ~np.isfinite(values))
    if values.ndim != 2 or not len(bad):
        return error
    row, column = (int(place) for place in bad[0])
    name = X.columns[column] if hasattr(X, "columns") else column
    count = len(np.unique(bad[:, 0]))
    where = f"in row {row}" if count == 1 else f"in {count} rows, the first is row {row}"
    if what == "NaN":
        remedy = "fill such values, for instance with sklearn.impute.SimpleImputer, or drop the rows"
    else:
        what, remedy = (
            f"{what} or a value too large for its type",
            "put finite numbers there, or drop the rows",
        )
    return ValueError(f"Input X contains {what} {where} (column {name!r}, counted from 0); {remedy}.")


def _no_number(X: Any) -> tuple[Any, Any] | None:
    """The first column of words or dates, by its name or from 0, and one of its entries."""
    framed = hasattr(X, "columns") and hasattr(X, "shape")
    table = X if framed or isinstance(X, np.ndarray) else np.asarray(X, object)
    if len(table.shape) != 2:
        return None
    for place in range(table.shape[1]):
        column = np.asarray(X.iloc[:, place] if hasattr(X, "iloc") else table[:, place])
        name = X.columns[place] if framed else place
        if column.dtype.kind in "mM" and len(column):
            return name, column[0]
        for value in column if column.dtype.kind in "OUT" else ():
            if isinstance(value, str) and not _reads_as_number(value):
                return name, str(value)
            if isinstance(value, date):
                return name, value
    return None


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _even_where_empty(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Even odds for rows that nothing is known about."""
    shares[~shares.any(axis=1)] = 1 / shares.shape[1]
    return shares
