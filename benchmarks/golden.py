"""Answers of one version in, a list of those that another version gives otherwise out.

Run it with each version on the path, then compare; `--strict` compiles kernels without fast-math:

    PYTHONPATH=OLD/src python benchmarks/golden.py old.npz --strict
    PYTHONPATH=src     python benchmarks/golden.py new.npz --strict --mirrored
    python benchmarks/golden.py old.npz new.npz
"""

import argparse
import csv
import inspect
import subprocess
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

#: The paper's flow: one step for all vertices, a fixed number of sweeps.
FIXED = {"step": 0.2, "tol": 0, "max_iter": 100}
#: Rows of the table.
ROWS = 300


def first_of(*names):
    """The first of these modules that the version has."""
    for name in names:
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    raise SystemExit(f"none of {names} is here")


def compile_strictly():
    """Take from the compiler the freedom to fuse and regroup sums, and keep nothing of it on disk."""
    import numba

    njit = numba.njit

    def strict(*functions, **options):
        options = {name: value for name, value in options.items() if name not in ("fastmath", "cache")}
        return njit(*functions, **options)

    numba.njit = strict


def mirror_at_the_hub():
    """Let a vertex that passes the hub and chooses its arm again climb on the other side, as in 0.1.0."""
    import numba

    kernels = import_module("phaselabel._kernels.flow")

    @numba.njit(inline="always", error_model="numpy")
    def mirrored(old, arm, bend, height):
        return min(-height, 0.5)

    kernels._after_vote = mirrored


def former(function, **settings):
    """The settings that switch off what is new, as far as the version has them."""
    return {name: value for name, value in settings.items() if name in inspect.signature(function).parameters}


def flows(pl, found):
    """Digits and two moons: neighbours, weights and the flow."""
    from sklearn.datasets import load_digits, make_moons

    moons = make_moons(1500, noise=0.15, random_state=0)
    for name, (X, y) in {"digits": load_digits(return_X_y=True), "moons": moons}.items():
        labels = np.where(np.arange(len(y)) % 20 == 0, y, -1)
        neighbors = pl.nearest_neighbors(X, 10)
        graph = pl.similarity_graph(neighbors)
        found[f"{name}: neighbours"], found[f"{name}: weights"] = neighbors.indices, graph.weights.data
        for kind, settings in {"fixed step": FIXED, "step='auto'": {}}.items():
            solution = pl.minimize(graph, labels, every=1, **settings)  # 0.1.0 moved only some in between
            found[f"{name}, {kind}: labels"], found[f"{name}, {kind}: heights"] = (
                solution.arm,
                solution.height,
            )


def fits(pl, found):
    """A classifier on digits by the graph alone: from the hub, and with few labels spread first."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    labels = np.where(np.arange(len(y)) % 20 == 0, y, -1)
    plain = former(pl.GinzburgLandauClassifier, evidence=None)
    for start in ("hub", "auto"):
        for kind, settings in {"fixed step": FIXED, "step='auto'": {}}.items():
            model = pl.GinzburgLandauClassifier(init=start, **plain, **settings).fit(X, labels)
            found[f"fit, init={start!r}, {kind}: labels"] = model.transduction_
            found[f"fit, init={start!r}, {kind}: confidence"] = model.confidence_


def image(pl, found):
    """A photograph with strokes on four flowers' parts, by appearance alone."""
    from sklearn.datasets import load_sample_image

    picture = np.ascontiguousarray(load_sample_image("flower.jpg")[100:300:2, 150:430:2])
    marks = np.zeros(picture.shape[:2], int)
    marks[40:60, 60:66], marks[4:8, 5:60], marks[90:94, 20:120] = 1, 2, 2
    settings = former(pl.segment, evidence=None, color="bands", position=0.0)
    for kind, flow in {"fixed step": FIXED, "step='auto'": {}}.items():
        result = pl.segment(picture, marks, **settings, **flow)
        found[f"image, {kind}: labels"] = result.labels
        found[f"image, {kind}: heights"] = result.solution.height
        found[f"image, {kind}: weights"] = result.graph.weights.data


def table(pl, found):
    """A table of numbers and words through the command line."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, ROWS)
    numbers = rng.normal(size=(ROWS, 3)) + 2.5 * np.eye(3)[kind]
    words = np.array(["red", "green", "blue"])[np.where(rng.random(ROWS) < 0.7, kind, 0)]
    known = rng.random(ROWS) < 0.2
    with tempfile.TemporaryDirectory() as folder:
        with open(Path(folder, "t.csv"), "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["a", "b", "c", "colour", "kind"])
            rows.writerows([*row, word, "xyz"[k] if told else ""]
                           for row, word, k, told in zip(numbers.round(3), words, kind, known))  # fmt: skip
        label = import_module("phaselabel.cli.label")
        plain = ["--evidence", "none"] if "--evidence" in inspect.getsource(label) else []
        words = ["label", "t.csv", "--label", "kind", "--out", "o.csv", *plain]
        program = [sys.executable, "-m", "phaselabel"]
        subprocess.run([*program, *words], cwd=folder, check=True, capture_output=True)
        with open(Path(folder, "o.csv"), newline="") as file:
            read = list(csv.DictReader(file))
    found["table: labels"] = np.array([row["kind_predicted"] for row in read])
    found["table: given columns"] = np.array([row["a"] + row["colour"] + row["kind"] for row in read])
    found["table: confidence"] = np.array([float(row["kind_confidence"]) for row in read])


def dask(pl, found):
    """Digits on a cluster: a ready-made graph in blocks, and a fit of the rows."""
    import dask.array as da
    from distributed import Client, LocalCluster
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    labels = np.where(np.arange(len(y)) % 20 == 0, y, -1)
    graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
    minimize = first_of("phaselabel.distributed.run.flow", "phaselabel.distributed.flow").minimize
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, Client(cluster) as client:
        for kind, settings in {"fixed step": FIXED, "step='auto'": {}}.items():
            solution = minimize(graph, labels, client, sweeps_per_round=1, **settings)
            found[f"Dask, {kind}: labels"] = np.asarray(solution.arm)
            found[f"Dask, {kind}: heights"] = np.asarray(solution.height)
        rows = da.from_array(X.astype(np.float32), chunks=(600, -1))
        plain = former(pl.GinzburgLandauClassifier, evidence=None)
        for kind, settings in {"fit from the hub, fixed step": {"init": "hub"} | FIXED, "fit": {}}.items():
            model = pl.GinzburgLandauClassifier(**plain, **settings).fit(rows, labels)
            found[f"Dask, {kind}: labels"] = np.asarray(model.transduction_)


def compare(old, new):
    """Print a row for every answer."""
    print("| answer | 0.1.0 and now |\n|---|---|")
    for name in old.files:
        a, b = old[name], new[name]
        if a.shape != b.shape:
            print(f"| {name} | shapes {a.shape} and {b.shape} |")
        elif np.array_equal(a, b):
            print(f"| {name} | equal to the bit |")
        elif a.dtype.kind == "f":
            print(f"| {name} | {np.sum(a != b)} of {a.size} differ, by at most {np.max(np.abs(a - b)):.1e} |")
        else:
            print(f"| {name} | {np.sum(a != b)} of {a.size} differ |")


def main():
    """Keep the answers of the version on the path, or compare two files of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="one file to write, or two to compare")
    parser.add_argument("--strict", action="store_true", help="kernels without fast-math")
    parser.add_argument("--mirrored", action="store_true", help="with --strict: the hub as in 0.1.0")
    parser.add_argument("--only", nargs="+", default=["flows", "fits", "image", "table", "dask"])
    arguments = parser.parse_args()
    if len(arguments.files) == 2:
        return compare(*map(np.load, arguments.files))
    if arguments.strict:
        compile_strictly()
    if arguments.mirrored:
        mirror_at_the_hub()
    warnings.simplefilter("ignore")
    import phaselabel as pl

    found = {}
    for name in arguments.only:
        globals()[name](pl, found)
        print(name, "done", flush=True)
    np.savez(arguments.files[0], **found)


if __name__ == "__main__":
    main()
