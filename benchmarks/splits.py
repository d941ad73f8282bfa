"""Published splits: our default on the labels that others were measured with, on the same rows.

COIL, USPS and Text: the twelve splits with 100 labels of Chapelle, Schölkopf and Zien, *Semi-Supervised
Learning* (2006); the error of the rows without a label. Cora: the split of Yang, Cohen and Salakhutdinov
(2016), 140 labels and 1,000 test rows; the accuracy, with the words as rows and the citations as the graph.
"""

import time
import warnings

import numpy as np
from report import table, write_section
from suite import load

from phaselabel import GinzburgLandauClassifier

warnings.filterwarnings("ignore")

#: Published: the best of the book's eleven methods; a graph convolutional network (Kipf and Welling, 2017).
PUBLISHED = {"coil": 9.6, "usps": 4.7, "text": 23.1, "cora": 81.5}


def book(name):
    """The errors of the default and of the graph alone on the twelve splits, in percent."""
    s, errors = load(name), {"default": [], "graph alone": []}
    for known in s.splits["idx_labelled_100"]:
        labels = np.full(len(s.y), -1)
        labels[known] = s.y[known]
        for kind, settings in {"default": {}, "graph alone": {"evidence": None}}.items():
            found = GinzburgLandauClassifier(**settings).fit(s.x, labels).transduction_
            errors[kind].append(100 * float(np.mean(found[labels < 0] != s.y[labels < 0])))
    row = {"set": name, "figure": "error, %, mean of 12 splits", "published": PUBLISHED[name]}
    for kind, values in errors.items():
        row[kind] = f"{np.mean(values):.1f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.1f}"
    return row


def cora():
    """The accuracy of the default on the test rows of the published split, in percent."""
    s = load("cora")
    labels, test = np.full(len(s.y), -1), s.splits["test_index"]
    labels[:140] = s.y[:140]
    start = time.perf_counter()
    found = GinzburgLandauClassifier().fit(s.x, labels, graph=s.graph).transduction_
    seconds = time.perf_counter() - start
    alone = GinzburgLandauClassifier(evidence=None, affinity="precomputed").fit(s.graph, labels).transduction_
    return {
        "set": "cora", "figure": f"accuracy, %, 1,000 test rows; {seconds:.1f} s",
        "published": PUBLISHED["cora"],
        "default": f"{100 * np.mean(found[test] == s.y[test]):.1f}",
        "graph alone": f"{100 * np.mean(alone[test] == s.y[test]):.1f}",
    }  # fmt: skip


if __name__ == "__main__":
    rows = [*(book(name) for name in ("coil", "usps", "text")), cora()]
    print(table(rows))
    write_section(
        "splits", "Published splits", "python benchmarks/splits.py", f"{__doc__}\n{table(rows)}\n", rows
    )
