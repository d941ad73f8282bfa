"""Files in, a matrix of features out; and the files with new columns out."""

from phaselabel.tables.columns import Column, as_numbers, counted, survey
from phaselabel.tables.reading import ArrayTable, Table, format_of, listed, open_table
from phaselabel.tables.recipe import Recipe, describe, plan
from phaselabel.tables.writing import text_of, write_table

__all__ = [
    "ArrayTable", "Column", "Recipe", "Table", "as_numbers", "counted", "describe", "format_of", "listed",
    "open_table", "plan", "survey", "text_of", "write_table",
]  # fmt: skip
