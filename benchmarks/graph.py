"""Neighbour searches side by side: MNIST against the peers, growth to a million rows, and the flow on both.

Every search runs in a process of its own; its clock starts with the process, so imports and the loading of
cached kernels (or their compilation, where a package keeps no cache) count. Needs ``PHASELABEL_DATA`` for
MNIST, and ``pip install usearch pynndescent`` for all contenders.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BAR = 0.99
K = 10


def mnist():
    """Pixels as they come, and the digits."""
    with np.load(Path(os.environ["PHASELABEL_DATA"]) / "mnist70k.npz") as file:
        return file["x"].reshape(-1, 784), file["y"]


#: Directions in which a component of each mixture extends.
MIXTURES = {"isotropic": 64, "flat": 10}


def mixture(n, rank=64, components=100, width=64):
    """Gaussians around centres three times as far apart, of unit variance in ``rank`` directions.

    With fewer directions than ``width`` there is noise of a twentieth in all, as in embeddings, whose rows
    differ in a few ways at a time.
    """
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, width), np.float32)
    centres = 3 * rng.standard_normal((components, width), np.float32)
    if rank < width:
        X *= np.float32(0.05)
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        which = rng.integers(0, components, len(part))
        part += centres[which]
        for c in range(components if rank < width else 0):
            turn = np.linalg.qr(np.random.default_rng(c).standard_normal((width, rank)))[0].T
            mine = np.flatnonzero(which == c)
            part[mine] += rng.standard_normal((len(mine), rank), np.float32) @ turn.astype(np.float32)
    return X


# -- the contenders: points in, (indices with the point itself somewhere, or not, and a remark) out


def phaselabel(X):
    """Ours."""
    import phaselabel as pl

    neighbors = pl.nearest_neighbors(X, K, recall=BAR)
    pl.similarity_graph(neighbors)  # the others stop at the neighbours
    return neighbors.indices, f"{neighbors.method}, recall {neighbors.recall:.4f} measured by itself"


def faiss_exact(X):
    """All rows with all rows."""
    import faiss

    X = X.astype(np.float32)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, K + 1)[1], ""


def faiss_hnsw(X, build=40, search=32):
    """A navigable small-world graph."""
    import faiss

    X = X.astype(np.float32)
    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = build, search
    index.add(X)
    return index.search(X, K + 1)[1], f"M 16, ef {build}/{search}"


def usearch(X, build=40, search=32):
    """The same kind of graph, by another package."""
    from usearch.index import Index

    X = X.astype(np.float32)
    index = Index(
        ndim=X.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=16,
        expansion_add=build,
        expansion_search=search,
    )
    index.add(np.arange(len(X)), X)
    return index.search(X, K + 1).keys.astype(np.int64), f"connectivity 16, expansion {build}/{search}"


def pynndescent(X):
    """Nearest-neighbour descent."""
    from pynndescent import NNDescent

    return NNDescent(X.astype(np.float32), n_neighbors=K + 1).neighbor_graph[0], ""


def scikit_learn(X):
    """All rows with all rows."""
    from sklearn.neighbors import NearestNeighbors

    X = X.astype(np.float32)
    return NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(X).kneighbors(
        X, return_distance=False
    ), ""


CONTENDERS = {
    "phaselabel (with graph)": phaselabel,
    "faiss exact": faiss_exact,
    "faiss HNSW": faiss_hnsw,
    "faiss HNSW, harder": lambda X: faiss_hnsw(X, 64, 48),
    "usearch": usearch,
    "usearch, harder": lambda X: usearch(X, 64, 48),
    "pynndescent": pynndescent,
    "scikit-learn brute": scikit_learn,
}


def run_one(name, data, out):
    """One search in this process; the result goes to ``out``."""
    if data == "mnist":
        X = mnist()[0]
    else:
        kind, n = data.split("-")
        X = mixture(int(n), MIXTURES[kind])
    ready = time.process_time()
    start = time.perf_counter()
    indices, remark = CONTENDERS[name](X)
    used = resource.getrusage(resource.RUSAGE_SELF)
    np.save(out, indices.astype(np.int32))
    print(
        json.dumps(
            {
                "search": time.perf_counter() - start,
                "cpu": time.process_time() - ready,
                "gib": used.ru_maxrss / 2**20,
                "remark": remark,
            }
        )
    )


def race(name, data, folder):
    """One search in a new process, timed from outside; ``seconds`` is the whole life of the process."""
    out = folder / f"{name}-{data}.npy"
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--run", name, data, str(out)], capture_output=True, text=True, check=True
    )
    result = json.loads(done.stdout.splitlines()[-1])
    return result | {"name": name, "data": data, "seconds": time.perf_counter() - start, "out": str(out)}


def recall(indices, truth):
    """The share of the true neighbours found; ``truth`` doesn't contain the row itself."""
    rows = np.arange(0, len(truth), 10)
    hits = [len(np.intersect1d(indices[i], truth[i])) for i in rows]
    return float(np.mean(hits) / truth.shape[1])


def without_itself(indices):
    """The first K others."""
    keep = indices != np.arange(len(indices))[:, None]
    keep[keep.all(axis=1), -1] = False
    return indices[keep].reshape(len(indices), -1)[:, :K]


def compare(folder, rounds, names):
    """Every contender on MNIST, in turn, ``rounds`` times; the median counts."""
    from report import table

    race("phaselabel (with graph)", "mnist", folder)  # fills the cache of kernels, as an installation has it
    runs = {name: [] for name in names}
    for turn in range(rounds):
        for name in names:
            if turn == 0 or name not in ("faiss exact", "scikit-learn brute", "pynndescent"):
                runs[name].append(race(name, "mnist", folder))
                print(name, runs[name][-1], flush=True)
    truth = without_itself(np.load(runs["faiss exact"][0]["out"]))
    ours = {key: np.median([r[key] for r in runs[names[0]]]) for key in ("seconds", "cpu")}
    rows = []
    for name, done in runs.items():
        seconds, cpu = (np.median([r[key] for r in done]) for key in ("seconds", "cpu"))
        rows.append(
            {
                "search": name + (f" ({done[0]['remark']})" if done[0]["remark"] else ""),
                "recall": f"{recall(np.load(done[0]['out']), truth):.4f}",
                "seconds": f"{seconds:.1f}",
                "times ours": f"{seconds / ours['seconds']:.1f}",
                "CPU seconds": f"{cpu:.1f}",
                "times ours (CPU)": f"{cpu / ours['cpu']:.1f}",
                "GiB": f"{max(r['gib'] for r in done):.2f}",
            }
        )
    return table(rows), rows, truth, np.load(runs[names[0]][0]["out"])


def growth(folder, sizes):
    """Cost per row as the rows become more, for every mixture."""
    from report import table

    race("phaselabel (with graph)", f"isotropic-{min(sizes)}", folder)  # fills the cache of kernels
    rows = []
    for kind in MIXTURES:
        costs = []
        for n in sizes:
            done = race("phaselabel (with graph)", f"{kind}-{n}", folder)
            print(done, flush=True)
            costs.append(1e6 * done["cpu"] / n)
            rows.append(
                {
                    "mixture": kind,
                    "rows": f"{n:,}",
                    "seconds": f"{done['search']:.1f}",
                    "CPU µs per row": f"{costs[-1]:.0f}",
                    "relative to log n": f"{costs[-1] / costs[0] * np.log(sizes[0]) / np.log(n):.2f}",
                    "exponent of n": f"{np.log(costs[-1] / costs[0]) / np.log(n / sizes[0]):.2f}"
                    if n > sizes[0]
                    else "",
                    "GiB": f"{done['gib']:.2f}",
                    "how": done["remark"],
                }
            )
    return table(rows), rows


def flow_accuracy(truth, found, draws=10, per_class=25):
    """Accuracy of the flow on the exact graph and on ours, for the same labels."""
    import phaselabel as pl

    X, y = mnist()
    graphs = []
    for indices in (truth, found):
        gaps = np.empty(indices.shape)
        for start in range(0, len(X), 2000):
            part = slice(start, start + 2000)
            near = X[indices[part]].astype(np.float32) - X[part, None]
            gaps[part] = np.sqrt(np.einsum("ijk,ijk->ij", near, near))
        graphs.append(pl.similarity_graph((indices, gaps)))
    scores = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        known = np.concatenate([rng.choice(np.flatnonzero(y == c), per_class, False) for c in range(10)])
        labels = np.full(len(y), -1)
        labels[known] = y[known]
        rest = labels < 0
        scores.append([float((pl.minimize(g, labels).arm == y)[rest].mean()) for g in graphs])
    return np.mean(scores, axis=0)


def main():
    """Run the requested comparisons and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["mnist", "growth"])
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e5, 3e5, 1e6])
    parser.add_argument("--skip", nargs="*", default=[], help="contenders to leave out")
    arguments = parser.parse_args()
    if arguments.run:
        return run_one(*arguments.run)
    from report import write_section

    packages = ("numpy", "numba", "faiss-cpu", "usearch", "pynndescent", "scikit-learn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.only != "growth":
            names = [name for name in CONTENDERS if name not in arguments.skip]
            page, rows, truth, found = compare(folder, arguments.rounds, names)
            exact, ours = flow_accuracy(truth, found)
            text = (
                f"MNIST, 70,000 × 784 raw pixels, {K} neighbours. `seconds` is the duration of a new "
                "process, `CPU seconds` the processor time of the search; ours includes the similarity "
                "graph.\n\n"
                f"{page}\n\nFlow with 25 labels per class, mean of ten draws: "
                f"{exact:.3%} on the exact graph, {ours:.3%} on ours."
            )
            results = {"races": rows, "flow": {"exact": exact, "ours": ours}}
            write_section(
                "graph",
                "Neighbours: MNIST",
                "python benchmarks/graph.py --only mnist",
                text,
                results,
                packages,
            )
        if arguments.only != "mnist":
            page, rows = growth(folder, [int(n) for n in arguments.sizes])
            text = (
                f"Two mixtures of 100 Gaussians in 64 dimensions, {K} neighbours, requested recall {BAR}, "
                "graph included, every size in a new process. *isotropic*: every component extends equally "
                "in all 64 directions, the hardest case; *flat*: in 10 directions of its own, with noise "
                "of a twentieth in all, as in embeddings. "
                "[What growth depends on](decisions/0070-growth.md).\n\n"
                f"{page}"
            )
            write_section(
                "graph-growth",
                "Neighbours: growth",
                "python benchmarks/graph.py --only growth",
                text,
                rows,
                packages,
            )


if __name__ == "__main__":
    main()
