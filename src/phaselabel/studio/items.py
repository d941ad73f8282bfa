"""A table, an array or a folder of pictures in; features of every item and something to look at out."""

import hashlib
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.marks import import_pillow

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")

#: Pictures of a folder are compared at this many pixels a side, and shown at up to so many.
SIDE, SHOWN = 32, 640

#: Pixels of one picture, items of a project, letters of a text that are shown.
MOST_PIXELS, MOST_ITEMS, MOST_LETTERS = 60_000_000, 500_000, 6000


class Items(ABC):
    """What is asked about.

    Attributes
    ----------
    title : str
        What to call it.
    fingerprint : str
        Changes if the content does.
    X : ndarray of shape (n, d)
        What makes items alike.
    given : dict of int to str
        Labels that are known already.
    notes : list of str
        What the user should know.
    """

    title: str
    fingerprint: str
    X: NDArray[Any]
    given: dict[int, str]
    notes: list[str]
    #: Of a table: itself, and how it became features.
    table: Any = None
    recipe: Any = None

    def __len__(self) -> int:
        return len(self.X)

    @abstractmethod
    def shown(self, row: int) -> dict[str, Any]:
        """Something the page can show: ``kind`` is image, text or row."""

    def picture(self, row: int) -> bytes:
        """An image's PNG."""
        raise ValueError("These items are no pictures.")

    def names(self) -> tuple[str, list[Any]]:
        """How exports call the items: a column's name and its values."""
        return "row", list(range(len(self)))


def read_items(
    path: Path, *, label: str | None = None, features: Sequence[str] = (), drop: Sequence[str] = (),
    text: Sequence[str] = (), impute: str | None = None, shape: str | None = None,
) -> Items:  # fmt: skip
    """Read what a path holds.

    Parameters
    ----------
    path : Path
        A folder of pictures; an NPY or NPZ file; or any table that ``phaselabel label`` reads.
    label : str, optional
        The column (or array) of labels that are known already.
    features, drop, text, impute
        As for ``phaselabel label``; of an NPZ file ``features`` names the array.
    shape : str, optional
        "28x28" shows rows of 784 numbers as pictures; "none" never does.

    Returns
    -------
    Items
        The items.
    """
    if path.is_dir():
        found: Items = FolderItems(path)
    elif path.suffix.lower() in (".npy", ".npz"):
        found = ArrayItems(path, features[0] if features else None, label, shape)
    else:
        found = TableItems(path, label, features, drop, text, impute)
    if len(found) < 2:
        raise ValueError(f"{path.name} has {len(found)} items; there is nothing to ask about.")
    if len(found) > MOST_ITEMS:
        raise ValueError(f"{path.name} has {len(found):,} items; the studio takes up to {MOST_ITEMS:,}.")
    return found


class ArrayItems(Items):
    """Rows of an array: pictures where they are pictures, numbers otherwise."""

    def __init__(self, path: Path, name: str | None, label: str | None, shape: str | None) -> None:
        self.title, self.notes = path.name, []
        self.fingerprint = _digest(path)
        arrays = _arrays(path)
        many = [key for key, array in arrays.items() if array.ndim >= 2 and array.dtype.kind in "uifb"]
        if name is None and len(many) != 1:
            raise ValueError(
                f"{path.name} has {len(many)} arrays that may hold the items ({', '.join(arrays)}); name one "
                "with --features."
            )
        name = name or many[0]
        if name not in many:
            raise ValueError(f"{path.name} has no array {name!r} of numbers; it has {', '.join(arrays)}.")
        self._array = arrays[name]
        self.X = _finite(self._array.reshape(len(self._array), -1), path)
        self._shape = _picture_shape(self._array, shape)
        sample = self._array[:: max(1, len(self._array) // 2000)]
        self._low, self._high = float(sample.min()), float(sample.max())
        self.given = {}
        if label:
            if label not in arrays or arrays[label].shape != (len(self._array),):
                raise ValueError(f"{path.name} has no array {label!r} with one label per item.")
            self.given = {i: str(v) for i, v in enumerate(arrays[label].tolist()) if str(v) not in ("", "-1")}

    def shown(self, row: int) -> dict[str, Any]:
        """A picture, or the numbers."""
        if self._shape:
            return {"kind": "image", "row": row, "caption": f"item {row}"}
        values = self.X[row]
        fields = [[str(k), f"{v:.4g}"] for k, v in enumerate(values[:40].tolist())]
        return {"kind": "row", "row": row, "caption": f"item {row}", "fields": fields}

    def picture(self, row: int) -> bytes:
        """Stretched to the range of all items."""
        if not self._shape:
            return super().picture(row)
        pixels = self._array[row].reshape(self._shape).astype(np.float64)
        grey = 255 * (pixels - self._low) / max(self._high - self._low, 1e-30)
        return _png(np.clip(grey, 0, 255).astype(np.uint8))


class FolderItems(Items):
    """The pictures of a folder, in the order of their names; only names found there are ever opened."""

    def __init__(self, path: Path) -> None:
        self.title, self.notes, self.given = path.name, [], {}
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
        if not files:
            raise ValueError(f"{path} has no pictures ({', '.join(PICTURES)}).")
        rows, self._files, bad = [], [], []
        for file in files[: MOST_ITEMS + 1]:
            try:
                rows.append(_small(file))
                self._files.append(file)
            except (OSError, ValueError) as error:
                bad.append(f"{file.name} ({error})")
        if bad:
            self.notes.append(f"{len(bad)} files can't be read and are left out: {bad[0]}")
        if not rows:
            raise ValueError(f"No picture in {path} can be read: {bad[0]}.")
        self.X = np.array(rows, np.float32)
        listing = "\n".join(f"{f.name} {f.stat().st_size}" for f in self._files)
        self.fingerprint = hashlib.sha256(listing.encode()).hexdigest()

    def shown(self, row: int) -> dict[str, Any]:
        """The picture and its name."""
        return {"kind": "image", "row": row, "caption": self._files[row].name}

    def picture(self, row: int) -> bytes:
        """At most ``SHOWN`` pixels a side."""
        image_module, ops = import_pillow("PIL.Image", "PIL.ImageOps")
        try:
            with image_module.open(self._files[row]) as picture:
                _check_pixels(picture)
                picture.draft("RGB", (SHOWN, SHOWN))
                shown = ops.exif_transpose(picture).convert("RGB")
                shown.thumbnail((SHOWN, SHOWN))
                return _png(np.asarray(shown))
        except (OSError, image_module.DecompressionBombError) as error:
            raise ValueError(f"{self._files[row].name} can no longer be read ({error}).") from None

    def names(self) -> tuple[str, list[Any]]:
        """File names."""
        return "file", [file.name for file in self._files]


class TableItems(Items):
    """The rows of a table, or one text of each."""

    def __init__(
        self, path: Path, label: str | None, features: Sequence[str], drop: Sequence[str],
        text: Sequence[str], impute: str | None,
    ) -> None:  # fmt: skip
        from phaselabel import tables

        self.title, self.notes = path.name, []
        self.table = tables.open_table(path)
        self.fingerprint = _digest(path)
        if label:
            self.table.require([label])
        self.columns, _ = tables.survey(self.table, [label] if label else [])
        self.recipe = tables.plan(self.columns, features=features, drop=drop, text=text, impute=impute)
        self.X = _finite(self.recipe.fit_transform(self.table), path)
        self._text = list(text)
        shown = self._text or self.table.names
        self._cells = {
            name: self.table.column(name).to_pylist()
            for name in shown
            if name not in self.columns or self.columns[name].kind not in ("vector", "nested")
        }
        self.label = label or "label"
        self.given = {}
        if label:
            values = self.table.column(label).to_pylist()
            self.given = {
                i: str(v) for i, v in enumerate(values) if v is not None and str(v) not in ("", "?", "NA")
            }

    def shown(self, row: int) -> dict[str, Any]:
        """The text, or the row's fields."""
        found: dict[str, Any] = {"row": row, "caption": f"row {row}"}
        if len(self._text) == 1:
            return {
                **found,
                "kind": "text",
                "text": str(self._cells[self._text[0]][row] or "")[:MOST_LETTERS],
            }
        fields = [[name, str(values[row])[:300]] for name, values in list(self._cells.items())[:60]]
        return {**found, "kind": "row", "fields": fields}


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        found = np.load(path, allow_pickle=False)
        return {"x": found} if isinstance(found, np.ndarray) else {key: found[key] for key in found.files}
    except Exception as error:
        why = str(error).split(". ")[0].split(", but")[0][:100].rstrip(".")
        raise ValueError(
            f"{path.name} can't be read as a NumPy file without pickled objects ({why})."
        ) from None


def _picture_shape(array: NDArray[Any], asked: str | None) -> tuple[int, ...] | None:
    """How a row is a picture, if it is one."""
    width = int(np.prod(array.shape[1:]))
    if asked and asked != "none":
        sides = re.fullmatch(r"(\d+)x(\d+)(?:x([134]))?", asked)
        wanted = tuple(int(side) for side in sides.groups() if side) if sides else (0,)
        if int(np.prod(wanted)) != width:
            raise ValueError(
                f"--shape must be like 28x28 and fit the {width} numbers of an item; got {asked!r}."
            )
        return wanted
    if asked == "none" or array.dtype.kind not in "uifb":
        return None
    if array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (3, 4)):
        return tuple(array.shape[1:])
    side = round(width**0.5)
    # Whole numbers of a byte's range in a square: who has such rows has pictures.
    sample = array[:200]
    if array.ndim == 2 and side * side == width and side >= 6 and sample.min() >= 0 and sample.max() <= 255:
        return (side, side) if bool((sample == np.round(sample)).all()) else None
    return None


def _small(file: Path) -> NDArray[np.float32]:
    """A picture's colours at a small size: what it is compared by."""
    image_module, ops = import_pillow("PIL.Image", "PIL.ImageOps")
    try:
        with image_module.open(file) as picture:
            _check_pixels(picture)
            picture.draft("RGB", (4 * SIDE, 4 * SIDE))
            small = (
                ops.exif_transpose(picture).convert("RGB").resize((SIDE, SIDE), image_module.Resampling.BOX)
            )
    except image_module.DecompressionBombError as error:
        raise ValueError(str(error)) from None
    return np.asarray(small, np.float32).ravel() / np.float32(255)


def _check_pixels(picture: Any) -> None:
    if picture.width * picture.height > MOST_PIXELS:
        raise ValueError(f"{picture.width} × {picture.height} pixels, more than {MOST_PIXELS:,}")


def _finite(X: NDArray[Any], path: Path) -> NDArray[Any]:
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        raise ValueError(f"{path.name} holds NaN or infinity; fill or remove those items.")
    return X if X.dtype.kind == "f" or X.dtype == np.uint8 else X.astype(np.float32)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    (image_module,) = import_pillow("PIL.Image")
    file = io.BytesIO()
    image_module.fromarray(pixels).save(file, format="PNG", compress_level=1)
    return file.getvalue()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
