"""A folder of pictures in; their names, and the labels that folders and tables give them, out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: The extensions of pictures.
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")

#: The names of a column that names the pictures.
FILE_COLUMNS = ("file", "filename", "file_name", "image", "picture", "path", "name")

#: ``--label`` with this value takes the names of the folders inside the folder as labels.
SUBFOLDERS = "folder"


def pictures_in(folder: Path) -> list[str]:
    """The names of the pictures in a folder, sorted; hidden files are none, such as ``._a.png`` of macOS."""
    return sorted(p.name for p in visible_in(folder) if p.suffix.lower() in PICTURES and p.is_file())


def pictures_below(folder: Path) -> list[str]:
    """The pictures in a folder, then those in the folders inside it, relative to it."""
    inner = [p for p in visible_in(folder) if p.is_dir()]
    return pictures_in(folder) + [f"{one.name}/{name}" for one in inner for name in pictures_in(one)]


def visible_in(folder: Path) -> list[Path]:
    """The files and folders in a folder that are not hidden, sorted."""
    return sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def labels_by_folder(names: Sequence[str]) -> dict[str, str]:
    """The folder of every picture that is in a folder inside the folder.

    Examples
    --------
    >>> labels_by_folder(["a.png", "cats/b.png"])
    {'cats/b.png': 'cats'}
    """
    return {name: name.split("/")[0] for name in names if "/" in name}


def column_of_files(table: Any, label: str) -> str | None:
    """The column of a table that names the pictures, and not their labels; None without one."""
    return next((name for name in table.names if name.lower() in FILE_COLUMNS and name != label), None)


def labels_by_file(table: Any, files: str, label: str, unlabeled: Sequence[str] = ()) -> dict[str, str]:
    """The labels in a table by the names of the pictures.

    Parameters
    ----------
    table : Table
        The table.
    files, label : str
        The columns with the names and with the labels.
    unlabeled : sequence of str
        The entries that mean "no label"; by default those of any table.
    """
    from phaselabel.io.tables import means_unlabeled, unlabeled_in

    marks = unlabeled or unlabeled_in(table)
    pairs = zip(table.column(files).to_pylist(), table.column(label).to_pylist())
    return {str(file): str(value) for file, value in pairs if not means_unlabeled(value, marks)}
