"""Rows that another library holds (Arrow, DuckDB, Hugging Face) in, an array out; anything else as it is."""

from typing import Any

import numpy as np


def as_rows(X: Any) -> Any:
    """Turn streams of Arrow and data sets of Hugging Face into an array.

    Every column of numbers is a feature, and so is every number of a column of vectors of one length.

    Parameters
    ----------
    X : object
        A DuckDB relation, an Arrow table or reader, or a ``datasets.Dataset``; anything else is returned
        as it is.

    Returns
    -------
    ndarray of shape (n_rows, n_features), or X
        The rows.

    Examples
    --------
    >>> as_rows([[1, 2]])
    [[1, 2]]
    """
    library = type(X).__module__.split(".")[0].lstrip("_")
    if library == "datasets" and hasattr(X, "with_format"):
        X = X.with_format("arrow")[:]
        library = "pyarrow"
    # Other libraries with streams (pandas, polars) are arrays for scikit-learn already, with their names.
    if library not in ("pyarrow", "duckdb") or not hasattr(X, "__arrow_c_stream__"):
        return X
    import pyarrow as pa

    table = pa.RecordBatchReader.from_stream(X).read_all()
    return np.concatenate(
        [_block(name, table.column(name).combine_chunks()) for name in table.column_names], axis=1
    )


def _block(name: str, column: Any) -> Any:
    """The features of one column, NaN where a number is missing."""
    from phaselabel.io.tables.vectors import is_list, is_number, vectors_of

    if is_list(column.type):
        return vectors_of(column, f"Column {name!r}")
    if not is_number(column.type):
        raise ValueError(
            f"Column {name!r} is of type {column.type}, not a number or a vector; select the columns of "
            "features."
        )
    return column.to_numpy(zero_copy_only=False).astype(np.float64)[:, None]
