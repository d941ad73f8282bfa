"""Running text labelled from a few labels: words counted (TF-IDF) beside vectors of a sentence model.

``python benchmarks/embedding.py news.csv --out results.json``: a CSV file without a header, whose first
column is the class and whose other columns are text, such as AG News.
"""

import argparse
import csv
import json
import random
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from phaselabel import GinzburgLandauClassifier
from phaselabel.embedding.models import DEFAULT_MODEL
from phaselabel.embedding.texts import embed_texts


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 5, 20])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with open(arguments.table, newline="", encoding="utf-8") as file:
        rows = [(row[0], " ".join(row[1:])) for row in csv.reader(file)]
    rows = random.Random(0).sample(rows, min(arguments.rows, len(rows)))
    truth, texts = np.array([row[0] for row in rows]), [row[1] for row in rows]
    counted = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.7).fit_transform(texts)
    spaces = {
        "TF-IDF": normalize(TruncatedSVD(128, random_state=0).fit_transform(counted)).astype(np.float32),
        DEFAULT_MODEL: embed_texts(texts, DEFAULT_MODEL),
    }
    results = []
    for n_labels in arguments.labels:
        for name, X in spaces.items():
            shares = [accuracies(X, truth, n_labels, seed) for seed in range(arguments.draws)]
            ours, linear = np.mean(shares, axis=0)
            results.append({"labels": n_labels, "features": name, "phaselabel": ours, "logistic": linear})
            print(
                f"{n_labels:3} labels per class, {name:18} phaselabel {ours:.1%}, logistic {linear:.1%}",
                flush=True,
            )
    if arguments.out:
        arguments.out.write_text(
            json.dumps({"rows": len(rows), "draws": arguments.draws, "results": results}, indent=1)
        )


def accuracies(X: np.ndarray, truth: np.ndarray, n_labels: int, seed: int) -> tuple[float, float]:
    """The shares of unlabelled rows that phaselabel and a linear model of the labelled rows get right."""
    rng = np.random.default_rng(seed)
    known = np.concatenate([rng.permutation(np.flatnonzero(truth == c))[:n_labels] for c in np.unique(truth)])
    y = np.full(len(truth), None, object)
    y[known] = truth[known]
    rest = np.setdiff1d(np.arange(len(truth)), known)
    ours = GinzburgLandauClassifier().fit(X, y).transduction_
    linear = LogisticRegression(max_iter=1000, C=10).fit(X[known], truth[known])
    return float(np.mean(ours[rest] == truth[rest])), float(linear.score(X[rest], truth[rest]))


if __name__ == "__main__":
    main()
