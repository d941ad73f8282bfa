"""A TIFF file in, its pixels as bands out; stacks of planes are refused unless one plane is named."""

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.axes import PLANES, in_bands, in_planes
from phaselabel.segmentation.limits import SAFE_BYTES, Refusal, check_unpacked, check_values
from phaselabel.segmentation.opacity import multiplied_by_opacity

#: A file has at most 10,000 pages.
MAX_PAGES = 10_000

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
    if variable in PLANES:
        return _stack(in_planes(pixels, axes), None if raw else tags.get(GDAL_NODATA))
    pixels = in_bands(pixels, axes, variable)
    if not raw:
        pixels = _without_data_as_nan(pixels, tags.get(GDAL_NODATA))
        kind = page.extrasamples[-1] if page.extrasamples and pixels.shape[2] in (2, 4) else None
        if kind in (MULTIPLIED, NOT_MULTIPLIED) and set(axes) <= set("YXS"):
            pixels = multiplied_by_opacity(pixels, already=kind == MULTIPLIED)
    orientation = tags.get("Orientation")
    pixels = _upright(pixels, int(orientation.value) if orientation is not None else 1)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _stack(planes: NDArray[Any], missing: Any) -> NDArray[Any]:
    """Planes (Z, H, W, B) with NaN where there are no data; (Z, H, W) if there is one band."""
    width, n_bands = planes.shape[2:]
    rows = _without_data_as_nan(planes.reshape(-1, width, n_bands), missing)
    stack = rows.reshape(planes.shape)
    return stack[..., 0] if n_bands == 1 else stack


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
