"""A TIFF file in, its pixels as bands out; stacks of planes are refused unless one plane is named."""

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.limits import SAFE_BYTES, Refusal, check_unpacked, check_values
from phaselabel.segmentation.opacity import multiplied_by_opacity

#: A file has at most 10,000 pages.
MAX_PAGES = 10_000

#: tifffile's letters for axes whose entries are bands of one image: channels and samples.
BAND_AXES = "CS"

#: What tifffile's letters for the other axes stand for, where they are known.
AXIS_NAMES = {"Z": "depths", "T": "times", "I": "pages", "Q": "pages"}

#: The codes of compressions that tifffile unpacks without a limit if imagecodecs is not installed.
DEFLATE, LZMA = (8, 32946), (34925,)

#: Deflate makes at most 1,032 bytes of one.
DEFLATE_RATIO = 1032

#: The codes of the tag ExtraSamples for colours that are multiplied by their opacity, and for others.
MULTIPLIED, NOT_MULTIPLIED = 1, 2

GDAL_NODATA = 42113


def read_tiff(path: Path, variable: str | None = None, *, raw: bool = False) -> NDArray[Any]:
    """Read the first image of a TIFF file.

    Parameters
    ----------
    path : Path
        The file.
    variable : str, optional
        The number of a plane in a stack, from 0; "bands" to make bands of all planes; "volume" or "frames" to
        keep them as planes of a volume, or as images of a series.
    raw : bool, default=False
        Leave opacity and values without data as they are: for label images and paintings.

    Returns
    -------
    ndarray of shape (H, W) or (H, W, B); (Z, H, W) or (Z, H, W, B) for a volume or a series
        The pixels; NaN where the tag GDAL_NODATA says that there are no data.
    """
    try:
        import tifffile
    except ImportError:
        raise ImportError('tifffile is needed for TIFF: pip install "phaselabel[images]".') from None
    with tifffile.TiffFile(path) as file:
        if len(file.pages) > MAX_PAGES:
            raise Refusal(f"it has {len(file.pages):,} pages, more than {MAX_PAGES:,}; split it first")
        series = file.series[0]
        check_values(series.size)
        check_unpacked(series.size * series.dtype.itemsize, path)
        _check_segments(file, series, path)
        axes, tags = series.axes, file.pages.first.tags
        page = series.keyframe
        pixels = series.asarray()
    if "Y" not in axes or "X" not in axes:
        raise Refusal(f"it has the axes {axes}, without rows (Y) and columns (X)")
    if variable in ("volume", "frames"):
        return _as_planes(pixels, axes, tags.get(GDAL_NODATA))
    pixels = _as_bands(pixels, axes, variable)
    if not raw:
        pixels = _without_data_as_nan(pixels, tags.get(GDAL_NODATA))
        kind = page.extrasamples[-1] if page.extrasamples and pixels.shape[2] in (2, 4) else None
        if kind in (MULTIPLIED, NOT_MULTIPLIED) and set(axes) <= set("YXS"):
            pixels = multiplied_by_opacity(pixels, already=kind == MULTIPLIED)
    orientation = tags.get("Orientation")
    pixels = _upright(pixels, int(orientation.value) if orientation is not None else 1)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _as_bands(pixels: NDArray[Any], axes: str, variable: str | None) -> NDArray[Any]:
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
    elif n_planes == 1 and variable not in (None, "0", "bands"):
        raise Refusal(f"it has one plane, number 0; got variable={variable!r}")
    pixels = np.moveaxis(pixels, (axes.index("Y"), axes.index("X")), (0, 1))
    return pixels.reshape(*pixels.shape[:2], -1)


def by_axes(pixels: NDArray[Any], axes: str, variable: str | None = None) -> NDArray[Any]:
    """An array whose axes have tifffile's letters as an image, a volume or a series.

    Parameters
    ----------
    pixels : ndarray
        The array.
    axes : str
        A letter for every axis.
    variable : str, optional
        As for :func:`read_tiff`.

    Returns
    -------
    ndarray
        As for :func:`read_tiff`.

    Examples
    --------
    >>> by_axes(np.zeros((2, 1, 4, 5)), "CZYX").shape, by_axes(np.zeros((3, 4, 5)), "ZYX", "volume").shape
    ((4, 5, 2), (3, 4, 5))
    """
    if variable in ("volume", "frames"):
        return _as_planes(pixels, axes, None)
    bands = _as_bands(pixels, axes, variable)
    return bands[:, :, 0] if bands.shape[2] == 1 else bands


def _as_planes(pixels: NDArray[Any], axes: str, missing: Any) -> NDArray[Any]:
    """The array as (planes, H, W), or (planes, H, W, bands) if there are several bands."""
    planes = [axis for axis in axes if axis not in "YX" + BAND_AXES]
    ordered = [*planes, "Y", "X", *(axis for axis in axes if axis in BAND_AXES)]
    moved = pixels.transpose([axes.index(axis) for axis in ordered])
    height, width = moved.shape[len(planes) : len(planes) + 2]
    stack = moved.reshape(math.prod(moved.shape[: len(planes)]), height, width, -1)
    flat = _without_data_as_nan(stack.reshape(-1, width, stack.shape[-1]), missing)
    stack = flat.reshape(stack.shape)
    return stack[..., 0] if stack.shape[-1] == 1 else stack


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


def _without_data_as_nan(pixels: NDArray[Any], tag: Any) -> NDArray[Any]:
    """NaN where the pixels equal the value for "no data" of GDAL.

    Whole numbers must equal it in every band: 0 in one band of a photograph is a value.
    """
    try:
        missing = float(str(tag.value).strip("\0 ")) if tag is not None else np.nan
    except ValueError:
        return pixels
    if np.isnan(missing):  # NaN is no data anyway
        return pixels
    if pixels.dtype.kind == "f":
        # The text of the tag may have fewer digits than the pixels.
        empty = np.isclose(pixels, missing, rtol=1e-6, atol=0)
        return np.where(empty, np.array(np.nan, pixels.dtype), pixels) if empty.any() else pixels
    empty = (pixels == missing).all(axis=2)
    if not empty.any():
        return pixels
    filled = pixels.astype(np.float32 if pixels.dtype.itemsize <= 2 else np.float64)
    filled[empty] = np.nan
    return filled


def _upright(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Undo an EXIF orientation, 1 to 8."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def _check_segments(file: Any, series: Any, path: Path) -> None:
    """Refuse a page that lacks strips or tiles, or has one that unpacks to more than the page declares."""
    page = series.keyframe
    parts = math.prod(page.chunked)
    fewest = min((len(each.dataoffsets) for each in series.pages if each is not None), default=parts)
    if fewest < parts:
        raise Refusal(f"it has {fewest:,} of the {parts:,} strips or tiles it declares; take another copy")
    if page.compression not in DEFLATE + LZMA:
        return
    declared = math.prod(page.chunks) * page.dtype.itemsize
    for each in series.pages:
        for offset, n_bytes in zip(each.dataoffsets, each.databytecounts) if each is not None else ():
            if page.compression in DEFLATE and n_bytes * DEFLATE_RATIO <= SAFE_BYTES:
                continue
            file.filehandle.seek(offset)
            if _unpacks_to_more(file.filehandle.read(n_bytes), declared, page.compression):
                raise Refusal(
                    f"a part of it unpacks to more than the {declared:,} bytes that it declares, as "
                    "decompression bombs do"
                )


def _unpacks_to_more(data: bytes, limit: int, compression: int) -> bool:
    if compression in DEFLATE:
        return len(zlib.decompressobj().decompress(data, limit + 1)) > limit
    import lzma

    return len(lzma.LZMADecompressor().decompress(data, limit + 1)) > limit
