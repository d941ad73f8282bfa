"""A MAT file of at most version 7 in, one array of it out.

The file is read here and not by SciPy, whose reader can end the process on a damaged file. Only arrays of
real numbers are read; texts, cells, structures, sparse and complex arrays are passed over.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.limits import Refusal, check_unpacked, check_values
from phaselabel.segmentation.numpy_files import chosen_array

#: NumPy's types of the numbers in a file, by the code of their type.
STORED_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
#: The codes of types of elements: whole numbers of 8 and 32 bits, an array, and what is compressed.
INT8, UINT8, INT32, UINT32, MATRIX, COMPRESSED = 1, 2, 5, 6, 14, 15
#: The codes of classes of arrays of numbers: double, single, and whole numbers of 8 to 64 bits.
NUMERIC_CLASSES = range(6, 16)
#: The bit of an array's flags that says that its numbers are complex.
COMPLEX = 0x0800
#: NumPy's types in a file of version 4, by the digit of the precision.
OLD_TYPES = ("f8", "f4", "i4", "i2", "u2", "u1")
#: Bytes before the first element, and before an array of version 4.
HEADER, OLD_HEADER = 128, 20
#: Letters of a name, and axes of an array, at most.
MOST_LETTERS, MOST_AXES = 4096, 32
#: Bytes of an element that hold the name and the shape of its array.
BEGINNING = 8192


@dataclass(frozen=True)
class StoredArray:
    """Where the numbers of an array are.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype
        The type that its numbers are stored in.
    offset : int
        The bytes before its numbers: in the file, or in the unpacked element.
    element : tuple of int, optional
        Position and size of the compressed element that it is in.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    element: tuple[int, int] | None = None

    def read(self, file: IO[bytes], path: Path) -> NDArray[Any]:
        """The array itself."""
        n = math.prod(self.shape)
        check_values(n)
        n_bytes = n * self.dtype.itemsize
        check_unpacked(n_bytes, path)
        if self.element is None:
            file.seek(self.offset)
            content = file.read(n_bytes)
        else:
            file.seek(self.element[0])
            content = _unpacked(file.read(self.element[1]), self.offset + n_bytes)[self.offset :]
        if len(content) < n_bytes:
            raise Refusal(f"an array of shape {self.shape} ends after {len(content):,} of {n_bytes:,} bytes")
        numbers = np.frombuffer(content, self.dtype, n).reshape(self.shape, order="F")
        return numbers.astype(self.dtype.newbyteorder("="))


def read_matlab(path: Path, variable: str | None = None) -> NDArray[Any]:
    """Read one array of a MAT file.

    Parameters
    ----------
    path : Path
        The file.
    variable : str, optional
        The name of the array; by default the only array that can be an image.

    Returns
    -------
    ndarray
        The array, in the type that its numbers are stored in.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(HEADER)
        if header.startswith((b"MATLAB 7.3", b"\x89HDF")):
            raise Refusal("it is a MATLAB 7.3 file; save it with -v7 or as NPY")
        order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
        if order is None:
            file.seek(0)
            stored = dict(_old_arrays(file, size))
        else:
            stored = dict(_arrays(file, order, size))
        name = chosen_array({name: array.shape for name, array in stored.items()}, variable)
        return stored[name].read(file, path)


def _arrays(file: IO[bytes], order: str, size: int) -> Iterator[tuple[str, StoredArray]]:
    """The arrays of numbers in a file of version 5 to 7, by name; only their beginnings are read."""
    at = HEADER
    while at + 8 <= size:
        file.seek(at)
        kind, n_bytes = struct.unpack(f"{order}II", file.read(8))
        if at + 8 + n_bytes > size:
            raise Refusal("an element is longer than the file")
        if kind == COMPRESSED:
            start = _unpacked(file.read(n_bytes), BEGINNING)
            kind, inner = struct.unpack_from(f"{order}II", start) if len(start) >= 8 else (0, 0)
            found = _matrix(start[8:], order, inner) if kind == MATRIX else None
            place, element = 8, (at + 8, n_bytes)
        else:
            start = file.read(min(n_bytes, BEGINNING))
            found = _matrix(start, order, n_bytes) if kind == MATRIX else None
            place, element = at + 8, None
        if found is not None:
            name, shape, dtype, offset = found
            yield name, StoredArray(shape, dtype, place + offset, element)
        at += 8 + n_bytes


def _unpacked(data: bytes, most: int) -> bytes:
    """At most this many bytes of the content of a compressed element."""
    unpacker = zlib.decompressobj()
    return unpacker.decompress(data, most)


def _matrix(start: bytes, order: str, n_bytes: int) -> tuple[str, tuple[int, ...], np.dtype[Any], int] | None:
    """Name, shape, type and place of an array's numbers; None if they are not real numbers."""
    parts = list(_parts(start, order))
    if len(parts) < 4 or [kind for kind, _, _ in parts[:2]] != [UINT32, INT32]:
        return None
    (_, flags, flags_size), (_, dims, dims_size), (name_kind, name, letters), (kind, at, size) = parts[:4]
    if flags_size < 4 or name_kind not in (INT8, UINT8) or letters > MOST_LETTERS or kind not in STORED_TYPES:
        return None
    (bits,) = struct.unpack_from(f"{order}I", start, flags)
    shape = struct.unpack_from(f"{order}{min(dims_size, MOST_AXES * 4) // 4}i", start, dims)
    if bits & 0xFF not in NUMERIC_CLASSES or bits & COMPLEX or len(shape) < 2 or min(shape) < 0:
        return None
    dtype = np.dtype(order + STORED_TYPES[kind])
    if math.prod(shape) * dtype.itemsize != size or at + size > n_bytes:
        raise Refusal(
            f"an array of shape {shape} is said to have {size:,} bytes, as in a damaged file or a "
            "decompression bomb"
        )
    return start[name : name + letters].decode("latin-1").rstrip("\0"), shape, dtype, at


def _parts(start: bytes, order: str) -> Iterator[tuple[int, int, int]]:
    """The first elements inside an element: their types, places and sizes."""
    at = 0
    for _ in range(4):
        if at + 8 > len(start):
            return
        word, n_bytes = struct.unpack_from(f"{order}II", start, at)
        if word >> 16:  # at most four bytes, beside the type
            yield word & 0xFFFF, at + 4, min(word >> 16, 4)
            at += 8
        else:
            yield word, at + 8, n_bytes
            at += 8 + n_bytes + -n_bytes % 8


def _old_arrays(file: IO[bytes], size: int) -> Iterator[tuple[str, StoredArray]]:
    """The arrays of numbers in a file of version 4, by name."""
    while len(head := file.read(OLD_HEADER)) == OLD_HEADER:
        order = "<" if struct.unpack("<i", head[:4])[0] in range(5000) else ">"
        code, rows, columns, imaginary, letters = struct.unpack(f"{order}5i", head)
        machine, precision, kind = code // 1000, code // 10 % 10, code % 10
        sound = 0 <= code < 5000 and machine in (0, 1) and precision < len(OLD_TYPES) and kind in (0, 1, 2)
        if not sound or min(rows, columns, letters) < 0 or letters > MOST_LETTERS or imaginary not in (0, 1):
            raise Refusal("it is no MAT file, or it is damaged")
        dtype = np.dtype(("<", ">")[machine] + OLD_TYPES[precision])
        n_bytes = rows * columns * dtype.itemsize
        if n_bytes * (1 + imaginary) > size:
            raise Refusal("an array is longer than the file")
        name = file.read(letters).decode("latin-1").rstrip("\0")
        at = file.tell()
        file.seek(n_bytes * (1 + imaginary), 1)
        if kind == 0 and not imaginary:
            yield name, StoredArray((rows, columns), dtype, at)
