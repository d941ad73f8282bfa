"""A folder in, a GeoTIFF file of known content out; a folder of a result in, its reference checked."""

import json

import numpy as np
import pytest

#: Ten metres a pixel.
TRANSFORM = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_400_000.0)


def write_scene(folder):
    """A map, 20 × 30, with a bright field of 7 × 12 pixels; its first three columns have no data."""
    rasterio = pytest.importorskip("rasterio")
    pixels = np.full((20, 30), 50, np.uint16)
    pixels[5:12, 8:20] = 900
    pixels[:, :3] = 7  # no data
    path = folder / "scene.tif"
    with rasterio.open(
        path, "w", driver="GTiff", height=20, width=30, count=1, dtype="uint16", nodata=7, crs="EPSG:32633",
        transform=rasterio.Affine(*TRANSFORM),
    ) as target:  # fmt: skip
        target.write(pixels, 1)
    return path


def check_result(folder, field):
    """The labels and polygons of the map lie where it lies, and the field is of this class."""
    import rasterio

    with rasterio.open(folder / "labels.tif") as written:
        assert written.crs.to_epsg() == 32633
        assert tuple(written.transform)[:6] == TRANSFORM
        assert written.nodata == 0
        labels = written.read(1)
    assert (labels[:, :3] == 0).all()
    assert (labels[5:12, 8:20] == field).all()
    document = json.loads((folder / "objects.geojson").read_text())
    assert document["crs"]["properties"]["name"] == "EPSG:32633"
    (part,) = [f["geometry"] for f in document["features"] if f["properties"]["class"] == field]
    assert min(x for x, _ in part["coordinates"][0]) == 500_080
    assert max(y for _, y in part["coordinates"][0]) == 5_399_950
