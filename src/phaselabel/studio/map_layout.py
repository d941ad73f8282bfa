"""A graph and its features in, a place on a map for every item out."""

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


def map_layout(graph: Graph, X: NDArray[np.floating]) -> NDArray[np.float32]:
    """Place items by their leading directions, smoothed along the graph.

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
    from sklearn.decomposition import PCA

    X = np.asarray(X, np.float32)
    every = max(1, len(X) // SAMPLE)
    sample = X[::every]
    if not np.ptp(sample, axis=0).any():
        return np.full((len(X), 2), 0.5, np.float32)
    n = min(N_DIRECTIONS, *sample.shape)
    places = PCA(n, svd_solver="randomized", random_state=0).fit(sample).transform(X)
    degrees = np.maximum(graph.degrees, 1e-30)
    walk = sparse.csr_array(sparse.diags_array(1 / degrees) @ graph.weights)
    for _ in range(N_STEPS):
        places = 0.5 * places + 0.5 * (walk @ places)
    places = PCA(min(2, n), random_state=0).fit(places[::every]).transform(places)
    if places.shape[1] == 1:
        places = np.column_stack([places, np.zeros(len(places))])
    low, high = np.quantile(places, OUTSIDE, axis=0), np.quantile(places, 1 - OUTSIDE, axis=0)
    share = (places - low) / np.maximum(high - low, 1e-12)
    return np.asarray(np.clip(share, 0, 1), np.float32)
