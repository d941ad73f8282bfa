"""Files in, a matrix of features out; and the files with new columns out."""

try:
    import pyarrow as _pyarrow  # noqa: F401
except ImportError:
    raise ImportError(
        "Reading and writing tables needs pyarrow; install it with: pip install 'phaselabel[files]'"
    ) from None

from phaselabel.tables.columns import Column, as_numbers, counted, survey
from phaselabel.tables.reading import ArrayTable, Table, format_of, listed, open_table
from phaselabel.tables.recipe import Recipe, describe, plan
from phaselabel.tables.writing import text_of, write_table

__all__ = [
    "ArrayTable", "Column", "Recipe", "Table", "as_numbers", "counted", "describe", "format_of", "listed",
    "open_table", "plan", "survey", "text_of", "write_table",
]  # fmt: skip
