"""Random points, graphs and labels, and tables of the development suite."""

from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.special import log_softmax
from sklearn.preprocessing import StandardScaler

import phaselabel as pl
from phaselabel.datasets import sample_labels


def cloud(n=3000, d=30, seed=0, spectrum=0.8):
    """Points that vary much in a few directions and little in the others."""
    return np.random.default_rng(seed).normal(size=(n, d)) * spectrum ** np.arange(d)


def random_graph(n, seed, density=0.3, dtype=np.float64):
    """A random weighted graph, dense enough to be interesting and with some isolated vertices."""
    upper = sparse.triu(sparse.random(n, n, density, random_state=np.random.default_rng(seed)), 1)
    return pl.Graph.from_weights(upper + upper.T, dtype)


def few_labels(n, n_classes, seed, share=0.2):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < share, rng.integers(0, n_classes, n), -1)
    labels[:n_classes] = np.arange(n_classes)
    return labels


def accuracy(model, y, labels):
    """Percent of the unlabelled rows that are right."""
    return 100 * np.mean(model.transduction_[labels < 0] == y[labels < 0])


def two_gaussians(seed):
    """What makes a long flow collapse: 1,500 points in 241 dimensions, centres 2.5 apart."""
    data, choice = np.random.SeedSequence(seed).spawn(2)
    y = np.repeat([0, 1], 750)
    X = np.random.default_rng(data).normal(size=(1500, 241))
    X[:, 0] += 2.5 * y
    return X, y, sample_labels(y, 50, random_state=choice)


def suite_table(data_home, name, n_rows=None):
    """Scaled rows of a table of the development suite, and their classes from 0; all of them or a sample."""
    with np.load(Path(data_home) / "suite" / f"{name}.npz") as archive:
        X, y = archive["X" if "X" in archive else "x"], archive["y"]
    if n_rows is not None:
        kept = np.random.default_rng(0).permutation(len(y))[:n_rows]
        X, y = X[kept], y[kept]
    return StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1]


def opinions(n, n_classes, seed):
    """Random probabilities, a row per vertex."""
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n)


def expert(y, n_classes, skill, seed):
    """Log-probabilities that are right as far as there is skill."""
    rng = np.random.default_rng(seed)
    return log_softmax(skill * np.eye(n_classes)[y] + rng.normal(size=(len(y), n_classes)), axis=1)
