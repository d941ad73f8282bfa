"""The studio on MNIST's 70,000: from key press to the next question on the screen, and what 50 answers reach.

    python benchmarks/studio.py [--answers 50] [--think 0 0.5]

Drives Chromium on the real page. ``--think`` is how many seconds the user looks at a question before pressing
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
  const room = document.querySelector("#room");
  let pressed = null, before = null;
  addEventListener("keydown", () => { pressed = performance.now(); before = room.dataset.answered; }, true);
  new MutationObserver(() => {
    const { answered, shown, question } = room.dataset;
    if (pressed !== null && answered !== before && shown === question) {
      const start = pressed;
      pressed = null;
      requestAnimationFrame(() => { window.waits.push(performance.now() - start); });
    }
  }).observe(room, { attributes: true, attributeFilter: ["data-answered", "data-shown", "data-question"] });
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
            page.wait_for_function("() => document.querySelector('#room').dataset.shown !== undefined")
            page.evaluate(WATCH)
            for k in range(n_answers):
                time.sleep(think)
                row = int(page.evaluate("document.querySelector('#room').dataset.shown"))
                page.keyboard.press(str((int(truth[row]) + 1) % 10))
                page.wait_for_function(
                    "n => { const d = document.querySelector('#room').dataset; "
                    "return window.waits.length > n && d.shown === d.question; }",
                    arg=k,
                    polling=10,
                )
            waits = np.array(page.evaluate("window.waits")) / 1000
            found = csv.read_csv(io.BytesIO(page.request.get(page.url + "export/labels.csv").body()))
            state = page.request.get(page.url + "ask/state").json()
            browser.close()
        finally:
            process.kill()
            process.wait()
    right = float(np.mean(found["label_predicted"].to_numpy() == truth))
    return waits, right, state["accuracy"]


def main():
    """One session for every thinking time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--think", type=float, nargs="+", default=[0.0, 0.5])
    arguments = parser.parse_args()
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
