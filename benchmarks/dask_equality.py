"""Labels of a fit on Dask beside those of a local fit: how many are equal, and how many are right in each."""

import argparse
import json
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sets import data_home
from suite import draw, load

import phaselabel as pl

RESULTS = Path(__file__).parent / "results" / "dask-equality.json"
ROWS = 3_000
PER_CLASS = (1, 5, 50)

#: In blocks rows are cut into cells from this number on, so that blocks share edges.
CELLS_FROM = 2_000


def rows_of(name):
    """The first rows of MNIST as they are, or a set of the suite."""
    if name != "mnist":
        suite = load(name)
        return suite.x, suite.y
    with np.load(data_home() / "mnist70k.npz") as file:
        return file["x"][:ROWS].reshape(ROWS, -1), file["y"][:ROWS].astype(int)


def local(X, labels, n_neighbors="auto"):
    """A fit in one process."""
    return pl.GinzburgLandauClassifier(n_neighbors).fit(X, labels).transduction_


def on_dask(X, labels, client, in_blocks):
    """The same on a cluster; labels, blocks, and the share of edges that are cut."""
    import dask.array as da

    options = {"client": client, "in_blocks": in_blocks}
    model = pl.GinzburgLandauClassifier(dask_options=options)
    model.fit(da.from_array(X, chunks=(max(1, len(X) // 8), -1)), labels)
    graph = model._fitted.outcome.graph
    return model.transduction_.compute(), graph.partition.n_blocks, graph.n_cut / max(graph.n_edges, 1)


def compare(name, workers):
    """Every number of labels on clusters of several sizes: as it is, and in blocks, beside 10 neighbours."""
    from dask.distributed import Client, LocalCluster

    from phaselabel.distributed.build import plan

    X, y = rows_of(name)
    usual, records = plan.MIN_ROWS_FOR_CELLS, []
    given = {per_class: draw(y, per_class, 0) for per_class in PER_CLASS}
    here = {(per_class, k): local(X, given[per_class], k) for per_class in PER_CLASS for k in ("auto", 10)}
    for number in workers:
        cluster = LocalCluster(
            n_workers=number, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None
        )
        with cluster, Client(cluster) as client:
            for (per_class, labels), in_blocks in product(given.items(), ("auto", True)):
                plan.MIN_ROWS_FOR_CELLS = CELLS_FROM if in_blocks is True else usual
                found, blocks, cut = on_dask(X, labels, client, in_blocks)
                expected = here[per_class, 10 if in_blocks is True else "auto"]
                record = {
                    "set": name, "rows": len(X), "per_class": per_class, "workers": number,
                    "in_blocks": in_blocks, "blocks": blocks, "cut": cut,
                    "equal": float(np.mean(found == expected)),
                    "accuracy": _accuracy(found, labels, y),
                    "accuracy_local": _accuracy(expected, labels, y),
                }  # fmt: skip
                print(json.dumps(record), flush=True)
                records.append(record)
    return records


def compare_spread(name, draws=4):
    """What a spread by one worker changes in blocks: accuracy with and without it."""
    from dask.distributed import Client, LocalCluster

    from phaselabel.distributed.job import Job

    (X, y), usual = rows_of(name), Job._spreader
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="2GiB", dashboard_address=None)
    with cluster, Client(cluster) as client:
        for per_class in (1, 5):
            right = []
            for seed in range(draws):
                labels = draw(y, per_class, seed)
                for spreader in (usual, lambda *given: None):
                    Job._spreader = spreader
                    right.append(_accuracy(on_dask(X, labels, client, True)[0], labels, y))
            with_spread, without = np.reshape(right, (draws, 2)).mean(axis=0)
            print(json.dumps({"set": name, "per_class": per_class, "spread": with_spread, "none": without}))


def _accuracy(found, labels, y):
    unlabelled = labels < 0
    return float(np.mean(found[unlabelled] == y[unlabelled]))


def main():
    """Compare on one set, or on all of the table in docs/scale.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["mnist", "waveform"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--keep", action="store_true", help="put the records into results/dask-equality.json")
    parser.add_argument("--spread", action="store_true", help="waveform in blocks, with and without a spread")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.spread:
        return compare_spread("waveform")
    for name in given.sets:
        new = compare(name, given.workers)
        if given.keep:
            kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
            kept = [r for r in kept if r["set"] != name or r["workers"] not in given.workers]
            RESULTS.write_text(json.dumps([*kept, *new], indent=1) + "\n")


if __name__ == "__main__":
    main()
