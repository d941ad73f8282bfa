"""Labelled rows in, a model of plain arrays that gives log-probabilities of any row out.

A line and a smooth curve, each quick to fit on few labels; trees are in `evidence/forest.py`. What is kept of
a model are arrays, so that it can be saved without pickle.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import log_softmax
from sklearn.utils import gen_batches

from phaselabel._kernels.compile import n_threads
from phaselabel.evidence.folds import class_weights
from phaselabel.evidence.forest import FOREST_VOTES

#: C of the logistic regression; rows have a mean square length of 1.
PENALTY = 10.0

#: The ridge of the kernel model, for a label of weight 1.
RIDGE = 0.1

#: The kernel model keeps at most this many labelled rows.
MOST_LANDMARKS = 2000

#: Labelled rows that it keeps times rows that it is applied to, at most.
MOST_PAIRS = 140_000_000

#: The kernel model sees at most this many columns: the leading principal directions.
MOST_COLUMNS = 100

#: Rows that the scale is found from, or up to twice as many.
ROWS_FOR_SCALE = 20_000

#: Rows that the principal directions are found from, or up to twice as many.
ROWS_FOR_DIRECTIONS = 5000

#: Where there are more columns than rows, the directions are those of at most this many rows.
MOST_WIDE_ROWS = 2000

#: Scores of the kernel model times this are log-odds.
STRETCH = 4.0

#: No log-probability is below this.
LEAST_LOG = -12.0

#: A scaled entry is at most this far from 0: in single precision, squares of a row's entries can be summed.
FARTHEST = 1e12

#: Entries of a table that one of several threads works on: it should stay in the processor's cache.
THREAD_TABLE = 500_000

Rows = Any  # an array or a CSR matrix, rows by columns


@dataclass(frozen=True, eq=False)
class Scale:
    """How rows are centred and scaled: by one number, to a mean square length of 1.

    One number, because columns that are nearly constant (the border of a picture) would be blown up by scales
    of their own. Sparse rows are not centred. Where ``columns`` are given, the others are left out.
    """

    mean: NDArray[np.float64]
    factor: float
    columns: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, X: Rows, columns: NDArray[np.intp] | None = None) -> "Scale":
        """The scale of some rows, or of some columns of them."""
        some = X[:: max(1, X.shape[0] // ROWS_FOR_SCALE)]
        some = some if columns is None else some[:, columns]
        entries = some.data if sparse.issparse(some) else np.asarray(some)
        largest = float(np.abs(entries).max(initial=0))
        # Squares of very large or small entries leave the range of float64; a power of two costs no digit.
        unit = 2.0 ** np.frexp(largest)[1] if largest else 1.0
        if sparse.issparse(some):
            mean, total = np.zeros(0), float(((entries / unit) ** 2).sum())
        else:
            centred = entries.astype(np.float64) / unit
            mean = centred.mean(axis=0)
            total = float(((centred - mean) ** 2).sum())
        spread = np.sqrt(total / max(some.shape[0], 1))
        return cls(mean * unit, float(unit * spread) if spread > 1e-15 else unit, columns)

    def __call__(self, X: Rows) -> Rows:
        """Rows on this scale, in single precision."""
        X = X if self.columns is None else X[:, self.columns]
        if sparse.issparse(X):
            scaled = sparse.csr_array(X, dtype=np.float64) / self.factor
            scaled.data = np.clip(scaled.data, -FARTHEST, FARTHEST)
            return scaled.astype(np.float32)
        X = np.asarray(X)
        scaled = np.empty(X.shape, np.float32)
        for batch in gen_batches(len(X), max(1, THREAD_TABLE // max(X.shape[1], 1))):
            scaled[batch] = np.clip((X[batch] - self.mean) / self.factor, -FARTHEST, FARTHEST)
        return scaled


@dataclass(frozen=True, eq=False)
class Linear:
    """Multinomial logistic regression."""

    coef: NDArray[np.float32]
    intercept: NDArray[np.float32]

    @classmethod
    def fit(cls, X: Rows, y: NDArray[np.integer[Any]], n_classes: int) -> "Linear":
        """Fit to labelled rows; a class without a label gets the least probability."""
        from sklearn.linear_model import LogisticRegression

        coef = np.zeros((n_classes, X.shape[1]), np.float32)
        intercept = np.full(n_classes, LEAST_LOG, np.float32)
        present = np.unique(y)
        if len(present) < 2:
            intercept[present] = 0
            return cls(coef, intercept)
        model = LogisticRegression(C=PENALTY, max_iter=100)
        model.fit(X, y, sample_weight=class_weights(y, n_classes))
        if len(present) == 2:  # one line for two classes: half of it on either side
            coef[present] = np.outer([-0.5, 0.5], model.coef_[0])
            intercept[present] = np.array([-0.5, 0.5]) * model.intercept_[0]
        else:
            coef[present], intercept[present] = model.coef_, model.intercept_
        return cls(coef, intercept)

    def log_probabilities(self, X: Rows) -> NDArray[np.float32]:
        """One row per row of ``X``, one column per class."""
        scores = np.asarray(X @ self.coef.T) + self.intercept
        for some in gen_batches(len(scores), max(1, THREAD_TABLE // max(scores.shape[1], 1))):
            scores[some] = np.maximum(log_softmax(scores[some], axis=1), LEAST_LOG)
        return scores.astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class Curve:
    """Ridge regression on class indicators, with a Gaussian kernel as wide as the rows are apart."""

    landmarks: Any
    directions: NDArray[np.float32]
    coef: NDArray[np.float32]
    mean: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        X: Rows,
        y: NDArray[np.integer[Any]],
        n_classes: int,
        directions: NDArray[np.float32],
        most: int = MOST_LANDMARKS,
    ) -> "Curve":
        """Fit to labelled rows, ``most`` of them at most."""
        if X.shape[0] > most:
            some = np.random.default_rng(0).permutation(X.shape[0])[:most]
            X, y = X[some], y[some]
        landmarks = X @ directions if directions.size else X
        weights, target = class_weights(y, n_classes), np.eye(n_classes)[y]
        system = _gauss(landmarks, landmarks).astype(np.float64) + np.diag(RIDGE / weights)
        # The level costs nothing: where one class lies around another, rows far from all labels are of it.
        solved = np.linalg.solve(system, np.column_stack([target, np.ones(len(y))]))
        level = solved[:, :-1].sum(axis=0) / solved[:, -1].sum()
        coef = solved[:, :-1] - np.outer(solved[:, -1], level)
        coef = np.ascontiguousarray(coef, np.float32)
        return cls(landmarks, directions, coef, level.astype(np.float32))

    def log_probabilities(self, X: Rows) -> NDArray[np.float32]:
        """One row per row of ``X``, one column per class."""
        out = np.empty((X.shape[0], len(self.mean)), np.float32)

        def apply(some: slice) -> None:
            rows = X[some] @ self.directions if self.directions.size else X[some]
            said = _gauss(rows, self.landmarks) @ self.coef
            out[some] = log_softmax(STRETCH * (said + self.mean), axis=1)

        batches = gen_batches(X.shape[0], max(1, THREAD_TABLE // max(self.landmarks.shape[0], 1)))
        with ThreadPoolExecutor(n_threads()) as threads:  # NumPy computes without Python's lock
            list(threads.map(apply, batches))
        return out


def landmarks_for(n_rows: int) -> int:
    """How many labelled rows a kernel model keeps, by the number of rows that it is applied to.

    Examples
    --------
    >>> landmarks_for(10_000), landmarks_for(1_000_000)
    (2000, 140)
    """
    return max(1, min(MOST_LANDMARKS, MOST_PAIRS // max(n_rows, 1)))


def leading_directions(X: Rows) -> NDArray[np.float32]:
    """The leading principal directions of dense rows with many columns; empty where all columns are kept.

    :data:`ROWS_FOR_DIRECTIONS` rows are enough.
    """
    if sparse.issparse(X) or X.shape[1] <= MOST_COLUMNS:
        return np.zeros((0, 0), np.float32)
    if X.shape[1] > len(X):
        return _directions_of_few(X[:: -(-len(X) // MOST_WIDE_ROWS)])
    _, vectors = np.linalg.eigh((X.T @ X).astype(np.float64))
    return np.ascontiguousarray(vectors[:, -MOST_COLUMNS:], np.float32)


def _directions_of_few(rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """The same from the products of the rows: those of 20,000 columns would take gigabytes and hours."""
    squares, vectors = np.linalg.eigh((rows @ rows.T).astype(np.float64))
    kept = np.flatnonzero(squares > 1e-6 * max(squares[-1], 1e-300))[-MOST_COLUMNS:]
    if not len(kept):  # all rows are the origin
        kept = np.array([len(squares) - 1])
    directions = rows.T @ (vectors[:, kept] / np.sqrt(np.maximum(squares[kept], 1e-300)))
    return np.ascontiguousarray(directions, np.float32)


def _gauss(rows: Rows, others: Rows) -> NDArray[np.float32]:
    """exp(-|x - x'|²) for every pair."""
    product = rows @ others.T
    product = product.toarray() if sparse.issparse(product) else np.asarray(product)
    product = 2 * product - _squares(rows)[:, None] - _squares(others)
    return np.exp(np.minimum(product, 0, out=product), out=product)


def _squares(rows: Rows) -> NDArray[np.float32]:
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows**2
    return np.asarray(squares.sum(axis=1), np.float32).ravel()


@dataclass(frozen=True, eq=False)
class Shares:
    """Any scikit-learn classifier that a user gives; it can't be saved without pickle."""

    model: Any
    columns: NDArray[np.intp]
    n_classes: int

    def log_probabilities(self, X: Rows) -> NDArray[np.float32]:
        """One row per row of ``X``, one column per class."""
        out = np.zeros((X.shape[0], self.n_classes))
        out[:, self.columns] = self.model.predict_proba(X)
        return np.log((FOREST_VOTES * out + 1 / self.n_classes) / (FOREST_VOTES + 1)).astype(np.float32)
