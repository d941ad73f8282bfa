"""How fast the flow itself is: nanoseconds an edge, beside a plain sparse product on the same arrays."""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba as nb
import numpy as np
from report import table, write_section
from sets import data_home, digits, mixture, mnist

import phaselabel as pl
from phaselabel._kernels import flow as _kernels
from phaselabel.flow.block import Block, balanced_ranges
from phaselabel.flow.descent import Descent
from phaselabel.flow.star import checked_fidelity


@nb.njit(parallel=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def product(indptr, indices, weights, x, out, blocks):
    """A parallel CSR·vector product with the same scheduling as the sweep."""
    for b in nb.prange(blocks.size - 1):
        for i in range(np.uint64(blocks[b]), np.uint64(blocks[b + 1])):
            total = np.float32(0)
            for e in range(indptr[i], indptr[i + np.uint64(1)]):
                total += weights[e] * x[indices[e]]
            out[i] = total


@nb.njit(parallel=True, cache=True)
def copy(source, target):
    """A streaming copy."""
    for i in nb.prange(source.size):
        target[i] = source[i]


def contest(functions, repeats=15, batch=10):
    """Seconds a call of each function, alternating; the minimum of each and the median ratio to the first."""
    for function in functions:
        function()
    times = np.empty((repeats, len(functions)))
    for row in times:
        for k, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(batch):
                function()
            row[k] = (time.perf_counter() - start) / batch
    return times


def kernel(name, graph, y, labels_per_class, repeats=15):
    """One sweep beside the product and the copy, on the arrays that the flow really uses."""
    labels = pl.datasets.sample_labels(y, labels_per_class, random_state=0).astype(np.int32)
    start = pl.State.at_hub(len(y)).with_labels(labels)
    block = Block.of_graph(graph, labels, checked_fidelity(30.0, labels), start, int(y.max()) + 1)
    descent = Descent(block, graph.n_vertices)
    descent.set_epsilon(1.0, "auto")
    for _ in range(30):
        descent.look()
    indptr, indices, weights = block.csr
    x, out = np.random.default_rng(0).random(len(y), np.float32), np.empty(len(y), np.float32)
    blocks = balanced_ranges(indptr, 64)
    source = np.zeros(2 * len(weights), np.float32)  # 4 bytes of index and 4 of weight an edge
    target = np.empty_like(source)
    csr = graph.normalized
    arguments = block.arguments()
    times = contest(
        [
            lambda: _kernels.sweep.parallel(*arguments),
            lambda: product(indptr, indices, weights, x, out, blocks),
            lambda: csr @ x,
            lambda: copy(source, target),
            descent.look,
        ],
        repeats,
    )
    plain = np.minimum(times[:, 1], times[:, 2])
    return {
        "graph": name,
        "vertices": f"{len(y):,}",
        "edges (both ways)": f"{len(weights):,}",
        "sweep, ns/edge": round(1e9 * times[:, 0].min() / len(weights), 2),
        "sweep, ms": round(1e3 * times[:, 0].min(), 2),
        "product, ms": round(1e3 * plain.min(), 2),
        "sweep / product, best": round(float(times[:, 0].min() / plain.min()), 2),
        "median": round(float(np.median(times[:, 0] / plain)), 2),
        "watched / product": round(float(np.median(times[:, 4] / plain)), 2),
        "sweep / copy": round(float(np.median(times[:, 0] / times[:, 3])), 2),
    }


def timed(function, repeats):
    """The result and the best and median seconds of some calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds), float(np.median(seconds))


def flows(graph, y):
    """Whole flows on MNIST: the paper's own run, few labels, and ten more labels on a finished one."""
    rows = []

    def row(name, labels, function, repeats=15):
        found, best, median = timed(function, repeats)
        hidden = labels < 0
        accuracy = 100 * np.mean(found.arm[hidden] == y[hidden])
        rows.append(
            {"flow": name, "sweeps": found.n_iter, "accuracy, %": round(accuracy, 2),
             "best s": round(best, 3), "median s": round(median, 3)}
        )  # fmt: skip
        return found

    labels = pl.datasets.sample_labels(y, 250, random_state=0)
    done = row("250 labels per class, defaults", labels, lambda: pl.minimize(graph, labels))
    paper = {"init": "random", "step": 0.01, "max_iter": 1500, "tol": 0, "fidelity": 50.0, "random_state": 0}
    row("the paper's run, 1,500 sweeps of dt 0.01", labels, lambda: pl.minimize(graph, labels, **paper), 3)
    rng = np.random.default_rng(1)
    more = labels.copy()
    extra = rng.choice(np.flatnonzero(labels < 0), 10, replace=False)
    more[extra] = y[extra]
    row("10 labels added, warm start", more, lambda: pl.minimize(graph, more, init=done))
    row("10 labels added, from the hub", more, lambda: pl.minimize(graph, more))
    for n in (5, 1):
        few, named = pl.datasets.sample_labels(y, n, random_state=0), f"{n} label{'s' * (n > 1)} per class"
        row(f"{named}, defaults", few, lambda few=few: pl.minimize(graph, few), 3)
        row(f"{named}, 2,000 sweeps", few, lambda few=few: pl.minimize(graph, few, tol=0), 1)
    return rows


#: What a new process has before it calls us, and its first call.
FIRST_CALLS = {
    "a flow on a saved graph": ("pass", "pl.minimize(pl.Graph.load(sys.argv[1]), np.load(sys.argv[2]))"),
    "fit on rows (scikit-learn's digits)": (
        "from sklearn.datasets import load_digits; X, y = load_digits(return_X_y=True); y[100:] = -1",
        "pl.GinzburgLandauClassifier().fit(X, y)",
    ),
}


def first_call(before, call, files, cache=None):
    """Seconds of one first call in a new process: our part of it, and the whole life of the process."""
    clock = "time.perf_counter()"
    code = (
        f"import sys, time, numpy as np; {before}; start = {clock}; "
        f"import phaselabel as pl; {call}; print({clock} - start)"
    )
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(cache)} if cache else {})
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *files], check=True, env=environment,
                          capture_output=True)  # fmt: skip
    return float(done.stdout), time.perf_counter() - start


def measure_cold():
    """The first call in a new process, with compiled kernels on disk and without."""
    graph, y, name = (*mnist(), "MNIST") if data_home() else (*mixture(100_000), "mixture 10⁵")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/graph.npz", f"{folder}/labels.npy"]
        graph.save(files[0])
        np.save(files[1], pl.datasets.sample_labels(y, 250, random_state=0))
        for what, code in FIRST_CALLS.items():
            first_call(*code, files)
            warm = np.median([first_call(*code, files) for _ in range(7)], axis=0)
            ours, _ = first_call(*code, files, Path(folder) / "kernels")
            rows.append(
                {
                    "first call": what + (f" ({name})" if "saved" in what else ""),
                    "kernels on disk, s": round(float(warm[0]), 2),
                    "whole process, s": round(float(warm[1]), 2),
                    "kernels compiled first, s": round(ours, 1),
                }
            )
    text = (
        "The first call in a new process, our imports included; the whole process starts the interpreter and "
        "imports numpy, and scikit-learn where rows are given. Compilation happens once on a machine. "
        "Medians of 7.\n\n" + table(rows)
    )
    print(table(rows))
    write_section("flow-cold", "The flow: cold start", "python benchmarks/flow.py --only cold", text, rows)


def growth(n):
    """A mixture of n points: cost an edge, seconds and memory; run in a process of its own."""
    start = time.perf_counter()
    graph, y = mixture(n)
    built = time.perf_counter() - start
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    labels = pl.datasets.sample_labels(y, 50, random_state=0)
    start = time.perf_counter()
    _ = graph.layout, graph.row_sums
    prepared = time.perf_counter() - start
    start = time.perf_counter()
    found = pl.minimize(graph, labels)
    seconds = time.perf_counter() - start
    one = kernel("", graph, y, 50, repeats=5)
    hidden = labels < 0
    return {
        "points": f"{n:,}",
        "edges (both ways)": f"{graph.weights.nnz:,}",
        "graph, s": round(built, 1),
        "renumber, s": round(prepared, 2),
        "flow, s": round(seconds, 2),
        "sweeps": found.n_iter,
        "accuracy, %": round(float(100 * np.mean(found.arm[hidden] == y[hidden])), 2),
        "sweep, ns/edge": one["sweep, ns/edge"],
        "sweep / product": one["sweep / product, best"],
        "peak GiB, graph": round(before / 2**20, 2),
        "peak GiB, all": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main():
    """Measure, print, and write the sections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["kernel", "cold", "growth"])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--growth", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.growth:
        print(json.dumps(growth(arguments.growth)))
        return
    if arguments.only in (None, "kernel"):
        measure_flow()
    if arguments.only in (None, "cold"):
        measure_cold()
    if arguments.only in (None, "growth"):
        measure_growth(arguments.sizes)


def measure_flow():
    """One sweep, and whole flows."""
    graphs = [("digits", *digits(), 2)]
    if data_home():
        graph, y = mnist()
        graphs.append(("MNIST", graph, y, 250))
    kernels = [kernel(*case) for case in graphs]
    print(table(kernels))
    text = "One sweep. The product is the faster one of scipy and a parallel numba loop.\n\n" + table(kernels)
    runs = flows(graph, y) if data_home() else []
    if runs:
        print(table(runs))
        text += "\n\nWhole flows on MNIST's graph (10 neighbours, raw pixels).\n\n" + table(runs)
    results = {"kernels": kernels, "flows": runs}
    write_section("flow", "The flow", "python benchmarks/flow.py --only kernel", text, results)


def measure_growth(sizes):
    """The same on ever larger graphs, each in a process of its own."""
    rows = []
    for n in sizes:
        command = [sys.executable, __file__, "--growth", str(int(n))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(table(rows[-1:]), flush=True)
    text = "A mixture of 20 Gaussians in space, 50 labels per class.\n\n" + table(rows)
    write_section("flow-growth", "The flow: growth", "python benchmarks/flow.py --only growth", text, rows)


if __name__ == "__main__":
    main()
