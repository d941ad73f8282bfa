"""Running text labelled from a few labels: words counted (TF-IDF) beside vectors of a sentence model.

``python benchmarks/embedding.py news.csv articles.csv``: CSV files without a header, whose first column is
the class and whose other columns are text, such as AG News (news items of 40 words) and BBC News (whole
articles). The documentation of SciPy's functions is measured besides: short, and full of exact names. The
result is ``benchmarks/results/texts.json``, written anew after every set.
"""

import argparse
import csv
import importlib
import inspect
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from phaselabel import GinzburgLandauClassifier
from phaselabel.embedding.models import DEFAULT_MODEL
from phaselabel.embedding.texts import embed_texts

RESULTS = Path(__file__).parent / "results" / "texts.json"
#: The parts of SciPy whose documentation is the set ``scipy``.
PARTS = ("interpolate", "linalg", "ndimage", "optimize", "signal", "stats")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 5, 20])
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    sets = {path.stem: read(path) for path in arguments.tables} | {"scipy": documentation()}
    content: dict[str, Any] = {"draws": arguments.draws, "model": DEFAULT_MODEL, "sets": {}, "results": {}}
    for name, rows in sets.items():
        rows = random.Random(0).sample(rows, min(arguments.rows, len(rows)))
        truth, texts = np.array([row[0] for row in rows]), [row[1] for row in rows]
        content["sets"][name] = {
            "rows": len(rows), "classes": len(set(truth)),
            "words": float(np.median([len(text.split()) for text in texts])),
        }  # fmt: skip
        print(name, content["sets"][name], flush=True)
        spaces = {"TF-IDF": words_counted(texts), "embedded": embed_texts(texts, DEFAULT_MODEL)}
        content["results"][name] = {
            str(n_labels): {
                space: measured(X, truth, n_labels, arguments.draws) for space, X in spaces.items()
            }
            for n_labels in arguments.labels
        }
        for n_labels, line in content["results"][name].items():
            means = {f"{s}, {m}": f"{np.mean(v):.1%}" for s, ms in line.items() for m, v in ms.items()}
            print(f"{n_labels:>3} labels per class: {means}", flush=True)
        arguments.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> list[tuple[str, str]]:
    """Class and text of every line; a line that stands twice counts once."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(dict.fromkeys((row[0], " ".join(row[1:])) for row in csv.reader(file)))


def documentation() -> list[tuple[str, str]]:
    """The part of SciPy and the documentation of every function with at least 30 words of it."""
    rows = []
    for part in PARTS:
        module = importlib.import_module(f"scipy.{part}")
        for name in module.__all__:
            text = inspect.getdoc(getattr(module, name)) or ""
            if len(text.split()) >= 30:
                rows.append((part, text))
    return rows


def words_counted(texts: list[str]) -> np.ndarray:
    """Words as ``phaselabel label --text`` counts them."""
    counted = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.7).fit_transform(texts)
    return normalize(TruncatedSVD(128, random_state=0).fit_transform(counted)).astype(np.float32)


def measured(X: np.ndarray, truth: np.ndarray, n_labels: int, draws: int) -> dict[str, list[float]]:
    """The shares of unlabelled rows that phaselabel and a linear model of the labelled rows get right."""
    shares: dict[str, list[float]] = {"phaselabel": [], "logistic": []}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        known = np.concatenate(
            [rng.permutation(np.flatnonzero(truth == c))[:n_labels] for c in np.unique(truth)]
        )
        y = np.full(len(truth), None, object)
        y[known] = truth[known]
        rest = np.setdiff1d(np.arange(len(truth)), known)
        ours = GinzburgLandauClassifier().fit(X, y).transduction_
        shares["phaselabel"].append(float(np.mean(ours[rest] == truth[rest])))
        linear = LogisticRegression(max_iter=1000, C=10).fit(X[known], truth[known])
        shares["logistic"].append(float(linear.score(X[rest], truth[rest])))
    return shares


if __name__ == "__main__":
    main()
