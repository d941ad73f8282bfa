"""A compressed text file in, an unpacked copy in a temporary folder out."""

import bz2
import gzip
import lzma
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

#: How each extension is unpacked.
PACKED = (".gz", ".bz2", ".xz", ".zst")

#: A file that becomes more than this many times as large, and larger than LARGEST, is refused.
LARGEST_RATIO = 200

#: Bytes up to which any ratio is accepted.
LARGEST = 1 << 30


class Unpacked:
    """The unpacked copy of a file; it is removed with this object."""

    def __init__(self, path: Path) -> None:
        folder = tempfile.mkdtemp(prefix="phaselabel-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / path.with_suffix("").name
        try:
            with _opened(path) as source, self.path.open("wb") as target:
                _copied(source, target, path)
        except (OSError, EOFError, lzma.LZMAError) as error:
            self._finalizer()
            raise ValueError(
                f"{path.name} is not a whole {path.suffix[1:]} file ({error}); take another copy."
            ) from None
        except BaseException:
            self._finalizer()
            raise


def _opened(path: Path) -> Any:
    if path.suffix == ".zst":
        import pyarrow as pa

        return pa.input_stream(str(path), compression="zstd")
    openers: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers[path.suffix](path)


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
