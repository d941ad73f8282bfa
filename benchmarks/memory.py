"""Bytes of memory a row: a fit of 200,000 rows of 50 numbers and of a million rows of 32.

Every fit is a process of its own. What is counted is the most memory that the process had in use, beyond what
it had before the fit with the rows already in place. ``python benchmarks/memory.py``
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from report import table, write_section

#: rows, columns
SIZES = ((200_000, 50), (1_000_000, 32))
CODE = """
import json, resource, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import phaselabel as pl
n, width, evidence = int(sys.argv[1]), int(sys.argv[2]), None if sys.argv[3] == "None" else sys.argv[3]
rng = np.random.default_rng(0)
small = rng.normal(size=(500, width)).astype(np.float32)
few = np.where(np.arange(500) < 20, np.arange(500) % 5, -1)
pl.GinzburgLandauClassifier(evidence=evidence).fit(small, few)
centres = rng.normal(size=(30, width)).astype(np.float32) * 2
part = rng.integers(0, 30, n)
X = centres[part]
for start in range(0, n, 50_000):
    X[start : start + 50_000] += rng.normal(size=X[start : start + 50_000].shape).astype(np.float32)
truth = part % 10
y = np.full(n, -1)
known = rng.permutation(n)[:1000]
y[known] = truth[known]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, start, clock = peak(), time.process_time(), time.perf_counter()
model = pl.GinzburgLandauClassifier(evidence=evidence).fit(X, y)
fitted = peak()
model.confidence_
print(json.dumps({
    "fit": (fitted - before) / n, "with confidence": (peak() - before) / n, "rows themselves": 4 * width,
    "processor": time.process_time() - start, "wall": time.perf_counter() - clock,
    "right": float((model.transduction_ == truth).mean()),
}))
"""


def measure(n, width, evidence):
    """One fit in a process of its own."""
    words = [sys.executable, "-c", CODE, str(n), str(width), str(evidence)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    """Measure and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=Path("out/memory.json"), help="measurements made so far")
    parser.add_argument("--only", type=int, help="only this many rows")
    arguments = parser.parse_args()
    arguments.keep.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(arguments.keep.read_text()) if arguments.keep.exists() else {}
    for n, width in SIZES:
        for evidence in (None, "auto"):
            name = f"{n} {width} {evidence}"
            if name in kept or (arguments.only and n != arguments.only):
                continue
            start = time.time()
            kept[name] = measure(n, width, evidence)
            arguments.keep.write_text(json.dumps(kept, indent=1) + "\n")
            print(name, kept[name], f"{time.time() - start:.0f} s", flush=True)
    rows = [
        {
            "rows": f"{int(name.split()[0]):,}",
            "columns": name.split()[1],
            "evidence": name.split()[2],
            "the rows themselves": f"{one['rows themselves']} bytes a row",
            "fit": f"{one['fit']:.0f} bytes a row",
            "with confidence": f"{one['with confidence']:.0f} bytes a row",
        }
        for name, one in kept.items()
    ]
    text = (
        "The most memory in use during the fit, beyond the rows and what the process had before, in bytes a "
        "row; 1,000 known labels of 10 classes.\n\n" + table(rows)
    )
    write_section("memory", "Memory", "python benchmarks/memory.py", text, kept)


if __name__ == "__main__":
    main()
