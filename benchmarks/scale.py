"""How the flow on Dask compares with the one in a single process, and what its rounds cost."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import phaselabel as pl
from phaselabel.few_labels.class_sizes import class_sizes
from phaselabel.few_labels.policy import HUB
from phaselabel.few_labels.solve import Problem, solve
from phaselabel.flow.schedule import FlowSettings
from phaselabel.flow.star import checked_fidelity

RESULTS = Path(__file__).parent / "results" / "scale.json"
WIDTH, CLASSES, CLUSTERS, RANK, CHUNK = 32, 20, 100, 8, 100_000
LABELS_PER_CLASS = 100

#: Clusters of a class where all classes share one subspace: most rows have rows of other classes nearby.
SHARED_CLUSTERS = 10


def chunk(number, size, seed=0, overlap=False):
    """Rows and classes; every class has clusters in a subspace of its own, or in one that all share."""
    classes_rng = np.random.default_rng(seed)
    centres = (1.2 * classes_rng.normal(size=(CLASSES, WIDTH))).astype(np.float32)
    spans = (classes_rng.normal(size=(CLASSES, RANK, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)
    middles = (1.5 * classes_rng.normal(size=(CLASSES, CLUSTERS, RANK))).astype(np.float32)
    clusters = CLUSTERS
    if overlap:
        centres[:], spans[:], clusters = centres[0], spans[0], SHARED_CLUSTERS
    rng = np.random.default_rng([seed, 1, number])
    y, part = rng.integers(0, CLASSES, size), rng.integers(0, clusters, size)
    latent = middles[y, part] + 0.7 * rng.normal(size=(size, RANK)).astype(np.float32)
    X = 0.15 * rng.normal(size=(size, WIDTH)).astype(np.float32)
    for k in range(CLASSES):
        rows = y == k
        X[rows] += centres[k] + latent[rows] @ spans[k]
    return X, y


def parts_of(n, overlap):
    """Chunks of rows and classes, one after the other."""
    return (chunk(t, min(CHUNK, n - t * CHUNK), overlap=overlap) for t in range(-(-n // CHUNK)))


def all_rows(n, overlap=False):
    """All rows and classes, for the single process."""
    X, y = zip(*parts_of(n, overlap))
    return np.concatenate(X), np.concatenate(y)


@contextmanager
def rows_in_files(n, overlap=False):
    """A Dask array of the rows in a folder of files, and the classes."""
    from phaselabel.distributed.sources import open_source

    y = []
    with tempfile.TemporaryDirectory() as home:
        for t, (X, classes) in enumerate(parts_of(n, overlap)):
            np.save(Path(home) / f"{t:06d}.npy", X)
            y.append(classes)
        yield open_source(home).X, np.concatenate(y)


def labels_of(y, seed=0):
    """A few labels of every class."""
    return pl.datasets.sample_labels(y, LABELS_PER_CLASS, random_state=seed)


def local(n):
    """The single process on all cores."""
    X, y = all_rows(n)
    labels = labels_of(y)
    start = time.perf_counter()
    neighbors = pl.nearest_neighbors(X, 10)
    searched = time.perf_counter()
    graph = pl.similarity_graph(neighbors)
    built = time.perf_counter()
    known = labels.astype(np.int32)
    sizes = class_sizes("estimate", np.arange(CLASSES))
    problem = Problem(graph, known, CLASSES, checked_fidelity(30.0, known), sizes, FlowSettings())
    solution = solve(problem, HUB)
    done = time.perf_counter()
    hidden = labels < 0
    return {
        "where": "one process", "rows": n, "search": searched - start, "graph": built - searched,
        "flow": done - built, "total": done - start, "sweeps": solution.n_iter, "recall": neighbors.recall,
        "accuracy": float(np.mean(solution.arm[hidden] == y[hidden])), "edges": graph.n_edges,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }  # fmt: skip


def on_dask(n, workers, threads, memory, sweeps_per_round):
    """The same on a local cluster of processes."""
    from dask.distributed import Client, LocalCluster

    stages, clock = {}, [time.perf_counter()]

    def progress(stage, done, total):
        if done == total:
            now = time.perf_counter()
            stages[stage] = stages.get(stage, 0) + now - clock[0]
            clock[0] = now

    with (
        rows_in_files(n) as (X, y),
        LocalCluster(
            n_workers=workers, threads_per_worker=threads, memory_limit=memory, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        labels = labels_of(y)
        client.run(lambda: __import__("phaselabel.distributed.job"))
        start = clock[0] = time.perf_counter()
        options = {
            "client": client, "sweeps_per_round": sweeps_per_round, "progress": progress, "in_blocks": True,
        }  # fmt: skip
        model = pl.GinzburgLandauClassifier(evidence=None, dask_options=options).fit(X, labels)
        total = time.perf_counter() - start
        labelled = model.transduction_.compute()
        peak = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
    outcome, hidden = model._fitted.outcome, labels < 0
    rounds = outcome.rounds
    return {
        "where": f"{workers} x {threads} on Dask", "rows": n, "total": total, "stages": stages,
        "flow": total - sum(stages.values()), "sweeps": model.n_iter_, "recall": model.neighbor_recall_,
        "accuracy": float(np.mean(labelled[hidden] == y[hidden])), "edges": outcome.graph.n_edges,
        "cut": outcome.graph.n_cut,
        "blocks": outcome.graph.partition.n_blocks, "cells": int(outcome.graph.partition.counts.shape[1]),
        "sweeps_per_round": outcome.sweeps_per_round, "rounds": len(rounds),
        "bytes": [int(r["bytes"]) for r in rounds],
        "exchange_ms": 1e3 * float(np.median([r["seconds"] - r["computing"] for r in rounds])),
        "sweep_ms": 1e3 * float(np.median([r["computing"] / r["sweeps"] for r in rounds])),
        "peak_gib": max(peak.values()),
    }  # fmt: skip


def beyond_memory(n, width, workers, threads, memory):
    """Wide rows in files, more than the memory of the cluster, with the distances of the narrow ones."""
    from dask.distributed import Client, LocalCluster

    from phaselabel.distributed.sources import open_source

    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(width, WIDTH)))[0].T.astype(np.float32)
    y, step = [], max(1, 2**26 // (4 * width))
    with tempfile.TemporaryDirectory() as home:
        rows = Path(home) / "rows.npy"
        rows.mkdir()
        for t, start in enumerate(range(0, n, step)):
            X, part = chunk(t, min(step, n - start))
            np.save(rows / f"{t:06d}.npy", X @ turn)
            y.append(part)
        y = np.concatenate(y)
        labels = labels_of(y)
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=threads, memory_limit=memory, dashboard_address=None
        )
        with cluster, Client(cluster) as client:
            limits = [w["memory_limit"] for w in client.scheduler_info(n_workers=-1)["workers"].values()]
            before = client.run(os.getpid)
            source, start = open_source(rows), time.perf_counter()
            options = {"client": client, "checkpoint": Path(home) / "kept", "in_blocks": True}
            model = pl.GinzburgLandauClassifier(evidence=None, dask_options=options).fit(source.X, labels)
            labelled = model.transduction_.compute()
            total = time.perf_counter() - start
            peaks = client.run(peak)
            killed = len(set(before.values()) - set(client.run(os.getpid).values()))
    hidden = labels < 0
    return {
        "where": f"{workers} x {threads} of {memory}", "rows": n, "width": width, "total": total,
        "data_gib": source.X.nbytes / 2**30, "limits_gib": sum(limits) / 2**30, "killed": killed,
        "peak_gib": [size / 2**30 for size in peaks.values()], "recall": model.neighbor_recall_,
        "cells": int(model._fitted.outcome.graph.partition.counts.shape[1]), "sweeps": model.n_iter_,
        "accuracy": float(np.mean(labelled[hidden] == y[hidden])),
    }  # fmt: skip


def overlapping(n, workers, memory, evidence="auto", kept=None):
    """Classes that overlap: a local fit, or blocks on Dask, accuracy beside time.

    The first run leaves its labels in the file ``kept``; a later one is compared with them, row by row.
    """
    from dask.distributed import Client, LocalCluster

    record = {
        "rows": n,
        "where": f"{workers} x 1 on Dask" if workers else "one process",
        "evidence": evidence,
    }
    if not workers:
        X, y = all_rows(n, overlap=True)
        labels, start, used = labels_of(y), time.perf_counter(), time.process_time()
        model = pl.GinzburgLandauClassifier(10, evidence=evidence).fit(X, labels)
        record["total"], labelled = time.perf_counter() - start, model.transduction_
        record["processor"] = time.process_time() - used
        record["peak_gib"] = [peak() / 2**30]
    else:
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=None
        )
        with rows_in_files(n, overlap=True) as (X, y), cluster, Client(cluster) as client:
            client.run(lambda: __import__("phaselabel.distributed.job"))
            stages = {}

            def progress(stage, done, total):
                stages[stage] = time.perf_counter() - start

            labels, options = labels_of(y), {"client": client, "in_blocks": True, "progress": progress}
            model = pl.GinzburgLandauClassifier(10, evidence=evidence, dask_options=options)

            def used():
                return time.process_time() + sum(client.run(time.process_time).values())

            start, before = time.perf_counter(), used()
            model.fit(X, labels)
            record["total"], record["processor"] = time.perf_counter() - start, used() - before
            record["ends"] = stages
            labelled = model.transduction_.compute()
            record["peak_gib"] = [size / 2**30 for size in client.run(peak).values()]
        outcome = model._fitted.outcome
        record |= {
            "edges": outcome.graph.n_edges, "cut": outcome.graph.n_cut, "rounds": len(outcome.rounds),
            "bytes": [int(r["bytes"]) for r in outcome.rounds],
            "exchange_ms": 1e3 * float(np.median([r["seconds"] - r["computing"] for r in outcome.rounds])),
        }  # fmt: skip
    if model.choice_ is not None:
        figures = model.choice_.figures
        record["hidden_found"] = [figures.rows, figures.graph, figures.together]
    hidden = labels < 0
    if kept and kept.exists():
        record["same_label"] = float(np.mean(labelled == np.load(kept)))
    elif kept:
        np.save(kept, labelled)
    return record | {
        "recall": model.neighbor_recall_, "accuracy": float(np.mean(labelled[hidden] == y[hidden])),
        "sweeps": model.n_iter_,
    }  # fmt: skip


def peak():
    """The largest size this process has had, in bytes."""
    words = Path("/proc/self/status").read_text().split()
    return 1024 * int(words[words.index("VmHWM:") + 1])


def main():
    """Measure one run, or all of them, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e5)
    parser.add_argument("--workers", type=int, default=0, help="0: one process, no Dask")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", default="6GiB")
    parser.add_argument("--wide", type=int, help="features of rows in files that exceed the memory")
    parser.add_argument("--overlapping", action="store_true", help="classes that overlap, with evidence")
    parser.add_argument("--graph-alone", action="store_true", help="classes that overlap, without evidence")
    parser.add_argument(
        "--labels", type=Path, metavar="NPY",
        help="classes that overlap: keep the labels there, or compare with those that an earlier run kept",
    )  # fmt: skip
    parser.add_argument("--sweeps-per-round", default="auto")
    parser.add_argument("--all", action="store_true", help="the table of docs/scale.md without 10^7 rows")
    parser.add_argument("--keep", action="store_true", help="add the result to results/scale.json")
    given = parser.parse_args()
    if given.all:
        for rows, workers in [(1e5, 0), (1e5, 1), (1e5, 2), (1e5, 4), (1e5, 8), (1e6, 0), (1e6, 2)]:
            words = ["--rows", str(rows), "--workers", str(workers), "--keep"]
            subprocess.run([sys.executable, __file__, *words], check=True)
        return
    rounds = given.sweeps_per_round if given.sweeps_per_round == "auto" else int(given.sweeps_per_round)
    n = int(given.rows)
    if given.overlapping or given.graph_alone:
        evidence = None if given.graph_alone else "auto"
        record = overlapping(n, given.workers, given.memory, evidence=evidence, kept=given.labels)
    elif given.wide:
        record = beyond_memory(n, given.wide, given.workers, given.threads, given.memory)
    elif given.workers:
        record = on_dask(n, given.workers, given.threads, given.memory, rounds)
    else:
        record = local(n)
    print(json.dumps(record, indent=1))
    if given.keep:
        records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        RESULTS.write_text(json.dumps([*records, record], indent=1) + "\n")


if __name__ == "__main__":
    main()
