"""The studio on MNIST's 70,000: from key press to the next question on the screen, and what 50 answers reach.

    python benchmarks/studio.py [--answers 50] [--think 0 0.5]
    python benchmarks/studio.py --curves [--sets digits segment] [--rows 1000] [--every 10]

``--curves`` needs no browser: labels right and the estimated accuracy along runs on several sets, with and
without evidence; the experts are asked again after every ``--every`` answers.

The first form drives Chromium on the real page.
``--think`` is how many seconds the user looks at a question before pressing
a key; with 0 the next key follows as soon as the question is there. Needs the ``test`` extra and chromium.
"""

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import table, write_section

WATCH = """
() => {
  window.waits = [];
  const root = document.querySelector("#workspace");
  let pressed = null, before = null;
  addEventListener("keydown", () => { pressed = performance.now(); before = root.dataset.answered; }, true);
  new MutationObserver(() => {
    const { answered, shown, question } = root.dataset;
    if (pressed !== null && answered !== before && shown === question) {
      const start = pressed;
      pressed = null;
      requestAnimationFrame(() => { window.waits.push(performance.now() - start); });
    }
  }).observe(root, { attributes: true, attributeFilter: ["data-answered", "data-shown", "data-question"] });
}
"""


def started(source, folder):
    """The studio as a process, and its address."""
    words = ["studio", str(source), "--classes", ",".join("0123456789"), "--no-browser"]
    process = subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *words, "--project", f"{folder}/mnist.studio"],
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, re.search(r"http://\S+", process.stdout.readline()).group()


def session(source, truth, n_answers, think):
    """One user from the first question to the last: the waits in seconds, and the share of right labels."""
    from playwright.sync_api import sync_playwright
    from pyarrow import csv

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        process, address = started(source, folder)
        try:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(300_000)
            page.goto(address)
            page.wait_for_function("() => document.querySelector('#workspace').dataset.shown !== undefined")
            page.evaluate(WATCH)
            for k in range(n_answers):
                time.sleep(think)
                row = int(page.evaluate("document.querySelector('#workspace').dataset.shown"))
                page.keyboard.press(str((int(truth[row]) + 1) % 10))
                page.wait_for_function(
                    "n => { const d = document.querySelector('#workspace').dataset; "
                    "return window.waits.length > n && d.shown === d.question; }",
                    arg=k,
                    polling=10,
                )
            waits = np.array(page.evaluate("window.waits")) / 1000
            found = csv.read_csv(io.BytesIO(page.request.get(page.url + "export/labels.csv").body()))
            state = page.request.get(page.url + "query/state").json()
            browser.close()
        finally:
            process.kill()
            process.wait()
    right = float(np.mean(found["label_predicted"].to_numpy() == truth))
    return waits, right, state["accuracy"]


#: The sets along which the estimate is judged.
SETS = ("digits", "pendigits", "segment", "waveform", "vowel", "phoneme", "breast_cancer", "usps")

#: The estimate is judged from this many answers on.
JUDGED_FROM = 50


def run_without_page(x, y, n_answers, every, evidence):
    """One user who is always right: (answers, share of right labels, estimate) after every few answers."""
    from phaselabel.studio.answering import AnsweringWorkspace
    from phaselabel.studio.items import read_items
    from phaselabel.studio.project import Project

    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        project = Project(f"{folder}/p.studio", {})
        items = read_items(Path(f"{folder}/x.npy"))
        names = [f"class {k}" for k in range(y.max() + 1)]
        workspace = AnsweringWorkspace(items, project, classes=names, evidence=evidence)
        workspace.prepare()
        points = []
        for k in range(1, n_answers + 1):
            row = workspace.state()["question"]["item"]["row"]
            workspace.act("answer", {"rows": [row], "class": int(y[row]) + 1})
            if k % every == 0:
                workspace.settle()
                now = workspace._updater.now
                label = np.array([*now.used, 0])[now.solution.arm] - 1
                points.append((k, float(np.mean(label == y)), now.estimate))
        workspace.close()
    return points


def curves(arguments):
    """Labels right and their estimate along a run on every set, with evidence and without."""
    from suite import load

    rows, errors = [], {}
    for name in arguments.sets:
        one = load(name)
        kept = np.random.default_rng(0).permutation(len(one.y))[: arguments.rows]
        for evidence in (None, "auto"):
            points = run_without_page(one.x[kept], one.y[kept], arguments.answers, arguments.every, evidence)
            row = {"set": name, "evidence": evidence or "none"}
            row |= {f"after {k}": f"{right:.1%}" for k, right, _ in points}
            late = [(r, e) for k, r, e in points if k >= JUDGED_FROM and e is not None]
            if late:
                misses = [abs(e.mean - r) for r, e in late]
                errors.setdefault(row["evidence"], []).append(np.mean(misses))
                row["estimate off by"] = f"{100 * np.mean(misses):.1f}"
                row["interval holds"] = f"{np.mean([e.low <= r <= e.high for r, e in late]):.0%}"
            rows.append(row)
            print(row, flush=True)
    for evidence, misses in errors.items():
        print(f"evidence {evidence}: off by {100 * np.mean(misses):.1f} points on average", flush=True)
    return table(rows)


def main():
    """One session for every thinking time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--think", type=float, nargs="+", default=[0.0, 0.5])
    arguments = parser.parse_args()
    if arguments.curves:
        print(curves(arguments))
        return
    source = Path(os.environ["PHASELABEL_DATA"]) / "mnist70k.npz"
    truth = np.load(source, allow_pickle=False)["y"]
    rows = []
    for think in arguments.think:
        waits, right, guess = session(source, truth, arguments.answers, think)
        rows.append(
            {
                "seconds of thought": f"{think:g}",
                "answers": len(waits),
                "median s": f"{np.median(waits):.2f}",
                "95th percentile s": f"{np.quantile(waits, 0.95):.2f}",
                "longest s": f"{waits.max():.2f}",
                "labels right": f"{right:.1%}",
                "estimated": f"{guess['mean']:.0%} ({guess['low']:.0%} to {guess['high']:.0%})",
            }
        )
        print(rows[-1], flush=True)
    text = (
        "MNIST, 70,000 items, answered by key in Chromium: from key press to the next question on the "
        f"screen, all labels updated.\n\n{table(rows)}"
    )
    write_section("studio", "The studio", "python benchmarks/studio.py", text, rows, ("numpy", "numba"))


if __name__ == "__main__":
    main()
