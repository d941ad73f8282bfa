"""Images in, the seconds and the memory that segmenting them takes out."""

import copy
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from image_pictures import MARKS, load_cows, random_stroke
from image_section import percent, section, timed
from report import table

import phaselabel as pl

#: Sequences of strokes; PHASELABEL_DRAWS=1 makes a quick run.
SEQUENCES = range(int(os.environ.get("PHASELABEL_DRAWS", "3")))


def live():
    """One stroke after the other; and a first segmentation in a new process."""
    image, truth, _, _ = load_cows()
    rows, settling, differing = [], [], []
    for evidence in ("auto", None):
        seconds, processor, sweeps, right, settled = [], [], [], [], []
        for seed in SEQUENCES:
            rng = np.random.default_rng(seed)
            marks = random_stroke(truth, 1, rng)
            for number in (2, 3, 4):
                marks = marks.merged(random_stroke(truth, number, rng))
            result = pl.segment(image, marks, evidence=evidence)
            for k in range(40):
                stroke = random_stroke(truth, rng.integers(1, 5), rng)
                before = time.process_time()
                seconds.append(timed(result.update, stroke)[1])
                processor.append(time.process_time() - before)
                sweeps.append(result.solution.n_iter)
                if evidence is not None and k % 8 == 7:
                    before = time.process_time()
                    exact = copy.deepcopy(result).settle()
                    settling.append(time.process_time() - before)
                    differing.append(np.mean(exact.labels != result.labels))
            right.append(np.mean(result.labels == truth))
            settled.append(np.mean(result.settle().labels == truth))
        rows.append(
            {
                "update": "defaults" if evidence else "evidence=None, the graph alone",
                "median, s": f"{np.median(seconds):.3f}",
                "95th percentile, s": f"{np.percentile(seconds, 95):.3f}",
                "processor s, median": f"{np.median(processor):.2f}",
                "largest": f"{max(processor):.2f}",
                "median sweeps": int(np.median(sweeps)),
                "pixels right after 44 strokes, %": percent(right),
                "settled, %": percent(settled),
            }
        )
    code = (
        "import time; t = time.perf_counter(); import numpy as np, phaselabel as pl; "
        "image, truth, _ = pl.datasets.load_cows(); marks = np.where(np.arange(truth.size) % 97 == 0, "
        "truth.ravel() + 1, 0).reshape(truth.shape); pl.segment(image, marks); print(time.perf_counter() - t)"
    )
    first = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in SEQUENCES]
    parts = (
        f"The cows, 213 × 320: {len(SEQUENCES)} sequence(s) of 40 random strokes (10 to 40 pixels long, "
        "seeds from 0 on) added one by one to four.",
        table(rows),
        "`settle()`, which asks the experts anew as a first segmentation does, takes "
        f"{np.median(settling):.2f} processor s (median of {len(settling)}, after every eighth stroke); "
        f"{100 * np.mean(differing):.2f} % of the pixels differ from it before, at most "
        f"{100 * max(differing):.2f} %.",
        "A first segmentation in a new process, import, compiled kernels' loading and graph included: "
        f"{np.median(first):.1f} s (median of {len(first)}).",
    )
    text = "\n\n".join(parts)
    section("live", "live", text, [*rows, {"first segmentation, s": round(float(np.median(first)), 2)}])


def predict():
    """Processor seconds for a new picture of 0.3 megapixels."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")
    marks = pl.read_marks(MARKS / "flower.json", image.shape[:2], width=5)
    model = pl.Segmenter().fit(image, marks)
    model.predict(image[:50, :50])  # fits the models for new pictures, loads the kernels
    cpu, clock = time.process_time(), time.perf_counter()
    model.predict(image[::-1].copy())
    rows = [
        {
            "pixels": f"{image.shape[0]} × {image.shape[1]}",
            "processor s": f"{time.process_time() - cpu:.2f}",
            "clock s": f"{time.perf_counter() - clock:.2f}",
        }
    ]
    section("predict", "a new picture", table(rows), rows)


VOLUME = """
import resource, time
import numpy as np, phaselabel as pl
side = {side}
z, y, x = np.ogrid[:side, :side, :side]
truth = np.ones((side, side, side), np.uint8)
truth[(z - side / 2) ** 2 + (y - side / 2) ** 2 + (x - side / 2) ** 2 < (side / 4) ** 2] = 2
rng = np.random.default_rng(0)
volume = np.empty(truth.shape, np.uint8)
for k in range(side):
    volume[k] = np.clip(np.where(truth[k] == 2, 150, 80) + rng.normal(0, 20, truth[k].shape), 0, 255)
marks = np.zeros(truth.shape, np.int32)
half = side // 2
marks[half, half, half - 8 : half + 8], marks[2:6, 2:6, 2:20] = 2, 1
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
result = pl.segment(volume, marks)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.process_time() - start, before / 1024, peak / 1024, np.mean(result.labels == truth), result.cell)
"""


def volume(side=256):
    """A volume of 256³ voxels: memory, processor seconds."""
    out = subprocess.check_output([sys.executable, "-c", VOLUME.format(side=side)], text=True)
    seconds, before, peak, share, cell = map(float, out.split())
    rows = [
        {
            "voxels": f"{side}³",
            "cells": f"{cell:.0f}³",
            "voxels right, %": percent(share),
            "processor s": f"{seconds:.1f}",
            "peak MiB before": f"{before:.0f}",
            "peak MiB": f"{peak:.0f}",
        }
    ]
    section("volume", "a volume", table(rows), rows)


def scene(height, width, seed=7):
    """Discs and bars of two kinds on textured ground, with the truth; sizes in proportion to the height."""
    rng = np.random.default_rng(seed)
    unit = height / 3000
    y, x = np.mgrid[:height, :width].astype(np.float32)
    truth = np.ones((height, width), np.uint8)
    for _ in range(25):
        cy, cx, r = rng.uniform(0, height), rng.uniform(0, width), unit * rng.uniform(60, 250)
        truth[(y - cy) ** 2 + (x - cx) ** 2 < r * r] = 2
        cy, cx, half = rng.uniform(0, height), rng.uniform(0, width), unit * rng.uniform(30, 200, 2)
        truth[(abs(y - cy) < half[0]) & (abs(x - cx) < half[1])] = 3
    colours = np.array([[0, 0, 0], [95, 125, 70], [170, 110, 75], [105, 110, 140]], np.float32)
    image = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, 250):
        part = colours[truth[top : top + 250]]
        part += 12 * np.sin(x[top : top + 250] / (40 * unit) + y[top : top + 250] / (70 * unit))[..., None]
        image[top : top + 250] = np.clip(part + rng.normal(0, 15, part.shape), 0, 255)
    return image, truth


def dots(truth, radius, per_class=6, seed=0):
    """Some discs of marks in every class, kept inside it."""
    points = []
    for k in np.unique(truth):
        rows, columns = np.nonzero(truth == k)
        chosen = np.random.default_rng(seed + int(k)).integers(len(rows), size=per_class)
        points += [(columns[s], rows[s], k) for s in chosen]
    labels = pl.Marks.from_points(points, truth.shape, radius).labels
    return np.where(labels == truth, labels, 0)


LARGE = """
import sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
import numpy as np, phaselabel as pl
from image_times import dots, scene
def memory(what):
    return int(Path("/proc/self/status").read_text().split(what + ":")[1].split()[0])
image, truth = scene(3000, 4000)
marks = dots(truth, 8)
more = dots(truth, 8, 1, 10)
pl.segment(image[:40, :40], np.arange(1600).reshape(40, 40) % 2 + 1)
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
before = memory("VmRSS")
start, processor = time.perf_counter(), time.process_time()
result = pl.segment(image, marks)
cpu = time.process_time() - processor
middle = time.perf_counter()
cells = []
result._model.update(more, image=0, early=lambda: cells.append(time.perf_counter() - middle))
end = time.perf_counter()
peak = memory("VmHWM")
print(middle - start, cpu, cells[0], end - middle, before / 1024, peak / 1024)
print(np.mean(result.labels == truth), result.cell)
"""


def large():
    """Twelve megapixels: time and memory; and what the reduction costs where the full solve is possible."""
    from sklearn.datasets import load_sample_image

    program = [sys.executable, "-c", LARGE.format(here=str(Path(__file__).parent))]
    for _ in range(2):  # the first may compile kernels for arrays of this size
        out = subprocess.check_output(program, text=True)
    seconds, cpu, early, again, before, peak, right, cell = map(float, out.split())
    first = {
        "pixels": "3000 × 4000",
        "cells": f"{cell:.0f} × {cell:.0f}",
        "pixels right, %": percent(right),
        "seconds": f"{seconds:.1f}",
        "processor s": f"{cpu:.1f}",
        "update of the cells, s": f"{early:.2f}",
        "of the pixels, s": f"{again:.1f}",
        "MiB before": f"{before:.0f}",
        "peak MiB": f"{peak:.0f}",
    }
    rows = []
    flower = load_sample_image("flower.jpg")
    marks = pl.read_marks(MARKS / "flower.json", flower.shape[:2], width=5)
    check = pl.read_marks(MARKS / "flower_check.json", flower.shape[:2]).labels
    image, truth = scene(450, 600)
    cases = {
        "scene, 450 × 600": (image, dots(truth, 4), truth),
        "flower.jpg, 427 × 640": (flower, marks, check),
    }
    for name, (picture, given, known) in cases.items():
        full = None
        for cell in (1, 2, 3, 5):
            n_pixels = picture.shape[0] * picture.shape[1]
            result, took = timed(pl.segment, picture, given, max_pixels=-(-n_pixels // cell**2))
            full = result.labels if full is None else full
            rows.append(
                {
                    "image": name,
                    "cells": f"{result.cell} × {result.cell}" if result.cell > 1 else "none: the full solve",
                    "right, %": percent(np.mean((result.labels == known)[known > 0])),
                    "same as the full solve, %": percent(np.mean(result.labels == full)),
                    "seconds": f"{took:.1f}",
                }
            )
    text = (
        "A generated scene with known truth (discs and bars, textured ground, noise), 18 discs of marks; the "
        "image itself, its truth and the compiled kernels are in the memory before. The update adds three "
        "discs; the cells have new labels first, then the pixels.\n\n"
        f"{table([first])}\n\nWhat solving on cells costs, where the full solve is possible:\n\n{table(rows)}"
    )
    section("large", "twelve megapixels", text, [first, *rows])
