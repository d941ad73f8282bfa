"""The graph: checked matrices, graphs of other packages, files."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import phaselabel as pl

PATH = [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]


def test_degrees_and_normalised_weights():
    graph = pl.Graph.from_weights(PATH)
    assert graph.degrees.tolist() == [2, 2.5, 0.5]
    assert graph.normalized[0, 1] == pytest.approx(2 / np.sqrt(5))
    assert (graph.n_vertices, graph.n_edges, graph.n_components) == (3, 2, 1)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_any_matrix_is_taken(kind):
    np.testing.assert_array_equal(pl.Graph.from_weights(kind(PATH)).weights.toarray(), PATH)


def test_the_callers_matrix_is_left_alone():
    matrix = sparse.csr_array(np.array(PATH) + np.eye(3))
    before = matrix.toarray()
    pl.Graph.from_weights(matrix)
    np.testing.assert_array_equal(matrix.toarray(), before)


def test_loops_are_dropped():
    assert pl.Graph.from_weights(np.ones((2, 2))).degrees.tolist() == [1, 1]


def test_isolated_vertices_are_components_and_not_nan():
    graph = pl.Graph.from_weights(np.zeros((3, 3)))
    assert graph.n_components == 3
    assert np.isfinite(graph.row_sums).all()
    assert graph.reached(np.array([True, False, False])).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        (np.ones((2, 3)), "square"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, 1], [0, 0]], "not symmetric"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        ([[0, 1j], [1j, 0]], "real"),
        ([[0, 1e39], [1e39, 0]], "divide"),
        ([[0, 1e6, 0], [1e6, 0, 0], [0, 1, 0]], "not symmetric"),
    ],
)
def test_bad_matrices(matrix, word):
    with pytest.raises(ValueError, match=word):
        pl.Graph.from_weights(np.array(matrix))


@pytest.mark.parametrize("dtype", [int, bool, np.float16, np.complex128])
def test_types_that_cannot_hold_weights_are_refused(dtype):
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        pl.Graph.from_weights([[0, 0.5], [0.5, 0]], dtype)
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        pl.similarity_graph(pl.nearest_neighbors([[0.0], [1.0], [3.0]], 1), dtype=dtype)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_a_matrix_with_indices_out_of_range_is_refused(kind):
    matrix = kind(np.array(PATH))
    matrix.indices[0] = 1000
    with pytest.raises(ValueError, match="The graph is not a proper sparse matrix"):
        pl.Graph.from_weights(matrix)


# -- from elsewhere, to a file and back


def test_edges_in_both_directions_or_twice_count_once():
    graph = pl.Graph.from_edges([[0, 1, 1, 2, 1], [1, 0, 2, 1, 1]], [1.0, 3.0, 0.5, 0.5, 9.0])
    np.testing.assert_array_equal(graph.weights.toarray(), [[0, 3, 0], [3, 0, 0.5], [0, 0.5, 0]])
    assert pl.Graph.from_edges([(0, 1), (1, 2), (2, 3)], n_vertices=6).n_components == 3
    assert pl.Graph.from_edges([]).n_vertices == 0


@pytest.mark.parametrize(
    ("edges", "joined"),
    [
        ([(0, 1), (2, 3)], {(0, 1), (2, 3)}),
        (((0, 1), (2, 3)), {(0, 1), (2, 3)}),
        ([[0, 1], [2, 3]], {(0, 2), (1, 3)}),
        (np.array([[0, 1], [2, 3]]), {(0, 2), (1, 3)}),
        ((np.array([0, 1]), np.array([2, 3])), {(0, 2), (1, 3)}),
        ([(0, 1), (1, 2), (2, 3)], {(0, 1), (1, 2), (2, 3)}),
        (np.array([(0, 1), (1, 2), (2, 3)]), {(0, 1), (1, 2), (2, 3)}),
        ([(0, 0, 1), (1, 2, 3)], {(0, 1), (0, 2), (1, 3)}),
        ([(0, 3)], {(0, 3)}),
    ],
)
def test_two_tuples_are_pairs_and_two_rows_are_rows(edges, joined):
    half = sparse.triu(pl.Graph.from_edges(edges).weights).tocoo()
    assert {(int(i), int(j)) for i, j in zip(half.row, half.col)} == joined


@pytest.mark.parametrize(
    ("edges", "options", "word"),
    [
        ([[0, 1, 2]], {}, "two rows"),
        ([[0.0, 1.0], [1.0, 2.0]], {}, "two rows"),
        ([[0, 5], [1, 2]], {"n_vertices": 3}, "between 0 and 2"),
        ([[0, -1], [1, 2]], {}, "between 0 and 2"),
        ([[0, 1], [1, 2]], {"weights": [1.0]}, "one per edge"),
        ([[0, 1], [1, 2]], {"weights": [1.0, -1.0]}, "negative"),
        ([[0, 1], [1, 2]], {"weights": ["a", "b"]}, "weights must be real numbers"),
        ([[0, 1], [1, 2]], {"n_vertices": 3.5}, "n_vertices must be a whole number"),
        ([], {"n_vertices": -1}, "n_vertices must be a whole number"),
    ],
)
def test_bad_edges(edges, options, word):
    with pytest.raises(ValueError, match=word):
        pl.Graph.from_edges(edges, **options)


def test_graphs_of_other_packages():
    networkx = pytest.importorskip("networkx")
    igraph = pytest.importorskip("igraph")
    club = networkx.karate_club_graph()
    expected = networkx.to_numpy_array(club)
    np.testing.assert_array_equal(pl.Graph.from_networkx(club).weights.toarray(), expected)
    twin = igraph.Graph(
        edges=list(club.edges), edge_attrs={"weight": [w for *_, w in club.edges(data="weight")]}
    )
    np.testing.assert_array_equal(pl.Graph.from_igraph(twin).weights.toarray(), expected)
    assert pl.Graph.from_networkx(networkx.path_graph(["a", "b", "c"])).n_edges == 2


def test_pyg_data():
    class Data:
        edge_index = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
        edge_weight = None
        num_nodes = 4

    graph = pl.Graph.from_pyg(Data())
    assert (graph.n_vertices, graph.n_edges) == (4, 2)


def test_saved_and_loaded(tmp_path, digits_graph):
    digits_graph.save(tmp_path / "digits.npz")
    again = pl.Graph.load(tmp_path / "digits.npz")
    assert (again.weights != digits_graph.weights).nnz == 0
    assert again.weights.dtype == digits_graph.weights.dtype
    assert [p.name for p in tmp_path.iterdir()] == ["digits.npz"]


def test_a_failed_save_leaves_nothing(tmp_path, monkeypatch, digits_graph):
    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        digits_graph.save(tmp_path / "digits.npz")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_never_replaced(tmp_path, digits_graph):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("kept")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        digits_graph.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "kept"


def test_an_older_graph_is_replaced(tmp_path, digits_graph):
    pl.Graph.from_edges([(0, 1)]).save(tmp_path / "g.npz")
    digits_graph.save(tmp_path / "g.npz")
    assert pl.Graph.load(tmp_path / "g.npz").n_vertices == digits_graph.n_vertices


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text.npz").write_text("nonsense")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    np.savez(tmp_path / "broken.npz", data=[1.0], indices=[7], indptr=[0, 1, 1])
    np.savez_compressed(tmp_path / "packed.npz", data=[1.0, 1.0], indices=[1, 0], indptr=[0, 1, 2])
    np.save(tmp_path / "single.npy", np.ones(3))
    for name in ("text.npz", "other.npz", "broken.npz", "packed.npz", "single.npy"):
        with pytest.raises(ValueError, match="not a graph"):
            pl.Graph.load(tmp_path / name)


def test_edges_that_are_not_numbered_from_zero_are_refused_before_memory_is_taken():
    with pytest.raises(ValueError, match="number the vertices from 0"):
        pl.Graph.from_edges([[0], [10**12]])
    with pytest.raises(ValueError, match="n_vertices must be a whole number between 0 and"):
        pl.Graph.from_edges([[0], [1]], n_vertices=10**13)


@pytest.mark.parametrize(
    "arrays",
    [
        {"data": np.ones(2), "indices": [1, 0], "indptr": np.array(3)},
        {"data": np.ones((2, 1)), "indices": [1, 0], "indptr": [0, 1, 2]},
        {"data": np.ones(2), "indices": [1.0, 0.0], "indptr": [0, 1, 2]},
        {"data": np.ones(2), "indices": [1, 0], "indptr": [0, 2, 0]},
        {"data": np.ones(2), "indices": [1, 0], "indptr": []},
        {"data": np.array(["a", "b"]), "indices": [1, 0], "indptr": [0, 1, 2]},
    ],
)
def test_hostile_arrays_are_no_graph(tmp_path, arrays):
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(ValueError, match="not a graph written by"):
        pl.Graph.load(tmp_path / "g.npz")


def test_a_graph_of_the_first_version_is_read():
    graph = pl.Graph.load(Path(__file__).parent / "data" / "graph-version-1.zip")
    expected = [[0, 1, 0.5, 0], [1, 0, 0, 0.25], [0.5, 0, 0, 2], [0, 0.25, 2, 0]]
    assert graph.weights.toarray().tolist() == expected
    assert graph.weights.dtype == np.float32
