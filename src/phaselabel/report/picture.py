"""Rows, classes and energies in; coordinates and colours of the report's drawings out."""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

#: The palette of Okabe and Ito, which colour-blind readers can tell apart; further classes share a grey.
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8A6D3B",
    "#6A4C93",
    "#4D5560",
    "#9BC53D",
)
GREY = "#9AA0A6"

#: Points of the picture at most.
MOST_POINTS = 1200
#: Principal components are shown if the first two hold at least this share of the variance.
ENOUGH_VARIANCE = 0.6
#: t-SNE starts from this many principal components at most.
MOST_COMPONENTS = 50
#: t-SNE needs more points than this.
FEW_POINTS = 50
#: The size of the picture, and of the curves.
WIDTH, HEIGHT, CURVE_HEIGHT = 600, 400, 200


class Point(TypedDict):
    """One row in the plane."""

    x: float
    y: float
    color: str
    known: bool
    title: str


class Picture(TypedDict):
    """A sample of the rows in a plane, and how they were put there."""

    points: list[Point]
    how: str
    sampled: bool
    n: int


class Curve(TypedDict):
    """One part of the energy over the sweeps."""

    name: str
    color: str
    points: str
    last: float


class Curves(TypedDict):
    """The energy and its parts; ``top`` is the energy at the upper edge, ``last`` the last sweep."""

    lines: list[Curve]
    last: int
    top: float


def class_colors(sizes: NDArray[np.int64]) -> list[str]:
    """A colour for every class; the largest classes get the distinct ones.

    Examples
    --------
    >>> class_colors(np.array([3, 8]))
    ['#D55E00', '#0072B2']
    """
    colors = [GREY] * len(sizes)
    for color, k in zip(COLORS, np.argsort(-sizes, kind="stable")):
        colors[k] = color
    return colors


def draw_rows(
    X: NDArray[np.floating], arm: NDArray[np.int32], labels: NDArray[np.int32], names: list[str]
) -> Picture:
    """Put a sample of the rows into a plane.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The features.
    arm, labels : ndarray of shape (n,)
        The class of each row and its given label; -1 where there is none.
    names : list of str
        The names of the classes.

    Returns
    -------
    Picture
        By the first two principal components if they show most of the variance, else by t-SNE.
    """
    rows, sizes = _sample(labels), np.bincount(arm[arm >= 0], minlength=len(names))
    return draw_sample(X[rows], rows, arm[rows], labels[rows], names, sizes, len(arm))


def draw_sample(
    X: NDArray[np.floating],
    rows: NDArray[np.integer],
    arm: NDArray[np.int32],
    labels: NDArray[np.int32],
    names: list[str],
    sizes: NDArray[np.int64],
    n_rows: int,
) -> Picture:
    """Put some rows into a plane; ``sizes`` of the classes and ``n_rows`` are those of the whole table."""
    plane, how = _plane(np.asarray(X, np.float64))
    plane = plane[:, :2] - np.quantile(plane[:, :2], 0.005, axis=0)
    plane = plane / np.maximum(np.quantile(plane, 0.995, axis=0), 1e-12)
    plane = np.clip(plane, -0.03, 1.03)
    colors = class_colors(sizes)
    points: list[Point] = [
        {
            "x": round(WIDTH * float(x), 1),
            "y": round(HEIGHT * (1 - float(y)), 1),
            "color": colors[own] if own >= 0 else "none",
            "known": bool(given >= 0),
            "title": f"row {row}: {names[own] if own >= 0 else 'no label reaches it'}",
        }
        for row, own, given, (x, y) in zip(rows, arm, labels, plane)
    ]
    points.sort(key=lambda point: point["known"])
    return {"points": points, "how": how, "sampled": len(rows) < n_rows, "n": len(rows)}


def _sample(labels: NDArray[np.int32]) -> NDArray[np.intp]:
    """Rows to draw, in order; at most a quarter of them have a given label."""
    rng = np.random.default_rng(0)
    known = rng.permutation(np.flatnonzero(labels >= 0))[: MOST_POINTS // 4]
    others = np.setdiff1d(np.arange(len(labels)), known)
    return np.sort(np.concatenate([rng.permutation(others)[: MOST_POINTS - len(known)], known]))


def _plane(sample: NDArray[np.float64]) -> tuple[NDArray[np.float64], str]:
    """Coordinates of the sample in two dimensions or more, and how they were found."""
    from sklearn.decomposition import PCA

    axes = min(MOST_COMPONENTS, *sample.shape)
    if axes < 2:
        sample, axes = np.c_[sample[:, :1], np.zeros(len(sample))], 2
    pca = PCA(axes, random_state=0).fit(sample)
    components = pca.transform(sample)
    shown = float(np.nan_to_num(pca.explained_variance_ratio_[:2].sum(), nan=1.0))
    if shown < ENOUGH_VARIANCE and len(sample) > FEW_POINTS:
        from sklearn.manifold import TSNE

        # One thread: the sample is so small that several threads spend five times the work on waiting.
        with threadpool_limits(1):
            tsne = TSNE(
                2, init="pca", random_state=0, perplexity=min(30, len(sample) // 4), max_iter=500
            ).fit_transform(components)
        return tsne, "t-SNE"
    if shown < 1:
        return components, f"the first two principal components, {shown:.0%} of the variance"
    return components, "principal components"


def draw_energy(energy: NDArray[np.void]) -> Curves:
    """The energy and its parts as lines in a box.

    Parameters
    ----------
    energy : structured ndarray
        The trace of a flow: ``sweep``, ``smoothing``, ``potential``, ``fidelity``, ``evidence``, ``total``.
    """
    sweeps, top = energy["sweep"], float(energy["total"].max()) or 1.0
    last, names = max(int(sweeps[-1]), 1), energy.dtype.names or ()
    parts = (
        ("total", "#3C4043"),
        ("smoothing", COLORS[0]),
        ("potential", COLORS[1]),
        ("fidelity", COLORS[2]),
        *([("evidence", COLORS[3])] if "evidence" in names and energy["evidence"].any() else []),
    )
    lines: list[Curve] = [
        {
            "name": name,
            "color": color,
            "points": _polyline(WIDTH * sweeps / last, energy[name], top),
            "last": float(energy[name][-1]),
        }
        for name, color in parts
    ]
    return {"lines": lines, "last": last, "top": top}


def _polyline(x: NDArray[np.floating], values: ArrayLike, top: float) -> str:
    heights = CURVE_HEIGHT * (1 - np.maximum(np.asarray(values, np.float64), 0) / top)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, heights))
