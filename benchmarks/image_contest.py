"""Pictures and marks in, how well every method segments them out: accuracy, overlap, outlines."""

import itertools
import os
from functools import partial

import numpy as np
from image_peers import PixelForest, graph_cut, random_walker, watershed
from image_pictures import MARKINGS, PICTURES, random_strokes
from image_section import percent, section
from records import LABELLING, Records
from report import ROOT, table
from scipy import ndimage

import phaselabel as pl

#: Draws that are reported; PHASELABEL_DRAWS=1 makes a quick run. Defaults were tuned on draws from 1000 on.
REPORTED = range(int(os.environ.get("PHASELABEL_DRAWS", "2")))

#: What decides our labels here; a change makes our records anew.
CODE = [*LABELLING, "evidence/*", "segmentation/*"]

#: Truths with fewer points on outlines between judged pixels have no boundary F.
LEAST_OUTLINE = 200

OURS = "phaselabel, defaults"

#: Where finished draws are kept.
RECORDS = ROOT / "out" / "images"


def boundary_f(labels, truth, reach=2):
    """F of outlines between judged pixels: a point counts if the other outline is within ``reach`` pixels."""
    judged = truth > 0

    def outline(array):
        edge = np.zeros(array.shape, bool)
        edge[:, :-1] |= (array[:, :-1] != array[:, 1:]) & judged[:, :-1] & judged[:, 1:]
        edge[:-1] |= (array[:-1] != array[1:]) & judged[:-1] & judged[1:]
        return edge

    ours, theirs = outline(labels), outline(truth)
    if theirs.sum() < LEAST_OUTLINE:
        return np.nan
    if not ours.any():
        return 0.0
    precision = np.mean(ndimage.distance_transform_edt(~theirs)[ours] <= reach)
    recall = np.mean(ndimage.distance_transform_edt(~ours)[theirs] <= reach)
    return 2 * precision * recall / max(precision + recall, 1e-12)


def judged(labels, truth):
    """Accuracy, mean intersection over union, boundary F."""
    known = truth > 0
    shares = []
    for k in np.unique(truth[known]):
        here, there = (labels == k) & known, truth == k
        shares.append((here & there).sum() / max((here | there).sum(), 1))
    return [
        float(np.mean((labels == truth)[known])),
        float(np.mean(shares)),
        float(boundary_f(labels, truth)),
    ]


class Contestants:
    """Every method as a function of a picture's marks; what two methods need is made once."""

    def __init__(self, image):
        self.image, self._forest, self._model = image, None, None
        self._shares = None, None
        self.peers = {
            "random walker, beta 130": lambda marks: random_walker(image, marks, 130),
            "random walker, beta 1000": lambda marks: random_walker(image, marks, 1000),
            "watershed": lambda marks: watershed(image, marks),
            "pixel forest": self.by_forest,
            "forest + graph cut": lambda marks: graph_cut(image, marks, *self.shares(marks)),
        }
        self.all = {OURS: self.ours, **self.peers}

    def ours(self, marks):
        """Our default; the same result as a first fit, on a graph that is there already."""
        if self._model is None:
            self._model = pl.Segmenter().fit(self.image, marks)
        else:
            self._model.update(np.where(marks > 0, marks, -1), image=0).settle()
        return self._model.results_[0].labels

    def shares(self, marks):
        """The pixel forest's probabilities, for the marks of now."""
        if self._shares[0] is not marks:
            self._forest = self._forest or PixelForest(self.image)
            self._shares = marks, self._forest.probabilities(marks)
        return self._shares[1]

    def by_forest(self, marks):
        """The class of the largest probability."""
        numbers, shares = self.shares(marks)
        return numbers[shares.argmax(axis=-1)]


def contest():
    """Every method on every picture with every kind of marks; what is on record is not done again.

    PHASELABEL_RECORDED=1 measures nothing and writes what there is.
    """
    records, figures = Records(RECORDS, "PHASELABEL_RECORDED" not in os.environ), {}
    for seed, name in itertools.product(REPORTED, PICTURES):
        image, truth = PICTURES[name]()
        methods = Contestants(image).all
        for marking, draw in MARKINGS.items():
            marks = draw(truth, seed)
            for method, run in methods.items():
                key = f"{name}-{marking}-{seed}-{method}".replace(" ", "_").replace("%", "pc")
                answer = partial(_answer, run, marks, truth)
                record = records(key, answer, CODE if method == OURS else ())
                if record is not None:
                    figures.setdefault((name, method, marking), {})[seed] = record
    _write_contest(figures)


def _answer(run, marks, truth):
    return judged(run(marks), truth)


def _write_contest(figures):
    """Draws that every method has; pictures without one are left out."""
    methods = list(dict.fromkeys(method for _, method, _ in figures))
    draws = {}
    for name in PICTURES:
        cases = [set(figures.get((name, method, marking), ())) for method in methods for marking in MARKINGS]
        if cases and set.intersection(*cases):
            draws[name] = sorted(set.intersection(*cases))
    mean = [_row("mean", draws, method, figures) for method in methods]
    rows = [_row(name, {name: draws[name]}, method, figures) for name in draws for method in methods]
    counts = ", ".join(f"{name} {len(some)}" for name, some in draws.items())
    text = (
        "Pixels right / mean intersection over union / boundary F (within 2 pixels, between judged "
        f"pixels), %. Draws of every picture, from 0 on: {counts}. Defaults were tuned on draws from 1000 "
        "on. Random pixels, and random strokes of 10 to 40 pixels per class. The pictures are those of "
        "`benchmarks/image_pictures.py`; patchwork, horse, phantom and pines in colour were not used for "
        f"tuning at all.\n\n{table(mean)}\n\n{table(rows)}"
    )
    section("contest", "every method on every picture", text, mean + rows)


def _row(title, draws, method, figures):
    """The figures of one method as a row; pictures are averaged."""
    row = {"picture": title, "method": method}
    for marking in MARKINGS:
        cases = [
            np.mean([figures[name, method, marking][seed] for seed in seeds], axis=0)
            for name, seeds in draws.items()
        ]
        accuracy, overlap, outline = 100 * np.nanmean(cases, axis=0)
        text = f"{accuracy:.1f} / {overlap:.1f}"
        row[marking] = text if np.isnan(outline) else f"{text} / {outline:.0f}"
    return row


def transfer():
    """Marks on one half of a picture, the other half without: in one graph, by predict, by a forest."""
    from skimage.feature import multiscale_basic_features
    from sklearn.ensemble import RandomForestClassifier

    rows = []
    for name in ("cows", "mosaic", "patchwork", "horse", "china"):
        image, truth = PICTURES[name]()
        axis = {"patchwork": 1, "horse": 1, "china": 1}.get(name, 0)
        halves = np.array_split(np.arange(image.shape[axis]), 2)
        (a, b), (ta, tb) = ([np.take(array, half, axis=axis) for half in halves] for array in (image, truth))
        shared = np.intersect1d(np.unique(ta[ta > 0]), np.unique(tb[tb > 0]))
        ta, tb = np.where(np.isin(ta, shared), ta, 0), np.where(np.isin(tb, shared), tb, 0)
        channel = -1 if image.ndim == 3 else None
        fa, fb = (multiscale_basic_features(x, sigma_max=16, channel_axis=channel) for x in (a, b))
        for seed in REPORTED:
            marks = random_strokes(ta, 2, seed)
            together = pl.Segmenter().fit([a, b], [marks, None]).results_[1].labels
            predicted = pl.Segmenter().fit(a, marks).predict(b)
            forest = RandomForestClassifier(100, random_state=0).fit(fa[marks > 0], marks[marks > 0])
            by_forest = forest.classes_[PixelForest.of(forest, fb).argmax(axis=-1)]
            found = [judged(labels, tb)[0] for labels in (together, predicted, by_forest)]
            rows.append({"picture": name, "draw": seed} | dict(zip(WAYS, found)))
    mean = {"picture": "mean", "draw": ""} | {way: np.mean([row[way] for row in rows]) for way in WAYS}
    shown = [row | {way: percent(row[way]) for way in WAYS} for row in [*rows, mean]]
    text = (
        "Two strokes per class on one half of a picture, none on the other half, which is judged: both "
        "halves in one graph; a model of the first half that predicts the second; the features and forest of "
        f"TrainableSegmenter.\n\n{table(shown)}"
    )
    section("transfer", "from picture to picture", text, rows)


#: How labels reach the other half.
WAYS = ("one graph, %", "predict, %", "pixel forest, %")
