"""Files in, a matrix of features out; and the files with new columns out."""

try:
    import pyarrow as _pyarrow  # noqa: F401
except ImportError:
    raise ImportError(
        "Reading and writing tables needs pyarrow; install it with: pip install 'phaselabel[files]'"
    ) from None

from phaselabel.io.tables.columnar import ArrayTable, ParquetTable
from phaselabel.io.tables.columns import Column, as_numbers, counted, numbers_of, survey
from phaselabel.io.tables.labels import (
    UNLABELED_IN_ARRAYS,
    Labels,
    found_columns,
    found_names,
    means_unlabeled,
    novel_name,
    refuse_found,
    unlabeled_in,
)
from phaselabel.io.tables.planning import describe, odd_cells, plan, unusable_numbers
from phaselabel.io.tables.reading import format_of, open_table
from phaselabel.io.tables.recipe import Recipe
from phaselabel.io.tables.spellings import MEANS_MISSING, look_alikes, missing_words
from phaselabel.io.tables.table import Table, listed
from phaselabel.io.tables.writing import target_format, text_of, write_table

__all__ = [
    "MEANS_MISSING", "UNLABELED_IN_ARRAYS", "ArrayTable", "Column", "Labels", "ParquetTable", "Recipe",
    "Table", "as_numbers", "counted", "describe", "format_of", "found_columns", "found_names", "listed",
    "look_alikes", "means_unlabeled", "missing_words", "novel_name", "numbers_of", "odd_cells", "open_table",
    "plan", "refuse_found", "survey", "target_format", "text_of", "unlabeled_in", "unusable_numbers",
    "write_table",
]  # fmt: skip
