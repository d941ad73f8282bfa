"""A file in, an opened picture of a known format out; and one sentence for what cannot be read."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.limits import MAX_PIXELS, Refusal, check_unpacked

#: The formats that are opened. Pillow goes by the content of a file, not by its name, and would start another
#: program for some of the other formats (Ghostscript for EPS).
FORMATS = ("PNG", "JPEG", "JPEG2000", "WEBP", "BMP", "GIF", "TIFF", "PPM")

#: What files of labels name as the program that has written them.
SIGNATURE = "phaselabel"


def import_pillow(*modules: str) -> list[Any]:
    """Pillow's modules, or a sentence that says what to install."""
    try:
        return [import_module(module) for module in modules]
    except ImportError:
        raise ImportError('Pillow is needed for this: pip install "phaselabel[images]".') from None


def open_picture(source: str | Path | IO[bytes], formats: tuple[str, ...] = FORMATS) -> Any:
    """Open a picture; every picture of the package is opened here.

    Parameters
    ----------
    source : str, Path or file
        The picture.
    formats : tuple of str, default=FORMATS
        The formats that may be opened, as Pillow names them.

    Returns
    -------
    PIL.Image.Image
        The picture, not loaded yet; it is a context manager.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("L", (3, 2)).save(file, "PNG")
    >>> open_picture(file).size
    (3, 2)
    """
    (image_module,) = import_pillow("PIL.Image")
    picture = image_module.open(source, formats=formats)
    if isinstance(source, str | Path):
        n_bands = 3 if picture.mode == "P" else len(picture.getbands())
        check_unpacked(picture.width * picture.height * n_bands, Path(source))
    return picture


def check_pixels(picture: Any) -> None:
    """Refuse a picture of more than ``MAX_PIXELS`` before it is unpacked."""
    if picture.width * picture.height > MAX_PIXELS:
        size = f"{picture.width:,} × {picture.height:,}"
        raise Refusal(f"it has {size} pixels, more than {MAX_PIXELS:,}; make it smaller first")


def stretched(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Numbers as bytes, from the first to the 99th percentile of those that are finite.

    Examples
    --------
    >>> stretched(np.array([500.0, 1000.0, 2000.0, np.nan])).tolist()
    [0, 85, 255, 0]
    """
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, (1, 99)) if len(known) else (0.0, 0.0)
    shares = (np.nan_to_num(values.astype(np.float32), nan=low) - low) / max(high - low, 1e-30)
    return np.clip(255 * shares, 0, 255).astype(np.uint8)


def as_seen(picture: Any) -> Any:
    """A picture in 8-bit RGB, upright, as viewers show it.

    Pillow alone makes transparent pixels black, and almost all pixels of more than 8 bits white.

    Parameters
    ----------
    picture : PIL.Image.Image
        The picture.

    Returns
    -------
    PIL.Image.Image
        On white where the picture is transparent; pixels of more than 8 bits are stretched.

    Examples
    --------
    >>> from PIL import Image
    >>> as_seen(Image.new("RGBA", (1, 1), (9, 9, 9, 0))).getpixel((0, 0))
    (255, 255, 255)
    >>> as_seen(Image.fromarray(np.array([[500, 1000, 2000]], np.uint16))).tobytes()[::3].hex()
    '0055ff'
    """
    image_module, ops = import_pillow("PIL.Image", "PIL.ImageOps")
    upright = ops.exif_transpose(picture)
    if upright.mode.startswith(("I", "F")):
        return image_module.fromarray(stretched(np.asarray(upright))).convert("RGB")
    if upright.mode in ("LA", "PA", "RGBA") or "transparency" in upright.info:
        colours = upright.convert("RGBA")
        white = image_module.new("RGBA", colours.size, "white")
        return image_module.alpha_composite(white, colours).convert("RGB")
    return upright.convert("RGB")


@contextmanager
def one_sentence_errors(path: Path) -> Iterator[None]:
    """Turn what readers raise for bombs, broken and unknown files into one sentence with the file's name."""
    image_module: Any = None
    with suppress(ImportError):
        from PIL import Image as image_module
    bombs = (image_module.DecompressionBombError,) if image_module else ()
    try:
        with warnings.catch_warnings():
            if image_module:
                warnings.simplefilter("ignore", image_module.DecompressionBombWarning)
            yield
    except (ImportError, KeyboardInterrupt):
        raise
    except MemoryError:
        raise MemoryError(f"{path.name} needs more memory than there is; make it smaller first.") from None
    except Refusal as error:
        raise ValueError(f"{path.name} can't be read: {error}.") from None
    except bombs as error:
        raise ValueError(f"{path.name} is refused, it may be a decompression bomb: {error}") from None
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path.name} can't be read: {text.rstrip('.'):.300}. Is it complete, and an image?"
        ) from None


def signature() -> Any:
    """What Pillow writes into a PNG file so that :func:`is_signed` knows it again."""
    (png_module,) = import_pillow("PIL.PngImagePlugin")
    info = png_module.PngInfo()
    info.add_text("Software", SIGNATURE)
    return info


def is_signed(path: Path) -> bool:
    """Whether a file is a PNG picture that was written with :func:`signature`."""
    try:
        with one_sentence_errors(path), open_picture(path, ("PNG",)) as picture:
            return bool(picture.info.get("Software") == SIGNATURE)
    except ValueError:
        return False
