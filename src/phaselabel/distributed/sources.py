"""A folder of Parquet or NPY files, or a Zarr array, in; a Dask array of its rows out, and files again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Rows, and bytes of them, that are read at a time, at most.
PART_ROWS, PART_BYTES = 250_000, 2**24


class Source:
    """Rows in files.

    Attributes
    ----------
    path : Path
        Where they are.
    X : dask array of shape (n, d)
        The features.
    described : str
        What was found, for a reader.
    """

    path: Path
    X: Any
    described: str

    def column(self, name: str) -> Any:
        """A column with labels as a Dask array of objects; only tables have any."""
        raise ValueError(
            f"{self.path.name} has no columns; give the labels in a file of their own with --labels."
        )

    def beside(self, part: int) -> Any:
        """What stands beside the features in one part, as a table; None where nothing does."""
        return None


def open_source(path: str | Path, features: Sequence[str] = (), drop: Sequence[str] = ()) -> Source:
    """Open by what is there: ``*.parquet`` or ``*.npy`` files in a folder, one such file, or Zarr."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}; check the name and the folder you are in.")
    if (path / "zarr.json").exists() or (path / ".zarray").exists():
        return ZarrSource(path)
    for pattern, kind in (("*.parquet", ParquetSource), ("*.npy", ArraySource)):
        files = sorted(path.glob(pattern)) if path.is_dir() else [path] * path.match(pattern)
        if files:
            return kind(path, files, features, drop)
    raise ValueError(
        f"{path} is neither a folder of .parquet or .npy files nor a Zarr array; --dask reads those."
    )


class ZarrSource(Source):
    """A Zarr array, rows by features."""

    def __init__(self, path: Path) -> None:
        try:
            import zarr  # noqa: F401
        except ImportError:
            raise ImportError("Reading Zarr needs zarr; install it with: pip install zarr") from None
        import dask.array as da

        self.path, self.X = path, da.from_zarr(str(path.absolute()))
        _refuse_shape(path, self.X.shape)
        self.described = f"Zarr, {self.X.shape[0]:,} rows, {self.X.shape[1]:,} features"


class ArraySource(Source):
    """NPY files of rows by features, one below the other in the order of their names."""

    def __init__(self, path: Path, files: list[Path], features: Sequence[str], drop: Sequence[str]) -> None:
        import dask
        import dask.array as da

        if features or drop:
            raise ValueError(
                f"{path.name} holds arrays without named columns; leave out --features and --drop."
            )
        self.path, parts = path, []
        read = dask.delayed(_read_npy, pure=False)
        for file in files:
            array = np.load(file, mmap_mode="r", allow_pickle=False)
            _refuse_shape(file, array.shape)
            step = max(1, min(PART_ROWS, PART_BYTES // max(array.itemsize * array.shape[1], 1)))
            for start in range(0, len(array), step):
                rows = start, min(start + step, len(array))
                block = read(str(file.absolute()), rows, dask_key_name=f"phaselabel-read-{file.stem}-{start}")
                parts.append(da.from_delayed(block, (rows[1] - rows[0], array.shape[1]), array.dtype))
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise ValueError(
                f"The files of {path.name} have different numbers of features: {sorted(widths)}."
            )
        self.X = da.concatenate(parts)
        self.described = f"{len(files):,} NPY files, {self.X.shape[0]:,} rows, {self.X.shape[1]:,} features"


class ParquetSource(Source):
    """Parquet files; features are the columns of numbers, or one column of vectors."""

    def __init__(self, path: Path, files: list[Path], features: Sequence[str], drop: Sequence[str]) -> None:
        import dask
        import dask.array as da
        from pyarrow import parquet

        self.path, self._parts = path, []
        schema = parquet.ParquetFile(files[0]).schema_arrow
        self._names = list(schema.names)
        self.columns, self.left_out = _chosen(path, schema, features, drop)
        for file in files:
            opened = parquet.ParquetFile(file)
            if missing := [name for name in self._names if name not in opened.schema_arrow.names]:
                raise ValueError(f"{file.name} has no column {missing[0]!r}, which {files[0].name} has.")
            rows = n_bytes = 0
            groups: list[int] = []
            for group in range(opened.num_row_groups):
                found = opened.metadata.row_group(group)
                size, large = found.num_rows, found.total_byte_size
                if groups and (rows + size > PART_ROWS or n_bytes + large > PART_BYTES):
                    self._parts.append((str(file.absolute()), groups, rows))
                    rows, n_bytes, groups = 0, 0, []
                rows, n_bytes, groups = rows + size, n_bytes + large, [*groups, group]
            if rows:
                self._parts.append((str(file.absolute()), groups, rows))
        if not self._parts:
            raise ValueError(f"{path.name} has no rows; there is nothing to label.")
        first, groups, _ = self._parts[0]
        width = _read_parquet(first, groups[:1], self.columns).shape[1]
        read = dask.delayed(_read_parquet, pure=False)
        blocks = [
            read(file, groups, self.columns, dask_key_name=f"phaselabel-read-{Path(file).stem}-{i}")
            for i, (file, groups, _) in enumerate(self._parts)
        ]
        sizes = [rows for _, _, rows in self._parts]
        self.X = da.concatenate(
            [da.from_delayed(b, (rows, width), np.float32) for b, rows in zip(blocks, sizes)]
        )
        self.described = f"{len(files):,} Parquet files, {sum(sizes):,} rows, {width:,} features"

    def column(self, name: str) -> Any:
        """One column as a Dask array of objects."""
        import dask
        import dask.array as da

        if name not in self._names:
            raise ValueError(f"{self.path.name} has no column {name!r}; it has {', '.join(self._names[:8])}.")
        read = dask.delayed(_read_column, pure=False)
        return da.concatenate(
            [da.from_delayed(read(f, g, name), (rows,), object) for f, g, rows in self._parts]
        )

    def beside(self, part: int) -> Any:
        """The whole rows of one part."""
        file, groups, _ = self._parts[part]
        return file, groups


def _refuse_shape(path: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{path.name} must hold rows by features; got an array of shape {tuple(shape)}.")


def _chosen(
    path: Path, schema: Any, features: Sequence[str], drop: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The columns to use, and those that can't be."""
    import pyarrow as pa

    for name in (*features, *drop):
        if name not in schema.names:
            raise ValueError(f"{path.name} has no column {name!r}; it has {', '.join(schema.names[:8])}.")

    def is_number(kind: Any) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

    def is_vector(kind: Any) -> bool:
        listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        return bool(listed and is_number(kind.value_type))

    usable = [f.name for f in schema if is_number(f.type) or is_vector(f.type)]
    for name in features:
        if name not in usable:
            raise ValueError(f"Column {name!r} of {path.name} is neither numbers nor vectors of numbers.")
    chosen = [name for name in features or usable if name not in drop]
    if not chosen:
        raise ValueError(f"{path.name} has no column of numbers or vectors to use.")
    return chosen, [name for name in schema.names if name not in chosen]


def _read_npy(file: str, rows: tuple[int, int]) -> NDArray[Any]:
    # Mapped: what is cut into smaller chunks is then never in memory as a whole.
    found: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)[slice(*rows)]
    return found


def _read_parquet(file: str, groups: list[int], columns: list[str]) -> NDArray[np.float32]:
    """Some row groups as one array; one group at a time, so that the table is never there beside it."""
    from pyarrow import parquet

    opened, out, done = parquet.ParquetFile(file), None, 0
    n = sum(opened.metadata.row_group(group).num_rows for group in groups)
    for group in groups:
        table = opened.read_row_group(group, columns=columns)
        parts = [_numbers(table.column(name), name, file) for name in columns]
        if out is None:
            out = np.empty((n, sum(part.shape[1] for part in parts)), np.float32)
        np.concatenate(parts, axis=1, out=out[done : done + len(table)])
        done += len(table)
    assert out is not None
    return out


def _numbers(chunked: Any, name: str, file: str) -> NDArray[Any]:
    column = chunked.combine_chunks()
    if column.null_count:
        raise ValueError(f"Column {name!r} of {Path(file).name} has missing values; fill or drop such rows.")
    values = column.flatten() if hasattr(column, "flatten") and column.type.num_fields else column
    numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return numbers.reshape(len(column), -1)


def _read_column(file: str, groups: list[int], name: str) -> NDArray[Any]:
    from pyarrow import parquet

    values = parquet.ParquetFile(file).read_row_groups(groups, columns=[name]).column(name).to_pylist()
    out = np.empty(len(values), object)
    out[:] = values
    return out


# -- answers


def target_kind(path: str | Path) -> str:
    """What to write, by the name: ``.parquet``, ``.zarr``, or a folder of NPY files without extension."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".zarr", ".npy", ""):
        raise ValueError(
            f"{path}: with --dask the output is a folder named .parquet, .zarr or .npy, so that every worker "
            "can write its own part."
        )
    return suffix or ".npy"


def write_part(
    folder: str, kind: str, number: int, names: Sequence[str], beside: Any, *answers: NDArray[Any]
) -> int:
    """One part of the answer, in a file of its own; Parquet rows keep what stood beside them."""
    target = Path(folder)
    if kind == ".npy":
        for name, answer in zip(names, answers):
            plain = answer.astype(str) if answer.dtype == object else answer
            np.save(target / f"{name}-{number:06d}.npy", plain, allow_pickle=False)
        return len(answers[0])
    import pyarrow as pa
    from pyarrow import parquet

    columns = (pa.array(a.tolist()) if a.dtype.kind in "OU" else pa.array(a) for a in answers)
    found = pa.table(dict(zip(names, columns)))
    path = target / f"part-{number:06d}.parquet"
    if beside is None:
        parquet.write_table(found, path)
        return len(found)
    opened, done = parquet.ParquetFile(beside[0]), 0
    schema = pa.schema([*opened.schema_arrow, *found.schema], metadata=opened.schema_arrow.metadata)
    with parquet.ParquetWriter(path, schema) as writer:
        for group in beside[1]:
            table = opened.read_row_group(group)
            here = found.slice(done, len(table))
            writer.write_table(pa.table([*table.columns, *here.columns], schema=schema))
            done += len(table)
    return done
