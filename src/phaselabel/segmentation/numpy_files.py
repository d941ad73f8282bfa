"""An NPY or NPZ file in, one array of it out."""

import io
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.limits import Refusal, check_unpacked, check_values

#: The header of an array in an NPZ file has at most 64 KiB.
MAX_NPY_HEADER = 2**16


def read_numpy(path: Path, variable: str | None = None) -> NDArray[Any]:
    """Read an NPY file, or one array of an NPZ file.

    Parameters
    ----------
    path : Path
        The file.
    variable : str, optional
        The name of the array in an NPZ file; by default the only array that can be an image.

    Returns
    -------
    ndarray
        The array.
    """
    if path.suffix.lower() == ".npy":
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
        check_values(pixels.size)
        return np.array(pixels)
    with zipfile.ZipFile(path) as archive:
        headers = dict(_npz_headers(archive))
    numeric = {name: shape for name, (shape, dtype) in headers.items() if dtype.kind in "uifb"}
    name = chosen_array(numeric, variable)
    shape, dtype = headers[name]
    check_values(math.prod(shape))
    check_unpacked(math.prod(shape) * dtype.itemsize, path)
    with np.load(path, allow_pickle=False) as arrays:
        return np.asarray(arrays[name])


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


def _npz_headers(archive: zipfile.ZipFile) -> Iterator[tuple[str, tuple[tuple[int, ...], np.dtype[Any]]]]:
    """Name, shape and type of every array, without its content."""
    for member in archive.namelist():
        if not member.endswith(".npy"):
            continue
        with archive.open(member) as file:
            start = io.BytesIO(file.read(MAX_NPY_HEADER))
        version = np.lib.format.read_magic(start)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(start)
        yield member.removesuffix(".npy"), (shape, dtype)
