"""A folder of pictures in, the pictures as items out."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.io.photo_folders import (
    PICTURES,
    SUBFOLDERS,
    column_of_files,
    labels_by_file,
    labels_by_folder,
    pictures_below,
    pictures_in,
    visible_in,
)
from phaselabel.segmentation.photo_features import left_out, photo_features, words_for
from phaselabel.segmentation.pictures import as_seen, check_pixels, one_sentence_errors, open_picture
from phaselabel.studio.items.source import Items, png

#: The extensions of tables that may hold the labels of a folder.
TABLES = (".csv", ".tsv", ".parquet", ".jsonl")

#: Pictures are shown with at most this many pixels a side, small or large.
SHOWN_SIDE, LARGE_SIDE = 640, 2560


class FolderItems(Items):
    """The pictures of a folder. No other file is ever opened.

    Parameters
    ----------
    path : Path
        The folder.
    label : str, optional
        The column of a table in the folder, or "folder" for the names of the folders inside it.
    earlier : sequence of str
        The pictures of earlier openings. They keep their place in the journal; new ones follow them.
    embed : str, optional
        A vision model, by its name or its ONNX file; by default simple colours and textures are compared.
    stage : callable, optional
        ``stage(name, total, unit)`` is entered around the reading of the pictures.

    Attributes
    ----------
    names : list of str
        All pictures that the journal knows, also those that are gone.
    """

    def __init__(
        self, path: Path, label: str | None = None, earlier: Sequence[str] = (), embed: str | None = None,
        stage: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.title, self.notes, self.label = path.name, [], label or "label"
        self.fingerprint = "folder"
        listed = _listed(path, label)
        with nullcontext() if stage is None else stage("looking", len(listed), "picture") as bar:
            files, self.X = self._read(path, listed, earlier, embed, bar)
        self.names = list(dict.fromkeys([*earlier, *files]))
        number = {name: k for k, name in enumerate(self.names)}
        self.ids = [number[name] for name in files]
        self._paths = [path / name for name in files]
        self._files = files
        self.old_fingerprint = _old_fingerprint(self._paths)
        self.description = [("compared by", words_for(embed))]
        self.known_labels = self._labels(path, label) if label else {}
        if earlier:
            self._note_changes(set(earlier), set(files))

    def _read(
        self, path: Path, listed: list[str], earlier: Sequence[str], embed: str | None, bar: Any
    ) -> tuple[list[str], NDArray[np.float32]]:
        """Read the pictures, those of earlier openings first; note those that can't be read."""
        known = set(earlier)
        present = set(listed)
        order = [n for n in earlier if n in present] + [n for n in listed if n not in known]
        rows, readable, refused = photo_features([path / name for name in order], embed, bar)
        if refused:
            self.notes.append(left_out(refused))
        return [order[k] for k in readable], rows

    def _note_changes(self, before: set[str], now: set[str]) -> None:
        new, gone = len(now - before), len(before - now)
        if new:
            self.notes.append(f"{new} picture{'s are' if new > 1 else ' is'} new since the last opening.")
        if gone:
            whose = "s are gone; their answers come" if gone > 1 else " is gone; its answer comes"
            self.notes.append(f"{gone} picture{whose} back with the file.")

    def _labels(self, path: Path, label: str) -> dict[int, str]:
        row_of = {name: row for row, name in enumerate(self._files)}
        if label == SUBFOLDERS:
            return {row_of[name]: value for name, value in labels_by_folder(self._files).items()}
        source, labels = _table_labels(path, label)
        unknown = [name for name in labels if name not in row_of]
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            self.notes.append(f"{source} names pictures that are not here: {unknown[0]}{more}.")
        return {row_of[name]: value for name, value in labels.items() if name in row_of}

    def view(self, row: int) -> dict[str, Any]:
        """Return the picture and its name."""
        return {"kind": "image", "row": row, "caption": self._files[row]}

    def picture(self, row: int, large: bool = False) -> bytes:
        """Return the picture, reduced to the size in which it is shown."""
        return shown_picture(self._paths[row], large)

    def identifiers(self) -> tuple[str, list[Any]]:
        """Return the file names, relative to the folder."""
        return "file", list(self._files)


def shown_picture(path: Path, large: bool) -> bytes:
    """Return the PNG of a picture with at most ``SHOWN_SIDE`` or ``LARGE_SIDE`` pixels a side."""
    side = LARGE_SIDE if large else SHOWN_SIDE
    with one_sentence_errors(path), open_picture(path) as picture:
        check_pixels(picture)
        picture.draft("RGB", (side, side))
        shown = as_seen(picture)
        shown.thumbnail((side, side))
        return png(np.asarray(shown))


def _listed(path: Path, label: str | None) -> list[str]:
    """The names of the pictures of a folder, with those in its folders if these are the labels."""
    inside, below = pictures_in(path), pictures_below(path)
    if label == SUBFOLDERS:
        if below == inside:
            raise ValueError(f"{path} has no folders with pictures to take labels from (--label {label}).")
        return below
    if not inside:
        hint = f"; its folders have some: use --label {SUBFOLDERS}" if below else ""
        raise ValueError(f"{path} has no pictures ({', '.join(PICTURES)}){hint}.")
    return inside


def _table_labels(path: Path, label: str) -> tuple[str, dict[str, str]]:
    """The table of the folder that has the column, and its labels by file name."""
    from phaselabel.io.tables import open_table

    for source in (p for p in visible_in(path) if p.suffix.lower() in TABLES and p.is_file()):
        table = open_table(source)
        column = column_of_files(table, label)
        if label in table.names and column is not None:
            return source.name, labels_by_file(table, column, label)
    raise ValueError(
        f"{path.name} has no table with the columns file and {label}; put one beside the pictures, or take "
        f"the names of folders inside it as labels with --label {SUBFOLDERS}."
    )


def _old_fingerprint(paths: list[Path]) -> str:
    """The fingerprint that earlier studios gave to a folder."""
    listing = "\n".join(f"{path.name} {path.stat().st_size}" for path in paths)
    return hashlib.sha256(listing.encode()).hexdigest()
