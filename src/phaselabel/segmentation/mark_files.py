"""A file of marks in, marks out: paintings, label images, points (CSV) and shapes (LabelMe JSON)."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.image_files import NUMPY_SUFFIXES, TIFF_SUFFIXES, refuse_folder
from phaselabel.segmentation.marks import Marks, misfit
from phaselabel.segmentation.numpy_files import read_numpy
from phaselabel.segmentation.pictures import import_pillow, one_sentence_errors, open_picture
from phaselabel.segmentation.tiff import read_tiff


def read_marks(
    path: str | Path,
    shape: tuple[int, int] | tuple[int, int, int],
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
    shape : tuple of int
        Height and width of the image; depth, height and width of a volume, whose marks are a label volume.
    legend : str or Path, optional
        A JSON file that names colours: ``{"#ff0000": "cow"}``.
    image : ndarray, optional
        The image itself, for strokes painted over a copy of it.
    width : int, default=3
        Width of lines from a JSON file, in pixels.

    Returns
    -------
    Marks
        The marks.

    See Also
    --------
    read_image : Reads the image itself.
    segment : Takes an image and its marks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from phaselabel import read_marks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "points.csv")
    ...     _ = path.write_text("x,y,label\\n1,0,cow\\n2,1,sky\\n")
    ...     read_marks(path, (2, 3)).labels.tolist()
    [[0, 1, 0], [0, 0, 2]]
    """
    path = Path(path)
    refuse_folder(path, "marks")
    if not path.is_file():
        raise FileNotFoundError(2, "There is no such file", str(path))
    suffix = path.suffix.lower()
    if len(shape) == 3:
        return _read_volume_marks(path, suffix)
    if suffix == ".csv":
        return Marks.from_points(_read_points(path), shape)
    if suffix == ".json":
        return Marks.from_labelme(_read_json(path), shape, width)
    names = _read_json(Path(legend)) if legend else None
    if suffix in (*NUMPY_SUFFIXES, *TIFF_SUFFIXES):
        with one_sentence_errors(path):
            pixels = read_tiff(path, raw=True) if suffix in TIFF_SUFFIXES else read_numpy(path)
        return Marks.from_array(pixels) if pixels.ndim == 2 else Marks.from_painting(pixels, legend=names)
    return _read_painting(path, shape, names, image)


def read_marks_of_frames(path: str | Path, shape: tuple[int, int, int]) -> list[Marks | None] | None:
    """Read the marks of every frame of a series from a stack of label images.

    Parameters
    ----------
    path : str or Path
        A file of marks.
    shape : tuple of int
        The number of frames, their height and their width.

    Returns
    -------
    list of Marks, or None
        The marks of every frame, None for a frame without any; None for a file that is not a stack.
    """
    path = Path(path)
    if path.suffix.lower() not in (*NUMPY_SUFFIXES, *TIFF_SUFFIXES):
        return None
    labels = _stored_planes(path)
    if labels.ndim != 3:
        return None
    if labels.shape != shape:
        if len(labels) == 1 or labels.shape[2] in (3, 4):  # one label image, or a painting
            return None
        raise ValueError(misfit(labels.shape, shape))
    frames = [Marks.from_array(frame) for frame in labels]
    return [frame if frame.classes else None for frame in frames]


def _read_volume_marks(path: Path, suffix: str) -> Marks:
    """A label volume: NPY, NPZ or a TIFF stack."""
    if suffix not in (*NUMPY_SUFFIXES, *TIFF_SUFFIXES):
        raise ValueError(f"The marks of a volume are a label volume, NPY or a TIFF stack; got {path.name}.")
    return Marks.from_array(_stored_planes(path))


def _stored_planes(path: Path) -> NDArray[Any]:
    """All planes of a TIFF stack, or the array of an NPY or NPZ file."""
    if not path.is_file():
        raise FileNotFoundError(2, "There is no such file", str(path))
    with one_sentence_errors(path):
        is_tiff = path.suffix.lower() in TIFF_SUFFIXES
        return read_tiff(path, "volume", raw=True) if is_tiff else read_numpy(path)


def _read_painting(
    path: Path, shape: tuple[int, int], legend: dict[str, str] | None, image: NDArray[Any] | None
) -> Marks:
    (ops,) = import_pillow("PIL.ImageOps")
    with one_sentence_errors(path):
        opened = open_picture(path)
    with opened:
        if sorted(opened.size) != sorted(shape):  # it may have to be turned
            raise ValueError(misfit(opened.size[::-1], shape))
        if opened.format in ("JPEG", "MPO"):
            raise ValueError(
                f"{path.name} is a JPEG file, which blurs the colours of marks into many others; save the "
                "marks as PNG."
            )
        with one_sentence_errors(path):
            picture = ops.exif_transpose(opened)
            picture.load()
    if picture.mode == "P" and legend is None:
        return _indexed(picture)
    if picture.mode in ("1", "L", "I", "F", "I;16", "I;16B") and legend is None:
        return Marks.from_array(np.asarray(picture))
    return Marks.from_painting(np.asarray(picture.convert("RGBA")), legend=legend, image=image)


def _indexed(picture: Any) -> Marks:
    """Index 0 is not marked, any other index is a class with the colour of the palette."""
    marks = Marks.from_array(np.asarray(picture))
    palette = np.reshape(picture.getpalette("RGB") or [], (-1, 3))
    colors = {
        n: (int(palette[n, 0]), int(palette[n, 1]), int(palette[n, 2]))
        for n in marks.classes
        if n < len(palette)
    }
    return Marks(marks.labels, marks.classes, colors)


def _read_points(path: Path) -> list[tuple[float, float, str]]:
    with _text_errors(path), open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        names = {str(name).strip().lower(): name for name in rows.fieldnames or ()}
        if not {"x", "y", "label"} <= set(names):
            other = next((mark for mark in (";", "\t", "|") if mark in "".join(names)), None)
            if other:
                raise ValueError(
                    f"{path.name} is separated by {'tabs' if other == chr(9) else repr(other)}; points are "
                    "separated by commas."
                )
            raise ValueError(
                f"{path.name} must begin with a line that names the columns x, y and label; "
                f"it has {', '.join(map(str, rows.fieldnames or ())) or 'nothing':.200}."
            )
        points = []
        for row in rows:
            try:
                points.append(
                    (float(row[names["x"]]), float(row[names["y"]]), str(row[names["label"]] or "").strip())
                )
            except (TypeError, ValueError):
                raise ValueError(
                    f"Line {rows.line_num} of {path.name} must have two numbers and a label; "
                    f"got {', '.join(str(value) for value in row.values()):.100}."
                ) from None
    if not points:
        raise ValueError(f"{path.name} has no points.")
    return points


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path.name} is not JSON of marks: its brackets are nested too deeply.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} is not JSON: {error!s:.200}.") from None


@contextmanager
def _text_errors(path: Path) -> Iterator[None]:
    """One sentence for what is not a table of text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text ({error!s:.100}); save it as UTF-8.") from None
    except csv.Error as error:
        raise ValueError(f"{path.name} is not a proper CSV table ({error}).") from None
