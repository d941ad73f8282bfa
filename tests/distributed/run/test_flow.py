"""The flow on a local cluster of processes: the same bits, even when workers are lost."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from dask.distributed import Client

import phaselabel as pl
from clusters import cluster_of, local_flow
from phaselabel.distributed.run.flow import minimize


def assert_same(solution, reference):
    arm, height, energy, status = reference
    np.testing.assert_array_equal(solution.arm.compute(), arm)
    np.testing.assert_array_equal(solution.height.compute(), height)
    np.testing.assert_array_equal(solution.energy["sweep"], energy["sweep"])
    np.testing.assert_allclose(solution.energy["total"], energy["total"], rtol=1e-12)
    assert solution.status == status


def some_workers(client, n):
    return sorted(client.scheduler_info(n_workers=-1)["workers"])[:n]


@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_the_same_bits_on_any_number_of_workers(client, problem, reference, n_workers):
    graph, labels, _ = problem
    workers = some_workers(client, n_workers)
    assert_same(minimize(graph, labels, client, workers=workers, sweeps_per_round=1), reference)


def test_the_same_bits_with_a_schedule_and_a_fixed_step(client, problem):
    graph, labels, _ = problem
    settings = {"epsilon": pl.Geometric(1.0, 0.5, factor=0.7, sweeps=15), "step": 0.1}
    expected = local_flow(graph.weights, labels, **settings)
    solution = minimize(
        graph, labels, client, workers=some_workers(client, 2), sweeps_per_round=1, **settings
    )
    assert_same(solution, expected)


@pytest.mark.parametrize("sweeps", [4, "auto"])
def test_several_sweeps_a_round_find_the_same_labels(client, problem, reference, sweeps):
    graph, labels, _ = problem
    solution = minimize(graph, labels, client, workers=some_workers(client, 2), sweeps_per_round=sweeps)
    assert np.mean(solution.arm.compute() == reference[0]) >= 0.999


def test_mnist_bit_for_bit(client, data_home):
    with np.load(Path(data_home) / "mnist70k.npz") as file:
        X, y = file["x"][:6_000].reshape(6_000, -1), file["y"][:6_000].astype(int)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    labels = pl.datasets.sample_labels(y, 75, random_state=0)
    expected = local_flow(graph.weights, labels)
    assert_same(minimize(graph, labels, client, sweeps_per_round=1), expected)


def test_every_worker_may_be_killed_once(problem, reference):
    graph, labels, _ = problem
    with cluster_of(2) as cluster, Client(cluster) as client:
        victims = list(client.run(os.getpid).values())

        def kill(sweep, state, energy):
            if sweep in (15, 30):
                os.kill(victims.pop(), signal.SIGKILL)

        solution = minimize(
            graph, labels, client, sweeps_per_round=1, interval=10, callbacks=kill, max_iter=45, tol=0
        )
        assert not victims
        arm, height, *_ = client.submit(local_flow, graph.weights, labels, max_iter=45, tol=0).result()
        np.testing.assert_array_equal(solution.arm.compute(), arm)
        np.testing.assert_array_equal(solution.height.compute(), height)


class Stop(Exception):
    pass


def test_a_run_goes_on_from_its_checkpoint(client, problem, reference, tmp_path):
    graph, labels, _ = problem
    options = {"sweeps_per_round": 1, "interval": 10, "folder": tmp_path, "workers": some_workers(client, 2)}

    def stop(sweep, state, energy):
        if sweep == 15:
            raise Stop

    with pytest.raises(Stop):
        minimize(graph, labels, client, callbacks=stop, **options)
    kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert kept
    assert not [name for name in kept if name.endswith(".part")]
    seen = []
    solution = minimize(
        graph,
        labels,
        client,
        callbacks=lambda s, state, e: seen.append(state.sizes(5).sum()),
        resume=True,
        **options,
    )
    assert_same(solution, reference)
    assert len(seen) == len(reference[2])
