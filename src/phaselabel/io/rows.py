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
    import pyarrow as pa

    if (
        pa.types.is_list(column.type)
        or pa.types.is_large_list(column.type)
        or pa.types.is_fixed_size_list(column.type)
    ):
        flat = column.flatten()
        if column.null_count or len(column) == 0 or len(flat) % len(column) or not _is_number(flat.type):
            raise ValueError(
                f"Column {name!r} must hold vectors of numbers of one length; select other columns."
            )
        width = len(flat) // len(column)
        lengths = (
            {len(value) for value in column[:1000]}
            if not pa.types.is_fixed_size_list(column.type)
            else {width}
        )
        if lengths != {width}:
            raise ValueError(
                f"Column {name!r} must hold vectors of one length; it has {sorted(lengths)[:3]}."
            )
        return flat.to_numpy(zero_copy_only=False).reshape(len(column), width)
    if not _is_number(column.type):
        raise ValueError(
            f"Column {name!r} is of type {column.type}, not a number or a vector; select the columns of "
            "features."
        )
    return column.to_numpy(zero_copy_only=False).astype(np.float64)[:, None]


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
