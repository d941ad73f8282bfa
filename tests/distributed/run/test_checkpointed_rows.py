"""Rows that survive the loss of workers, and what they report."""

import os
import re
import signal

import numpy as np
import pytest
from dask.distributed import Client, get_task_stream

from clusters import cluster_of, local_flow
from phaselabel.distributed.build.block_files import split
from phaselabel.distributed.folder import open_folder
from phaselabel.distributed.run.actor_group import ActorGroup
from phaselabel.distributed.run.checkpointed_rows import EVENTS, CheckpointedRows, remove_flow
from phaselabel.distributed.run.flow import minimize
from phaselabel.distributed.run.known_labels import KnownLabels
from phaselabel.distributed.run.remote_rows import RemoteRows
from phaselabel.flow.block import largest_array
from phaselabel.flow.descent import Descent
from phaselabel.flow.minimize import descend
from phaselabel.flow.schedule import FlowSettings


def test_the_state_of_a_checkpoint_is_kept_when_a_worker_is_lost_after_it(problem, reference, caplog):
    graph, labels, _ = problem
    with cluster_of(2) as cluster, Client(cluster) as client:
        victim, states = next(iter(client.run(os.getpid).values())), {}

        def read_after_a_loss(sweep, state, energy):
            states[sweep] = state
            if sweep == 15:
                os.kill(victim, signal.SIGKILL)
                states["arm"] = states[10].arm.compute()

        with caplog.at_level("INFO", "phaselabel"):
            minimize(
                graph, labels, client, sweeps_per_round=1, interval=10, callbacks=read_after_a_loss,
                max_iter=20, tol=0,
            )  # fmt: skip
        arm, *_ = client.submit(local_flow, graph.weights, labels, max_iter=10, tol=0).result()
        np.testing.assert_array_equal(states["arm"], arm)
    first, *later = [words for words in caplog.messages if words.startswith("BlockActor of 2: ")]
    address, block = next(
        (a, n) for n, a in re.findall(r"block (\d) on (\S+\d)", first) if a in lost_in(caplog)
    )
    assert (
        f"Lost {address} with blocks {block} of 2; they are made again on other workers." in caplog.messages
    )
    assert f"block {block} on " in later[0]
    assert "The flow 'flow' returns to sweep 10, with all 2 blocks." in caplog.messages


class Stop(Exception):
    pass


def test_a_flow_continues_although_another_one_had_the_same_folder(client, problem, reference, tmp_path):
    graph, labels, _ = problem
    partition = split(graph, 2, open_folder(tmp_path))
    rows = np.flatnonzero(labels >= 0)
    places = partition.locate(partition.ids_in(0, rows))
    known = KnownLabels(*places, labels[rows], np.full(len(rows), 30.0), partition.n_blocks)
    size = largest_array(graph.n_vertices, graph.weights.nnz, 5)
    actors = ActorGroup(client, partition.folder, partition.n_blocks, 5, size)

    def flow(name, resume=False, callbacks=()):
        blocks = RemoteRows(actors, 1)
        there = CheckpointedRows(blocks, partition, known, name=name, interval=10, resume=resume)
        return descend(Descent(there, there.n_vertices), FlowSettings(), callbacks)

    def stop(sweep, state, energy):
        if sweep == 15:
            raise Stop

    def files_of(name):
        return {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if name in path.name}

    try:
        with pytest.raises(Stop):
            flow("flow", callbacks=[stop])
        flow("asked-1")
        flow("asked-10")
        others = files_of("asked-10")
        assert others
        remove_flow(partition.folder, "asked-1")
        assert files_of("asked-1") == others
        solution = flow("flow", resume=True)
        np.testing.assert_array_equal(solution.height.compute(), reference[1])
    finally:
        actors.release()


def lost_in(caplog):
    return next(words for words in caplog.messages if words.startswith("Lost tcp"))


def test_logs_name_blocks_and_sweeps(client, problem, caplog):
    graph, labels, _ = problem
    with caplog.at_level("INFO", "phaselabel"):
        solution = minimize(graph, labels, client, n_blocks=3, max_iter=20)
    (start,) = (words for words in caplog.messages if words.startswith("BlockActor of 3: "))
    workers = client.scheduler_info(n_workers=-1)["workers"]
    placed = re.findall(r"block (\d) on (\S+\d)", start)
    assert [int(number) for number, _ in placed] == [0, 1, 2]
    assert {address for _, address in placed} <= set(workers)
    assert "The flow 'flow' starts at sweep 0 in 3 blocks." in caplog.messages
    looks = [words for words in caplog.messages if words.startswith("Flow 'flow', sweep ")]
    for words, sweep, energy in zip(looks, solution.energy["sweep"], solution.energy["total"], strict=True):
        assert words.startswith(f"Flow 'flow', sweep {sweep} in 3 blocks: energy {energy:.6g}, ")
        assert re.search(r"; block [012] was the slowest, \S+ s\.$", words)


def test_a_state_that_is_gone_is_refused_in_a_sentence(client, problem):
    graph, labels, _ = problem
    states = []
    minimize(graph, labels, client, callbacks=lambda s, state, e: states.append(state), max_iter=20)
    with pytest.raises(ValueError, match="The state of sweep 0 is gone"):
        _ = states[0].arm


def _last_action(dask_scheduler):
    """The action of the newest event of any topic, but for the call of this function."""
    actions = [event["action"] for _, event in dask_scheduler.get_events("all") if "action" in event]
    return [action for action in actions if action != "run-function"][-1]


def test_looks_are_events_of_the_scheduler_and_tasks_in_its_stream(client, problem):
    graph, labels, _ = problem
    before = len(client.get_events(EVENTS))
    with get_task_stream(client) as stream:
        solution = minimize(graph, labels, client)
        last = client.run_on_scheduler(_last_action)  # others of these events can't be sent
        solution.arm.compute()  # after the tasks of the sweeps
    shown = [task["key"] for task in stream.data if str(task["key"]).startswith("phaselabel-sweep")]
    assert {int(key.split("-")[-1]) for key in shown} >= set(solution.energy["sweep"].tolist())
    assert last == "phaselabel flow"
    events = [event for _, event in client.get_events(EVENTS)[before:]]
    assert [event["sweep"] for event in events][: len(solution.energy)] == solution.energy["sweep"].tolist()
    np.testing.assert_allclose([event["energy"] for event in events], solution.energy["total"], rtol=1e-12)
