"""The sharpened graph equals its definition."""

import numpy as np

from made import random_graph
from phaselabel.few_labels.sharpen import sharpened


def test_sharpening_equals_the_definition():
    graph = random_graph(25, 3)
    w = graph.weights.toarray()
    linked = w > 0
    expected = np.zeros_like(w)
    for i, j in zip(*np.nonzero(w)):
        both = (linked[i] & linked[j]).sum()
        expected[i, j] = w[i, j] * (both + 1) / (linked[i].sum() + linked[j].sum() - both)
    np.testing.assert_allclose(sharpened(graph).weights.toarray(), expected, rtol=1e-6)
