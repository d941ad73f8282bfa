"""A table, an array or a folder of pictures in; the features and a view of every item out."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from phaselabel.studio.items.arrays import ArrayItems
from phaselabel.studio.items.folders import FolderItems
from phaselabel.studio.items.source import Items
from phaselabel.studio.items.tables import TableItems
from phaselabel.studio.project import MAX_CLASSES

__all__ = ["ArrayItems", "FolderItems", "Items", "TableItems", "read_items"]

#: A project has at most this many items.
MAX_ITEMS = 500_000


def read_items(
    path: Path, *, label: str | None = None, features: Sequence[str] = (), drop: Sequence[str] = (),
    text: Sequence[str] = (), date: Sequence[str] = (), impute: str | None = None, shape: str | None = None,
    reading: Mapping[str, Any] | None = None, earlier: Sequence[str] = (), embed: str | None = None,
    prepare: Callable[[Any, Any], None] | None = None, stage: Callable[..., Any] | None = None,
    picture: str | None = None,
) -> Items:  # fmt: skip
    """Read the items of a source.

    Parameters
    ----------
    path : Path
        A folder of pictures; an NPY or NPZ file; or any table that ``phaselabel label`` reads.
    label : str, optional
        The column (or array) with the labels that are known. For a folder: a column of a table in it, or
        "folder" for the names of the folders inside it.
    features, drop, text, date, impute
        As for ``phaselabel label``; of an NPZ file ``features`` names the array.
    shape : str, optional
        "28x28" shows rows of 784 numbers as pictures; "none" never does.
    reading : dict, optional
        How to read a text file: options of :func:`~phaselabel.io.tables.open_table`.
    earlier : sequence of str
        The pictures of earlier openings of a folder.
    embed : str, optional
        The ONNX file of a model for the pictures of a folder; simple colours and textures by default.
    prepare : callable, optional
        Is called with a table and the recipe of its features before they are computed; ``phaselabel studio
        --embed`` names the model for texts there.
    stage : callable, optional
        ``stage(name, total, unit)`` is entered around long work, and its ``update`` is called.
    picture : str, optional
        The column of a table that names a picture for every row: it is shown instead of the row.

    Returns
    -------
    Items
        The items.
    """
    if path.is_dir():
        items: Items = FolderItems(path, label, earlier, embed, stage)
    elif path.suffix.lower() in (".npy", ".npz"):
        if embed is not None:
            raise ValueError(f"{path.name} has numbers already; --embed is for texts and pictures.")
        items = ArrayItems(path, features[0] if features else None, label, shape)
    else:
        items = TableItems(path, label, features, drop, text, date, impute, reading or {}, prepare, picture)
    if len(items) < 2:
        raise ValueError(f"{path.name} has {len(items)} items; there is nothing to ask about.")
    if len(items) > MAX_ITEMS:
        raise ValueError(f"{path.name} has {len(items):,} items; the studio takes at most {MAX_ITEMS:,}.")
    n_labels = len(set(items.known_labels.values()))
    if n_labels > MAX_CLASSES:
        raise ValueError(
            f"{label!r} has {n_labels:,} different labels, and a project at most {MAX_CLASSES:,} classes; is "
            "it the right column for --label?"
        )
    return items
