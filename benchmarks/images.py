"""Image segmentation beside scikit-image's random walker, an SVM and LabelSpreading.

    python benchmarks/images.py [cows live photos pines large]

Cows and Indian Pines are found through PHASELABEL_DATA; photographs come with scikit-learn.
"""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from report import table, write_section

import phaselabel as pl

MARKS = Path(__file__).parent / "marks"
PACKAGES = ("numpy", "numba", "scikit-learn", "scikit-image")
DRAWS = range(20)


def timed(function, *arguments, **options):
    """The answer and how many seconds it took."""
    started = time.perf_counter()
    answer = function(*arguments, **options)
    return answer, time.perf_counter() - started


def percent(shares):
    """A share, or several as mean (standard deviation), in per cent."""
    shares = 100 * np.asarray(shares)
    return f"{shares:.2f}" if shares.ndim == 0 else f"{shares.mean():.2f} ({shares.std():.2f})"


def recalls(labels, truth, n_classes):
    """The share of every class that was found."""
    return [np.mean(labels[truth == n] == n) for n in range(1, n_classes + 1)]


def slashed(shares):
    """Several shares, in per cent."""
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def random_walker(image, labels, beta=130):
    """The peer; 130 is its default of how much a difference in colour counts."""
    from skimage.segmentation import random_walker as walk

    return walk(image, labels, beta=beta, mode="cg_j", channel_axis=-1)


def section(name, title, text, results):
    """Write one part of the page."""
    write_section(
        f"images-{name}", f"Images: {title}", f"python benchmarks/images.py {name}", text, results, PACKAGES
    )


# ---------------------------------------------------------------------------------------------------- cows


def load_cows():
    """The picture, the truth and the strokes' classes, all numbered from 1 in the order of the names."""
    image, truth, names = pl.datasets.load_cows()
    strokes = pl.read_marks(MARKS / "cows.json", truth.shape)
    number = {name: k for k, name in enumerate(names, 1)}
    table = np.zeros(max(strokes.classes) + 1, int)
    for n, name in strokes.classes.items():
        table[n] = number[name]
    return image, truth + 1, table[strokes.labels], names


def draw(truth, seed):
    """2.6 % of the pixels, at random."""
    chosen = np.random.default_rng(seed).choice(truth.size, round(0.026 * truth.size), replace=False)
    labels = np.zeros(truth.size, int)
    labels[chosen] = truth.ravel()[chosen]
    return labels.reshape(truth.shape)


def cows():
    """The paper's photograph: random pixels and strokes."""
    image, truth, strokes, names = load_cows()
    paper = {"init": "random", "step": 0.01, "max_iter": 800, "tol": 0}
    rows, drawn = [], []
    ours = {"max_iter": 500, "tol": 1e-2}
    for name, options, flow in (
        ("paper's parameters (N = M = 30, dt = 0.01, 800 sweeps, random start)", {"n_neighbors": 30}, paper),
        ("ours, defaults", {}, ours),
        ("ours, position=0.2", {"position": 0.2}, ours),
    ):
        result, seconds = timed(pl.segment, image, strokes, **options)
        assert result.graph.n_vertices == truth.size  # no two pixels look alike
        runs = []
        for seed in DRAWS:
            labels = draw(truth, seed).ravel() - 1
            solution, took = timed(pl.minimize, result.graph, labels, random_state=seed, **flow)
            runs.append((solution.arm.reshape(truth.shape) + 1, took))
        drawn.append(_drawn(name, runs, truth, f"{seconds:.1f}"))
        rows.append(_stroked("ours, 30 neighbours" if flow is paper else name, result.labels, truth, seconds))
    for beta in (130, 1000):
        name = f"random_walker, beta = {beta}" + (" (default)" if beta == 130 else "")
        walks = [timed(random_walker, image, draw(truth, seed), beta) for seed in range(3)]
        drawn.append(_drawn(f"{name}, first 3 draws", walks, truth, ""))
        found, seconds = timed(random_walker, image, strokes, beta)
        rows.append(_stroked(name, found, truth, seconds))
    text = (
        "213 × 320. 2.6 % of the pixels drawn at random, seeds 0 … 19, mean (standard deviation); the weight "
        "of the position was chosen on draws 1000 … 1005. Recall of "
        f"{', '.join(names)}.\n\n{table(drawn)}\n\n{(strokes > 0).sum()} pixels in nine short strokes, two "
        f"or three per class (`benchmarks/marks/cows.json`).\n\n{table(rows)}"
    )
    section("cows", "the cows", text, drawn + rows)


def _drawn(name, runs, truth, graph_seconds):
    shares = [np.mean(found == truth) for found, _ in runs]
    return {
        "random pixels": name,
        "pixels right, %": percent(shares),
        "worst draw": percent(min(shares)),
        "recall, %": slashed(np.mean([recalls(found, truth, 4) for found, _ in runs], axis=0)),
        "graph, s": graph_seconds,
        "then, s": f"{np.median([took for _, took in runs]):.2f}",
    }


def _stroked(name, labels, truth, seconds):
    return {
        "strokes": name,
        "pixels right, %": percent(np.mean(labels == truth)),
        "recall, %": slashed(recalls(labels, truth, 4)),
        "seconds": f"{seconds:.1f}",
    }


def random_stroke(truth, number, rng):
    """A straight line of 10 to 40 pixels that stays in its class."""
    rows, columns = np.nonzero(truth == number)
    while True:
        start = rng.integers(len(rows))
        x, y, turn, length = columns[start], rows[start], rng.uniform(0, 2 * np.pi), rng.uniform(10, 40)
        end = x + length * np.cos(turn), y + length * np.sin(turn)
        if 0 <= end[0] < truth.shape[1] and 0 <= end[1] < truth.shape[0]:
            marks = pl.Marks.from_strokes([(number, [(x, y), end])], truth.shape)
            if (truth[marks.labels > 0] == number).all():
                return marks


def live():
    """One stroke after the other; and a first segmentation in a new process."""
    image, truth, _, _ = load_cows()
    rows = []
    for warm in (False, True):
        seconds, sweeps, right = [], [], []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            marks = random_stroke(truth, 1, rng)
            for number in (2, 3, 4):
                marks = marks.merged(random_stroke(truth, number, rng))
            result = pl.segment(image, marks)
            for _ in range(40):
                stroke = random_stroke(truth, rng.integers(1, 5), rng)
                seconds.append(timed(result.update, stroke, warm=warm)[1])
                sweeps.append(result.solution.n_iter)
            right.append(np.mean(result.labels == truth))
        rows.append(
            {
                "update": "warm=True" if warm else "from the hub (default)",
                "median, s": f"{np.median(seconds):.3f}",
                "95th percentile, s": f"{np.percentile(seconds, 95):.3f}",
                "median sweeps": int(np.median(sweeps)),
                "pixels right after 44 strokes, %": percent(right),
            }
        )
    code = (
        "import time; t = time.perf_counter(); import numpy as np, phaselabel as pl; "
        "image, truth, _ = pl.datasets.load_cows(); marks = np.where(np.arange(truth.size) % 97 == 0, "
        "truth.ravel() + 1, 0).reshape(truth.shape); pl.segment(image, marks); print(time.perf_counter() - t)"
    )
    first = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3)]
    text = (
        "The cows, 213 × 320: three sequences of 40 random strokes (10 to 40 pixels long, seeds 0 … 2) added "
        f"one by one to four.\n\n{table(rows)}\n\nA first segmentation in a new process, import, compiled "
        f"kernels' loading and graph included: {np.median(first):.1f} s (median of 3)."
    )
    section("live", "live", text, [*rows, {"first segmentation, s": round(float(np.median(first)), 2)}])


# -------------------------------------------------------------------------------------------------- photos


def photos():
    """Two photographs with hand-made marks, checked in hand-drawn regions."""
    from sklearn.datasets import load_sample_image

    rows = []
    for name in ("flower", "china"):
        image = load_sample_image(f"{name}.jpg")
        marks = pl.read_marks(MARKS / f"{name}.json", image.shape[:2], width=5)
        check = pl.read_marks(MARKS / f"{name}_check.json", image.shape[:2]).labels
        check[marks.labels > 0] = 0
        second = (check == 1) & (np.arange(len(check)) >= 370)[:, None]  # the flower without a mark
        contenders = {
            "phaselabel": lambda image=image, marks=marks: pl.segment(image, marks).labels,
            "phaselabel, position=0.2": lambda image=image, marks=marks: (
                pl.segment(image, marks, position=0.2).labels
            ),
            "random_walker (beta = 130)": lambda image=image, marks=marks: random_walker(image, marks.labels),
            "random_walker, beta = 1000": lambda image=image, marks=marks: random_walker(
                image, marks.labels, 1000
            ),
        }
        for who, run in contenders.items():
            labels, took = timed(run)
            rows.append(
                {
                    "photograph": name,
                    "method": who,
                    "right, %": percent(np.mean((labels == check)[check > 0])),
                    "recall, %": slashed(recalls(labels, check, len(marks.classes))),
                    "seconds": f"{took:.1f}",
                    "unmarked flower found, %": (
                        percent(np.mean(labels[second] == 1)) if name == "flower" else ""
                    ),
                }
            )
    text = (
        "427 × 640, strokes in `benchmarks/marks/`, checked inside hand-drawn polygons (also there) away "
        "from outlines and strokes. Recall of flower, leaves; of pagoda, sky, trees, water. In flower.jpg "
        f"one of the two flowers is marked.\n\n{table(rows)}"
    )
    section("photos", "photographs", text, rows)


# --------------------------------------------------------------------------------------------------- pines


def pines():
    """Indian Pines, ten labels per class; every contender's settings are chosen on draws of their own."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    warnings.simplefilter("ignore", ConvergenceWarning)
    data = np.load(Path(os.environ["PHASELABEL_DATA"]) / "indian_pines.npz", allow_pickle=False)
    cube, truth = data["cube"], data["gt"].astype(int)
    rows = []
    for name, contender in _contenders(cube).items():
        chosen, best = None, -1
        for options in contender.settings:
            ready = contender.prepare(**options)
            right = np.mean([_judge(contender, ready, options, truth, seed)[0] for seed in range(1000, 1002)])
            if right > best:
                chosen, best = options, right
        ready, before = timed(contender.prepare, **chosen)
        runs = [_judge(contender, ready, chosen, truth, seed) for seed in range(10)]
        rows.append(
            {
                "method": name,
                "settings": ", ".join(f"{k}={v}" for k, v in chosen.items()),
                "pixels right, %": percent([run[0] for run in runs]),
                "mean of the classes, %": percent(np.mean([run[1] for run in runs])),
                "seconds": f"{before + np.median([run[2] for run in runs]):.1f}",
            }
        )
        text = (
            "145 × 145 pixels, 200 bands, 16 classes, ten labels per class (half of a class with fewer than "
            "20 pixels), judged on the other pixels with a known class. Each contender's settings were "
            "chosen on draws 1000 and 1001 from a grid; the figures are from draws 0 … 9, mean (deviation). "
            f"Seconds for features, graph and one draw.\n\n{table(rows)}"
        )
        section("pines", "Indian Pines", text, rows)


class Contender:
    """What is done once, what is done for every draw, and the settings to choose from."""

    def __init__(self, prepare, answer, **grid):
        self.prepare, self.answer = prepare, answer
        self.settings = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def _contenders(cube):
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler
    from sklearn.semi_supervised import LabelSpreading
    from sklearn.svm import SVC

    from phaselabel.segmentation.features import as_bands, leading_components, pixel_features

    def features(patch, position):
        return pixel_features(leading_components(as_bands(cube).scaled(), 20), patch, position)

    def spectra(**_):
        return StandardScaler().fit_transform(cube.reshape(-1, cube.shape[2]).astype(float))

    def graph(patch, position):
        rows = features(patch, position)
        return pl.similarity_graph(pl.nearest_neighbors(rows, 10, recall=0.9, connect=True))

    def flow(ready, labels, **_):
        return pl.minimize(ready, labels - 1, max_iter=500, tol=1e-2).arm + 1

    def svm(ready, labels, C, **_):
        return SVC(C=C).fit(ready[labels > 0], labels[labels > 0]).predict(ready)

    def joined(rows, n_neighbors):
        """The graph that LabelSpreading(kernel="knn") would make anew for every draw."""
        return NearestNeighbors(n_neighbors=n_neighbors).fit(rows).kneighbors_graph(rows)

    def spreading(ready, labels, **_):
        model = LabelSpreading(kernel=lambda X, Y: ready)
        return model.fit(labels[:, None], np.where(labels > 0, labels, -1)).transduction_

    sides, places = (5, 9), (1.0, 4.0)
    return {
        "phaselabel, patches": Contender(graph, flow, patch=sides, position=places),
        "SVM (RBF), spectra": Contender(spectra, svm, C=(10, 100, 1000)),
        "SVM (RBF), the same patches": Contender(
            lambda patch, position, C: features(patch, position),
            svm,
            patch=sides,
            position=places,
            C=(10, 100),
        ),
        "LabelSpreading, spectra": Contender(
            lambda n_neighbors: joined(spectra(), n_neighbors), spreading, n_neighbors=(5, 10)
        ),
        "LabelSpreading, the same patches": Contender(
            lambda patch, position, n_neighbors: joined(features(patch, position), n_neighbors),
            spreading,
            patch=sides,
            position=places,
            n_neighbors=(10,),
        ),
    }


def _judge(contender, ready, options, truth, seed):
    """Accuracy over pixels, over classes, and seconds, on one draw."""
    rng = np.random.default_rng(seed)
    flat = truth.ravel()
    labels = np.zeros(flat.size, int)
    for k in range(1, 17):
        members = np.flatnonzero(flat == k)
        labels[rng.choice(members, min(10, len(members) // 2), replace=False)] = k
    found, took = timed(contender.answer, ready, labels, **options)
    right, test = found == flat, (flat > 0) & (labels == 0)
    return np.mean(right[test]), np.mean([np.mean(right[test & (flat == k)]) for k in range(1, 17)]), took


# --------------------------------------------------------------------------------------------------- large


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


def dots(truth, radius):
    """Six discs of marks in every class, kept inside it."""
    points = []
    for k in np.unique(truth):
        rows, columns = np.nonzero(truth == k)
        points += [
            (columns[s], rows[s], k) for s in np.random.default_rng(int(k)).integers(len(rows), size=6)
        ]
    labels = pl.Marks.from_points(points, truth.shape, radius).labels
    return np.where(labels == truth, labels, 0)


LARGE = """
import resource, sys, time
sys.path.insert(0, {here!r})
import numpy as np, phaselabel as pl
from images import dots, scene
image, truth = scene(3000, 4000)
marks = dots(truth, 8)
pl.segment(image[:40, :40], np.arange(1600).reshape(40, 40) % 2 + 1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
result = pl.segment(image, marks)
middle = time.perf_counter()
result.update(marks)
end = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(middle - start, end - middle, before / 1024, peak / 1024, np.mean(result.labels == truth), result.cell)
"""


def large():
    """Twelve megapixels: time and memory; and what the reduction costs where the full solve is possible."""
    from sklearn.datasets import load_sample_image

    out = subprocess.check_output(
        [sys.executable, "-c", LARGE.format(here=str(Path(__file__).parent))], text=True
    )
    seconds, again, before, peak, right, cell = map(float, out.split())
    first = {
        "pixels": "3000 × 4000",
        "cells": f"{cell:.0f} × {cell:.0f}",
        "pixels right, %": percent(right),
        "seconds": f"{seconds:.1f}",
        "update, s": f"{again:.1f}",
        "peak MiB before": f"{before:.0f}",
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
        "image itself, its truth and the compiled kernels are in the peak before.\n\n"
        f"{table([first])}\n\nWhat solving on cells costs, where the full solve is possible:\n\n{table(rows)}"
    )
    section("large", "twelve megapixels", text, [first, *rows])


PARTS = {"cows": cows, "live": live, "photos": photos, "pines": pines, "large": large}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
