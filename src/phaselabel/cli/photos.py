"""A folder of pictures in, a table with a column of features out, for ``phaselabel label``."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phaselabel.cli import embedding
from phaselabel.cli.console import Console, opened
from phaselabel.io.photo_folders import (
    SUBFOLDERS,
    column_of_files,
    labels_by_file,
    labels_by_folder,
    pictures_below,
)

if TYPE_CHECKING:
    from phaselabel.io.tables.in_memory import MemoryTable

#: Options of ``phaselabel label`` that mean nothing here.
FOR_TABLES = ("features", "drop", "text", "date", "model_columns", "impute", "model")


def is_folder_of_pictures(path: str) -> bool:
    """Whether a path is a folder of pictures; a folder without any is refused."""
    folder = Path(path)
    if folder.is_dir() and not pictures_below(folder):
        raise ValueError(
            f"{folder} is a folder without pictures; name a folder with pictures, or the file with the table "
            "(a folder of tables needs --dask)."
        )
    return folder.is_dir()


def output_of_folder(arguments: argparse.Namespace) -> Path:
    """The file to write: ``--out``, or a CSV file beside the folder."""
    from phaselabel.io.atomic import refuse_existing
    from phaselabel.io.tables import target_format

    folder = Path(arguments.table)
    folder = folder if folder.name and folder.name != ".." else folder.resolve()
    out = Path(arguments.out) if arguments.out else folder.with_name(f"{folder.name}_labelled.csv")
    target_format(out)
    refuse_existing(out, arguments.force)
    return out


def open_folder(console: Console, arguments: argparse.Namespace) -> "MemoryTable":
    """Read the pictures and their labels; the options then name columns of the table.

    Parameters
    ----------
    console : Console
        Where to print.
    arguments : Namespace
        The options of ``phaselabel label``; those that name labels and columns are set.

    Returns
    -------
    MemoryTable
        A row for every picture: its file, its label, its features.
    """
    import pyarrow as pa

    from phaselabel.io.tables.in_memory import MemoryTable
    from phaselabel.segmentation.photo_features import left_out, photo_features, words_for

    folder = Path(arguments.table)
    given = [f"--{name.replace('_', '-')}" for name in FOR_TABLES if getattr(arguments, name)]
    if given:
        raise ValueError(
            f"Options for tables, not for folders of pictures: {', '.join(given)}. Leave them out."
        )
    names = pictures_below(folder)
    labels = _labels(folder, names, arguments)
    console.say("pictures", f"{folder.name}: {len(names):,} file{'s' if len(names) > 1 else ''}")
    embedding.prepare_pictures(console, arguments.embed)
    with console.stage("comparing", len(names), unit="picture") as bar:
        rows, readable, refused = photo_features([folder / name for name in names], arguments.embed, bar)
    console.say("features", f"{rows.shape[1]:,}, {words_for(arguments.embed)}")
    if refused:
        console.note(left_out(refused))
    name = arguments.label if arguments.label not in (None, SUBFOLDERS) else "label"
    arguments.label, arguments.labels = name, None
    arguments.id, arguments.drop = "file", []
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    columns: dict[str, Any] = {
        "file": pa.array([names[k] for k in readable]),
        name: pa.array([labels.get(names[k]) for k in readable], pa.string()),
        "features": vectors,
    }
    return MemoryTable(folder.resolve(), columns, ["file", name])


def _labels(folder: Path, names: list[str], arguments: argparse.Namespace) -> dict[str, str]:
    """The label of every picture that has one, by its name."""
    if arguments.labels is None:
        if arguments.label != SUBFOLDERS:
            raise ValueError(
                f"Which pictures of {folder.name} have a label? Name a table with the columns file and label "
                f"with --labels, or take the names of the folders inside it with --label {SUBFOLDERS}."
            )
        return labels_by_folder(names)
    table = opened(arguments.labels, arguments)
    label = arguments.label or next((name for name in table.names if name.lower() == "label"), "label")
    table.require([label])
    table.require([arguments.id] if arguments.id else [])
    column = arguments.id or column_of_files(table, label)
    if column is None:
        raise ValueError(
            f"{arguments.labels} must have a column with the names of the pictures; name it 'file', or with "
            f"--id. It has {', '.join(map(repr, table.names))}."
        )
    labels = labels_by_file(table, column, label, arguments.unlabeled or ())
    unknown = sorted(set(labels) - set(names))
    if unknown:
        several = f"{len(unknown):,} pictures that are not in {folder.name}, such as {unknown[0]!r}"
        one = f"a picture that is not in {folder.name}, {unknown[0]!r}"
        raise ValueError(
            f"{arguments.labels} names {one if len(unknown) == 1 else several}; correct the names."
        )
    return labels
