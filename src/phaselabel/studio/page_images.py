"""An image, or the labels of its pixels, in; the bytes that the page paints out."""

import io
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation import export
from phaselabel.segmentation.pictures import import_pillow

#: The page gets a PNG of images with at most this many pixels, and a JPEG of larger ones.
MAX_PNG_PIXELS = 4_000_000

#: A picture with more bands than this is a cube, of which three bands are shown at a time.
MAX_COLOURS = 4


class Labelled(Protocol):
    """What the page needs of a segmentation."""

    @property
    def version(self) -> int:
        """The version of the strokes that it follows from."""

    @property
    def labels(self) -> NDArray[Any]:
        """The class number of every pixel."""

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The confidence of every pixel."""


@dataclass(frozen=True, eq=False)
class PageLabels:
    """Labels for the page: of pixels, or of cells before they are extended to the pixels.

    Attributes
    ----------
    version : int
        The version of the strokes that they follow from.
    labels, confidence : ndarray
        The class number and the confidence of every pixel or cell.
    step : int
        The side of a cell in pixels.
    """

    version: int
    labels: NDArray[Any]
    confidence: NDArray[np.float32]
    step: int = 1

    def encoded(self) -> bytes:
        """The bytes: columns, rows and step (uint32 each), class numbers (uint16), confidences (a byte)."""
        rows, columns = self.labels.shape
        header = np.array([columns, rows, self.step], np.uint32)
        confidence = (255 * self.confidence).round().astype(np.uint8)
        return header.tobytes() + self.labels.astype(np.uint16).tobytes() + confidence.tobytes()


def newest_labels(result: Labelled | None, preview: PageLabels | None) -> tuple[bytes, str, int]:
    """The labels of the pixels, or of the cells if they are newer."""
    newest = None if result is None else PageLabels(result.version, result.labels, result.confidence)
    if preview is not None and (newest is None or preview.version > newest.version):
        newest = preview
    content, version = (b"", -1) if newest is None else (newest.encoded(), newest.version)
    return content, "application/octet-stream", version


def described_bands(image: NDArray[Any]) -> dict[str, Any]:
    """How many bands a cube has, and which of them are shown; nothing of grey pictures and colours."""
    n_bands = 1 if image.ndim == 2 else image.shape[2]
    return {"bands": n_bands, "shown_bands": export.shown_bands(n_bands)} if n_bands > MAX_COLOURS else {}


def encoded_picture(image: NDArray[Any], bands: str = "") -> tuple[bytes, str, int]:
    """An image as a PNG, or as a JPEG if it is large."""
    (image_module,) = import_pillow("PIL.Image")
    cube = image if image.ndim == 3 else image[:, :, None]
    if bands:
        cube = false_colours(cube, bands)
    shown = image_module.fromarray(export.view(cube))
    large = shown.width * shown.height > MAX_PNG_PIXELS
    file = io.BytesIO()
    shown.save(
        file, **({"format": "JPEG", "quality": 92} if large else {"format": "PNG", "compress_level": 1})
    )
    return file.getvalue(), "image/jpeg" if large else "image/png", 0


def false_colours(cube: NDArray[Any], bands: str) -> NDArray[np.float32]:
    """Three bands of a cube, as "30,20,10", or "main": its three main directions.

    Examples
    --------
    >>> false_colours(np.arange(8.0).reshape(1, 2, 4), "3,0,0")[0, 0].tolist()
    [3.0, 0.0, 0.0]
    """
    if bands == "main":
        flat = cube.reshape(-1, cube.shape[2]).astype(np.float32)
        sample = flat[:: max(1, len(flat) // 20_000)]
        middle = sample.mean(axis=0)
        directions = np.linalg.svd(sample - middle, full_matrices=False)[2][:3]
        return np.asarray((flat - middle) @ directions.T, np.float32).reshape(*cube.shape[:2], -1)
    numbers = [int(word) if word.isdecimal() else -1 for word in bands.split(",")]
    if len(numbers) != 3 or not all(0 <= number < cube.shape[2] for number in numbers):
        raise ValueError(f"bands must name three of {cube.shape[2]} bands, like 2,1,0; got {bands!r:.40}.")
    return np.asarray(cube[:, :, numbers], np.float32)
