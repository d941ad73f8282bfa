"""The size that a file declares in, nothing or a refusal out: small files must not take gigabytes."""

from pathlib import Path

#: An image has at most 2,000,000,000 numbers (pixels × bands).
MAX_VALUES = 2_000_000_000

#: A picture that is compared as a whole, or drawn on, has at most 60,000,000 pixels.
MAX_PIXELS = 60_000_000

#: Any file may unpack to 256 MiB.
SAFE_BYTES = 256 * 2**20

#: A file that unpacks to more than that may unpack to at most 100 times its size.
MAX_RATIO = 100


class Refusal(ValueError):
    """A file that could be read but is refused; the text goes on after "… can't be read: "."""


def check_values(n_values: int) -> None:
    """Refuse an image of more numbers than ``MAX_VALUES``."""
    if n_values > MAX_VALUES:
        raise Refusal(f"it holds {n_values:,} numbers, more than {MAX_VALUES:,}; make it smaller first")


def check_unpacked(n_bytes: int, path: Path) -> None:
    """Refuse a file that unpacks to very much more than its own size.

    Parameters
    ----------
    n_bytes : int
        The size of its content in memory.
    path : Path
        The file.
    """
    size = path.stat().st_size
    if n_bytes > max(SAFE_BYTES, MAX_RATIO * size):
        raise Refusal(
            f"its {size / 2**20:.2f} MiB unpack to {n_bytes / 2**20:,.0f} MiB or more, which may be a "
            "decompression bomb; save it without compression if it is yours"
        )
