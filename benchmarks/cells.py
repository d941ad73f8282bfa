"""Blood cells that scanpy carries, labelled from a few cells: phaselabel beside the usual ways.

``python benchmarks/cells.py --out results.json`` needs scanpy. All methods see the same representation.
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


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    adata = sc.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"].to_numpy().astype(str)
    results = []
    for n_labels in arguments.labels:
        shares = [shares_of(adata, truth, n_labels, seed) for seed in range(arguments.draws)]
        means = {name: float(np.mean([share[name] for share in shares])) for name in shares[0]}
        results.append({"labels": n_labels} | means)
        print(n_labels, {name: f"{mean:.1%}" for name, mean in means.items()}, flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps({"draws": arguments.draws, "results": results}, indent=1))


def shares_of(adata: sc.AnnData, truth: np.ndarray, n_labels: int, seed: int) -> dict[str, float]:
    """The share of unlabelled cells that each method gets right."""
    rng = np.random.default_rng(seed)
    known = np.concatenate([rng.permutation(np.flatnonzero(truth == c))[:n_labels] for c in np.unique(truth)])
    rest = np.setdiff1d(np.arange(len(truth)), known)
    seeds = np.full(len(truth), None, object)
    seeds[known] = truth[known]
    adata.obs["seed"] = pd.Categorical(seeds)
    X = adata.obsm["X_pca"]
    found = {}
    for name, options in {"phaselabel": {}, "with scanpy's graph": {"obsp": "connectivities"}}.items():
        pl.annotate(adata, "seed", **options)
        found[name] = adata.obs["seed_predicted"].astype(str).to_numpy()
    found["kNN"] = KNeighborsClassifier(min(5, n_labels)).fit(X[known], truth[known]).predict(X)
    found["logistic"] = LogisticRegression(max_iter=1000).fit(X[known], truth[known]).predict(X)
    clusters = adata.obs["louvain"].to_numpy().astype(str)
    votes = pd.DataFrame({"cluster": clusters, "label": found["logistic"]})
    leading = votes.groupby("cluster")["label"].agg(lambda labels: labels.value_counts().index[0])
    found["logistic, majority of clusters"] = leading[clusters].to_numpy()
    return {name: float(np.mean(labels[rest] == truth[rest])) for name, labels in found.items()}


if __name__ == "__main__":
    main()
