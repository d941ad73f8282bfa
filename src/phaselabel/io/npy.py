"""An open NPY or NPZ file in, its arrays out; headers and sizes are checked before any memory is taken."""

import errno
import io
import math
import os
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

#: Letters of the header of an NPY file at most.
MOST_HEADER = 10_000
#: An NPZ file may always expand to this many bytes.
SMALL_BYTES = 2**28
#: A larger NPZ file may expand to at most this many times its size.
MOST_EXPANSION = 100

#: NumPy reads a header with ``ast.literal_eval``. Python 3.11 and 3.12 count the depth of a syntax tree once
#: for all threads and raise SystemError when two threads build trees at the same time.
_PARSING = threading.Lock()


class TooLargeError(ValueError):
    """A small file would expand to a very large one."""


class ObjectsError(ValueError):
    """A file holds Python objects, which only pickle reads."""


@dataclass(frozen=True)
class Header:
    """What an NPY file says about its array.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype
        Its type.
    order : "C" or "F"
        Whether rows or columns are contiguous.
    offset : int
        The bytes before the values.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]
    offset: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes], size: int | None = None) -> Header:
    """Read the header of an NPY file.

    Parameters
    ----------
    file : binary file
        The file, at its beginning; afterwards it is at the values.
    size : int, optional
        The bytes of the file, if its values will be read. Without it only the header is looked at: the values
        may be Python objects, or missing.

    Returns
    -------
    Header
        A header; with ``size`` one that fits it.
    """
    try:
        shape, fortran, dtype = _parsed(file)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # NumPy has no list of what a wrong header may raise
        raise ValueError(f"it has no proper header: {str(error).splitlines()[0]:.100}") from None
    header = Header(tuple(shape), dtype, "F" if fortran else "C", file.tell())
    if dtype.itemsize == 0 or min(header.shape, default=0) < 0:
        raise ValueError(f"its header describes no array ({header.shape}, {dtype})")
    if size is None:
        return header
    if dtype.hasobject:
        raise ObjectsError("it holds Python objects, which would need pickle")
    if header.offset + header.n_bytes > size:
        raise ValueError(
            f"it is too short: its header speaks of {header.n_bytes:,} bytes, and it has "
            f"{size - header.offset:,}"
        )
    return header


def _parsed(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type by NumPy's own reader, which would take as much memory as a header asks for."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):  # 3.0 is 2.0 with other letters in the names of fields
        raise ValueError(f"version {version} of the format is not known")
    length = file.read(2 if version == (1, 0) else 4)
    if int.from_bytes(length, "little") > MOST_HEADER:
        raise ValueError(f"it has more than {MOST_HEADER:,} letters")
    start = io.BytesIO(length + file.read(int.from_bytes(length, "little")))
    with _PARSING:
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(start, MOST_HEADER)
        return np.lib.format.read_array_header_2_0(start, MOST_HEADER)


def map_array(file: IO[bytes]) -> NDArray[Any]:
    """The array of an NPY file, memory-mapped.

    Parameters
    ----------
    file : binary file
        An open file; it may be closed afterwards.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     np.save(file, np.arange(3))
    ...     _ = file.seek(0)
    ...     map_array(file).tolist()
    [0, 1, 2]
    """
    header = read_header(file, os.fstat(file.fileno()).st_size)
    if not header.n_bytes:  # nothing can't be mapped
        return np.zeros(header.shape, header.dtype)
    mapped: NDArray[Any] = np.memmap(
        file,
        header.dtype,
        "r",
        header.offset,
        header.shape,
        header.order,
    )
    return mapped


def read_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """The array of an NPY file, read into memory; the parameters are those of :func:`read_header`."""
    header = read_header(file, size)
    values = np.empty(math.prod(header.shape), header.dtype)
    room, done = memoryview(values.view(np.uint8)), 0  # type: ignore[arg-type]
    while done < len(room):
        count = file.readinto(room[done:])  # type: ignore[attr-defined]
        if not count:
            raise ValueError("it ends before its array is complete")
        done += count
    array: NDArray[Any] = values.reshape(header.shape, order=header.order)
    return array


def read_npz(path: str | os.PathLike[str], *, packed: bool = True) -> dict[str, NDArray[Any]]:
    """The arrays of an NPZ file.

    Parameters
    ----------
    path : path-like
        A file written by ``np.savez`` or ``np.savez_compressed``.
    packed : bool, default=True
        Whether its arrays may be compressed.

    Returns
    -------
    dict of str to ndarray
        The arrays by name. A file that is small only because it is compressed more than a hundredfold is
        refused.
    """
    path = Path(path)
    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            _refuse_bomb(path, members, size)
            if not packed and any(info.compress_type for info in members):
                raise ValueError("its arrays are compressed")
            arrays = {}
            for info in members:
                with archive.open(info) as file:
                    arrays[info.filename.removesuffix(".npy")] = read_array(file, info.file_size)
            return arrays
    except (MemoryError, TooLargeError, ObjectsError):
        raise
    except Exception as error:  # a damaged archive raises errors of many kinds
        # A zip file can name a position before its beginning, which the system calls an invalid argument.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        # What zipfile says may quote the file's bytes.
        said = str(error) if isinstance(error, ValueError) else "the archive is damaged"
        raise ValueError(said) from None


def open_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The array ``x`` of an NPY file, memory-mapped, or the arrays of an NPZ file.

    Parameters
    ----------
    path : Path
        The file; its extension says which of the two it is.

    Returns
    -------
    dict of str to ndarray
        The arrays by name.
    """
    if path.suffix.lower() == ".npz":
        return read_npz(path)
    with path.open("rb") as file:
        return {"x": map_array(file)}


def _refuse_bomb(path: Path, members: list[zipfile.ZipInfo], size: int) -> None:
    if len({info.filename for info in members}) < len(members):
        raise ValueError("it holds two arrays of one name")
    if sum(info.compress_size for info in members) > size:
        raise ValueError("its arrays overlap")
    total = sum(info.file_size for info in members)
    if total > max(SMALL_BYTES, MOST_EXPANSION * size):
        raise TooLargeError(
            f"{path.name} would expand from {size:,} to {total:,} bytes; write it with np.savez, without "
            "compression, if it is yours."
        )
