"""Few and wrong labels: accuracy at 1, 2 and 5 per class, collapse, calibration, suspects, queries."""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from records import LABELLING, Records
from report import table, write_section
from sets import coil, data_home, digits, mnist

import phaselabel as pl
from phaselabel.assess.calibration import calibration_error
from phaselabel.datasets import sample_labels

warnings.filterwarnings("ignore")


def fitted(graph, labels, **settings):
    """Our classifier on a ready-made graph, which alone decides."""
    return pl.GinzburgLandauClassifier(affinity="precomputed", evidence=None, **settings).fit(
        graph.weights, labels
    )


def share_right(found, y, labels):
    """Percent of the unlabelled rows that are right."""
    hidden = labels < 0
    return 100 * float(np.mean(np.asarray(found)[hidden] == y[hidden]))


def peer(name, *more, **settings):
    """A method of graphlearning on the same weights."""

    def run(graph, labels):
        import graphlearning as gl

        known = np.flatnonzero(labels >= 0)
        model = getattr(gl.ssl, name)(graph.weights.astype(np.float64), *more, **settings)
        return model.fit_predict(known, labels[known])

    return run


def contenders(graph, y):
    """Every method takes a graph and labels and answers with classes; ours with those at every look, too.

    The last two are told the true class sizes. Poisson comes with both of its solvers; the default one,
    conjugate gradients, ends at chance where a graph is not connected, and is left out there.
    """
    true = np.bincount(y) / len(y)

    def ours(graph, labels, **settings):
        seen = []
        model = fitted(
            graph, labels, callbacks=lambda sweep, state, energy: seen.append(state.arm), **settings
        )
        return model.solution_.arm, seen

    def theirs(method):
        return lambda graph, labels: (method(graph, labels), [])

    default = {"graphlearning poisson": theirs(peer("poisson"))} if graph.n_components == 1 else {}
    return {
        OURS: ours,
        **default,
        "graphlearning poisson, gradient descent": theirs(peer("poisson", solver="gradient_descent")),
        OURS_SIZED: partial(ours, class_sizes=true),
        SLOW: theirs(peer("poisson_mbo", true)),
    }


OURS, OURS_SIZED, SLOW = "phaselabel", "phaselabel, true sizes", "graphlearning poisson_mbo, true sizes"


def accuracy(records, name, graph, y, options):
    """Mean and worst accuracy and processor time of every contender on the same draws, taking turns."""
    results = {
        (p, method): {} for p in options.per_class for method in options.methods or contenders(graph, y)
    }
    for seed in range(options.first, options.draws):
        for per_class, method in results:

            def measure(per_class=per_class, method=method, seed=seed):
                labels = sample_labels(y, per_class, random_state=seed)
                start = time.process_time()
                found, seen = contenders(graph, y)[method](graph, labels)
                seconds, right = time.process_time() - start, share_right(found, y, labels)
                best = max((share_right(arm, y, labels) for arm in seen), default=None)
                return {"right": right, "seconds": seconds, "best": best}

            wanted = method != SLOW or seed < options.slow_draws
            key = f"accuracy-{name}-{per_class}-{method.replace(', ', '-').replace(' ', '-')}-{seed}"
            code = LABELLING if method.startswith(OURS) else ()
            record = records(key, measure if wanted else None, code)
            if record:
                results[per_class, method][seed] = record
    rows = []
    for (per_class, method), found in results.items():
        rows.append({"set": name, "labels per class": per_class, "method": method} | summary(found))
        rival = results.get((per_class, SLOW), {})
        if method == OURS_SIZED and 0 < len(rival) < len(found):
            same = {seed: found[seed] for seed in rival}
            label = f"{method}, on the draws of poisson_mbo"
            rows.append({"set": name, "labels per class": per_class, "method": label} | summary(same))
    return [row for row in rows if row["draws"]]


def summary(found):
    """What some draws come to."""
    if not found:
        return {"draws": 0}
    right, seconds = np.array([(record["right"], record["seconds"]) for record in found.values()]).T
    fell = [record["best"] - record["right"] for record in found.values() if record.get("best")]
    return (
        {"draws": len(right)}
        | mean_and_worst(right)
        | {"most below its best sweep": f"{max(0, *fell):.1f}" if fell else ""}
        | {"processor seconds": f"{seconds.mean():.2f}"}
    )


def mean_and_worst(right):
    """Two columns of a table."""
    return {"mean %": f"{np.mean(right):.1f}", "worst %": f"{np.min(right):.1f}"}


def gaussians(records, draws):
    """Two isotropic Gaussians in R^241, centres 2.5 apart: where the long flow collapses."""

    def measure(seed):
        data, choice = np.random.SeedSequence(seed).spawn(2)
        y = np.repeat([0, 1], 750)
        X = np.random.default_rng(data).normal(size=(1500, 241))
        X[:, 0] += 2.5 * y
        labels = sample_labels(y, 50, random_state=choice)
        graph = pl.similarity_graph(pl.nearest_neighbors(X, 10))
        shots = pl.Snapshots(range(0, 300, 2))
        last = pl.minimize(graph, labels, max_iter=300, tol=0, every=2, callbacks=shots)
        best = max(share_right(state.arm, y, labels) for state in shots.states.values())
        return {
            OURS: share_right(fitted(graph, labels).solution_.arm, y, labels),
            "flow alone, 300 sweeps": share_right(last.arm, y, labels),
            "flow alone, its best sweep": best,
        }

    found = [
        records(f"gaussians-{seed}", lambda seed=seed: measure(seed), LABELLING) for seed in range(draws)
    ]
    return [
        {"method": name, "draws": draws} | mean_and_worst([one[name] for one in found]) for name in found[0]
    ]


def calibration(records, name, graph, y, draws):
    """Expected calibration error over the unlabelled rows."""

    rows = []
    for per_class in (1, 5, 250) if len(y) > 10_000 else (1, 5, 50):

        def measure(seed, per_class=per_class):
            labels = sample_labels(y, per_class, random_state=seed)
            model, hidden = fitted(graph, labels), labels < 0
            return calibration_error(model.confidence_[hidden], model.solution_.arm[hidden] == y[hidden])

        gaps = records.all({s: f"calibration-{name}-{per_class}-{s}" for s in range(draws)}, measure)
        if gaps:
            gap = {"mean error": f"{np.mean(gaps):.4f}", "worst": f"{np.max(gaps):.4f}"}
            rows.append({"set": name, "labels per class": per_class, "draws": len(gaps)} | gap)
    return rows


def wrong_labels(records, name, graph, y, draws):
    """A fifth of 50 labels per class turned into another class."""

    def measure(seed):
        labels = sample_labels(y, 50, random_state=seed)
        rng = np.random.default_rng(seed)
        known = np.flatnonzero(labels >= 0)
        wrong = rng.choice(known, len(known) // 5, replace=False)
        flipped = labels.copy()
        flipped[wrong] = (labels[wrong] + rng.integers(1, y.max() + 1, len(wrong))) % (y.max() + 1)
        noisy = fitted(graph, flipped)
        return (
            share_right(fitted(graph, labels).solution_.arm, y, labels),
            share_right(noisy.solution_.arm, y, labels),
            float(np.isin(noisy.suspect_labels_[: len(wrong)], wrong).mean()),
        )

    found = records.all({seed: f"wrong-{name}-{seed}" for seed in range(draws)}, measure)
    if not found:
        return []
    before, after, precision = np.array(found).T
    row = {
        "set": name,
        "draws": len(found),
        "clean %": f"{before.mean():.2f}",
        "flipped %": f"{after.mean():.2f}",
    }
    row |= {"loss": f"{(before - after).mean():.2f}", "worst loss": f"{(before - after).max():.2f}"}
    row |= {"precision of the top suspects": f"{precision.mean():.2f}", "worst": f"{precision.min():.2f}"}
    return [row]


def labels_needed(graph, y, strategy, seed, goals, most):
    """How many labels a way of asking, one by one, needs for the accuracies, from two of two classes on."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    first = order[: np.argmax(y[order] != y[order[0]]) + 1]
    labels = np.full(len(y), -1)
    labels[first] = y[first]
    reached = {}
    while True:
        count = int((labels >= 0).sum())
        # Chance asks whatever the model thinks; until it has seen enough classes there is nothing to fit.
        possible = 100 * np.isin(y, labels[labels >= 0]).mean()
        if strategy != "random" or possible >= min(set(goals) - set(reached)):
            model = fitted(graph, labels)
            score = 100 * np.mean(model.transduction_ == y)
            reached |= {goal: count for goal in goals if score >= goal and goal not in reached}
        if len(reached) == len(goals) or count >= most:
            return reached
        if strategy == "query":
            rows = model.query(1)
        elif strategy == "random":
            rows = rng.choice(np.flatnonzero(labels < 0), 1)
        else:
            rows = np.argsort(np.where(labels < 0, model.confidence_, 2), kind="stable")[:1]
        labels[rows] = y[rows]


def active(records, name, graph, y, draws, most):
    """Labels needed to reach 90 and 95 %: our queries, random choice, plain uncertainty."""
    goals, rows = (90, 95), []
    for strategy in ("query", "random", "uncertainty"):

        def measure(seed, strategy=strategy):
            found = labels_needed(graph, y, strategy, seed, goals, most)
            return [found.get(goal) for goal in goals]

        # Chance asks without looking at what is thought of the labels.
        code = {"code": LABELLING} if strategy == "random" else {}
        names = {s: f"active-{name}-{strategy}-singly-{s}" for s in range(draws)}
        runs = records.all(names, measure, **code)
        if not runs:
            continue
        row = {"set": name, "asks by": strategy, "draws": len(runs)}
        for place, goal in enumerate(goals):
            median = np.median([run[place] or np.inf for run in runs])
            row[f"labels to {goal} %, median"] = f"{median:.0f}" if np.isfinite(median) else f"> {most}"
        rows.append(row)
    return rows


PARTS = ("accuracy", "gaussians", "calibration", "wrong", "active")


def main():
    """Run the requested parts and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--first", type=int, default=0, help="the first draw")
    parser.add_argument("--slow-draws", type=int, default=3, help="draws for PoissonMBO, minutes each")
    parser.add_argument("--few-draws", type=int, default=10, help="draws for calibration and wrong labels")
    parser.add_argument("--per-class", type=int, nargs="+", default=[1, 2, 5])
    parser.add_argument("--methods", nargs="+", help="contenders, all by default")
    parser.add_argument("--records", default="out/few-labels", help="where finished draws are kept")
    parser.add_argument("--sets", nargs="+", default=["digits", "coil", "mnist"])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--recorded", action="store_true", help="measure nothing, take what is recorded")
    parser.add_argument("--no-report", action="store_true", help="print only")
    options = parser.parse_args()
    sets = {"digits": digits, "coil": coil, "mnist": lambda: mnist(records.folder)}
    here = [s for s in options.sets if s == "digits" or data_home()]
    results, records = {}, Records(options.records, not options.recorded)

    def add(part, rows):
        if rows:
            print(part, table(rows), sep="\n", flush=True)
        results.setdefault(part, []).extend(rows)

    if "gaussians" in options.only:
        add("gaussians", gaussians(records, options.draws))
    for name in here:
        graph, y = sets[name]()
        few = options.few_draws
        if "accuracy" in options.only:
            add("accuracy", accuracy(records, name, graph, y, options))
        if name == "coil":
            continue
        if "calibration" in options.only:
            add("calibration", calibration(records, name, graph, y, few))
        if "wrong" in options.only:
            add("wrong", wrong_labels(records, name, graph, y, few))
        if "active" in options.only:
            add("active", active(records, name, graph, y, options.draws, 200))
    if not options.no_report:
        text = "\n\n".join(f"**{part}**\n\n{table(rows)}" for part, rows in results.items() if rows)
        command = "python benchmarks/few_labels.py"
        write_section("few-labels", "Few labels", command, text, results, ("graphlearning",))


if __name__ == "__main__":
    main()
