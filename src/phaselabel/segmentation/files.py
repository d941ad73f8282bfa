"""Files of images and marks in, arrays and marks out."""

import csv
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.marks import Marks, import_pillow

#: Numbers (pixels × bands) in one image at the most.
MAX_VALUES = 2_000_000_000

TIFF, NUMPY, MATLAB, ENVI = (".tif", ".tiff"), (".npy", ".npz"), (".mat",), (".hdr", ".img", ".dat", ".bil")


def read_image(path: str | Path, variable: str | None = None) -> NDArray[Any]:
    """Read an image: (H, W) or (H, W, B), upright as its EXIF orientation says.

    Parameters
    ----------
    path : str or Path
        Anything Pillow reads (PNG, JPEG, …); TIFF, also with many pages or channels, which become bands;
        NPY, NPZ or MAT cubes (H, W, B); ENVI (the header ``.hdr`` or the data file beside it).
    variable : str, optional
        Which array of an NPZ or MAT file; the only image-like one by default.

    Returns
    -------
    ndarray
        The pixels, in the file's own type.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(2, "There is no such file", str(path))
    suffix = path.suffix.lower()
    with _sentences(path):
        if suffix in TIFF:
            return _read_tiff(path)
        if suffix in NUMPY:
            return _read_numpy(path, variable)
        if suffix in MATLAB:
            return _read_matlab(path, variable)
        if suffix in ENVI and _envi_header(path):
            return _read_envi(path)
        return _read_picture(path)


def read_marks(
    path: str | Path,
    shape: tuple[int, int],
    *,
    legend: str | Path | None = None,
    image: NDArray[Any] | None = None,
    width: int = 3,
) -> Marks:
    """Read marks: a painting, a label image, points (CSV) or shapes (LabelMe JSON).

    Parameters
    ----------
    path : str or Path
        A PNG or the like: indexed or grey values are class numbers with 0 not marked, colours are classes
        with black or transparent not marked. A CSV file with the columns x, y and label. A JSON file as
        LabelMe writes it. An NPY label image.
    shape : (height, width)
        Of the image.
    legend : str or Path, optional
        A JSON file that names colours: ``{"#ff0000": "cow"}``.
    image : ndarray, optional
        The image itself, for strokes painted over a copy of it.
    width : int, default=3
        The pen's width, in pixels, for lines in a JSON file.

    Returns
    -------
    Marks
        The marks.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(2, "There is no such file", str(path))
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return Marks.from_points(_points(path), shape)
    if suffix == ".json":
        return Marks.from_labelme(_json(path), shape, width)
    names = _json(Path(legend)) if legend else None
    if suffix in (*NUMPY, *TIFF):
        found = read_image(path)
        return Marks.from_array(found) if found.ndim == 2 else Marks.from_painting(found, legend=names)
    return _painted(path, names, image)


def _read_picture(path: Path) -> NDArray[Any]:
    image_module, ops = import_pillow("PIL.Image", "PIL.ImageOps")
    with image_module.open(path) as picture:
        picture = ops.exif_transpose(picture)
        if picture.mode in ("P", "CMYK", "YCbCr", "LAB", "HSV", "PA"):
            picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
        pixels = np.asarray(picture)
    if picture.mode in ("RGBA", "LA"):
        return _without_hidden_colours(pixels)
    return pixels


def _without_hidden_colours(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Colours dimmed by their opacity; the opacity stays a band if it tells pixels apart."""
    alpha = pixels[:, :, -1:]
    if (alpha == 255).all():
        return pixels[:, :, :-1]
    seen = (pixels[:, :, :-1] * (alpha / np.float32(255))).round().astype(np.uint8)
    return np.concatenate([seen, alpha], axis=2)


def _read_tiff(path: Path) -> NDArray[Any]:
    try:
        import tifffile
    except ImportError:
        raise ImportError('tifffile is needed for TIFF: pip install "phaselabel[images]".') from None
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        _check_size(series.size, path)
        axes, turn = series.axes, file.pages.first.tags.get(274)
        pixels = series.asarray()
    if "Y" not in axes or "X" not in axes:
        raise ValueError(f"it has the axes {axes}, without rows (Y) and columns (X)")
    pixels = np.moveaxis(pixels, (axes.index("Y"), axes.index("X")), (0, 1))
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    pixels = _upright(pixels, int(turn.value) if turn is not None else 1)
    return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def _upright(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Undo an EXIF orientation, 1 to 8."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return pixels


def _read_numpy(path: Path, variable: str | None) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
        _check_size(pixels.size, path)
        return np.array(pixels)
    with np.load(path, allow_pickle=False) as arrays:
        return _chosen({name: arrays[name] for name in arrays.files}, variable)


def _read_matlab(path: Path, variable: str | None) -> NDArray[Any]:
    from scipy.io import loadmat

    try:
        arrays = loadmat(path)
    except NotImplementedError:
        raise ValueError("it is a MATLAB 7.3 file; save it with -v7 or as NPY") from None
    return _chosen({k: v for k, v in arrays.items() if not k.startswith("__")}, variable)


def _chosen(arrays: dict[str, Any], variable: str | None) -> NDArray[Any]:
    """The array of this name, or the only one that can be an image."""
    if variable is not None:
        if variable not in arrays:
            raise ValueError(f"it has no array {variable!r}; it has {', '.join(arrays)}")
        return np.asarray(arrays[variable])
    likely = [name for name, array in arrays.items() if array.ndim in (2, 3) and array.dtype.kind in "uifb"]
    cubes = [name for name in likely if arrays[name].ndim == 3] or likely
    if len(cubes) != 1:
        raise ValueError(f"it has {len(cubes)} arrays that may be the image; name one of {', '.join(arrays)}")
    return np.asarray(arrays[cubes[0]])


def _envi_header(path: Path) -> Path | None:
    for header in (path.with_suffix(".hdr"), Path(f"{path}.hdr")):
        if header.is_file():
            return header
    return None


def _read_envi(path: Path) -> NDArray[Any]:
    try:
        from spectral.io import envi
    except ImportError:
        raise ImportError('spectral is needed for ENVI: pip install "phaselabel[images]".') from None
    data = None if path.suffix.lower() == ".hdr" else str(path)
    cube = envi.open(str(_envi_header(path)), data)
    _check_size(cube.nrows * cube.ncols * cube.nbands, path)
    return np.array(cube.open_memmap(interleave="bip"))


def _check_size(n_values: int, path: Path) -> None:
    if n_values > MAX_VALUES:
        raise ValueError(f"it holds {n_values:,} numbers, more than {MAX_VALUES:,}; make it smaller first")


def _painted(path: Path, legend: dict[str, str] | None, image: NDArray[Any] | None) -> Marks:
    image_module, ops = import_pillow("PIL.Image", "PIL.ImageOps")
    with _sentences(path), image_module.open(path) as opened:
        picture = ops.exif_transpose(opened)
        picture.load()
    if picture.mode == "P" and legend is None:
        return _indexed(picture)
    if picture.mode in ("1", "L", "I", "F", "I;16", "I;16B") and legend is None:
        return Marks.from_array(np.asarray(picture))
    return Marks.from_painting(np.asarray(picture.convert("RGBA")), legend=legend, image=image)


def _indexed(picture: Any) -> Marks:
    """Index 0 is not marked, any other index a class with its palette's colour."""
    marks = Marks.from_array(np.asarray(picture))
    palette = np.reshape(picture.getpalette("RGB") or [], (-1, 3))
    colours = {n: tuple(map(int, palette[n])) for n in marks.classes if n < len(palette)}
    return Marks(marks.labels, marks.classes, colours)  # type: ignore[arg-type]


def _points(path: Path) -> list[tuple[float, float, str]]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        names = {str(name).strip().lower(): name for name in rows.fieldnames or ()}
        if not {"x", "y", "label"} <= set(names):
            raise ValueError(
                f"{path.name} must begin with a line that names the columns x, y and label; "
                f"it has {', '.join(map(str, rows.fieldnames or ())) or 'nothing'}."
            )
        found = []
        for row in rows:
            try:
                found.append(
                    (float(row[names["x"]]), float(row[names["y"]]), str(row[names["label"]] or "").strip())
                )
            except (TypeError, ValueError):
                raise ValueError(
                    f"Line {rows.line_num} of {path.name} must have two numbers and a label; "
                    f"got {', '.join(str(value) for value in row.values())}."
                ) from None
    if not found:
        raise ValueError(f"{path.name} has no points.")
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not JSON: {error}.") from None


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
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
    except (ImportError, MemoryError, KeyboardInterrupt):
        raise
    except bombs as error:
        raise ValueError(f"{path.name} is refused, it may be a decompression bomb: {error}") from None
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path.name} can't be read: {text.rstrip('.')}. Is it complete, and an image?"
        ) from None
