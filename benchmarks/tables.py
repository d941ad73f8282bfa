"""Real tables with the mess that people's tables have: truth, estimate, confidence and suspects side by side.

    python benchmarks/tables.py [--rows 1500] [--per-class 30] [--seed 0]      # labels
    python benchmarks/tables.py --regression                                   # values
    python benchmarks/tables.py --warm                                         # warm starts beside cold ones

Every table is written as CSV with shuffled ids, dates, a currency, missing cells, spellings of one class and
words for "no label"; then it is read, labelled and judged as ``phaselabel label`` does. One draw each. The
last line sums up.
"""

import argparse
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sets import data_home
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from phaselabel import GinzburgLandauClassifier, GraphRegressor
from phaselabel.io import tables

#: Tables of the development suite, and those that scikit-learn ships.
SHIPPED = ("iris", "wine", "breast_cancer", "digits")


def classified():
    """Name, rows and classes of every table."""
    for name in SHIPPED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name, X, y
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits, odd or even", X, y % 2
    X, y = datasets.load_diabetes(return_X_y=True)
    yield "diabetes, above the median", X, (y > np.median(y)).astype(int)
    if data_home() is None:
        return
    for path in sorted((data_home() / "suite").glob("*.npz")):
        with np.load(path) as file:
            if "x_data" in file:
                parts = file["x_data"], file["x_indices"], file["x_indptr"]
                words = sparse.csr_matrix(parts, shape=tuple(file["x_shape"])).astype(float)
                common = np.argsort(-np.asarray((words > 0).sum(axis=0)).ravel())[:60]
                yield f"{path.stem} (60 words)", words[:, common].toarray(), file["y"]
            else:
                yield path.stem, file["X" if "X" in file else "x"], file["y"]
    with np.load(data_home() / "sslbook_coil.npz") as file:
        yield "coil", file["X"], file["y"]
    with np.load(data_home() / "mnist70k.npz") as file:
        yield "mnist, every fourth pixel", file["x"][:, ::4, ::4].reshape(70000, -1), file["y"]


def messy(X, y, given, rng):
    """A data frame with the rows, and columns, cells and spellings that people add."""
    frame = pd.DataFrame(np.asarray(X, float)).add_prefix("c").astype(object)
    n = len(frame)
    frame.insert(0, "customer_id", rng.permutation(n) + 10**6)
    frame.insert(1, "since", [f"{1 + i % 28:02}.{1 + i % 12:02}.{2000 + i % 24}" for i in rng.permutation(n)])
    frame.insert(2, "paid", [f"${v:,.2f}" for v in rng.lognormal(7, 1, n)])
    for name in rng.choice(frame.columns[3:], min(3, frame.shape[1] - 3), replace=False):
        frame.loc[rng.random(n) < 0.03, name] = ""
    names = np.array([f"class {k}" for k in range(y.max() + 1)], object)
    words = np.where(given >= 0, names[given], "")
    odd = (given >= 0) & (rng.random(n) < 0.1)
    words[odd] = [word.upper() + " " for word in words[odd]]
    words[(given < 0) & (rng.random(n) < 0.05)] = "N/A"
    frame["label"] = words
    return frame


def read(frame, folder):
    """Write the frame, and read it as ``phaselabel label --impute median --clean-labels`` does."""
    path = folder / "t.csv"
    frame.to_csv(path, index=False)
    table = tables.open_table(path)
    columns, n_rows = tables.survey(table, ["label"])
    recipe = tables.plan(columns, impute="median")
    labels = tables.Labels.of(table, "label", n_rows).without(["N/A"]).cleaned()
    return recipe.fit_transform(table), labels, recipe


def drawn(y, per_class, rng):
    """Labels of a random sample of the rows, about so many per class on average."""
    share = min(0.5, per_class * (y.max() + 1) / len(y))
    given = np.where(rng.random(len(y)) < share, y, -1)
    for k in range(y.max() + 1):  # at least two of every class
        given[np.flatnonzero(y == k)[:2]] = k
    return given


def judge(name, X, y, arguments, folder, tally):
    """One line of the table; what can be summed is added to the tally."""
    rng = np.random.default_rng(arguments.seed)
    keep = rng.permutation(len(y))[: arguments.rows]
    X, y = X[keep], np.unique(y, return_inverse=True)[1][keep]
    enough = np.bincount(y)[y] >= 6
    X, y = X[enough], np.unique(y[enough], return_inverse=True)[1]
    given = drawn(y, arguments.per_class, rng)
    features, labels, recipe = read(messy(X, y, given, rng), folder)
    assert "key" not in recipe.roles.values()
    assert "customer_id" not in recipe.roles
    model = GinzburgLandauClassifier(unlabeled=None).fit(features, labels.entries)
    hidden = given < 0
    truth = np.array([f"class {k}" for k in y])
    right = model.transduction_[hidden] == truth[hidden]
    held = model.hold_out()
    low, high = held.interval()
    suspects = held.suspects()

    flipped, known = given.copy(), np.flatnonzero(given >= 0)
    wrong = rng.choice(known, len(known) // 10, replace=False)
    flipped[wrong] = (given[wrong] + rng.integers(1, y.max() + 1, len(wrong))) % (y.max() + 1)
    noisy = GinzburgLandauClassifier().fit(features, flipped).hold_out()
    accused = noisy.suspects().rows
    theirs = cleanlab_suspects(noisy)
    tally.update(
        {
            "tables": 1, "hold": bool(low <= right.mean() <= high), "labels": len(known), "wrong": len(wrong),
            "accused, none wrong": len(suspects.rows),
            "accused": len(accused), "rightly": int(np.isin(accused, wrong).sum()),
            "by cleanlab": len(theirs), "rightly by cleanlab": int(np.isin(theirs, wrong).sum()),
        }
    )  # fmt: skip
    return {
        "table": name, "rows": len(y), "classes": int(y.max()) + 1, "labels": int((~hidden).sum()),
        "right": f"{right.mean():.1%}", "estimate": f"{held.accuracy:.1%}",
        "interval": f"{low:.0%}–{high:.0%}", "holds": bool(low <= right.mean() <= high),
        "confidence": f"{model.confidence_[hidden].mean():.2f}",
        "accused, none wrong": len(suspects.rows), "10 % wrong: accused": len(accused),
        "precision": precision(accused, wrong), "cleanlab accused": len(theirs),
        "cleanlab precision": precision(theirs, wrong),
    }  # fmt: skip


def precision(accused, wrong):
    """The share of the accused that are wrong."""
    return f"{np.isin(accused, wrong).mean():.2f}" if len(accused) else "–"


def cleanlab_suspects(held):
    """The label issues that cleanlab finds in the same probabilities."""
    try:
        from cleanlab.filter import find_label_issues
    except ImportError:
        return np.zeros(0, int)
    believed = held.probabilities / held.probabilities.sum(axis=1, keepdims=True)
    _, given = np.unique(held.given, return_inverse=True)
    if given.max() + 1 != believed.shape[1]:
        return np.zeros(0, int)
    return held.rows[find_label_issues(given, believed)]


#: Tables of the suite in which every column is a measurement; the last column is the value.
MEASURED = ("mammography", "pendigits", "phoneme", "segment", "vowel", "waveform5000")


def valued(seed):
    """Name, rows and values of every table: those of scikit-learn, and 600 rows of some of the suite."""
    chemistry = datasets.load_wine(return_X_y=True)[0]
    cells = datasets.load_breast_cancer(return_X_y=True)[0]
    flowers = datasets.load_iris(return_X_y=True)[0]
    yield "diabetes", *datasets.load_diabetes(return_X_y=True)
    yield "linnerud, weight", datasets.load_linnerud().data, datasets.load_linnerud().target[:, 0]
    yield "wine, alcohol", chemistry[:, 1:], chemistry[:, 0]
    yield "wine, proline", chemistry[:, :-1], chemistry[:, -1]
    yield "breast cancer, mean smoothness", np.delete(cells, 4, axis=1), cells[:, 4]
    yield "iris, petal width", flowers[:, :3], flowers[:, 3]
    for name in MEASURED if data_home() is not None else ():
        with np.load(data_home() / "suite" / f"{name}.npz") as file:
            rows = np.asarray(file["X" if "X" in file else "x"], float)
        rows = rows[np.random.default_rng(seed).permutation(len(rows))[:600]]
        yield f"{name}, last column", rows[:, :-1], rows[:, -1]


def regression(arguments):
    """R²: a fifth of the values known."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.metrics import r2_score
    from sklearn.neighbors import KNeighborsRegressor

    for name, X, y in valued(arguments.seed):
        if arguments.only and name not in arguments.only:
            continue
        X = StandardScaler().fit_transform(X)
        scores = {}
        for draw in range(5):
            rng = np.random.default_rng(arguments.seed + draw)
            known = rng.random(len(y)) < max(0.2, 10 / len(y))
            models = {
                "ours": GraphRegressor(), "graph alone": GraphRegressor(evidence=None),
                "5-NN": KNeighborsRegressor(5), "ridge": RidgeCV(np.logspace(-3, 4, 15)),
                "boosting": HistGradientBoostingRegressor(random_state=0),
            }  # fmt: skip
            for method, model in models.items():
                if isinstance(model, GraphRegressor):
                    found = model.fit(X, np.where(known, y, np.nan)).transduction_[~known]
                    found = np.where(np.isnan(found), y[known].mean(), found)
                else:
                    found = model.fit(X[known], y[known]).predict(X[~known])
                scores.setdefault(method, []).append(r2_score(y[~known], found))
        row = {"table": name, "rows": len(y)}
        yield row | {method: f"{np.mean(values):.2f}" for method, values in scores.items()}


def warm(name, X, y, arguments):
    """Answer ``query`` in rounds; one model starts warm from its own last answer, one cold."""
    rng = np.random.default_rng(arguments.seed)
    keep = rng.permutation(len(y))[: arguments.rows]
    X, y = StandardScaler().fit_transform(X[keep]), np.unique(y, return_inverse=True)[1][keep]
    y = np.unique(y, return_inverse=True)[1]
    first = rng.integers(len(y))
    given = np.where(np.arange(len(y)) == first, y, -1)
    model, gaps, sweeps = GinzburgLandauClassifier().fit(X, given), [], []
    for _ in range(6):
        asked = model.query(8)
        given[asked] = y[asked]
        cold = GinzburgLandauClassifier().fit(X, given)
        model = GinzburgLandauClassifier(init=model).fit(X, given)
        hidden = given < 0
        right = [np.mean(m.transduction_[hidden] == y[hidden]) for m in (cold, model)]
        gaps.append(100 * (right[0] - right[1]))
        sweeps.append((cold.n_iter_, model.n_iter_))
    return {
        "table": name, "rows": len(y), "labels at the end": int((given >= 0).sum()),
        "right at the end, cold": f"{right[0]:.1%}", "warm": f"{right[1]:.1%}",
        "worst loss of a warm start, points": f"{max(gaps):.2f}",
        "sweeps, cold": sum(c for c, _ in sweeps), "sweeps, warm": sum(w for _, w in sweeps),
    }  # fmt: skip


def main():
    """Print the table in Markdown, line by line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--per-class", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--warm", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = ((n, X, y) for n, X, y in classified() if not arguments.only or n in arguments.only)
    tally = Counter()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.regression:
            lines = regression(arguments)
        elif arguments.warm:
            lines = (warm(name, X, y, arguments) for name, X, y in chosen)
        else:
            lines = (judge(name, X, y, arguments, Path(folder), tally) for name, X, y in chosen)
        for number, line in enumerate(lines):
            if not number:
                print("| " + " | ".join(line) + " |\n|" + "---|" * len(line))
            print("| " + " | ".join(map(str, line.values())) + " |", flush=True)
    print("\n" + ", ".join(f"{name} {count}" for name, count in tally.items()))


if __name__ == "__main__":
    main()
