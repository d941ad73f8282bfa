"""The contest: our default beside what a person would take instead, on the same rows and the same labels.

Every contender sees the same rows (columns of tables scaled, pictures as they are, words as TF-IDF); those
that need a graph get our default one, ten neighbours, or the graph that the set has. Accuracy is counted on
the rows without a label. Settings were chosen on draws from 1000 on, never on those of this page.
mnist is 10,000 of its 70,000 rows, and vae an embedding of it of the same size; every line is the mean of
five draws.
"""

import argparse
import json
import time
import warnings

import numpy as np
from records import LABELLING, Records
from report import ROOT, table, write_section
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC
from suite import NAMES, draw, load

import phaselabel as pl
from phaselabel.assess.calibration import calibration_error
from phaselabel.flow.presets import paper_run

warnings.filterwarnings("ignore")

#: What decides our labels and confidences here.
CODE = [*LABELLING, "evidence/*", "estimators/*"]

#: Why one column leaves it out.
BOOSTING = (
    "Histogram boosting leaves at least 20 rows in a leaf, so from fewer than 40 labelled rows it names one "
    "class for all rows, the first of those with the most labels. On usps and mammography, with five labels "
    "per class, that happens to be the large class, and the best answer of all. One column leaves boosting "
    "out. With one label per class 5-NN does the same."
)

#: A class with a larger share of the rows than this beyond its true one has taken over the rows of others.
COLLAPSE = 0.2


def supervised(make):
    """A classifier that sees the labelled rows only."""

    def run(s, labels):
        model, x, known = make(int((labels >= 0).sum())), s.x, labels >= 0
        if sparse.issparse(x) and isinstance(model, HistGradientBoostingClassifier):
            x = TruncatedSVD(50, random_state=0).fit_transform(x)
        return model.fit(x[known], labels[known]).predict(x)

    return run


def self_training(s, labels):
    """scikit-learn's self-training with logistic regression."""
    return SelfTrainingClassifier(LogisticRegression(max_iter=500)).fit(s.x, labels).predict(s.x)


def graphlearning(method, **settings):
    """A method of graphlearning on the graph."""

    def run(s, labels):
        import graphlearning as gl

        known = np.flatnonzero(labels >= 0)
        weights = sparse.csr_matrix(s.graph.weights.astype(np.float64))
        return getattr(gl.ssl, method)(weights, **settings).fit_predict(known, labels[known])

    return run


def scikit_network(name):
    """A classifier of scikit-network on the graph."""

    def run(s, labels):
        import sknetwork.classification as sk

        return getattr(sk, name)().fit_predict(sparse.csr_matrix(s.graph.weights), labels)

    return run


PEERS = {
    "laplace": graphlearning("laplace"),
    "poisson": graphlearning("poisson", solver="gradient_descent"),
    "random walk": graphlearning("randomwalk"),
    "MBO": graphlearning("multiclass_mbo"),
    "diffusion": scikit_network("DiffusionClassifier"),
    "propagation": scikit_network("Propagation"),
    "logistic": supervised(lambda m: LogisticRegression(max_iter=500)),
    "SVC": supervised(lambda m: SVC(C=10)),
    "forest": supervised(lambda m: RandomForestClassifier(200, random_state=0)),
    "boosting": supervised(lambda m: HistGradientBoostingClassifier(random_state=0)),
    "1-NN": supervised(lambda m: KNeighborsClassifier(1)),
    "5-NN": supervised(lambda m: KNeighborsClassifier(min(5, m))),
    "self-training": self_training,
}

#: The paper's own run, on the same graph.
PAPER = paper_run("three-moons", "classifier") | {"affinity": "precomputed", "random_state": 0}


def peer(s, per_class, seed):
    """Accuracy of every other contender on one draw, in percent."""
    labels = draw(s.y, per_class, seed)
    hidden, right = labels < 0, {}
    for name, run in PEERS.items():
        try:
            found = np.asarray(run(s, labels))
        except Exception as error:  # a contender that can't take these rows is left out there
            print(f"{s.name} {per_class} {name}: {type(error).__name__}: {error}"[:150])
            continue
        right[name] = 100 * float(np.mean(found[hidden] == s.y[hidden]))
    return right


def ours(s, per_class, seed, others=True):
    """Our default on one draw, the graph alone, and the paper's run."""
    labels = draw(s.y, per_class, seed)
    hidden, cpu = labels < 0, time.process_time()
    model = pl.GinzburgLandauClassifier()
    model.fit(s.x, labels, graph=None if s.edges is None else s.graph)
    cpu = time.process_time() - cpu
    right = model.transduction_ == s.y
    shares = np.bincount(model.transduction_[hidden], minlength=s.y.max() + 1) / hidden.sum()
    true = np.bincount(s.y[hidden], minlength=s.y.max() + 1) / hidden.sum()
    record = {
        "accuracy": 100 * float(right[hidden].mean()),
        "calibration error": calibration_error(model.confidence_[hidden], right[hidden]),
        "confidence": float(model.confidence_[hidden].mean()),
        "collapsed": bool((shares - true).max() > COLLAPSE),
        "remarks": len(model.remarks_), "cpu seconds": cpu, "choice": str(model.choice_),
    }  # fmt: skip
    if others:
        for name, settings in {"graph alone": {"evidence": None}, "as in the paper": PAPER}.items():
            other = pl.GinzburgLandauClassifier(**({"affinity": "precomputed"} | settings))
            found = other.fit(s.graph, labels).transduction_
            record[name] = 100 * float(np.mean(found[hidden] == s.y[hidden]))
    return record


def told(s, per_class, seed):
    """Our default on one draw where the true sizes of the classes are given."""
    labels = draw(s.y, per_class, seed)
    model = pl.GinzburgLandauClassifier(class_sizes=np.bincount(s.y))
    model.fit(s.x, labels, graph=None if s.edges is None else s.graph)
    hidden = labels < 0
    return {"accuracy": 100 * float(np.mean(model.transduction_[hidden] == s.y[hidden]))}


def summary(name, per_class, runs, peers):
    """One line of the table: the means of a set over all draws."""
    scores = {
        peer: np.mean([run[peer] for run in peers]) for peer in peers[0] if all(peer in run for run in peers)
    }
    best = max(scores, key=scores.get)
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0] if key != "choice"}
    silent = sum(run["collapsed"] and not run["remarks"] for run in runs)
    return {
        "set": name, "labels": per_class, "draws": len(runs), "ours": mean["accuracy"], "best": scores[best],
        "which": best, "lead": mean["accuracy"] - scores[best], "graph alone": mean["graph alone"],
        "as in the paper": mean["as in the paper"], "calibration error": mean["calibration error"],
        "worst calibration": max(run["calibration error"] for run in runs), "silent collapses": silent,
        "cpu seconds": mean["cpu seconds"], "peers": scores,
    }  # fmt: skip


def overview(lines):
    """The bars of the contest, one line per number of labels."""
    rows = []
    for per_class in sorted({line["labels"] for line in lines}):
        mine = [line for line in lines if line["labels"] == per_class]
        lead = [line["lead"] for line in mine]
        worst = mine[int(np.argmin(lead))]
        rows.append({
            "labels per class": per_class, "sets": len(mine),
            "ours": f"{np.mean([line['ours'] for line in mine]):.1f}",
            "best of each set, in hindsight": f"{np.mean([line['best'] for line in mine]):.1f}",
            "mean lead": f"{np.mean(lead):+.2f}",
            "worst set": f"{worst['lead']:+.1f} ({worst['set']}, {worst['which']})",
            "mean lead, boosting not counted": f"{np.mean(list(map(without_boosting, mine))):+.2f}",
            "sets ahead": sum(value >= 0 for value in lead),
            "best single other": single(mine),
            "graph alone": f"{np.mean([line['graph alone'] for line in mine]):.1f}",
            "as in the paper": f"{np.mean([line['as in the paper'] for line in mine]):.1f}",
            "calibration error": f"{np.mean([line['calibration error'] for line in mine]):.3f}",
            "its worst set": f"{max(line['calibration error'] for line in mine):.2f}",
            "a class too large by 20 points, no remark": sum(line["silent collapses"] for line in mine),
        })  # fmt: skip
    return rows


def without_boosting(line):
    """The lead on the best of the other contenders."""
    return line["ours"] - max(right for name, right in line["peers"].items() if name != "boosting")


def last_lines(draws):
    """The lines of the last report, by set and number of labels."""
    lines = json.loads((ROOT / "benchmarks" / "results" / "contest.json").read_text())["results"]
    return {(line["set"], line["labels"]): line for line in lines if line["draws"] == draws}


def single(lines):
    """The contender with the best mean over all sets, and that mean."""
    everywhere = [peer for peer in PEERS if all(peer in line["peers"] for line in lines)]
    means = {peer: np.mean([line["peers"][peer] for line in lines]) for peer in everywhere}
    best = max(means, key=means.get)
    return f"{means[best]:.1f} ({best})"


def details(lines):
    """One row per set and number of labels."""
    return [
        {
            "set": line["set"], "labels": line["labels"], "ours": f"{line['ours']:.1f}",
            "best other": f"{line['best']:.1f} {line['which']}", "lead": f"{line['lead']:+.1f}",
            "graph alone": f"{line['graph alone']:.1f}", "as in the paper": f"{line['as in the paper']:.1f}",
            "calibration error": f"{line['calibration error']:.3f}", "cpu s": f"{line['cpu seconds']:.1f}",
        }
        for line in lines
    ]  # fmt: skip


def picture(lines, path):
    """The lead on the best other contender of every set, one panel per number of labels."""
    import matplotlib.pyplot as plt

    numbers = sorted({line["labels"] for line in lines})
    figure, axes = plt.subplots(
        1, len(numbers), figsize=(3.2 * len(numbers), 5.6), sharey=True, layout="constrained"
    )
    for panel, per_class in zip(np.atleast_1d(axes), numbers):
        mine = [line for line in lines if line["labels"] == per_class][::-1]
        leads = np.array([line["lead"] for line in mine])
        panel.barh([line["set"] for line in mine], leads, color=np.where(leads >= 0, "#2a7f62", "#c0562f"))
        panel.axvline(0, color="black", linewidth=0.8)
        panel.axvline(leads.mean(), color="black", linewidth=0.8, linestyle=":")
        panel.set_title(f"{per_class} per class: {leads.mean():+.1f} on average", fontsize=10)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("points ahead of the best other contender of each set, chosen in hindsight", fontsize=9)
    figure.savefig(path, dpi=110)


#: Accuracies beside each other: ours without and with known class sizes, and that of the best contender.
SHOWN = ("not given", "given", "best other")


def class_sizes(options):
    """What the true sizes of the classes add to the default of the last report, as a section of its own."""
    records, before, lines = Records(options.records, True), last_lines(options.draws), []
    for name in options.sets:
        s = load(name)
        for per_class in options.labels:
            runs = records.all(
                {seed: f"told-{name}-{per_class}-{seed}" for seed in range(options.draws)},
                lambda seed, s=s, n=per_class: told(s, n, seed), CODE,
            )  # fmt: skip
            line = before[name, per_class]
            right = float(np.mean([run["accuracy"] for run in runs]))
            lines.append({
                "set": name, "labels": per_class, "not given": line["ours"], "given": right,
                "best other": line["best"],
            })  # fmt: skip
            print(*lines[-1].values(), flush=True)
    means = [
        {"set": "**mean**", "labels": per_class}
        | {key: np.mean([line[key] for line in lines if line["labels"] == per_class]) for key in SHOWN}
        for per_class in options.labels
    ]
    shown = [line | {key: f"{line[key]:.1f}" for key in SHOWN} for line in [*lines, *means]]
    text = f"""Accuracy of the default on the draws of the contest, in percent, with and without the true
`class_sizes`. The best other contender of each set, in hindsight, knows no sizes.

{table(shown)}
"""
    command = f"python benchmarks/contest.py --class-sizes --labels {' '.join(map(str, options.labels))}"
    write_section("sizes", "Class sizes that are known", command, text, lines, ("numpy", "scikit-learn"))


def main():
    """Measure what is missing, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=NAMES)
    parser.add_argument("--labels", nargs="+", type=int, default=[1, 5, 20, 100])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--records", default="out/contest", help="where finished draws are kept")
    parser.add_argument("--recorded", action="store_true", help="measure nothing, take what is recorded")
    parser.add_argument(
        "--keep-peers", action="store_true",
        help="take the other contenders from the last report, and all of a set that is not named",
    )  # fmt: skip
    parser.add_argument("--no-report", action="store_true", help="print only")
    parser.add_argument("--class-sizes", action="store_true", help="only what known class sizes add")
    options = parser.parse_args()
    if options.class_sizes:
        return class_sizes(options)
    records, lines = Records(options.records, not options.recorded), []
    kept = last_lines(options.draws) if options.keep_peers else {}
    for name in options.sets:
        s = None if options.recorded else load(name)
        for per_class in options.labels:
            seeds = {seed: f"{name}-{per_class}-{seed}" for seed in range(options.draws)}
            before = kept.pop((name, per_class), None)
            peers = [before["peers"]] if before else records.all(
                {seed: f"peers-{stem}" for seed, stem in seeds.items()},
                lambda seed, s=s, n=per_class: peer(s, n, seed), (),
            )  # fmt: skip
            runs = records.all(
                {seed: f"ours-{stem}" for seed, stem in seeds.items()},
                lambda seed, s=s, n=per_class: ours(s, n, seed), CODE,
            )  # fmt: skip
            if runs and peers:
                lines.append(summary(name, per_class, runs, peers[: len(runs)]))
                print(*details(lines[-1:])[0].values(), flush=True)
    lines = sorted([*lines, *kept.values()], key=lambda line: (NAMES.index(line["set"]), line["labels"]))
    print(table(overview(lines)))
    if not options.no_report:
        picture(lines, ROOT / "docs" / "images" / "contest.png")
        when = (
            "The other contenders were measured once; ours anew where a change concerns a line."
            if options.keep_peers
            else ""
        )
        text = f"""{__doc__.split(maxsplit=0)[0].strip()}

{when}

{table(overview(lines))}

{BOOSTING}

![The lead of our default on the best other contender of every set](images/contest.png)

{table(details(lines))}
"""
        write_section("contest", "The contest", "python benchmarks/contest.py", text, lines,
                      ("numpy", "scikit-learn", "graphlearning", "scikit-network"))  # fmt: skip


if __name__ == "__main__":
    main()
