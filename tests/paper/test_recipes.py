import numpy as np

import phaselabel as pl
from phaselabel.segmentation.features import pixel_features


def test_cows_are_segmented(data_home):
    # The picture at a quarter of its pixels: the same recipe in a second.
    from phaselabel.datasets import load_cows, sample_labels

    image, truth, names = load_cows(data_home)
    assert image.shape == (213, 320, 3)
    assert len(names) == 4
    rows = pixel_features(image.astype(np.float32)).reshape(213, 320, -1)[::3, ::3].reshape(-1, 75)
    y = truth[::3, ::3].ravel()
    labels = sample_labels(y, fraction=0.05, random_state=0)
    graph = pl.similarity_graph(pl.nearest_neighbors(rows, 30))
    solution = pl.minimize(graph, labels, n_classes=4)
    assert np.mean(solution.arm[labels < 0] == y[labels < 0]) > 0.94
