"""Blood cells that scanpy carries, labelled from a few cells or a reference: ours beside the usual ways.

``python benchmarks/cells.py`` needs scanpy, and for its ``ingest`` pynndescent below 0.6. All methods see
the same representation; the result is ``benchmarks/results/cells.json``, and ``docs/cells.md`` quotes it.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scanpy as sc
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import phaselabel as pl

RESULTS = Path(__file__).parent / "results" / "cells.json"
#: The word for a task in which half of the cells are a reference with all its labels.
REFERENCE = "reference"
#: The threshold below which cells get no label, when that is measured.
THRESHOLD = 0.8


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", default=["2", "5", "20", REFERENCE])
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    adata = sc.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"].to_numpy().astype(str)
    results = {}
    for task in arguments.tasks:
        draws = [draw(adata, truth, task, seed) for seed in range(arguments.draws)]
        results[task] = {name: [float(one[name]) for one in draws] for name in draws[0]}
        print(task, {name: f"{np.nanmean(values):.1%}" for name, values in results[task].items()}, flush=True)
    results["missing kind"] = missing_kinds(adata, truth, arguments.draws)
    print("missing kind", results["missing kind"]["mean"], flush=True)
    arguments.out.write_text(
        json.dumps({"draws": arguments.draws, "results": results}, indent=1) + "\n", encoding="utf-8"
    )


def draw(adata: sc.AnnData, truth: np.ndarray, task: str, seed: int) -> dict[str, float]:
    """The share of unlabelled cells that each method gets right."""
    known = known_cells(truth, task, seed)
    rest = np.setdiff1d(np.arange(len(truth)), known)
    X, given = adata.obsm["X_pca"], truth[known]
    seed_labels(adata, truth, known)
    found = {}
    for name, options in {"phaselabel": {}, "with scanpy's graph": {"obsp": "connectivities"}}.items():
        pl.annotate(adata, "seed", **options)
        found[name] = adata.obs["seed_predicted"].astype(str).to_numpy()
        if name == "phaselabel":
            confidence = adata.obs["seed_confidence"].to_numpy()
    fewest = pd.Series(given).value_counts().min()
    found["kNN"] = KNeighborsClassifier(min(5, fewest)).fit(X[known], given).predict(X)
    found["logistic"] = LogisticRegression(max_iter=1000).fit(X[known], given).predict(X)
    found["ingest"] = ingested(adata, known, rest)
    clusters = adata.obs["louvain"].to_numpy().astype(str)
    votes = pd.DataFrame({"cluster": clusters, "label": found["logistic"]})
    leading = votes.groupby("cluster")["label"].agg(lambda labels: labels.value_counts().index[0])
    found["logistic, majority of clusters"] = leading[clusters].to_numpy()
    shares = {name: np.mean(labels[rest] == truth[rest]) for name, labels in found.items()}
    sure = rest[confidence[rest] >= THRESHOLD]
    right = np.mean(found["phaselabel"][sure] == truth[sure]) if len(sure) else np.nan
    return shares | {"sure": len(sure) / len(rest), "right where sure": right}


def known_cells(truth: np.ndarray, task: str, seed: int) -> np.ndarray:
    """The cells whose label is given: some of each kind, or half of all."""
    rng = np.random.default_rng(seed)
    if task == REFERENCE:
        return np.sort(rng.permutation(len(truth))[: len(truth) // 2])
    kinds = [np.flatnonzero(truth == kind) for kind in np.unique(truth)]
    # Some kinds have 8 cells: half of a kind is the most that is given.
    return np.concatenate([rng.permutation(rows)[: min(int(task), len(rows) // 2)] for rows in kinds])


def seed_labels(adata: sc.AnnData, truth: np.ndarray, known: np.ndarray) -> None:
    """Write the known labels into the column ``seed``."""
    seeds = np.full(len(truth), None, object)
    seeds[known] = truth[known]
    adata.obs["seed"] = pd.Categorical(seeds)


def ingested(adata: sc.AnnData, known: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The labels by scanpy's ingest with its defaults: the known cells are the reference."""
    reference, query = adata[known].copy(), adata[rest].copy()
    # The bundled object does not say how its components were computed, and ingest asks: on centred genes.
    reference.uns["pca"]["params"] = {"zero_center": True, "use_highly_variable": False, "mask_var": None}
    del reference.obsm["X_umap"]  # ingest would take it for a map of its own
    sc.pp.neighbors(reference, n_neighbors=min(15, len(known) - 1), use_rep="X_pca")
    reference.obs["seed"] = reference.obs["seed"].cat.remove_unused_categories()
    sc.tl.ingest(query, reference, obs="seed", embedding_method="pca")
    labels = np.full(adata.n_obs, "", object)
    labels[rest] = query.obs["seed"].astype(str)
    return labels


def missing_kinds(adata: sc.AnnData, truth: np.ndarray, draws: int) -> dict[str, object]:
    """Ten labels of every kind but one: which cells are said to look like none of the labelled ones."""
    kinds, table = np.unique(truth), {}
    for missing in [None, *kinds]:
        found, false = [], []
        for seed in range(draws):
            known = known_cells(truth, "10", seed)
            seed_labels(adata, truth, known[truth[known] != missing])
            pl.annotate(adata, "seed")
            novel = adata.obs["seed_novel"].to_numpy()
            of_kind = truth == missing
            found.append(novel[of_kind].mean() if of_kind.any() else np.nan)
            false.append(novel[~of_kind].mean())
        table[str(missing)] = {
            "found": float(np.mean(found)) if missing else None, "false": float(np.mean(false)),
        }  # fmt: skip
    without_none = [entry for kind, entry in table.items() if kind != "None"]
    mean = {name: float(np.mean([entry[name] for entry in without_none])) for name in ("found", "false")}
    return {"kinds": table, "mean": mean, "false, none missing": table["None"]["false"]}


if __name__ == "__main__":
    main()
