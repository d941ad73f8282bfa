"""From a CSV file to a labelled CSV file: time of every stage, and memory.

Every run is a process of its own; its clock starts with the process, so start-up and imports count. Kernels
and Python's bytecode are made once before, as after an installation. ``python benchmarks/files.py --runs 3``
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from report import table, write_section

#: name, rows, columns, what the rows are like, share of labels, further words of the command
TABLES = (
    ("small", 2_000, 20, "latent", 0.05, ()),
    ("middling", 20_000, 30, "latent", 0.01, ()),
    ("large", 100_000, 50, "latent", 0.01, ()),
    ("large, hard to search", 100_000, 50, "clouds", 0.01, ()),
    ("large, few labels", 100_000, 50, "latent", 0.0004, ()),
    ("large, with a report", 100_000, 50, "latent", 0.01, ("--report", "r.html")),
    ("long and narrow", 300_000, 8, "latent", 0.01, ()),
)
#: Without bytecode every process would compile the sources of every library anew, for seconds.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
STAGES = ("looking", "reading", "starting", "fitting", "confidence", "writing", "reporting")


def write_csv(path, n, width, kind, share, seed=0, classes=10):
    """A table of numbers and a label column that is mostly empty; answers the truth.

    "latent": every class is three clouds in 12 dimensions (or as many as columns), mixed into all columns
    with noise. "clouds": one isotropic cloud per class in all columns, the worst case of any index.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    if kind == "latent":
        hidden = min(12, width)
        centres = 2.2 * rng.normal(size=(classes, 3, hidden))
        z = centres[truth, rng.integers(3, size=n)] + rng.normal(size=(n, hidden))
        X = z @ rng.normal(size=(hidden, width)) / np.sqrt(hidden) + 0.3 * rng.normal(size=(n, width))
    else:
        X = 0.9 * rng.normal(size=(classes, width))[truth] + rng.normal(size=(n, width))
    X = 10 * X * np.exp(rng.normal(size=width))  # columns of very different units
    known = rng.random(n) < share
    with path.open("w") as file:
        file.write(",".join(f"x{i}" for i in range(width)) + ",kind\n")
        for row, k, given in zip(X, truth, known):
            file.write(",".join([f"{value:.6g}" for value in row]) + (f",k{k}\n" if given else ",\n"))
    return truth


def run(*words, cwd=None):
    """Run the command; seconds on the wall and of the processors, peak bytes, and what it printed."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *words],
        cwd=cwd,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"phaselabel {' '.join(words)} failed")
    return seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, printed


def measured(folder, name, n, width, kind, share, words, runs):
    """The row of one table: medians of some runs."""
    source = folder / "t.csv"
    truth = write_csv(source, n, width, kind, share)
    command = ("label", "t.csv", "--label", "kind", "--out", "o.csv", "--json", "--force", *words)
    rounds = [run(*command, cwd=folder) for _ in range(runs)]
    facts = [json.loads(printed) for *_, printed in rounds]
    names, *lines = (line.split(",") for line in (folder / "o.csv").read_text().splitlines())
    place = names.index("kind_predicted")  # a column for rows that look like no label may come last
    found = [line[place] for line in lines]
    row = {
        "table": name,
        "rows × columns": f"{n:,} × {width}",
        "labels": sum(facts[0]["labels"].values()),
        "MB": round(source.stat().st_size / 1e6),
        "seconds": round(median(seconds for seconds, *_ in rounds), 1),
        "processor s": round(median(cpu for _, cpu, *_ in rounds), 1),
        "peak MB": round(median(peak for *_, peak, _ in rounds) / 1e6),
        "right, %": round(100 * float(np.mean([f"k{k}" for k in truth] == np.array(found))), 2),
    }
    stages = {s: round(median(fact["seconds"].get(s, 0.0) for fact in facts), 1) for s in STAGES}
    return row, {"table": name} | stages


def main():
    """Run every table, print the rows, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--remark", default="", help="a sentence on the run, for the page")
    parser.add_argument("--only", nargs="+", help="names of tables; writes no section")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for size, share in ((2_000, 0.1), (2_000, 0.01), (20_000, 0.01), (60_000, 0.01), (60_000, 0.0005)):
            write_csv(folder / "warm.csv", size, 20, "latent", share)
            run("label", "warm.csv", "--label", "kind", "--quiet", "--force", cwd=folder)
        helps = sorted(run("--help")[0] for _ in range(11))
        rows, stages = [], []
        for name, *rest in TABLES:
            if arguments.only and name not in arguments.only:
                continue
            row, parts = measured(folder, name, *rest, arguments.runs)
            rows.append(row)
            stages.append(parts)
            print(row, parts, flush=True)
    if arguments.only:
        return
    write(rows, stages, helps, arguments)


def write(rows, stages, helps, arguments):
    """Put the section into the page."""
    duration = f"{median(helps):.2f} s (best {helps[0]:.2f}, worst {helps[-1]:.2f} of {len(helps)})"
    text = (
        "`phaselabel label t.csv --label kind --out o.csv`, the whole process with its start-up; medians of "
        f'{arguments.runs} runs. 10 classes. Rows vary in 12 dimensions; "hard to search": isotropic '
        f"clouds in all 50.\n\n{table(rows)}\n\n"
        f"Seconds per stage (starting: imports; fitting: neighbours, graph, flow):\n\n{table(stages)}\n\n"
        f"`phaselabel --help`: {duration}. {arguments.remark}"
    )
    packages = ("numpy", "numba", "faiss-cpu", "pyarrow", "scikit-learn")
    results = {"tables": rows, "stages": stages, "help": helps}
    write_section("files", "From files to files", "python benchmarks/files.py", text, results, packages)


if __name__ == "__main__":
    main()
