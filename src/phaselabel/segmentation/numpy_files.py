"""An NPY or NPZ file in, one array of it out."""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.io.npy import Header, map_array, read_array, read_header
from phaselabel.segmentation.axes import by_axes
from phaselabel.segmentation.limits import Refusal, check_unpacked, check_values


def read_numpy(path: Path, variable: str | None = None) -> NDArray[Any]:
    """Read an NPY file, or one array of an NPZ file.

    Parameters
    ----------
    path : Path
        The file.
    variable : str, optional
        The name of the array in an NPZ file; by default the only array that can be an image. Of an NPY file
        whose first axis are planes, which of them, as for :func:`~phaselabel.segmentation.axes.by_axes`.

    Returns
    -------
    ndarray
        The array.
    """
    if path.suffix.lower() == ".npy":
        with path.open("rb") as file:
            pixels = map_array(file)
        check_values(pixels.size)
        return by_axes(np.array(pixels), "", variable)
    with zipfile.ZipFile(path) as archive:
        headers = _npz_headers(archive)
        numeric = {name: header.shape for name, header in headers.items() if header.dtype.kind in "uifb"}
        name = chosen_array(numeric, variable)
        check_values(math.prod(headers[name].shape))
        check_unpacked(headers[name].n_bytes, path)
        member = archive.getinfo(f"{name}.npy")
        with archive.open(member) as file:
            return read_array(file, member.file_size)


def chosen_array(shapes: dict[str, tuple[int, ...]], variable: str | None) -> str:
    """The name of the array to read: the given one, or the only one that can be an image.

    Parameters
    ----------
    shapes : dict of str to tuple of int
        The shape of every array of numbers.
    variable : str, optional
        The name that the user gave.

    Returns
    -------
    str
        A key of ``shapes``.

    Examples
    --------
    >>> chosen_array({"cube": (4, 5, 30), "truth": (4, 5)}, None)
    'cube'
    """
    names = ", ".join(shapes) or "none"
    if variable is not None:
        if variable not in shapes:
            raise Refusal(f"it has no array {variable!r} of numbers; it has {names}")
        return variable
    images = [name for name, shape in shapes.items() if len(shape) in (2, 3)]
    candidates = [name for name in images if len(shapes[name]) == 3] or images
    if len(candidates) != 1:
        raise Refusal(f"it has {len(candidates)} arrays that may be the image; name one of {names}")
    return candidates[0]


def _npz_headers(archive: zipfile.ZipFile) -> dict[str, Header]:
    """The header of every array by its name, without its content."""
    headers = {}
    for member in archive.namelist():
        if member.endswith(".npy"):
            with archive.open(member) as file:
                headers[member.removesuffix(".npy")] = read_header(file)
    return headers
