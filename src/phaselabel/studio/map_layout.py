"""A graph and its features in, a place on a map for every item out."""

import importlib.util
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from phaselabel.graph import Graph

#: Directions that are smoothed along the graph before two of them are chosen.
N_DIRECTIONS = 12

#: Steps of smoothing.
N_STEPS = 6

#: Directions are found from about this many items.
SAMPLE = 5000

#: This share of the items at each edge of the map may lie outside of it.
OUTSIDE = 0.002


#: Items are placed by openTSNE if there are at most this many; of more items, so many are.
MAX_EMBEDDED = 10_000

#: Steps of openTSNE while clusters form, then while they settle; the first pull this many times harder.
FORMING_STEPS, SETTLING_STEPS, EXAGGERATION = 150, 250, 12

#: Steps in which items that were not embedded come to their neighbours.
JOINING_STEPS = 10


def with_opentsne() -> bool:
    """Whether openTSNE is installed."""
    return importlib.util.find_spec("openTSNE") is not None


def map_layout(graph: Graph, X: NDArray[np.floating]) -> NDArray[np.float32]:
    """Place items so that neighbours in the graph are near each other.

    With openTSNE (the extra ``map``) its layout of the graph, which keeps clusters apart. Without it the
    leading directions of the features, smoothed along the graph. Two features are a map already.

    Parameters
    ----------
    graph : Graph
        The similarity graph.
    X : ndarray of shape (n, d)
        The features.

    Returns
    -------
    ndarray of shape (n, 2)
        Places from 0 to 1.
    """
    places = X if X.shape[1] == 2 else _leading_directions(graph, X)
    if X.shape[1] != 2 and with_opentsne() and np.ptp(places, axis=0).all():
        places = _embedded(graph, places)
    low, high = np.quantile(places, OUTSIDE, axis=0), np.quantile(places, 1 - OUTSIDE, axis=0)
    share = (places - low) / np.maximum(high - low, 1e-12)
    return np.asarray(np.where(high > low, np.clip(share, 0, 1), 0.5), np.float32)


def _embedded(graph: Graph, start: NDArray[np.floating]) -> NDArray[np.float64]:
    """The layout of openTSNE, with the graph's own weights; items that are too many join their neighbours."""
    from openTSNE import TSNEEmbedding, affinity

    n = graph.n_vertices
    walk = _walk(graph)
    some = np.sort(np.random.default_rng(0).permutation(n)[:MAX_EMBEDDED])
    # Items that are left out still connect those that are not.
    weights = walk if len(some) == n else walk[some] @ walk @ walk
    part = sparse.csr_array(weights[:, some])
    together = sparse.csr_array(part + part.T)
    together = sparse.csr_array(together / together.sum())
    first = start[some] / np.std(start[some, 0]) * 1e-4
    threads = max(1, min(4, os.cpu_count() or 1))
    layout = TSNEEmbedding(
        first, affinity.PrecomputedAffinities(sparse.csr_matrix(together), normalize=False),
        n_jobs=threads, random_state=0,
    )  # fmt: skip
    layout = layout.optimize(FORMING_STEPS, exaggeration=EXAGGERATION, momentum=0.5)
    layout = np.asarray(layout.optimize(SETTLING_STEPS, momentum=0.8), np.float64)
    places = np.tile(layout.mean(axis=0), (n, 1))
    places[some] = layout
    if len(some) < n:
        arrived = np.zeros(n)
        arrived[some] = 1
        for _ in range(JOINING_STEPS):
            reached = walk @ arrived
            mean = (walk @ (places * arrived[:, None])) / np.maximum(reached, 1e-12)[:, None]
            places = np.where((reached > 0)[:, None], mean, places)
            places[some] = layout
            arrived = (reached > 0).astype(float)
            arrived[some] = 1
    return places


def _walk(graph: Graph) -> Any:
    """The matrix of a step to a neighbour."""
    return sparse.csr_array(sparse.diags_array(1 / np.maximum(graph.degrees, 1e-30)) @ graph.weights)


def _leading_directions(graph: Graph, X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Place items by their leading directions, smoothed along the graph."""
    from sklearn.decomposition import PCA

    X = np.asarray(X, np.float32)
    every = max(1, len(X) // SAMPLE)
    sample = X[::every]
    if not np.ptp(sample, axis=0).any():
        return np.full((len(X), 2), 0.5)
    n = min(N_DIRECTIONS, *sample.shape)
    places = PCA(n, svd_solver="randomized", random_state=0).fit(sample).transform(X)
    walk, smoothed = _walk(graph), places
    for _ in range(N_STEPS):
        smoothed = 0.5 * smoothed + 0.5 * (walk @ smoothed)
    # Two items that are each other's neighbours meet in the middle.
    places = smoothed if np.ptp(smoothed, axis=0).any() else places
    places = PCA(min(2, n), random_state=0).fit(places[::every]).transform(places)
    if places.shape[1] == 1:
        places = np.column_stack([places, np.zeros(len(places))])
    return np.asarray(places)
