"""Files in, a matrix of features out; and the files with new columns out."""

try:
    import pyarrow as _pyarrow  # noqa: F401
except ImportError:
    raise ImportError(
        "Reading and writing tables needs pyarrow; install it with: pip install 'phaselabel[files]'"
    ) from None

from phaselabel.tables.columns import Column, as_numbers, counted, survey
from phaselabel.tables.labels import Labels, found_columns, found_names, refuse_found
from phaselabel.tables.reading import format_of, open_table
from phaselabel.tables.recipe import Recipe, describe, plan
from phaselabel.tables.table import Table, listed
from phaselabel.tables.writing import target_format, text_of, write_table

__all__ = [
    "Column", "Labels", "Recipe", "Table", "as_numbers", "counted", "describe", "format_of", "found_columns",
    "found_names", "listed", "open_table", "plan", "refuse_found", "survey", "target_format", "text_of",
    "write_table",
]  # fmt: skip
