"""Few and wrong labels: accuracy at 1, 2 and 5 per class, collapse, calibration, suspects, queries."""

import argparse
import time
import warnings

import numpy as np
from report import table, write_section
from sets import coil, data_home, digits, mnist

import phaselabel as pl
from phaselabel.confidence import calibration_error
from phaselabel.datasets import sample_labels

warnings.filterwarnings("ignore")


def fitted(graph, labels, **settings):
    """Our classifier on a ready-made graph."""
    return pl.GinzburgLandauClassifier(affinity="precomputed", **settings).fit(graph.weights, labels)


def share_right(found, y, labels):
    """Percent of the unlabelled rows that are right."""
    hidden = labels < 0
    return 100 * float(np.mean(np.asarray(found)[hidden] == y[hidden]))


def contenders(y, slow):
    """Every method takes a graph and labels; the last ones are told the true class sizes."""

    def peer(name, *more):
        def run(graph, labels):
            import graphlearning as gl

            known = np.flatnonzero(labels >= 0)
            model = getattr(gl.ssl, name)(graph.weights.astype(np.float64), *more)
            return model.fit_predict(known, labels[known])

        return run

    true = np.bincount(y) / len(y)
    found = {
        "phaselabel": lambda graph, labels: fitted(graph, labels).solution_.arm,
        "graphlearning poisson": peer("poisson"),
        "phaselabel, true sizes": lambda graph, labels: fitted(graph, labels, class_sizes=true).solution_.arm,
    }
    if slow:
        found["graphlearning poisson_mbo, true sizes"] = peer("poisson_mbo", true)
    return found


def accuracy(name, graph, y, draws, slow_draws):
    """Mean and worst accuracy and mean time of every contender on the same draws, taking turns."""
    rows = []
    for per_class in (1, 2, 5):
        results = {}
        for seed in range(draws):
            labels = sample_labels(y, per_class, random_state=seed)
            for method, run in contenders(y, seed < slow_draws).items():
                start = time.perf_counter()
                found = share_right(run(graph, labels), y, labels)
                results.setdefault(method, []).append((found, time.perf_counter() - start))
        for method, values in results.items():
            score, seconds = np.array(values).T
            rows.append(
                {
                    "set": name,
                    "labels per class": per_class,
                    "method": method,
                    "draws": len(score),
                    "mean %": f"{score.mean():.1f}",
                    "worst %": f"{score.min():.1f}",
                    "seconds": f"{seconds.mean():.2f}",
                }
            )
            print(rows[-1], flush=True)
    return rows


def gaussians(draws):
    """Two isotropic Gaussians in R^241, centres 2.5 apart: where the long flow collapses."""
    rows = {"phaselabel": [], "flow alone, 300 sweeps": [], "flow alone, its best sweep": []}
    for seed in range(draws):
        data, choice = np.random.SeedSequence(seed).spawn(2)
        y = np.repeat([0, 1], 750)
        X = np.random.default_rng(data).normal(size=(1500, 241))
        X[:, 0] += 2.5 * y
        labels = sample_labels(y, 50, random_state=choice)
        graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
        rows["phaselabel"].append(share_right(fitted(graph, labels).solution_.arm, y, labels))
        shots = pl.Snapshots(range(0, 300, 2))
        last = pl.minimize(graph, labels, max_iter=300, tol=0, every=2, callbacks=shots)
        rows["flow alone, 300 sweeps"].append(share_right(last.arm, y, labels))
        best = max(share_right(state.arm, y, labels) for state in shots.states.values())
        rows["flow alone, its best sweep"].append(best)
    return [
        {"method": name, "mean %": f"{np.mean(v):.1f}", "worst %": f"{np.min(v):.1f}"}
        for name, v in rows.items()
    ]


def calibration(name, graph, y, draws):
    """Expected calibration error over the unlabelled rows."""
    rows = []
    for per_class in (5, 250) if len(y) > 10_000 else (5, 50):
        gaps = []
        for seed in range(draws):
            labels = sample_labels(y, per_class, random_state=seed)
            model, hidden = fitted(graph, labels), labels < 0
            gaps.append(
                calibration_error(model.confidence_[hidden], model.solution_.arm[hidden] == y[hidden])
            )
        gap = {"mean error": f"{np.mean(gaps):.4f}", "worst": f"{np.max(gaps):.4f}"}
        rows.append({"set": name, "labels per class": per_class, "draws": draws} | gap)
        print(rows[-1], flush=True)
    return rows


def wrong_labels(name, graph, y, draws):
    """A fifth of 50 labels per class turned into another class."""
    rows = []
    for seed in range(draws):
        labels = sample_labels(y, 50, random_state=seed)
        rng = np.random.default_rng(seed)
        known = np.flatnonzero(labels >= 0)
        wrong = rng.choice(known, len(known) // 5, replace=False)
        flipped = labels.copy()
        flipped[wrong] = (labels[wrong] + rng.integers(1, y.max() + 1, len(wrong))) % (y.max() + 1)
        clean, noisy = fitted(graph, labels), fitted(graph, flipped)
        before = share_right(clean.solution_.arm, y, labels)
        after = share_right(noisy.solution_.arm, y, labels)
        precision = np.isin(noisy.suspect_labels_[: len(wrong)], wrong).mean()
        rows.append((before, after, precision))
    before, after, precision = np.mean(rows, axis=0)
    row = {"set": name, "draws": draws, "clean %": f"{before:.2f}", "flipped %": f"{after:.2f}"}
    row |= {"loss": f"{before - after:.2f}", "precision of the top suspects": f"{precision:.2f}"}
    print(row, flush=True)
    return [row]


def labels_needed(graph, y, strategy, seed, goals, most, batch):
    """How many labels a way of asking needs to reach the accuracies, from one per class on."""
    rng = np.random.default_rng(seed)
    labels = sample_labels(y, 1, random_state=seed)
    reached = {}
    while True:
        model = fitted(graph, labels)
        score = 100 * np.mean(model.solution_.arm == y)
        count = int((labels >= 0).sum())
        reached |= {goal: count for goal in goals if score >= goal and goal not in reached}
        if len(reached) == len(goals) or count >= most:
            return reached
        if strategy == "query":
            rows = model.query(batch)
        elif strategy == "random":
            rows = rng.choice(np.flatnonzero(labels < 0), batch, replace=False)
        else:
            rows = np.argsort(np.where(labels < 0, model.confidence_, 2), kind="stable")[:batch]
        labels[rows] = y[rows]


def active(name, graph, y, draws, most, batch):
    """Labels needed to reach 90 and 95 %: our queries, random choice, plain uncertainty."""
    goals, rows = (90, 95), []
    for strategy in ("query", "random", "uncertainty"):
        runs = [labels_needed(graph, y, strategy, seed, goals, most, batch) for seed in range(draws)]
        row = {"set": name, "asks by": strategy, "draws": draws}
        for goal in goals:
            counts = [run.get(goal, np.inf) for run in runs]
            median = np.median(counts)
            row[f"labels to {goal} %, median"] = int(median) if np.isfinite(median) else f"> {most}"
        rows.append(row)
        print(row, flush=True)
    return rows


PARTS = ("accuracy", "gaussians", "calibration", "wrong", "active")


def main():
    """Run what was asked for and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--slow-draws", type=int, default=3, help="draws for PoissonMBO, minutes each")
    parser.add_argument("--sets", nargs="+", default=["digits", "coil", "mnist"])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--no-report", action="store_true", help="print only")
    options = parser.parse_args()
    sets = {"digits": digits, "coil": coil, "mnist": mnist}
    here = [s for s in options.sets if s == "digits" or data_home()]
    results = {}
    if "gaussians" in options.only:
        results["gaussians"] = gaussians(options.draws)
        print(table(results["gaussians"]), flush=True)
    for name in here:
        graph, y = sets[name]()
        few = max(1, options.draws // 10)
        if "accuracy" in options.only:
            results.setdefault("accuracy", []).extend(
                accuracy(name, graph, y, options.draws, options.slow_draws)
            )
        if "calibration" in options.only and name != "coil":
            results.setdefault("calibration", []).extend(calibration(name, graph, y, few))
        if "wrong" in options.only and name != "coil":
            results.setdefault("wrong", []).extend(wrong_labels(name, graph, y, few))
        if "active" in options.only and name != "coil":
            results.setdefault("active", []).extend(active(name, graph, y, few, 200, 5))
    if not options.no_report:
        text = "\n\n".join(f"**{part}**\n\n{table(rows)}" for part, rows in results.items())
        command = "python benchmarks/few_labels.py"
        write_section("few-labels", "Few labels", command, text, results, ("graphlearning",))


if __name__ == "__main__":
    main()
