"""Accuracy and time of the flow and its peers: one graph for all, taking turns, on the same draws."""

import argparse
import time
import warnings

import numpy as np
from report import ROOT, table, write_section
from sets import coil, data_home, digits, mixture, mnist, three_moons

import phaselabel as pl

warnings.filterwarnings("ignore")


def phaselabel(graph, y, labels):
    """What ``fit`` does once it has a graph: with few labels it spreads them first."""
    return pl.GinzburgLandauClassifier(affinity="precomputed").fit(graph, labels).transduction_


def flow_alone(graph, y, labels):
    """The flow from the hub, with the defaults."""
    return pl.minimize(graph, labels, n_classes=int(y.max()) + 1).arm


def graphlearning(method, **settings):
    """A method of graphlearning on the same weights."""

    def run(graph, y, labels):
        import graphlearning as gl

        known = np.flatnonzero(labels >= 0)
        model = getattr(gl.ssl, method)(graph.weights.astype(np.float64), **settings)
        return model.fit_predict(known, labels[known])

    return run


def scikit_network(name, **settings):
    """A classifier of scikit-network on the same weights."""

    def run(graph, y, labels):
        import sknetwork.classification as sk
        from scipy import sparse

        weights = sparse.csr_matrix(graph.weights)
        return getattr(sk, name)(**settings).fit_predict(weights, labels)

    return run


def label_spreading(graph, y, labels):
    """scikit-learn's LabelSpreading, given the same graph as its kernel."""
    from scipy import sparse
    from sklearn.semi_supervised import LabelSpreading

    weights = sparse.csr_matrix(graph.weights)
    model = LabelSpreading(kernel=lambda X, Y: weights, max_iter=100)
    return model.fit(np.zeros((len(labels), 1)), labels).transduction_


CONTENDERS = {
    "phaselabel": phaselabel,
    "phaselabel, flow from the hub": flow_alone,
    "graphlearning laplace": graphlearning("laplace"),
    "graphlearning poisson": graphlearning("poisson", solver="gradient_descent"),
    "graphlearning randomwalk": graphlearning("randomwalk"),
    "scikit-network Propagation": scikit_network("Propagation"),
    "scikit-network DiffusionClassifier": scikit_network("DiffusionClassifier"),
    "scikit-network PageRankClassifier": scikit_network("PageRankClassifier"),
    "scikit-learn LabelSpreading": label_spreading,
}


COLORS = ["#D55E00", "#F0A070", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#E69F00", "#999999", "#000000"]


def measure(graph, y, labels_per_class, draws):
    """Seconds and accuracy of every contender on every draw, taking turns."""
    results = {name: [] for name in CONTENDERS}
    broken = {}
    for seed in range(draws):
        labels = pl.datasets.sample_labels(y, labels_per_class, random_state=seed)
        hidden = labels < 0
        for name, run in CONTENDERS.items():
            if name in broken:
                continue
            start = time.perf_counter()
            try:
                found = np.asarray(run(graph, y, labels))
            except Exception as error:  # a peer that fails is a row that says so
                broken[name] = f"{type(error).__name__}: {error}"[:80]
                continue
            seconds = time.perf_counter() - start
            results[name].append((seconds, 100 * np.mean(found[hidden] == y[hidden])))
    return results, broken


def rows_of(name, labels_per_class, results, broken):
    """One table row for every contender."""
    ours = np.median([seconds for seconds, _ in results["phaselabel"]])
    for contender, runs in results.items():
        row = {
            "set": name,
            "labels per class": labels_per_class,
            "contender": contender,
            "class sizes": "not given",
        }
        if contender in broken or not runs:
            yield row | {
                "accuracy, %": broken.get(contender, "-"),
                "worst": "",
                "seconds": "",
                "time / ours": "",
            }
            continue
        seconds, accuracy = np.array(runs).T
        yield row | {
            "accuracy, %": round(float(accuracy.mean()), 2),
            "worst": round(float(accuracy.min()), 2),
            "seconds": round(float(np.median(seconds)), 3),
            "time / ours": round(float(np.median(seconds) / ours), 1),
        }


def plot(rows, path):
    """Accuracy over time, one panel a case."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in rows if row["seconds"] != ""]
    cases = list(dict.fromkeys((row["set"], row["labels per class"]) for row in rows))
    columns = 4
    lines = -(-len(cases) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(14, 3 * lines), layout="constrained", squeeze=False)
    names = list(CONTENDERS)
    colors = dict(zip(names, COLORS, strict=True))
    for axis, case in zip(axes.flat, cases):
        for row in rows:
            if (row["set"], row["labels per class"]) == case:
                ours = row["contender"] == "phaselabel"
                axis.scatter(row["seconds"], row["accuracy, %"], color=colors[row["contender"]],
                             marker="*" if ours else "o", s=160 if ours else 40, zorder=3)  # fmt: skip
        axis.set_xscale("log")
        axis.set_xlim(1e-3, 10)
        axis.set_xticks([0.001, 0.01, 0.1, 1, 10], ["1 ms", "10 ms", "0.1 s", "1 s", "10 s"])
        axis.tick_params(axis="x", which="minor", labelbottom=False)
        axis.set_title(f"{case[0]}, {case[1]} per class", fontsize=10)
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(cases) :]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("time")
    for line in axes:
        line[0].set_ylabel("accuracy, %")
    handles = [
        plt.Line2D([], [], color=color, marker="*" if name == "phaselabel" else "o", linestyle="", label=name)
        for name, color in colors.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    """Measure, print, draw, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="names of sets")
    arguments = parser.parse_args()
    # Three moons with 25 labels per class is measured by `phaselabel paper`, and nowhere else.
    cases = {"three moons": (three_moons, [1]), "digits": (digits, [10, 2, 1])}
    if data_home():
        cases |= {"COIL": (coil, [25, 5]), "MNIST": (mnist, [250, 50, 10, 5, 2, 1])}
    cases["mixture 10⁵"] = (lambda: mixture(100_000), [50])
    rows = []
    for name, (load, sizes) in cases.items():
        if arguments.only and name not in arguments.only:
            continue
        graph, y = load()
        measure(graph, y, sizes[0], 1)  # compile and warm up
        for labels_per_class in sizes:
            results, broken = measure(graph, y, labels_per_class, arguments.draws)
            rows += list(rows_of(name, labels_per_class, results, broken))
            print(table(rows[-len(CONTENDERS) :]), flush=True)
    if arguments.only:
        return
    plot(rows, ROOT / "docs" / "images" / "peers.png")
    text = (
        "Every contender gets the same graph and the same labels; contenders take turns on every draw. "
        f"Time is the median of {arguments.draws} draws, without building the graph.\n\n"
        "![Accuracy over time](images/peers.png)\n\n" + table(rows)
    )
    packages = ("numpy", "numba", "scikit-learn", "graphlearning", "scikit-network")
    write_section("peers", "The flow and its peers", "make bench", text, rows, packages)


if __name__ == "__main__":
    main()
