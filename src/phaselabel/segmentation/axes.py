"""An array and the names of its axes in, an image, a volume or a series out, as the user says."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.limits import Refusal

#: tifffile's letters for axes whose entries are bands of one image: channels and samples.
BAND_AXES = "CS"

#: What tifffile's letters for the other axes stand for, where they are known.
AXIS_NAMES = {"Z": "depths", "T": "times", "I": "pages", "Q": "pages"}

#: What keeps all planes of a stack: a volume, or the images of a series.
PLANES = ("volume", "frames")

#: Letters of axes by the names that files give them.
LETTERS = {
    name: letter
    for letter, names in {
        "Y": "y row rows height lat latitude northing",
        "X": "x col column columns width lon longitude easting",
        "C": "c channel channels band bands wavelength wavelengths sample samples",
        "Z": "z depth depths plane planes slice slices level",
        "T": "t time times frame frames",
    }.items()
    for name in names.split()
}


def axis_letters(names: Sequence[object]) -> str:
    """A letter for every axis from their names; none if no name is known.

    Parameters
    ----------
    names : sequence of object
        The name of every axis.

    Returns
    -------
    str
        tifffile's letters.

    Examples
    --------
    >>> axis_letters(["time", "y", "x"]), axis_letters(["dim_0", "dim_1"])
    ('TYX', '')
    """
    letters = "".join(LETTERS.get(str(name).lower(), "?") for name in names)
    if set(letters) <= {"?"}:
        return ""
    if "?" in letters or len(set(letters)) < len(letters) or not {"Y", "X"} <= set(letters):
        called = ", ".join(str(name) for name in names)
        raise Refusal(f"its axes are called {called}; call the axes t, z, c, y and x, each at most once")
    return letters


def by_axes(pixels: NDArray[Any], axes: str, variable: str | None = None) -> NDArray[Any]:
    """An array whose axes have tifffile's letters as an image, a volume or a series.

    Parameters
    ----------
    pixels : ndarray
        The array.
    axes : str
        A letter for every axis. Without letters the array is (H, W) or (H, W, B), unless ``variable`` says
        that its first axis are planes.
    variable : str, optional
        The number of a plane in a stack, from 0; "bands" to make bands of all planes; "volume" or "frames" to
        keep them as planes of a volume, or as images of a series.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, B); (Z, H, W) or (Z, H, W, B) for a volume or a series
        The pixels.

    Examples
    --------
    >>> by_axes(np.zeros((2, 1, 4, 5)), "CZYX").shape, by_axes(np.zeros((3, 4, 5)), "ZYX", "volume").shape
    ((4, 5, 2), (3, 4, 5))
    >>> by_axes(np.zeros((3, 4, 5)), "").shape, by_axes(np.zeros((3, 4, 5)), "", "bands").shape
    ((3, 4, 5), (4, 5, 3))
    """
    if not axes:
        if variable is None or pixels.ndim not in (2, 3, 4):
            return pixels
        axes = ("YX", "QYX", "QYXS")[pixels.ndim - 2]
    found = in_planes(pixels, axes) if variable in PLANES else in_bands(pixels, axes, variable)
    return found[..., 0] if found.shape[-1] == 1 else found


def in_bands(pixels: NDArray[Any], axes: str, variable: str | None) -> NDArray[Any]:
    """The array as (H, W, bands); one plane of a stack, or all of them as bands."""
    planes = [axis for axis in axes if axis not in "YX" + BAND_AXES]
    n_planes = math.prod(pixels.shape[axes.index(axis)] for axis in planes)
    if n_planes > 1 and variable != "bands":
        number = _plane_number(variable, axes, planes, n_planes)
        first = [axes.index(axis) for axis in planes]
        pixels = np.moveaxis(pixels, first, range(len(first))).reshape(
            n_planes, *(n for axis, n in zip(axes, pixels.shape) if axis not in planes)
        )[number]
        axes = "".join(axis for axis in axes if axis not in planes)
    elif n_planes == 1:
        check_one_plane(variable)
    pixels = np.moveaxis(pixels, (axes.index("Y"), axes.index("X")), (0, 1))
    return pixels.reshape(*pixels.shape[:2], -1)


def in_planes(pixels: NDArray[Any], axes: str) -> NDArray[Any]:
    """The array as (planes, H, W, bands)."""
    planes = [axis for axis in axes if axis not in "YX" + BAND_AXES]
    ordered = [*planes, "Y", "X", *(axis for axis in axes if axis in BAND_AXES)]
    moved = pixels.transpose([axes.index(axis) for axis in ordered])
    height, width = moved.shape[len(planes) : len(planes) + 2]
    return moved.reshape(math.prod(moved.shape[: len(planes)]), height, width, -1)


def check_one_plane(variable: str | None) -> None:
    """Refuse a word for planes of a stack where there is one plane."""
    if variable not in (None, "0", "bands"):
        raise Refusal(f"it has one plane, number 0; got variable={variable!r}")


def _plane_number(variable: str | None, axes: str, planes: list[str], n_planes: int) -> int:
    if variable is not None and variable.isdecimal() and int(variable) < n_planes:
        return int(variable)
    names = " and ".join(sorted({AXIS_NAMES.get(axis, f"axis {axis}") for axis in planes}))
    given = "" if variable is None else f"; got {variable!r}"
    raise Refusal(
        f"it is a stack of {n_planes:,} planes ({names}, axes {axes}), not one image; name a plane by its "
        f"number, 0 to {n_planes - 1}, with variable (--variable on the command line), or take all planes as "
        f"a volume with variable='volume', as images with 'frames', as bands with 'bands'{given}"
    )
