import numpy as np

from phaselabel.segmentation.grid import Touching, joined


def test_touching_cells_are_joined_within_images_only():
    bands = [np.zeros((2, 3, 1), np.float32), np.zeros((1, 2, 1), np.float32)]
    graph = Touching.of(bands).graph(np.arange(8), 8)
    assert graph.n_edges == 7 + 1
    assert graph.n_components == 2


def test_an_edge_across_an_outline_is_weak_but_there():
    image = np.zeros((4, 6, 1), np.float32)
    image[:, 3:] = 1
    weights = Touching.of([image]).graph(np.arange(24), 24).weights.toarray()
    assert 0 < weights[2, 3] < 1e-3 < 0.9 < weights[0, 1]


def test_cells_of_one_vertex_have_no_edge_and_edges_add_up():
    image = np.zeros((1, 4, 1), np.float32)
    graph = Touching.of([image]).graph(np.array([0, 0, 1, 0]), 2)
    np.testing.assert_allclose(graph.weights.toarray(), [[0, 2], [2, 0]], atol=1e-5)
    both = joined(graph, graph, 0.5)
    np.testing.assert_allclose(both.weights.toarray(), [[0, 1.5], [1.5, 0]])


def test_a_volume_has_neighbours_in_depth():
    graph = Touching.of([np.zeros((2, 2, 2, 1), np.float32)]).graph(np.arange(8), 8)
    assert graph.n_edges == 12
