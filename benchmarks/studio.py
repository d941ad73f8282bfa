"""The studio on MNIST's 70,000: from key press to the next question on the screen, and what 50 answers reach.

    python benchmarks/studio.py [--answers 50] [--think 0 0.5]
    python benchmarks/studio.py --curves [--sets digits segment] [--rows 1000] [--every 10] [--seed 0]
    python benchmarks/studio.py --drawing [--heights 450 1500 3000] [--strokes 12]

``--curves`` needs no browser: labels right and the estimated accuracy along runs on several sets, with and
without evidence; the experts are asked again after every ``--every`` answers. Sets that are not named keep
the lines of earlier runs.

``--drawing``: pictures of 0.3, 3 and 12 megapixels, from the end of a stroke to new labels on the screen.

The first and the last form drive Chromium on the real page.
``--think`` is how many seconds the user looks at a question before pressing
a key; with 0 the next key follows as soon as the question is there. Needs the ``test`` extra and chromium.
"""

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from report import RESULTS, table, write_section

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


WATCH_STROKES = """
() => {
  window.waits = [];
  const root = document.querySelector("#workspace");
  const newest = () => Math.max(Number(root.dataset.previewed ?? -1), Number(root.dataset.segmented ?? -1));
  let lifted = null, before = null;
  addEventListener("pointerup", () => { lifted = performance.now(); before = newest(); }, true);
  new MutationObserver(() => {
    if (lifted !== null && newest() > before) {
      const start = lifted;
      lifted = null;
      requestAnimationFrame(() => { window.waits.push(performance.now() - start); });
    }
  }).observe(root, { attributes: true, attributeFilter: ["data-previewed", "data-segmented"] });
}
"""


def started(source, folder, *options):
    """The studio as a process, and its address."""
    words = ["studio", str(source), *options, "--no-browser"]
    process = subprocess.Popen(
        [sys.executable, "-m", "phaselabel", *words, "--project", f"{folder}/p.studio"],
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, re.search(r"http://\S+", process.stdout.readline()).group()


def session(source, truth, n_answers, think):
    """One user from the first question to the last: the waits in seconds, and the share of right labels."""
    from playwright.sync_api import sync_playwright
    from pyarrow import csv

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        process, address = started(source, folder, "--classes", ",".join("0123456789"))
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


def inner_stroke(truth, number, rng, brush):
    """The ends of a level stroke in pixels; drawn with a brush of this width, all of it is inside a class."""
    from scipy import ndimage

    step = max(1, len(truth) // 300)
    far = step * ndimage.distance_transform_edt(np.pad(truth[::step, ::step] == number, 1))[1:-1, 1:-1]
    far -= brush / 2 + step
    rows, columns = np.nonzero(far >= np.quantile(far[far > 0], 0.6))
    some = rng.integers(len(rows))
    y, x = rows[some], columns[some]
    return [(step * x - 0.6 * far[y, x], step * y), (step * x + 0.6 * far[y, x], step * y)]


def drawing_session(height, n_strokes, think):
    """One user who draws in three classes: seconds until labels are new, and those of the last stroke."""
    from image_times import scene
    from PIL import Image
    from playwright.sync_api import sync_playwright

    image, truth = scene(height, height * 4 // 3)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        Image.fromarray(image).save(f"{folder}/scene.png", compress_level=1)
        process, address = started(f"{folder}/scene.png", folder)
        try:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(90_000)
            page.goto(address)
            for name in "abc":
                page.get_by_label("Name of a new class").fill(name)
                page.keyboard.press("Enter")
                page.get_by_label(f"Draw {name}", exact=True).wait_for()
            page.wait_for_function("() => /stroke/i.test(document.querySelector('#status').innerText)")
            page.evaluate(WATCH_STROKES)
            page.locator(".stage canvas").focus()
            box = page.locator(".stage canvas").bounding_box()
            scale = min(box["width"] / truth.shape[1], box["height"] / truth.shape[0]) * 0.97
            left = box["x"] + (box["width"] - scale * truth.shape[1]) / 2
            top = box["y"] + (box["height"] - scale * truth.shape[0]) / 2
            brush = int(page.get_by_label("Size of the brush").input_value())
            for k in range(n_strokes + 3):
                number = k % 3 + 1
                (x, y), (x2, _) = inner_stroke(truth, number, rng, brush)
                page.keyboard.press(str(number))
                page.mouse.move(left + scale * x, top + scale * y)
                page.mouse.down()
                page.mouse.move(left + scale * x2, top + scale * y, steps=6)
                page.mouse.up()
                lifted = time.perf_counter()
                if k == 2:  # the first result of all three; the strokes before it have none
                    _settled(page, "segmented", 6)  # three names of classes and three strokes
                    page.evaluate("window.waits.length = 0")
                elif k > 2:
                    page.wait_for_function("n => window.waits.length > n", arg=k - 3, polling=10)
                if 2 < k < n_strokes + 2:
                    time.sleep(think)
            version = page.request.get(page.url + "query/state").json()["version"]
            _settled(page, "segmented", version)
            pixels = time.perf_counter() - lifted
            _settled(page, "settled", version)
            settled = time.perf_counter() - lifted
            waits = np.array(page.evaluate("window.waits")) / 1000
            found = page.request.get(page.url + "export/labels.png").body()
            browser.close()
        finally:
            process.kill()
            process.wait()
    right = np.mean(np.array(Image.open(io.BytesIO(found))) == truth)
    return {
        "megapixels": f"{truth.size / 1e6:.1f}",
        "strokes": len(waits),
        "median s": f"{np.median(waits):.2f}",
        "95th percentile s": f"{np.quantile(waits, 0.95):.2f}",
        "longest s": f"{waits.max():.2f}",
        "every pixel, s": f"{pixels:.1f}",
        "experts weighed again, s": f"{settled:.1f}",
        "pixels right": f"{right:.1%}",
    }


def _settled(page, stage, version):
    page.wait_for_function(
        f"n => Number(document.querySelector('#workspace').dataset.{stage} ?? -1) >= n",
        arg=version,
        polling=10,
    )


def drawing(arguments):
    """One session for every size of picture."""
    rows = []
    for height in arguments.heights:
        rows.append(drawing_session(height, arguments.strokes, arguments.think[-1]))
        print(rows[-1], flush=True)
    text = (
        "A generated scene of three classes, drawn on in Chromium: from the end of a stroke to new labels on "
        f"the screen, {arguments.think[-1]:g} s of thought after each. The last stroke: until every pixel is "
        "labelled, not only every cell, and until the experts have been weighed again by all strokes, a "
        f"second of rest included.\n\n{table(rows)}"
    )
    write_section(
        "studio-drawing", "The studio: drawing", "python benchmarks/studio.py --drawing", text, rows,
        ("numpy", "numba"),
    )  # fmt: skip


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


#: The columns of the table: labels right after this many answers.
SHOWN = (10, 20, 50, 60, 100)

CURVES = """Labels right in % along a conversation with a user who is always right, about the questions that
the studio chose; one run, {rows:,} rows drawn from each set at most. The experts were asked after every ten
answers. From {judged} answers on: by how many points the middle of the interval was off on average, and how
often the interval held the truth. Texts are compared along the {directions} leading directions of their
words, as in the studio.
"""


def rows_of(one, kept):
    """The rows of a set as the studio has them: those of texts along their leading directions."""
    if isinstance(one.x, np.ndarray):
        return one.x[kept]
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    from phaselabel.io.tables.recipe import TEXT_DIRECTIONS

    directions = TruncatedSVD(TEXT_DIRECTIONS, random_state=0).fit_transform(one.x[kept])
    return normalize(directions).astype(np.float32)


def curve(name, arguments, evidence):
    """The line of one set: labels right and the estimate after every few answers."""
    from suite import load

    one = load(name)
    kept = np.random.default_rng(arguments.seed).permutation(len(one.y))[: arguments.rows]
    given = None if evidence == "none" else evidence
    points = run_without_page(rows_of(one, kept), one.y[kept], arguments.answers, arguments.every, given)
    late = [(right, e) for k, right, e in points if k >= JUDGED_FROM and e is not None]
    return {
        "set": name,
        "evidence": evidence,
        "classes": len(np.unique(one.y[kept])),
        "rows": len(kept),
        "seed": arguments.seed,
        "right": {str(k): right for k, right, _ in points},
        "off": float(np.mean([abs(e.mean - right) for right, e in late])) if late else None,
        "held": float(np.mean([e.low <= right <= e.high for right, e in late])) if late else None,
    }


def curve_row(line):
    """A line as a row of the table."""
    right = {f"after {k}": line["right"].get(str(k)) for k in SHOWN}
    shown = {key: "–" if share is None else f"{100 * share:.1f}" for key, share in right.items()}
    off = "–" if line["off"] is None else f"{100 * line['off']:.1f}"
    held = "–" if line["held"] is None else f"{line['held']:.0%}"
    names = {"set": line["set"], "classes": line["classes"], "evidence": line["evidence"]}
    return {**names, **shown, "off by": off, "held": held}


def curves(arguments):
    """Measure the sets that are named, and write the section with the lines of all of them."""
    from phaselabel.io.tables.recipe import TEXT_DIRECTIONS

    path = RESULTS / "studio-curves.json"
    kept = json.loads(path.read_text())["results"] if path.exists() else []
    lines = {(line["set"], line["evidence"]): line for line in kept}
    for name in arguments.sets:
        for word in arguments.evidence:
            lines[name, word] = curve(name, arguments, word)
            print(curve_row(lines[name, word]), flush=True)
            text = CURVES.replace("\n", " ").format(
                rows=arguments.rows, judged=JUDGED_FROM, directions=TEXT_DIRECTIONS
            )
            ordered = [lines[key] for key in sorted(lines)]
            text = f"{text}\n\n{table([curve_row(line) for line in ordered])}"
            command = "python benchmarks/studio.py --curves --answers 100 --seed 1 --sets …"
            write_section("studio-curves", "The studio: what answers teach", command, text, ordered)


def main():
    """One session for every thinking time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--evidence", nargs="+", default=["none", "auto"], choices=("none", "auto"))
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="which rows of a set are drawn")
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--drawing", action="store_true")
    parser.add_argument("--heights", type=int, nargs="+", default=[450, 1500, 3000])
    parser.add_argument("--strokes", type=int, default=12)
    parser.add_argument("--think", type=float, nargs="+", default=[0.0, 0.5])
    arguments = parser.parse_args()
    if arguments.curves:
        curves(arguments)
        return
    if arguments.drawing:
        drawing(arguments)
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
        "screen, all labels updated. Labels right: in the export, a fit to all answers. Estimated: of the "
        f"labels on the page when the last answer came.\n\n{table(rows)}"
    )
    write_section("studio", "The studio", "python benchmarks/studio.py", text, rows, ("numpy", "numba"))


if __name__ == "__main__":
    main()
