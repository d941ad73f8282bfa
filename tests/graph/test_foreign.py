from types import SimpleNamespace

import igraph
import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import phaselabel as pl
from phaselabel.graph.foreign import as_graph

EDGES = np.array([[0, 1, 3, 4], [1, 2, 4, 5]])


class DGLGraph:
    """The two methods of DGL's graph that are used."""

    def edges(self):
        return EDGES[0], EDGES[1]

    def num_nodes(self):
        return 6


GRAPHS = {
    "ours": pl.Graph.from_edges(EDGES),
    "pyg": SimpleNamespace(edge_index=EDGES, num_nodes=6),
    "dgl": DGLGraph(),
    "networkx": nx.Graph(EDGES.T.tolist()),
    "igraph": igraph.Graph(EDGES.T.tolist()),
    "matrix": sparse.csr_matrix(nx.to_numpy_array(nx.Graph(EDGES.T.tolist()))),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_other_libraries_are_the_same(name):
    np.testing.assert_array_equal(as_graph(GRAPHS[name]).weights.toarray(), GRAPHS["ours"].weights.toarray())


def test_pyg_itself_gives_what_its_stand_in_gives():
    """It needs torch, which is large: `make integrations` installs it."""
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric")
    both_ways = torch.from_numpy(np.concatenate([EDGES, EDGES[::-1]], axis=1))
    data = geometric.data.Data(x=torch.eye(6), edge_index=both_ways)
    np.testing.assert_array_equal(as_graph(data).weights.toarray(), GRAPHS["ours"].weights.toarray())
    model = pl.GinzburgLandauClassifier(n_neighbors=2).fit(data.x, [0, -1, -1, 1, -1, -1], graph=data)
    assert model.transduction_.tolist() == [0, 0, 0, 1, 1, 1]


def test_dgl_itself_gives_what_its_stand_in_gives():
    torch = pytest.importorskip("torch")
    dgl = pytest.importorskip("dgl")
    graph = as_graph(dgl.graph(tuple(map(torch.from_numpy, EDGES))))
    np.testing.assert_array_equal(graph.weights.toarray(), GRAPHS["ours"].weights.toarray())


@pytest.mark.parametrize("name", ["pyg", "dgl", "networkx"])
def test_features_and_a_graph_of_another_library_are_fitted(name):
    rows = np.random.default_rng(0).normal(size=(6, 2))
    model = pl.GinzburgLandauClassifier(n_neighbors=2).fit(rows, [0, -1, -1, 1, -1, -1], graph=GRAPHS[name])
    assert model.transduction_.shape == (6,)
    assert model.graph_.n_vertices == 6
