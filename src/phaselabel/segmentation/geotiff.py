"""A GeoTIFF file in, its reference out; labels and a reference in, a GeoTIFF file of labels out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.color import Colour

#: The tags of a TIFF file that place it on the earth: pixel scale, tie points, transformation, keys.
GEO_TAGS = (33550, 33922, 34264, 34735)

#: The value of pixels without a class; it is declared as "no data".
NO_CLASS = 0


@dataclass(frozen=True)
class Reference:
    """Where an image lies on the earth.

    Attributes
    ----------
    transform : tuple of float
        (a, b, c, d, e, f): the corner (x, y) of a pixel lies at (a·x + b·y + c, d·x + e·y + f).
    crs : str
        The reference of the coordinates: "EPSG:…" where it has a number, else its definition (WKT); empty if
        it is not known.
    """

    transform: tuple[float, ...]
    crs: str


def read_reference(path: str | Path) -> Reference | None:
    """The reference of a GeoTIFF file; None for any other file.

    Parameters
    ----------
    path : str or Path
        A file. One without geographic tags is not opened with rasterio.

    Returns
    -------
    Reference or None
        Where the image lies.
    """
    if not _has_geo_tags(Path(path)):
        return None
    rasterio = import_rasterio()
    with rasterio.open(path, driver="GTiff") as source:
        crs = source.crs
        number = crs.to_epsg() if crs else None
        name = f"EPSG:{number}" if number else (crs.to_wkt() if crs else "")
        return Reference(tuple(float(value) for value in source.transform[:6]), name)


def write_labels(
    path: str | Path,
    labels: NDArray[Any],
    reference: Reference,
    names: dict[int, str],
    colors: dict[int, Colour],
) -> None:
    """Write a label image as a GeoTIFF file: 0 is no data, classes have their colours and names.

    Parameters
    ----------
    path : str or Path
        The file; replaced if it is there.
    labels : ndarray of int, shape (H, W)
        The class number of every pixel, 0 without one.
    reference : Reference
        Where the image lies.
    names : dict of int to str
        The name of every class number.
    colors : dict of int to tuple of int
        The colour of every class number.
    """
    rasterio = import_rasterio()
    kind = np.uint8 if max(names, default=0) < 256 else np.uint16
    height, width = labels.shape
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        height=height,
        width=width,
        count=1,
        dtype=np.dtype(kind).name,
        crs=reference.crs or None,
        transform=rasterio.Affine(*reference.transform),
        nodata=NO_CLASS,
        compress="deflate",
    ) as target:
        target.write(labels.astype(kind), 1)
        if kind is np.uint8:
            target.write_colormap(1, {number: (*color, 255) for number, color in colors.items()})
        target.update_tags(1, **{f"class_{number}": name for number, name in names.items()})


def import_rasterio() -> Any:
    """Rasterio, or a sentence that says what to install."""
    try:
        import rasterio
    except ImportError:
        raise ImportError('rasterio is needed for GeoTIFF: pip install "phaselabel[geo]".') from None
    return rasterio


def _has_geo_tags(path: Path) -> bool:
    if path.suffix.lower() not in (".tif", ".tiff"):
        return False
    import tifffile

    with tifffile.TiffFile(path) as file:
        return any(tag in file.pages.first.tags for tag in GEO_TAGS)
