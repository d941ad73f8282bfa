"""A table in parts in; what its columns hold, its labels and its features out, found by the workers.

A :class:`~phaselabel.io.tables.Recipe` decides here what it decides on one machine, from the same numbers;
only the sums over vectors are added up in another order.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from dask.utils import format_bytes
from numpy.typing import NDArray

from phaselabel.distributed.sources import Part, Source
from phaselabel.distributed.tasks import Tasks
from phaselabel.io.tables import Column, Labels, Recipe
from phaselabel.io.tables.columns import Observed, observe
from phaselabel.io.tables.labels import rows_with_keys, unlabeled_in

#: Bytes of one value of a column on the worker that learns its centre and spread, copies included.
BYTES_PER_VALUE = 32
#: The share of a worker's memory that such a column may take.
COLUMN_SHARE = 0.5


def survey(source: Source, skip: Sequence[str], tasks: Tasks) -> tuple[dict[str, Column], int]:
    """Read every column once, in the first part if all are alike; see :func:`phaselabel.io.tables.survey`."""
    names = [name for name in source.names if name not in skip]
    parts = source.parts[:1] if source.alike else source.parts
    observed = tasks.run("looking", _observed, [(part, names) for part in parts])
    seen, *others = observed
    for later in others:
        for name in names:
            seen[name].merge(later[name])
    n_rows = source.n_rows
    return {name: column.concluded(name, n_rows) for name, column in seen.items()}, n_rows


def _observed(part: Part, names: list[str]) -> dict[str, Observed]:
    return observe(part.open(), names, part.first_row)[0]


def labels_in(source: Source, name: str, unlabeled: Sequence[str], tasks: Tasks) -> Labels:
    """The labels in a column; only labelled rows leave the workers."""
    marks = tuple(unlabeled) or unlabeled_in(source.parts[0].open())
    labels = Labels.merged(tasks.run("labels", _labels, [(part, name, marks) for part in source.parts]))
    labels.check(source, name)
    return labels


def _labels(part: Part, name: str, marks: tuple[str, ...]) -> Labels:
    return Labels(part.open().column(name), marks, part.first_row)


def rows_with(source: Source, name: str, entries: Collection[str], tasks: Tasks) -> list[tuple[str, int]]:
    """The rows whose entry in a column is one of some; only they leave the workers."""
    found = tasks.run("labels", _rows_with, [(part, name, set(entries)) for part in source.parts])
    return [pair for pairs in found for pair in pairs]


def _rows_with(part: Part, name: str, entries: set[str]) -> list[tuple[str, int]]:
    return rows_with_keys(part.open(), name, entries, part.first_row)


def features(source: Source, recipe: Recipe, tasks: Tasks) -> Any:
    """The features as a Dask array; what the recipe must learn is learned first, from all rows.

    Parameters
    ----------
    source : Source
        The table.
    recipe : Recipe
        What becomes of each column; its ``arrays`` are filled in.
    tasks : Tasks
        The cluster.

    Returns
    -------
    dask array of shape (n_rows, n_features)
        A block per part.
    """
    _refuse_scattered(recipe)
    learning = [name for name in recipe.roles if recipe.learns(name)]
    if source.X is not None and not learning:
        # The rows stay memory-mapped: a recipe would copy each part.
        recipe.widths = {name: int(source.X.shape[1]) for name in recipe.roles}
        small = source.X.dtype.itemsize <= 4
        return source.X.astype(np.float32 if small else np.float64)
    columns = [name for name in learning if recipe.roles[name] != "vector"]
    if columns:
        _refuse_small_workers(source, tasks)
        # A column as a whole, by the code of a local run: its sums have the same bits.
        for arrays in tasks.run("scaling", Recipe.learn, [(recipe, source, name) for name in columns]):
            recipe.arrays |= arrays
    for name in learning:
        if name not in columns:
            recipe.arrays |= _learned_vectors(source, recipe, name, tasks)
    return transformed(source, recipe, tasks)


def transformed(source: Source, recipe: Recipe, tasks: Tasks) -> Any:
    """The features as a Dask array, by a recipe that has learned what it needs."""
    import dask
    import dask.array as da

    like, recipe.widths = tasks.run("features", _like, [(source.parts[0], recipe)])[0]
    read = dask.delayed(_features, pure=False)
    shared = dask.delayed(recipe, pure=False)
    blocks = [
        da.from_delayed(
            read(part, shared, like, dask_key_name=f"phaselabel-read-{tasks.token}-{number}"),
            (part.n_rows, like.shape[1]),
            like.dtype,
        )
        for number, part in enumerate(source.parts)
    ]
    return da.concatenate(blocks)


def _like(part: Part, recipe: Recipe) -> tuple[NDArray[np.floating[Any]], dict[str, int]]:
    """No rows, of the width and type of the features; how many each column became."""
    return recipe.transform(part.open())[:0], recipe.widths


def _features(part: Part, recipe: Recipe, like: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    rows = recipe.transform(part.open())
    if rows.shape[1] != like.shape[1]:
        raise ValueError(
            f"Rows of {part.path} from {part.first_row:,} on have {rows.shape[1]} features, the first ones "
            f"{like.shape[1]}; vectors must be of one length."
        )
    return rows.astype(like.dtype, copy=False)


def _refuse_scattered(recipe: Recipe) -> None:
    """Refuse what needs all vectors, or all texts, in one place."""
    vectors = [name for name, role in recipe.roles.items() if role == "vector"]
    if "text" in recipe.roles.values():
        raise ValueError("--text works on tables in one file only; leave it out with --dask.")
    if vectors and recipe.scale_vectors and recipe.scale == "robust":
        raise ValueError(
            f"--scale robust needs all vectors of {vectors[0]!r} in one place; with --dask scale vectors by "
            "standard or none."
        )
    if vectors and recipe.impute == "median":
        raise ValueError(
            f"--impute median needs all vectors of {vectors[0]!r} in one place; with --dask fill vectors by "
            "mean."
        )


def _refuse_small_workers(source: Source, tasks: Tasks) -> None:
    needed = BYTES_PER_VALUE * source.n_rows / COLUMN_SHARE
    limits = [worker["memory_limit"] for worker in tasks.workers().values() if worker["memory_limit"]]
    if limits and min(limits) < needed:
        raise ValueError(
            f"Scaling needs a whole column of {source.n_rows:,} rows on one worker, and a worker has "
            f"{format_bytes(min(limits))}; give each worker at least {format_bytes(int(needed))}, or pass "
            "--scale none."
        )


def _learned_vectors(source: Source, recipe: Recipe, name: str, tasks: Tasks) -> dict[str, NDArray[Any]]:
    """Centre, spread and fill of a column of vectors, from sums over the parts in two passes."""
    parts = source.parts
    sums = tasks.run("scaling", _sums, [(part, recipe, name) for part in parts])
    total, count = (np.sum(term, axis=0) for term in zip(*sums))
    mean = total / np.maximum(count, 1)
    arrays = {} if recipe.impute is None else {f"{name}/fill": mean}
    if recipe.scale_vectors and recipe.scale != "none":
        squares = tasks.run("scaling", _squares, [(part, recipe, name, mean) for part in parts])
        spread = np.sqrt(np.sum(squares, axis=0) / source.n_rows)
        arrays |= {f"{name}/centre": mean, f"{name}/spread": np.where(spread > 0, spread, 1.0)}
    return arrays


def _sums(part: Part, recipe: Recipe, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    values = recipe.values(part.open(), name)
    return np.nansum(values, axis=0, dtype=np.float64), np.sum(~np.isnan(values), axis=0)


def _squares(part: Part, recipe: Recipe, name: str, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    # A missing value is filled with the mean, and adds nothing.
    distances = recipe.values(part.open(), name) - mean
    return np.asarray(np.nansum(distances * distances, axis=0))
