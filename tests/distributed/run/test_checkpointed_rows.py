"""Rows that survive the loss of workers, and what they report."""

import os
import signal

import numpy as np
import pytest
from dask.distributed import Client, get_task_stream

from clusters import cluster_of, local_flow
from phaselabel.distributed.run.checkpointed_rows import EVENTS
from phaselabel.distributed.run.flow import minimize


def test_the_state_of_a_checkpoint_is_kept_when_a_worker_is_lost_after_it(problem):
    graph, labels, _ = problem
    with cluster_of(2) as cluster, Client(cluster) as client:
        victim, states = next(iter(client.run(os.getpid).values())), {}

        def read_after_a_loss(sweep, state, energy):
            states[sweep] = state
            if sweep == 15:
                os.kill(victim, signal.SIGKILL)
                states["arm"] = states[10].arm.compute()

        minimize(
            graph, labels, client, sweeps_per_round=1, interval=10, callbacks=read_after_a_loss,
            max_iter=20, tol=0,
        )  # fmt: skip
        arm, *_ = client.submit(local_flow, graph.weights, labels, max_iter=10, tol=0).result()
        np.testing.assert_array_equal(states["arm"], arm)


def test_a_state_that_is_gone_is_refused_in_a_sentence(client, problem):
    graph, labels, _ = problem
    states = []
    minimize(graph, labels, client, callbacks=lambda s, state, e: states.append(state), max_iter=20)
    with pytest.raises(ValueError, match="The state of sweep 0 is gone"):
        _ = states[0].arm


def test_looks_are_events_of_the_scheduler_and_tasks_in_its_stream(client, problem):
    graph, labels, _ = problem
    before = len(client.get_events(EVENTS))
    with get_task_stream(client) as stream:
        solution = minimize(graph, labels, client)
    shown = [task["key"] for task in stream.data if task["key"].startswith("phaselabel-sweep")]
    assert {int(key.split("-")[-1]) for key in shown} >= set(solution.energy["sweep"].tolist()[:-1])
    assert [event["action"] for _, event in client.get_events("all")][-1] == "phaselabel flow"
    events = [event for _, event in client.get_events(EVENTS)[before:]]
    assert [event["sweep"] for event in events][: len(solution.energy)] == solution.energy["sweep"].tolist()
    np.testing.assert_allclose([event["energy"] for event in events], solution.energy["total"], rtol=1e-12)
