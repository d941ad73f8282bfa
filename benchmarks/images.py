"""Image segmentation beside scikit-image's random walker, an SVM and LabelSpreading.

    python benchmarks/images.py [cows photos pines large]

Cows and Indian Pines are found through PHASELABEL_DATA; photographs come with scikit-learn.
"""

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
from report import table, write_section

import phaselabel as pl

MARKS = Path(__file__).parent / "marks"
PACKAGES = ("numpy", "numba", "scikit-learn", "scikit-image")


def timed(function, *arguments, **options):
    """The answer and how many seconds it took."""
    started = time.perf_counter()
    answer = function(*arguments, **options)
    return answer, time.perf_counter() - started


def percent(share):
    """A share as text."""
    return f"{100 * share:.2f} %"


def random_walker(image, marks, names):
    """The peer, with its defaults for colour images; numbers as in ``marks``."""
    from skimage.segmentation import random_walker as walk

    dense = np.zeros(marks.labels.shape, int)
    for k, number in enumerate(names, 1):
        dense[marks.labels == number] = k
    found = walk(image, dense, mode="cg_j", channel_axis=-1)
    return np.array([0, *names])[found]


def recalls(labels, truth, numbers):
    """The share of every class that was found."""
    return " / ".join(f"{100 * np.mean(labels[truth == n] == n):.1f}" for n in numbers)


def cows():
    """The paper's photograph: random pixels and strokes."""
    data = np.load(Path(os.environ["PHASELABEL_DATA"]) / "cows_1_20.npz", allow_pickle=False)
    image, truth = data["img"], data["labels"].astype(int) + 1
    names = {k + 1: str(name) for k, name in enumerate(data["class_names"])}
    strokes = pl.read_marks(MARKS / "cows.json", truth.shape)
    by_name = {name: number for number, name in strokes.classes.items()}
    order = [by_name[names[n]] for n in sorted(names)]
    truth_in_strokes = np.array([0, *order])[truth]
    pl.segment(
        image[:40, :40], (truth * (np.random.default_rng(0).random(truth.shape) < 0.1))[:40, :40]
    )  # compile
    rows, walker_rows = [], []
    settings = {
        "paper (N = M = 30, dt = 0.01, 800 sweeps, random start)": {"n_neighbors": 30},
        "ours (defaults)": {},
        "ours (position=0.1)": {"position": 0.1},
    }
    for name, options in settings.items():
        result, seconds = timed(pl.segment, image, strokes, **options)
        rows.append(random_pixels(name, result, truth, seconds))
        right = np.mean(result.labels == truth_in_strokes)
        walker_rows.append(
            {
                "from strokes": name if not name.startswith("paper") else "ours (n_neighbors=30)",
                "pixels right": percent(right),
                "recall sky / grass / black / red": recalls(result.labels, truth_in_strokes, order),
                "seconds": f"{seconds:.1f}",
                "seconds again, graph kept": f"{timed(result.update, strokes)[1]:.2f}",
            }
        )
    found, seconds = timed(random_walker, image, strokes, order)
    walker_rows.append(
        {
            "from strokes": "scikit-image random_walker",
            "pixels right": percent(np.mean(found == truth_in_strokes)),
            "recall sky / grass / black / red": recalls(found, truth_in_strokes, order),
            "seconds": f"{seconds:.1f}",
            "seconds again, graph kept": f"{seconds:.1f}",
        }
    )
    rows.append(random_pixels_walker(image, truth))
    text = (
        f"Cows, 213 × 320. 2.6 % of the pixels drawn at random, mean (standard deviation) of 20 draws:\n\n"
        f"{table(rows)}\n\n{(strokes.labels > 0).sum()} pixels in nine short strokes "
        f"(`benchmarks/marks/cows.json`):\n\n{table(walker_rows)}"
    )
    write_section(
        "images-cows",
        "Images: the cows",
        "python benchmarks/images.py cows",
        text,
        rows + walker_rows,
        PACKAGES,
    )


def draws(truth, n_draws=20):
    """Label images with 2.6 % of the pixels."""
    for seed in np.random.SeedSequence(2024).spawn(n_draws):
        rng = np.random.default_rng(seed)
        chosen = rng.choice(truth.size, round(0.026 * truth.size), replace=False)
        labels = np.zeros(truth.size, int)
        labels[chosen] = truth.ravel()[chosen]
        yield labels, rng


def random_pixels(name, result, truth, build_seconds):
    """Twenty draws on one graph."""
    flat, shares, classes, seconds = truth.ravel(), [], [], []
    paper = {"init": "random", "step": 0.01, "max_iter": 800, "tol": 0}
    for labels, rng in draws(truth):
        options = (
            paper | {"random_state": rng} if name.startswith("paper") else {"tol": 1e-3, "max_iter": 500}
        )
        solution, took = timed(pl.minimize, result.graph, labels - 1, **options)
        shares.append(np.mean(solution.arm + 1 == flat))
        classes.append([np.mean(solution.arm[flat == n] + 1 == n) for n in np.unique(flat)])
        seconds.append(took)
    return {
        "2.6 % random pixels": name,
        "pixels right": f"{percent(np.mean(shares))} ({100 * np.std(shares):.2f})",
        "worst draw": percent(min(shares)),
        "recall sky / grass / black / red": " / ".join(f"{100 * r:.1f}" for r in np.mean(classes, axis=0)),
        "graph s": f"{build_seconds:.1f}",
        "flow s": f"{np.median(seconds):.2f}",
    }


def random_pixels_walker(image, truth, n_draws=5):
    """The random walker on the first draws."""
    shares, classes, seconds = [], [], []
    for labels, _ in draws(truth, n_draws):
        marks = pl.Marks.from_array(labels.reshape(truth.shape))
        found, took = timed(random_walker, image, marks, [1, 2, 3, 4])
        shares.append(np.mean(found == truth))
        classes.append([np.mean(found[truth == n] == n) for n in (1, 2, 3, 4)])
        seconds.append(took)
    return {
        "2.6 % random pixels": f"scikit-image random_walker ({n_draws} draws)",
        "pixels right": f"{percent(np.mean(shares))} ({100 * np.std(shares):.2f})",
        "worst draw": percent(min(shares)),
        "recall sky / grass / black / red": " / ".join(f"{100 * r:.1f}" for r in np.mean(classes, axis=0)),
        "graph s": "",
        "flow s": f"{np.median(seconds):.2f}",
    }


def photos():
    """Two photographs with hand-made marks, checked in hand-drawn regions."""
    from sklearn.datasets import load_sample_image

    rows = []
    for name, options in (("flower", {}), ("china", {"position": 0.2})):
        image = load_sample_image(f"{name}.jpg")
        marks = pl.read_marks(MARKS / f"{name}.json", image.shape[:2], width=5)
        check = pl.read_marks(MARKS / f"{name}_check.json", image.shape[:2]).labels
        check[marks.labels > 0] = 0
        result, seconds = timed(pl.segment, image, marks, **options)
        again = timed(result.update, marks)[1]
        walked, walker_seconds = timed(random_walker, image, marks, list(marks.classes))
        for who, labels, took, repeat in (
            ("phaselabel", result.labels, seconds, f"{again:.2f}"),
            ("random_walker", walked, walker_seconds, f"{walker_seconds:.2f}"),
        ):
            row = {
                "photograph": name,
                "method": who,
                "right in the check regions": percent(np.mean((labels == check)[check > 0])),
                "recall " + "of each class": recalls(labels, check, marks.classes),
                "seconds": f"{took:.1f}",
                "again": repeat,
            }
            if name == "flower":
                second = np.zeros(check.shape, bool)
                second[370:] = check[370:] == 1
                row["unmarked second flower found"] = percent(np.mean(labels[second] == 1))
            rows.append({key: row.get(key, "") for key in [*row, "unmarked second flower found"]})
    text = (
        "427 × 640, strokes in `benchmarks/marks/`, checked inside hand-drawn polygons (also there), away "
        "from the outlines. In flower.jpg only one of the two flowers is marked.\n\n" + table(rows)
    )
    write_section(
        "images-photos", "Images: photographs", "python benchmarks/images.py photos", text, rows, PACKAGES
    )


def pines():
    """Indian Pines, ten labels per class."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.semi_supervised import LabelSpreading
    from sklearn.svm import SVC

    from phaselabel.segmentation.features import as_bands, leading_components, pixel_features

    data = np.load(Path(os.environ["PHASELABEL_DATA"]) / "indian_pines.npz", allow_pickle=False)
    cube, truth = data["cube"], data["gt"].astype(int)
    known = truth.ravel() > 0
    spectra = StandardScaler().fit_transform(cube.reshape(-1, cube.shape[2]).astype(float))
    patches = pixel_features(leading_components(as_bands(cube).scaled(), 20), 7, 4.0)
    scores = {}
    for seed in np.random.SeedSequence(2025).spawn(5):
        rng = np.random.default_rng(seed)
        labels = np.zeros(truth.size, int)
        for k in np.unique(truth[truth > 0]):
            members = np.flatnonzero(truth.ravel() == k)
            labels[rng.choice(members, min(10, len(members) // 2), replace=False)] = k
        given, test = labels > 0, known & (labels == 0)

        def flow(labels=labels):
            return pl.segment(cube, labels.reshape(truth.shape), patch=7, position=4.0).labels.ravel()

        def svm(rows, labels=labels, given=given):
            return SVC(C=100).fit(rows[given], labels[given]).predict(rows)

        def spreading(rows, labels=labels):
            model = LabelSpreading(kernel="knn", n_neighbors=10)
            return model.fit(rows, np.where(labels > 0, labels, -1)).transduction_

        contenders = {
            "phaselabel (patch=7, position=4)": flow,
            "SVM (RBF, C=100), spectra": lambda: svm(spectra),
            "SVM (RBF, C=100), our features": lambda: svm(patches),
            "LabelSpreading (10 neighbours), spectra": lambda: spreading(spectra),
            "LabelSpreading (10 neighbours), our features": lambda: spreading(patches),
        }
        for name, run in contenders.items():
            found, took = timed(run)
            right = found == truth.ravel()
            each = [np.mean(right[test & (truth.ravel() == k)]) for k in range(1, 17)]
            scores.setdefault(name, []).append((np.mean(right[test]), np.mean(each), took))
    rows = [
        {
            "method": name,
            "pixels right": f"{percent(np.mean(score, axis=0)[0])} ({100 * np.std(score, axis=0)[0]:.1f})",
            "mean of classes": percent(np.mean([s[1] for s in score])),
            "seconds": f"{np.median([s[2] for s in score]):.1f}",
        }
        for name, score in scores.items()
    ]
    text = (
        "145 × 145 pixels, 200 bands, 16 classes, ten labels per class (half of the smallest), mean of 5 "
        "draws, judged on the labelled ground only.\n\n" + table(rows)
    )
    write_section(
        "images-pines", "Images: Indian Pines", "python benchmarks/images.py pines", text, rows, PACKAGES
    )


def large_scene(height=3000, width=4000):
    """Discs and bars of two kinds on textured ground, with the truth."""
    rng = np.random.default_rng(7)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    truth = np.ones((height, width), np.uint8)
    for _ in range(25):
        cy, cx, r = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(60, 250)
        truth[(y - cy) ** 2 + (x - cx) ** 2 < r * r] = 2
        cy, cx, half = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(30, 200, 2)
        truth[(abs(y - cy) < half[0]) & (abs(x - cx) < half[1])] = 3
    colours = np.array([[0, 0, 0], [95, 125, 70], [170, 110, 75], [105, 110, 140]], np.float32)
    image = np.empty((height, width, 3), np.uint8)
    for top in range(0, height, 250):
        part = colours[truth[top : top + 250]]
        part += 12 * np.sin(x[top : top + 250] / 40 + y[top : top + 250] / 70)[..., None]
        image[top : top + 250] = np.clip(part + rng.normal(0, 15, part.shape), 0, 255)
    return image, truth


def large():
    """Twelve megapixels: time, memory and what the reduction costs."""
    image, truth = large_scene()
    strokes = []
    for k in (1, 2, 3):
        rows, columns = np.nonzero(truth == k)
        spot = np.random.default_rng(k).integers(len(rows), size=6)
        strokes += [(str(k), [(columns[s], rows[s]), (columns[s] + 5, rows[s] + 5)]) for s in spot]
    marks = pl.Marks.from_strokes(strokes, truth.shape, width=5)
    marks.labels[marks.labels != truth] = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = []
    for max_pixels in (25_000, 100_000):
        result, seconds = timed(pl.segment, image, marks, max_pixels=max_pixels)
        arms = result.solution.arm.reshape(-1, -(-truth.shape[1] // result.cell)) + 1
        blocks = arms[
            np.arange(truth.shape[0])[:, None] // result.cell, np.arange(truth.shape[1]) // result.cell
        ]
        rows.append(
            {
                "max_pixels": max_pixels,
                "cell": f"{result.cell} × {result.cell}",
                "pixels right": percent(np.mean(result.labels == truth)),
                "without extension (each cell one class)": percent(np.mean(blocks == truth)),
                "seconds": f"{seconds:.1f}",
                "update, seconds": f"{timed(result.update, marks)[1]:.1f}",
            }
        )
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    text = (
        "A generated scene of 3000 × 4000 pixels with known truth (discs and bars, textured ground, noise), "
        f"18 short strokes. Peak memory grew by {grown:.0f} MiB over the image itself.\n\n" + table(rows)
    )
    write_section(
        "images-large", "Images: twelve megapixels", "python benchmarks/images.py large", text, rows, PACKAGES
    )


if __name__ == "__main__":
    for part in sys.argv[1:] or ("cows", "photos", "pines", "large"):
        {"cows": cows, "photos": photos, "pines": pines, "large": large}[part]()
