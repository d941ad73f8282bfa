"""A text file that is compressed, or UTF-16 or UTF-32, in, a plain UTF-8 copy in a temporary folder out."""

import bz2
import codecs
import gzip
import lzma
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

#: How each extension is unpacked.
PACKED = (".gz", ".bz2", ".xz", ".zst")

#: A file that becomes more than this many times as large, and larger than LARGEST, is refused.
LARGEST_RATIO = 200

#: Bytes up to which any ratio is accepted.
LARGEST = 1 << 30

#: Encodings in which a comma is more than one byte, and the bytes that such a file may begin with.
_WIDE = {
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip


class PlainCopy:
    """A copy of a file in a temporary folder; it is removed with this object.

    Parameters
    ----------
    name : str
        The copy's name.
    write : callable
        Called with the open file.
    """

    def __init__(self, name: str, write: Callable[[BinaryIO], None]) -> None:
        folder = tempfile.mkdtemp(prefix="phaselabel-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / name
        try:
            with self.path.open("wb") as target:
                write(target)
        except BaseException:
            self._finalizer()
            raise


def unpacked(path: Path) -> PlainCopy:
    """The unpacked copy of a compressed file."""

    def write(target: BinaryIO) -> None:
        try:
            with _opened(path) as source:
                _copied(source, target, path)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the system: a full disk, a missing permission
            raise ValueError(
                f"{path.name} is not a whole {path.suffix[1:]} file ({error}); take another copy."
            ) from None

    return PlainCopy(path.with_suffix("").name, write)


def wide_encoding(path: Path, named: str) -> str | None:
    """UTF-16 or UTF-32, by the first bytes of a file or by the encoding that is named; None for any other."""
    with path.open("rb") as file:
        head = file.read(4)
    for mark, encoding in _WIDE.items():
        if head.startswith(mark):
            return encoding
    try:
        name = codecs.lookup(named).name
    except LookupError:
        return None  # the reader says so
    return name if name.startswith(("utf-16", "utf-32")) else None


def recoded(path: Path, encoding: str) -> PlainCopy:
    """The copy in UTF-8, with a byte order mark, as spreadsheet programs expect it."""

    def write(target: BinaryIO) -> None:
        try:
            with path.open(encoding=encoding, newline="") as source:
                target.write(codecs.BOM_UTF8)
                while block := source.read(1 << 20):
                    target.write(block.encode())
        except UnicodeError:
            raise ValueError(
                f"{path.name} is not {encoding} text; name its encoding with --encoding, or save it as UTF-8."
            ) from None

    return PlainCopy(path.name, write)


def _opened(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".zst":
        import pyarrow as pa

        return pa.input_stream(pa.OSFile(os.fsencode(path)), compression="zstd")
    openers: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers[suffix](path)


def _copied(source: Any, target: BinaryIO, path: Path) -> None:
    most = max(LARGEST, LARGEST_RATIO * path.stat().st_size)
    total = 0
    while block := source.read(1 << 22):
        total += len(block)
        if total > most:
            raise ValueError(
                f"{path.name} unpacks to more than {most >> 20:,} MiB, {LARGEST_RATIO} times its size; if "
                "that is right, unpack it first."
            )
        target.write(block)
