"""A name in; rows, classes, and a graph of its own where there is one, out: the sets of the contest."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sets import data_home
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

import phaselabel as pl

#: Tables of scikit-learn; their columns are scaled.
TABLES = {"wine": load_wine, "breast_cancer": load_breast_cancer}

#: Files of the development suite that have another name than the set here.
FILES = {
    "usps": "sslbook_usps", "text": "sslbook_text", "webkb": "webkb_counts", "cora": "planetoid_cora",
    "waveform": "waveform5000", "vae": "mnist_imb_vae20",
}  # fmt: skip

#: The two large sets are thinned to this many rows.
THINNED = 10_000

NAMES = [
    "pendigits", "segment", "waveform", "spambase", "vowel", "phoneme", "mushroom", "car", "kr_vs_kp",
    "mammography", "anneal", "usps", "text", "webkb", "cora", "vae", "digits", "wine", "breast_cancer",
    "coil", "mnist",
]  # fmt: skip


@dataclass
class Set:
    """Rows, their true classes, a graph of their own, and published splits."""

    name: str
    x: Any
    y: np.ndarray
    edges: sparse.csr_array | None = None
    splits: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def graph(self):
        """The graph of all contenders that need one: its own, or the default one of the rows."""
        if self.edges is not None:
            return pl.Graph.from_weights(self.edges)
        return pl.similarity_graph(pl.nearest_neighbors(self.x, min(10, len(self.y) - 1)))


def draw(y, per_class, seed):
    """Labels of ``per_class`` rows of every class, but of no more than half of a class; -1 elsewhere."""
    rng = np.random.default_rng([seed, per_class])
    labels = np.full(len(y), -1, np.int64)
    for k in np.unique(y):
        members = np.flatnonzero(y == k)
        labels[rng.permutation(members)[: max(1, min(per_class, len(members) // 2))]] = k
    return labels


def load(name, whole=False):
    """A set by name; ``whole`` keeps all rows of the two large ones."""
    if name in TABLES:
        x, y = TABLES[name](return_X_y=True)
        return Set(name, _scaled(x), _codes(y))
    if name == "digits":
        x, y = load_digits(return_X_y=True)
        return Set(name, (x / 16).astype(np.float32), _codes(y))
    if name == "mnist":
        file = np.load(data_home() / "mnist70k.npz")
        x, y = _thinned(file["x"].reshape(70_000, -1), file["y"], whole)
        return Set(name, (x / np.float32(255)).astype(np.float32), _codes(y))
    if name == "coil":
        file = np.load(data_home() / "sslbook_coil.npz")
        return Set(name, file["X"].astype(np.float32), _codes(file["y"]), splits=_splits(file))
    file = np.load(data_home() / "suite" / f"{FILES.get(name, name)}.npz")
    y = _codes(file["y"])
    if name == "vae":
        x, y = _thinned(file["x"], y, whole)
        return Set(name, _scaled(x), y)
    if name == "usps":
        return Set(name, file["X"].astype(np.float32), y, splits=_splits(file))
    if name in ("text", "webkb", "cora"):
        return _words(name, file, y)
    return Set(name, _scaled(file["x"]), y)


def _words(name, file, y):
    parts = file["x_data"].astype(np.float64), file["x_indices"].astype(np.int32), file["x_indptr"]
    x = sparse.csr_matrix(parts, shape=tuple(file["x_shape"]))
    if name == "text":
        return Set(name, normalize(x), y, splits=_splits(file))
    x = TfidfTransformer(sublinear_tf=name == "webkb").fit_transform(x)
    if name == "webkb":
        return Set(name, x, y)
    ends = file["edges"]
    links = sparse.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(y),) * 2)
    return Set(name, x, y, links.maximum(links.T).tocsr(), {"test_index": file["test_index"].astype(int)})


def _splits(file):
    return {
        key: file[key].astype(int) for key in ("idx_labelled_10", "idx_labelled_100") if key in file.files
    }


def _scaled(x):
    """Columns of mean 0 and deviation 1; constant ones dropped."""
    x = np.asarray(x, np.float32)
    return StandardScaler().fit_transform(x[:, x.std(axis=0) > 0]).astype(np.float32)


def _codes(y):
    return np.unique(y, return_inverse=True)[1].astype(np.int64)


def _thinned(x, y, whole):
    if whole:
        return x, y
    some = np.random.default_rng(5).permutation(len(y))[:THINNED]
    return x[some], y[some]
