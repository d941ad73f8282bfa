"""A graph with a few labels, and the flow of one process on it."""

import pytest

import phaselabel as pl
from clusters import blobs, local_flow


@pytest.fixture(scope="session")
def problem():
    X, y = blobs()
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    return graph, pl.datasets.sample_labels(y, 20, random_state=0), y


@pytest.fixture(scope="session")
def reference(problem):
    return local_flow(problem[0].weights, problem[1])
