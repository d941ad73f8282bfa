import numpy as np
import pytest

import phaselabel as pl
from phaselabel.datasets import make_swiss_roll, make_three_moons, make_two_moons, sample_labels
from phaselabel.streams import generator


def test_one_seed_for_points_labels_and_start_is_as_good_as_three():
    """With one stream for all three the start depended on the points: 39 to 51 % right."""
    accuracies = []
    for seed in range(3):
        X, y = make_three_moons(random_state=seed)
        labels = sample_labels(y, 25, random_state=seed)
        graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
        paper = {"init": "random", "step": 0.01, "max_iter": 1000, "tol": 0, "random_state": seed}
        accuracies.append(np.mean(pl.minimize(graph, labels, **paper).arm == y))
    assert min(accuracies) > 0.92


@pytest.mark.parametrize("make", [make_three_moons, make_two_moons, make_swiss_roll])
def test_points_are_independent_of_raw_streams(make):
    """A user's own default_rng(0) doesn't repeat the numbers that made the points."""
    X, _ = make(200, random_state=0)
    for raw in (np.random.default_rng(0).random(200), np.random.default_rng(0).normal(size=200)):
        assert abs(np.corrcoef(X[:200, 0], raw)[0, 1]) < 0.25


@pytest.mark.parametrize(
    "state", [0, 7, np.int64(7), [1, 2], np.random.SeedSequence(3), np.random.SeedSequence(3).spawn(2)[1]]
)
def test_each_purpose_has_a_stream_that_repeats(state):
    draws = {p: generator(state, p).random(4).tolist() for p in ("points", "labels", "start")}
    assert len({tuple(d) for d in draws.values()}) == 3
    assert generator(state, "start").random(4).tolist() == draws["start"]


def test_a_parent_and_its_children_differ():
    parent = np.random.SeedSequence(5)
    sources = [5, *parent.spawn(3)]
    first = {generator(source, "points").random() for source in sources}
    raw = {np.random.default_rng(source).random() for source in sources}
    assert len(first | raw) == 8
    assert parent.n_children_spawned == 3  # asking for a stream spawns no child


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(0)
    assert generator(rng, "points") is rng
    assert generator(None, "points").random() != generator(None, "points").random()


@pytest.mark.parametrize("state", [-1, "a", 1.5, {}])
def test_what_is_no_seed_ends_in_a_sentence(state):
    with pytest.raises(ValueError, match="random_state must be None, a whole number of at least 0"):
        generator(state, "points")
