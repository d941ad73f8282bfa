"""What the items of every source have in common: features, known labels and a view of each item."""

import hashlib
import io
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.pictures import import_pillow


class Items(ABC):
    """The items that questions are about.

    Attributes
    ----------
    title : str
        The name of the source.
    fingerprint : str
        A digest that changes when the content changes.
    X : ndarray of shape (n, d)
        The features by which items are compared.
    known_labels : dict of int to str
        The labels that the source has.
    notes : list of str
        What the user should know before trusting the labels.
    description : list of (str, str)
        What is compared, as headings and texts.
    table : Table or None
        The table that the items are rows of.
    recipe : Recipe or None
        How a table becomes these features.
    label : str
        The name of the label column in exports.
    ids : list of int or None
        The number of every item in the journal, where it is not its row: pictures come and go.
    """

    title: str
    fingerprint: str
    X: NDArray[Any]
    known_labels: dict[int, str]
    notes: list[str]
    description: list[tuple[str, str]]
    table: Any = None
    recipe: Any = None
    label: str = "label"
    ids: list[int] | None = None

    def __len__(self) -> int:
        return len(self.X)

    @abstractmethod
    def view(self, row: int) -> dict[str, Any]:
        """Return what the page shows of an item; ``kind`` is image, text or row."""

    def picture(self, row: int, large: bool = False) -> bytes:
        """Return the PNG of an item that is an image; ``large`` to be looked at closely."""
        raise ValueError("These items are not pictures.")

    def speaking(self, row: int, members: NDArray[np.bool_]) -> list[list[int]]:
        """Return the places (first character, one after the last) of words that speak for a class.

        Parameters
        ----------
        row : int
            The item.
        members : ndarray of bool
            The items that have this class now.
        """
        return []

    def matching(self, text: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of the rows whose caption contains a text, in any case of letters."""
        wanted = text.casefold()
        return rows[[wanted in str(self.view(row)["caption"]).casefold() for row in rows.tolist()]]

    def identifiers(self) -> tuple[str, list[Any]]:
        """Return the name and the values of the column that identifies the items in exports."""
        return "row", list(range(len(self)))


def checked_features(X: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return features as floats or bytes; refuse those that are not finite."""
    if X.dtype.kind == "f" and not np.isfinite(X).all():
        raise ValueError(f"{path.name} holds NaN or infinity; fill or remove those items.")
    return X if X.dtype.kind == "f" or X.dtype == np.uint8 else X.astype(np.float32)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return pixels as a PNG file."""
    (image_module,) = import_pillow("PIL.Image")
    file = io.BytesIO()
    image_module.fromarray(pixels).save(file, format="PNG", compress_level=1)
    return file.getvalue()


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
