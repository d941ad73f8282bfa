import numpy as np

from phaselabel.paper.problem import Experiment
from phaselabel.paper.recipes import RECIPES


def test_runs_are_independent_of_each_other_and_repeatable():
    experiment = Experiment(RECIPES["swiss-roll"], seed=4)
    first, second, again = (
        experiment.problem(0),
        experiment.problem(1),
        Experiment(RECIPES["swiss-roll"], seed=4).problem(0),
    )
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.allclose(first.X, second.X)
    assert (first.labels >= 0).sum() == 80
    streams = {
        np.random.default_rng(s).random() for p in (first, second) for s in (p.start, p.clustering)
    } | {Experiment(RECIPES["swiss-roll"], seed=5).problem(0).X[0, 0]}
    assert len(streams) == 5


def test_resume_searches_fixed_points_once(tmp_path, monkeypatch, data_home):
    kept = tmp_path / "coil.npz"
    first = Experiment(RECIPES["coil"], 0, data_home, keep=kept).problem(0)
    monkeypatch.setattr("phaselabel.paper.problem.nearest_neighbors", None)
    again = Experiment(RECIPES["coil"], 0, data_home, keep=kept, resume=True).problem(0)
    monkeypatch.undo()
    kept.write_bytes(kept.read_bytes()[:1000])  # a damaged file is made again
    mended = Experiment(RECIPES["coil"], 0, data_home, keep=kept, resume=True).problem(0)
    for size, graph in first.graphs.items():
        for other in (again, mended):
            assert (graph.weights != other.graphs[size].weights).nnz == 0
