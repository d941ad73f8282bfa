"""The graph that is kept beside the project."""

import numpy as np
import pytest

from phaselabel.graph import nearest_neighbors, similarity_graph
from phaselabel.studio import graph_cache
from phaselabel.studio.graph_cache import graphs_and_map


@pytest.fixture
def points(monkeypatch):
    """As many as make a graph worth keeping; fewer than usual, because placing them takes seconds."""
    monkeypatch.setattr(graph_cache, "MIN_ITEMS", 600)
    return np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)


@pytest.fixture
def built(monkeypatch):
    """How often a graph was built."""
    calls = []
    build = graph_cache._built
    monkeypatch.setattr(graph_cache, "_built", lambda *arguments: calls.append(1) or build(*arguments))
    return calls


def same(one, other):
    graphs = one[0].keys() == other[0].keys() and all(
        (one[0][name].weights != other[0][name].weights).nnz == 0 for name in one[0]
    )
    return graphs and (one[1] == other[1]).all()


def test_the_second_opening_reads_the_same_graph(points, tmp_path, built):
    path = tmp_path / "x.studio-graph"
    first = graphs_and_map(points, path)
    second = graphs_and_map(points, path)
    assert len(built) == 1
    assert same(first, second)
    assert [p.name for p in tmp_path.iterdir()] == ["x.studio-graph"]


def test_other_features_are_not_answered_by_the_file(points, tmp_path, built):
    path = tmp_path / "x.studio-graph"
    graphs_and_map(points, path)
    changed = points.copy()
    changed[17, 2] += 0.5
    second = graphs_and_map(changed, path)
    assert len(built) == 2
    assert same(second, graphs_and_map(changed, path))
    assert len(built) == 2


@pytest.mark.parametrize("how", ["cut", "nonsense", "index", "missing array", "flipped"])
def test_a_damaged_file_is_built_again(points, tmp_path, built, how):
    path = tmp_path / "x.studio-graph"
    first = graphs_and_map(points, path)
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "nonsense":
        path.write_bytes(b"nonsense")
    elif how == "flipped":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    else:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        if how == "index":
            arrays["indices 10"][0] = 10**8
        else:
            del arrays["places"]
        with path.open("wb") as file:
            np.savez(file, **arrays)
    assert same(first, graphs_and_map(points, path))
    assert len(built) == 2


def test_few_items_leave_no_file_and_a_full_disk_is_no_error(points, tmp_path, monkeypatch):
    graphs_and_map(points[:100], tmp_path / "x.studio-graph")
    assert list(tmp_path.iterdir()) == []

    def fail(*arguments):
        raise OSError("no space left")

    monkeypatch.setattr(graph_cache, "_write", fail)
    graphs, _ = graphs_and_map(points, tmp_path / "x.studio-graph")
    assert [graph.n_vertices for graph in graphs.values()] == [600] * 3


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("indices 10", np.zeros(3)),
        ("indptr 10", np.array(7)),
        ("data 10", np.full(3, "a")),
        ("data 10", np.ones((2, 2))),
        ("places", np.zeros((12, 2), object)),
        ("indptr 10", np.array([0, 5, 0])),
        ("digest", np.zeros((2, 2))),
    ],
)
def test_a_hostile_cache_is_not_used(tmp_path, name, array):
    X = np.random.default_rng(0).normal(size=(12, 2))
    weights = similarity_graph(nearest_neighbors(X, 3)).weights
    arrays = {
        "digest": np.array(graph_cache._digest(X)),
        "indptr 10": weights.indptr,
        "indices 10": weights.indices,
        "data 10": weights.data,
        "rungs": np.array(["10"]),
        "places": np.zeros((12, 2), np.float32),
    }
    with (tmp_path / "g").open("wb") as file:
        np.savez(file, **arrays)
    assert graph_cache._read(tmp_path / "g", graph_cache._digest(X), 12) is not None
    with (tmp_path / "g").open("wb") as file:
        np.savez(file, **arrays | {name: array})
    assert graph_cache._read(tmp_path / "g", graph_cache._digest(X), 12) is None
