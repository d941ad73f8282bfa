"""An NPY or NPZ file in, its rows as items out."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.io.npy import open_arrays
from phaselabel.studio.items.source import Items, checked_features, digest, png

#: At most this many numbers of an item are shown.
MAX_NUMBERS = 40

#: The range of the pixels is taken from about this many items.
RANGE_SAMPLE = 2000


class ArrayItems(Items):
    """The rows of an array, shown as pictures where they have the shape of pictures."""

    def __init__(self, path: Path, name: str | None, label: str | None, shape: str | None) -> None:
        self.title, self.notes = path.name, []
        self.fingerprint = digest(path)
        try:
            arrays = open_arrays(path)
        except ValueError as error:
            raise ValueError(
                f"{path.name} can't be read as a NumPy file without pickled objects ({error!s:.100})."
            ) from None
        name = _items_array(path, arrays, name)
        self._array = arrays[name]
        self.X = checked_features(self._array.reshape(len(self._array), -1), path)
        self._shape = _picture_shape(self._array, shape)
        sample = self._array[:: max(1, len(self._array) // RANGE_SAMPLE)]
        self._low, self._high = float(sample.min()), float(sample.max())
        self.recipe = _recipe(name)
        sides = f", shown as pictures of {' × '.join(map(str, self._shape))}" if self._shape else ""
        self.description = [("compared by", f"the {self.X.shape[1]:,} numbers of {name}, as they are{sides}")]
        self.known_labels = {}
        if label:
            if label not in arrays or arrays[label].shape != (len(self._array),):
                raise ValueError(f"{path.name} has no array {label!r} with one label per item.")
            self.known_labels = _known(arrays[label].tolist())

    def view(self, row: int) -> dict[str, Any]:
        """Return a picture, or the numbers."""
        if self._shape:
            return {"kind": "image", "row": row, "caption": f"item {row}"}
        values = self.X[row, :MAX_NUMBERS].tolist()
        fields = [[str(k), f"{v:.4g}"] for k, v in enumerate(values)]
        return {"kind": "row", "row": row, "caption": f"item {row}", "fields": fields}

    def picture(self, row: int, large: bool = False) -> bytes:
        """Return the picture, stretched to the range of all items."""
        if not self._shape:
            return super().picture(row, large)
        pixels = self._array[row].reshape(self._shape).astype(np.float64)
        grey = 255 * (pixels - self._low) / max(self._high - self._low, 1e-30)
        return png(np.clip(grey, 0, 255).astype(np.uint8))


def _known(values: list[Any]) -> dict[int, str]:
    """The entries that are labels, by their rows."""
    from phaselabel.io.tables import UNLABELED_IN_ARRAYS, means_unlabeled

    return {i: str(v) for i, v in enumerate(values) if not means_unlabeled(v, UNLABELED_IN_ARRAYS)}


def _items_array(path: Path, arrays: dict[str, NDArray[Any]], name: str | None) -> str:
    """The name of the array that holds the items."""
    usable = [key for key, array in arrays.items() if array.ndim >= 2 and array.dtype.kind in "uifb"]
    if name is None and len(usable) != 1:
        raise ValueError(
            f"{path.name} has {len(usable)} arrays that may hold the items ({', '.join(arrays)}); name "
            "one with --features."
        )
    name = name or usable[0]
    if name not in usable:
        raise ValueError(f"{path.name} has no array {name!r} of numbers; it has {', '.join(arrays)}.")
    return name


def _recipe(name: str) -> Any:
    """How ``phaselabel predict`` reads the same array of another file: as vectors that are not scaled."""
    from phaselabel.io.tables import Recipe

    return Recipe({name: "vector"})


def _picture_shape(array: NDArray[Any], requested: str | None) -> tuple[int, ...] | None:
    """The shape in which a row is a picture, or None."""
    width = int(np.prod(array.shape[1:]))
    if requested and requested != "none":
        sides = re.fullmatch(r"(\d+)x(\d+)(?:x([134]))?", requested)
        wanted = tuple(int(side) for side in sides.groups() if side) if sides else (0,)
        if int(np.prod(wanted)) != width:
            raise ValueError(
                f"--shape must be like 28x28 and fit the {width} numbers of an item; got {requested!r}."
            )
        return wanted
    if requested == "none" or array.dtype.kind not in "uifb":
        return None
    if array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (3, 4)):
        return tuple(array.shape[1:])
    side = round(width**0.5)
    # Square rows of whole numbers from 0 to 255 are almost always pictures.
    sample = array[:200]
    if array.ndim == 2 and side * side == width and side >= 6 and sample.min() >= 0 and sample.max() <= 255:
        return (side, side) if bool((sample == np.round(sample)).all()) else None
    return None
