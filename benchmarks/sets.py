"""The data sets of the benchmarks: a name in, a graph and the true classes out."""

import os
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits

import phaselabel as pl


def data_home():
    """The folder with the real data sets, or None."""
    home = os.environ.get("PHASELABEL_DATA")
    return Path(home) if home else None


def mnist(exact=None):
    """MNIST, raw pixels, 10 neighbours; the true ones, kept in the folder ``exact``, if it is given."""
    archive = np.load(data_home() / "mnist70k.npz")
    y = archive["y"].astype(np.int64)
    kept = exact and exact / "mnist-neighbors.npz"
    if kept and kept.exists():
        with np.load(kept) as file:
            return pl.similarity_graph((file["indices"], file["distances"])), y
    X = archive["x"].reshape(len(y), -1).astype(np.float32)
    neighbors = pl.nearest_neighbors(X, 10, method="exact" if exact else "auto")
    if kept:
        np.savez(kept, indices=neighbors.indices, distances=neighbors.distances)
    return pl.similarity_graph(neighbors), y


def coil():
    """COIL of the Chapelle-Schölkopf-Zien benchmark, 4 neighbours."""
    archive = np.load(data_home() / "sslbook_coil.npz")
    return pl.similarity_graph(pl.nearest_neighbors(archive["X"], 4)), archive["y"].astype(np.int64)


def digits():
    """scikit-learn's digits, 10 neighbours."""
    X, y = load_digits(return_X_y=True)
    return pl.similarity_graph(pl.nearest_neighbors(X, 10)), y


def three_moons():
    """The paper's three moons in R^100."""
    X, y = pl.datasets.make_three_moons(random_state=0)
    return pl.similarity_graph(pl.nearest_neighbors(X, 10)), y


def mixture(n, n_classes=20, seed=0):
    """A mixture of Gaussians in space; neighbours by a k-d tree, which is quick in three dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = (8 * rng.normal(size=(n_classes, 3))[y] + rng.normal(size=(n, 3))).astype(np.float32)
    tree = cKDTree(X)
    indices = np.empty((n, 10), np.int32)
    distances = np.empty((n, 10), np.float32)
    for start in range(0, n, 500_000):
        rows = slice(start, min(start + 500_000, n))
        far, near = tree.query(X[rows], k=11, workers=-1)
        own = near == np.arange(rows.start, rows.stop)[:, None]
        own[~own.any(axis=1), -1] = True
        indices[rows] = near[~own].reshape(-1, 10)
        distances[rows] = far[~own].reshape(-1, 10)
    return pl.similarity_graph((indices, distances)), y
