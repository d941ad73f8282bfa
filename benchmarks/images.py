"""Image segmentation beside scikit-image's random walker, watershed, a pixel forest, graph cuts and others.

    python benchmarks/images.py [contest transfer default-pines predict volume cows live photos pines large]

Cows and Indian Pines are found through PHASELABEL_DATA; photographs come with scikit-learn.
"""

import sys

import numpy as np
from image_contest import contest, transfer
from image_peers import random_walker
from image_pictures import MARKS, load_cows
from image_pines import default_pines, pines
from image_section import percent, recalls, section, slashed, timed
from image_times import large, live, predict, volume
from report import table

import phaselabel as pl

DRAWS = range(20)


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
    alone = {"evidence": None, "color": "bands", "position": 0.0}
    for name, options, flow in (
        ("paper's parameters (N = M = 30, dt = 0.01, 800 sweeps, random start)", {"n_neighbors": 30}, paper),
        ("ours, the graph of like pixels alone", {}, ours),
        ("ours, the graph alone, position=0.2", {"position": 0.2}, ours),
    ):
        result, seconds = timed(pl.segment, image, strokes, **(alone | options))
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


PARTS = {
    "contest": contest,
    "transfer": transfer,
    "default-pines": default_pines,
    "predict": predict,
    "volume": volume,
    "cows": cows,
    "live": live,
    "photos": photos,
    "pines": pines,
    "large": large,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
