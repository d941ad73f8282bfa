"""A table and new columns in, a file with both out."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from phaselabel.io.atomic import replacing
from phaselabel.io.tables.columnar import ArrayTable
from phaselabel.io.tables.in_memory import MemoryTable
from phaselabel.io.tables.reading import DATABASES, DELIMITERS, WORKBOOKS, format_of, is_of_format
from phaselabel.io.tables.table import Table
from phaselabel.io.tables.text import quoted


def write_table(
    table: Table, added: Mapping[str, pa.Array], path: str | Path, *, overwrite: bool = False
) -> None:
    """Write a table with new columns at its end.

    A text file that is written in its own format keeps its bytes. Vectors are left out where an array is
    written as a table.

    Parameters
    ----------
    table : Table
        The table.
    added : mapping of str to pyarrow.Array
        The new columns.
    path : path-like
        The file to write; its extension names the format.
    overwrite : bool, default=False
        Whether a file that is there already may be replaced.
    """
    path, kind = Path(path), target_format(path)
    with replacing(path, overwrite) as part, part.open("wb") as file:
        if kind == ".npz":
            np.savez(file, **{name: _numpy(array) for name, array in added.items()})
        elif kind in (".csv", ".tsv", ".jsonl") and is_of_format(table.path, kind):
            as_text = kind != ".jsonl"
            values = {name: text_of(array) if as_text else array.to_pylist() for name, array in added.items()}
            lines = table.rewritten(values)
            while block := b"".join(islice(lines, 1 << 14)):  # type: ignore[arg-type]
                file.write(block)
        else:
            _write_batches(_joined(table, added), file, kind)


def target_format(path: str | Path) -> str:
    """The format of the file to write; a format that can't hold a table is refused."""
    if Path(path).suffix.lower() in (*WORKBOOKS, *DATABASES):
        raise ValueError(
            f"{Path(path).name}: workbooks and databases are read, not written; write .csv or .parquet "
            "instead."
        )
    kind = format_of(path)
    if kind == ".npy":
        raise ValueError("A .npy file holds one array of one type; write .npz, .csv or .parquet instead.")
    return kind


def _joined(table: Table, added: Mapping[str, pa.Array]) -> Iterator[pa.RecordBatch]:
    """The batches of the table with the new columns."""
    kept = table.names
    if isinstance(table, ArrayTable | MemoryTable):
        kept = table.scalar_names
    if not kept:
        yield pa.record_batch(list(added.values()), list(added))
        return
    start = 0
    for batch in table.batches(kept):
        slices = [array.slice(start, batch.num_rows) for array in added.values()]
        yield pa.record_batch([*batch.columns, *slices], [*kept, *added])
        start += batch.num_rows


def _write_batches(batches: Iterator[pa.RecordBatch], file: BinaryIO, kind: str) -> None:
    if kind in DELIMITERS:
        delimiter = DELIMITERS[kind]
        for number, batch in enumerate(batches):
            columns = [text_of(column) for column in batch.columns]
            rows = [batch.schema.names] * (number == 0) + list(zip(*columns))
            lines = (delimiter.join(quoted(field, delimiter) for field in row) + "\n" for row in rows)
            file.write("".join(lines).encode())
        return
    if kind == ".jsonl":
        for batch in batches:
            for row in batch.to_pylist():
                file.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
        return
    first = next(batches)
    if kind == ".parquet":
        from pyarrow import parquet

        writer: Any = parquet.ParquetWriter(file, first.schema)
    else:
        writer = pa.ipc.new_file(file, first.schema)
    with writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def text_of(array: pa.Array) -> list[str]:
    """The values of a column as text, empty where missing.

    Examples
    --------
    >>> text_of(pa.array([True, None])), text_of(pa.array([0.25, 1.0]))
    (['true', ''], ['0.25', '1.0'])
    """
    try:
        values = array.to_pylist()
    except (OverflowError, ValueError):  # a date after the year 9999, or one with nanoseconds
        try:
            values = array.cast(pa.string()).to_pylist()
        except pa.ArrowException:
            raise ValueError(
                f"A column of the type {array.type} holds dates that can't be written as text; write "
                ".parquet or .arrow."
            ) from None
    if pa.types.is_boolean(array.type):
        return ["" if value is None else str(value).lower() for value in values]
    return ["" if value is None else value if isinstance(value, str) else str(value) for value in values]


def _numpy(array: pa.Array) -> Any:
    """A column as an array that needs no pickle."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return np.array(text_of(array))
    return array.to_numpy(zero_copy_only=False)
