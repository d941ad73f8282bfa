"""Published splits: our default on the labels that others were measured with, on the same rows.

COIL, USPS and Text: the twelve splits with 100 labels of Chapelle, Schölkopf and Zien, *Semi-Supervised
Learning* (2006); the error of the rows without a label. Cora: the split of Yang, Cohen and Salakhutdinov
(2016), 140 labels and 1,000 test rows; the accuracy, with the words as rows and the citations as the graph.
"""

import argparse
import time
import warnings
from pathlib import Path

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


def cora_split():
    """Cora, the labels of its published split, and the rows that are tested."""
    s = load("cora")
    labels = np.full(len(s.y), -1)
    labels[:140] = s.y[:140]
    return s, labels, s.splits["test_index"]


def cora():
    """The accuracy of the default on the test rows of the published split, in percent."""
    s, labels, test = cora_split()
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


def draw_cora(path):
    """Draw Cora's published split: the labels given, those found, and how many by words, links and both."""
    import matplotlib.pyplot as plt
    import networkx as nx

    s, labels, test = cora_split()
    found = {
        "words": GinzburgLandauClassifier().fit(s.x, labels),
        "links": GinzburgLandauClassifier(evidence=None, affinity="precomputed").fit(s.graph, labels),
        "both": GinzburgLandauClassifier().fit(s.x, labels, graph=s.graph),
    }
    found = {name: model.transduction_ for name, model in found.items()}
    shares = {name: 100 * np.mean(one[test] == s.y[test]) for name, one in found.items()}
    network = nx.from_scipy_sparse_array(s.edges)
    shown = np.array(sorted(max(nx.connected_components(network), key=len)))
    places = nx.spring_layout(network.subgraph(shown), k=0.06, iterations=200, seed=0)
    at = np.array([places[row] for row in shown])
    colors = np.array(["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8C6D31"])
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", width_ratios=[1, 1, 0.7])
    known = labels[shown] >= 0
    axes[0].scatter(*at[~known].T, s=2, color="lightgrey")
    axes[0].scatter(*at[known].T, s=16, color=colors[labels[shown][known]])
    axes[0].set_title(f"140 labels of {len(s.y):,} papers")
    axes[1].scatter(*at.T, s=4, color=colors[found["both"][shown]])
    axes[1].set_title("found, by words and links")
    for axis in axes[:2]:
        axis.set_axis_off()
    bars = axes[2].barh(list(shares), list(shares.values()), color=["#56B4E9", "#E69F00", "#009E73"])
    axes[2].bar_label(bars, [f"{share:.1f}" for share in shares.values()], padding=3)
    axes[2].set(xlim=(0, 100), xlabel="of 1,000 test papers right, %")
    axes[2].invert_yaxis()
    axes[2].spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    print({name: f"{share:.1f}" for name, share in shares.items()})


def main():
    """Measure all splits, or draw one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="draw Cora into this file, and measure nothing else")
    path = parser.parse_args().picture
    if path:
        return draw_cora(path)
    rows = [*(book(name) for name in ("coil", "usps", "text")), cora()]
    print(table(rows))
    write_section(
        "splits", "Published splits", "python benchmarks/splits.py", f"{__doc__}\n{table(rows)}\n", rows
    )


if __name__ == "__main__":
    main()
