"""A folder of Parquet or NPY files, or a Zarr array, in; a table in parts that workers open out."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from phaselabel.distributed.folder import file_system, is_address, local_copy
from phaselabel.io.tables import ArrayTable, ParquetTable, Table
from phaselabel.io.tables.columnar import arrays_of
from phaselabel.io.tables.table import listed

#: Rows of a part at most, unless one row group of Parquet or one chunk of Zarr has more.
PART_ROWS = 250_000
#: Bytes of a part at most, with the same exceptions.
PART_BYTES = 2**24
#: The files of which a Zarr array or group has one.
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")
#: The folder of rows whose column has no value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Part(ABC):
    """Some rows of a table; it is small, and is opened by the worker that reads it.

    Attributes
    ----------
    first_row, n_rows : int
        The number of the first row, and the number of rows.
    path : str
        The file.
    """

    first_row: int
    n_rows: int
    path: str

    @abstractmethod
    def open(self) -> Table:
        """These rows as a table."""


@dataclass(frozen=True)
class ParquetPart(Part):
    """Some row groups of a Parquet file, and the columns that the names of its folders give.

    Attributes
    ----------
    groups : tuple of int
        The numbers of the row groups.
    token : str
        That of the table; copies of its files are kept under it.
    keys : tuple of (str, pyarrow.Scalar)
        Columns that have one value in the whole file.
    """

    groups: tuple[int, ...]
    token: str
    keys: tuple[tuple[str, Any], ...] = ()

    def open(self) -> Table:
        """These rows as a table."""
        return KeyedTable(ParquetTable(local_copy(self.path, self.token), self.groups), self.keys)

    def whole_groups(self) -> Iterator[pa.Table]:
        """The row groups, one at a time, with all columns."""
        from pyarrow import parquet

        file = parquet.ParquetFile(local_copy(self.path, self.token))
        for group in self.groups:
            table = file.read_row_group(group)
            for name, value in self.keys:
                table = table.append_column(name, pa.repeat(value, len(table)))
            yield table


class KeyedTable(Table):
    """A table with further columns, each of one value."""

    def __init__(self, table: Table, keys: tuple[tuple[str, Any], ...]) -> None:
        self.path, self._table, self._keys = table.path, table, dict(keys)
        self.names = [*table.names, *self._keys]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order; all columns, or those named."""
        names = self.names if columns is None else list(columns)
        # One column at least, which counts the rows.
        stored = [name for name in names if name not in self._keys] or self._table.names[:1]
        for batch in self._table.batches(stored):
            arrays = (
                pa.repeat(self._keys[name], len(batch)) if name in self._keys else batch.column(name)
                for name in names
            )
            yield pa.RecordBatch.from_arrays(list(arrays), names=names)


@dataclass(frozen=True)
class ArrayPart(Part):
    """Some rows of an NPY file."""

    start: int

    def array(self) -> NDArray[Any]:
        """The rows, memory-mapped: what is cut into smaller chunks is never in memory as a whole."""
        return arrays_of(Path(self.path))["x"][self.start : self.start + self.n_rows]

    def open(self) -> Table:
        """These rows as a table."""
        return ArrayTable(Path(self.path), {"x": self.array()})


@dataclass(frozen=True)
class ZarrPart(Part):
    """Some rows of a Zarr array."""

    def open(self) -> Table:
        """These rows as a table."""
        import zarr

        with _zarr_errors(Path(self.path)):
            rows = zarr.open_array(self.path, mode="r")[self.first_row : self.first_row + self.n_rows]
        return ArrayTable(Path(self.path), {"x": np.asarray(rows)})


@contextmanager
def _zarr_errors(path: Path) -> Iterator[None]:
    """One sentence for a damaged array: there is no list of what zarr raises."""
    try:
        yield
    except Exception as error:
        # What the system says has a number; zarr's own FileNotFoundError for a group that is none has not.
        if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path.name} is not a Zarr array, or it is damaged ({reason:.120}); write it again."
        ) from None


class Source(Table):
    """A table in parts.

    Attributes
    ----------
    path : Path
        Where it is.
    names : list of str
        The columns; an array without named columns is one column ``x`` of vectors.
    parts : list of Part
        The rows, in order.
    alike : bool
        Whether the first part tells what the columns of all parts are.
    X : dask array or None
        The rows of the one column of an array.
    """

    parts: list[Part]
    alike: bool = False
    X: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(part.n_rows for part in self.parts)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of all parts, in order."""
        for part in self.parts:
            yield from part.open().batches(columns)

    def batches_with(
        self, rows: Collection[int], columns: Sequence[str]
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The batches of the parts in which some rows are, each with the number of its first row."""
        for part in self.parts:
            here = [row - part.first_row for row in rows if 0 <= row - part.first_row < part.n_rows]
            if here:
                for start, batch in part.open().batches_with(here, columns):
                    yield part.first_row + start, batch


def open_source(path: str | Path) -> Source:
    """Open ``*.parquet`` or ``*.npy`` files in a folder, one such file, or a Zarr array.

    Parameters
    ----------
    path : path-like
        The folder or file, or an address that fsspec can open; from there Parquet and Zarr are read.

    Returns
    -------
    Source
        The table; only its metadata have been read.
    """
    if is_address(path):
        return _open_address(str(path).rstrip("/"))
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}; check the name and the folder you are in.")
    if any((path / name).exists() for name in ZARR_FILES):
        return ZarrSource(path)
    if files := _parquet_files(path):
        return ParquetSource(path, files)
    if files := sorted(path.glob("*.npy")) if path.is_dir() else [path] * path.match("*.npy"):
        return ArraySource(path, files)
    raise ValueError(
        f"{path} is neither a folder of .parquet or .npy files nor a Zarr array; --dask reads those."
    )


def _parquet_files(path: Path) -> list[Path]:
    """A Parquet file, or those of a folder and of folders in it that are named ``column=value``."""
    if not path.is_dir():
        return [path] * path.match("*.parquet")
    found = sorted(path.rglob("*.parquet"))
    return [file for file in found if _is_part(file.relative_to(path).as_posix())]


def _is_part(name: str) -> bool:
    """Whether all folders between a table and its file name columns."""
    return all("=" in folder for folder in name.lstrip("/").split("/")[:-1])


def _open_address(address: str) -> Source:
    """The same of an object store: Parquet files below the address, one such file, or a Zarr array."""
    files, root = file_system(address)
    if any(files.exists(f"{root}/{name}") for name in ZARR_FILES):
        return ZarrSource(address)
    found = [root] if root.endswith(".parquet") and files.isfile(root) else files.glob(f"{root}/**/*.parquet")
    if found := [name for name in sorted(found) if _is_part(name.removeprefix(root))]:
        return ParquetSource(address, [files.unstrip_protocol(name) for name in found])
    if not files.exists(root):
        raise FileNotFoundError(f"There is no {address}; check the name and the credentials.")
    raise ValueError(
        f"{address} holds neither .parquet files nor a Zarr array; --dask reads those from a store."
    )


class ZarrSource(Source):
    """A Zarr array, rows by features."""

    names, alike = ["x"], True

    def __init__(self, place: Path | str) -> None:
        try:
            import zarr
        except ImportError:
            raise ImportError("Reading Zarr needs zarr; install it with: pip install zarr") from None
        import dask.array as da

        path, place = Path(place), place if isinstance(place, str) else str(place.absolute())
        with _zarr_errors(path):
            node = zarr.open(place, mode="r")
            tables = _tables_in(node) if isinstance(node, zarr.Group) else []
        if tables:
            raise ValueError(f"{path.name} is a Zarr group; name an array in it: {listed(tables)}.")
        with _zarr_errors(path):
            self.path, self.X = path, da.from_zarr(place)
        _refuse_shape(path, self.X.shape)
        starts = np.concatenate([[0], np.cumsum(self.X.chunks[0])]).tolist()
        self.parts = [ZarrPart(start, size, place) for start, size in zip(starts, self.X.chunks[0])]


def _tables_in(group: Any) -> list[str]:
    """The arrays of rows by features in a Zarr group and the groups in it."""
    return [name for name, node in group.members(max_depth=None) if getattr(node, "ndim", 0) == 2]


class ArraySource(Source):
    """NPY files of rows by features, one below the other in the order of their names."""

    names, alike = ["x"], True

    def __init__(self, path: Path, files: list[Path]) -> None:
        import dask
        import dask.array as da

        self.path, self.parts = path, []
        blocks: list[Any] = []
        first, token = 0, uuid4().hex[:8]
        read = dask.delayed(ArrayPart.array, pure=False)
        for file in files:
            array = arrays_of(file)["x"]
            _refuse_shape(file, array.shape)
            step = max(1, min(PART_ROWS, PART_BYTES // max(array.itemsize * array.shape[1], 1)))
            for start in range(0, len(array), step):
                part = ArrayPart(first, min(step, len(array) - start), str(file.absolute()), start)
                block = read(part, dask_key_name=f"phaselabel-read-{token}-{len(blocks)}")
                blocks.append(da.from_delayed(block, (part.n_rows, array.shape[1]), array.dtype))
                self.parts.append(part)
                first += part.n_rows
        widths = {block.shape[1] for block in blocks}
        if len(widths) > 1:
            raise ValueError(
                f"The files of {path.name} have different numbers of features: {sorted(widths)}."
            )
        self.X = da.concatenate(blocks)


class ParquetSource(Source):
    """Parquet files with the same columns, one below the other in the order of their names.

    Folders named ``year=2024`` are columns, as Hive, Spark and Dask write them.
    """

    def __init__(self, place: Path | str, files: Sequence[Path | str]) -> None:
        from pyarrow import parquet

        self.path, self.parts, token = Path(place), [], uuid4().hex
        self.names = list(ParquetTable(local_copy(str(files[0]), token)).names)
        keys = _folder_keys([str(file).removeprefix(str(place)) for file in files], self.names)
        self.names += [name for name, _ in keys[0]]
        first, stored = 0, self.names[: len(self.names) - len(keys[0])]
        for file, folders in zip(files, keys):
            with _opened(file) as content:
                opened = parquet.ParquetFile(content)
                if missing := [name for name in stored if name not in opened.schema_arrow.names]:
                    names = Path(file).name, Path(files[0]).name
                    raise ValueError(f"{names[0]} has no column {missing[0]!r}, which {names[1]} has.")
                for groups, rows in _grouped(opened.metadata):
                    where = file if isinstance(file, str) else str(file.absolute())
                    self.parts.append(ParquetPart(first, rows, where, groups, token, folders))
                    first += rows
        if not self.parts:
            raise ValueError(f"{self.path.name} has no rows; there is nothing to label.")


def _folder_keys(files: list[str], stored: list[str]) -> list[tuple[tuple[str, Any], ...]]:
    """The columns that folders named ``column=value`` give every file; whole numbers if all values are."""
    found: list[dict[str, str | None]] = []
    for file in files:
        folders = (folder.partition("=") for folder in file.replace("\\", "/").split("/")[:-1])
        pairs = {unquote(name): unquote(value) for name, sign, value in folders if sign}
        found.append({name: None if value == NO_VALUE else value for name, value in pairs.items()})
    names = [name for name in found[0] if name not in stored]
    for file, keys in zip(files, found):
        if missing := [name for name in names if name not in keys]:
            raise ValueError(f"{file} is in no folder {missing[0]}=..., as {files[0]} is; move it to one.")
    columns = {name: pa.array([keys[name] for keys in found], pa.string()) for name in names}
    for name, values in columns.items():
        with suppress(pa.ArrowInvalid):
            columns[name] = values.cast(pa.int64())
    return [tuple((name, values[i]) for name, values in columns.items()) for i in range(len(files))]


@contextmanager
def _opened(file: Path | str) -> Iterator[Any]:
    """A file of which the metadata are read."""
    if isinstance(file, Path):
        yield file
        return
    files, root = file_system(file)
    with files.open(root, "rb") as content:
        yield content


def _grouped(metadata: Any) -> Iterator[tuple[tuple[int, ...], int]]:
    """Row groups that are read together, and the number of their rows."""
    groups: list[int] = []
    rows = n_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        too_large = rows + group.num_rows > PART_ROWS or n_bytes + group.total_byte_size > PART_BYTES
        if groups and too_large:
            yield tuple(groups), rows
            groups, rows, n_bytes = [], 0, 0
        if group.num_rows:
            groups.append(number)
            rows, n_bytes = rows + group.num_rows, n_bytes + group.total_byte_size
    if groups:
        yield tuple(groups), rows


def _refuse_shape(path: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"{path.name} must hold rows by features; got an array of shape {tuple(shape)}.")
