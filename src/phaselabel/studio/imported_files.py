"""An uploaded file and the pictures of a project in; the layers that it puts on every picture out.

A file is a label PNG, a JSON of LabelMe or of the studio, a COCO document, or a ZIP of masks and label PNGs.
"""

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.export import run_lengths
from phaselabel.studio.project import checked_name
from phaselabel.studio.stroke_files import (
    Layer,
    Shape,
    checked_polygon,
    checked_runs,
    png_values,
    read_layers,
)

#: A ZIP holds at most this many files, each of at most so many bytes.
MAX_FILES, MAX_FILE_BYTES = 20_000, 64 * 2**20

Layers = dict[int, list[Layer]]


def read_file(
    data: bytes, pictures: Mapping[int, tuple[str, Shape]], shown: int, names: dict[int, str]
) -> tuple[Layers, dict[str, Any]]:
    """Read a file of shapes or masks.

    Parameters
    ----------
    data : bytes
        The file.
    pictures : mapping of int to (str, (int, int))
        File name, height and width of every picture.
    shown : int
        The picture that a file belongs to if it doesn't say so.
    names : dict of int to str
        The names of the classes, for the values of a label PNG.

    Returns
    -------
    layers : dict of int to list of dict
        The layers on every picture, as :func:`~phaselabel.studio.stroke_files.read_layers` returns them.
    colors : dict of str to str
        The classes that the file lists, with their colours.
    """
    if data[:4] == b"PK\x03\x04":
        return _zip_layers(data, pictures, shown, names)
    document = _document(data)
    if "annotations" in document:
        return _coco_layers(document, pictures, shown)
    number = _by_file_name(pictures).get(_file_name(document.get("imagePath")), shown)
    layers, colors = read_layers(data, pictures[number][1], names)
    return {number: layers}, colors


def _document(data: bytes) -> dict[str, Any]:
    """The content of a JSON file; nothing if it is another file."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _by_file_name(pictures: Mapping[int, tuple[str, Shape]]) -> dict[str, int]:
    """The number of every picture by its file name, without folders."""
    return {_file_name(title): number for number, (title, _) in pictures.items()}


def _file_name(path: Any) -> str:
    """The last part of a path as Unix or Windows write it."""
    return PurePosixPath(str(path).replace("\\", "/")).name


# -- COCO


def _coco_layers(
    document: dict[str, Any], pictures: Mapping[int, tuple[str, Shape]], shown: int
) -> tuple[Layers, dict[str, Any]]:
    try:
        names = {c["id"]: checked_name(str(c["name"])) for c in document["categories"]}
        number_of = _coco_pictures(document["images"], pictures, shown)
        layers: Layers = {}
        for entry in document["annotations"]:
            number = number_of.get(entry["image_id"])
            if number is not None:
                shape, name = pictures[number][1], names[entry["category_id"]]
                layers.setdefault(number, []).extend(_coco_shapes(entry["segmentation"], name, shape))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"The COCO file can't be read ({error!r:.80}).") from None
    if not layers:
        raise ValueError("The COCO file has no annotations of a picture that is here; check its file names.")
    return layers, {}


def _coco_pictures(
    images: list[dict[str, Any]], pictures: Mapping[int, tuple[str, Shape]], shown: int
) -> dict[Any, int]:
    """The picture that every image of a COCO document is: by its file name, or the only one there is."""
    by_name, found = _by_file_name(pictures), {}
    for image in images:
        number = by_name.get(_file_name(image.get("file_name")))
        number = shown if number is None and len(images) == len(pictures) == 1 else number
        if number is None:
            continue
        height, width = pictures[number][1]
        if (image["height"], image["width"]) != (height, width):
            raise ValueError(
                f"The COCO file says that {pictures[number][0]} has {image['width']} × {image['height']} "
                f"pixels; it has {width} × {height}."
            )
        found[image["id"]] = number
    return found


def _coco_shapes(segmentation: Any, name: str, shape: Shape) -> list[Layer]:
    """Polygons, or a mask of run lengths, which may be packed into a text."""
    if isinstance(segmentation, dict):
        counts = segmentation["counts"]
        runs = _unpacked(counts) if isinstance(counts, str) else counts
        return [{"name": name, "runs": checked_runs(runs, shape)}]
    corners = [list(map(list, zip(ring[::2], ring[1::2]))) for ring in segmentation]
    return [{"name": name, "polygon": checked_polygon(ring, shape)} for ring in corners]


def _unpacked(text: str) -> list[int]:
    """The run lengths that COCO packs into a text: five bits a character, relative to the last but one.

    Examples
    --------
    >>> _unpacked("13")
    [1, 3]
    """
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
        value = shift = 0
    return runs


# -- ZIP


def _zip_layers(
    data: bytes, pictures: Mapping[int, tuple[str, Shape]], shown: int, names: dict[int, str]
) -> tuple[Layers, dict[str, Any]]:
    """Masks (``mask_1_sky.png`` or ``sky.png``), label PNGs and JSON files, in a folder for every picture."""
    layers: Layers = {}
    colors: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MAX_FILES or any(entry.file_size > MAX_FILE_BYTES for entry in entries):
                raise ValueError("The ZIP file is too large; import fewer masks at a time.")
            for entry in entries:
                place = PurePosixPath(entry.filename)
                if not _is_read(place):
                    continue
                content = archive.read(entry)
                number = _zip_picture(place, content, pictures, shown)
                read = _zip_entry(content, place, pictures[number], names)
                layers.setdefault(number, []).extend(read[0])
                colors |= read[1]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"The ZIP file can't be read ({error}).") from None
    if not any(layers.values()):
        raise ValueError("The ZIP file has no masks (PNG) and no strokes (JSON).")
    return layers, colors


def _is_read(place: PurePosixPath) -> bool:
    """Whether a file of a ZIP is read: what the studio exports beside masks is not, nor what macOS adds."""
    if place.name.startswith("._") or place.suffix.lower() not in (".png", ".json"):
        return False
    return place.stem not in ("overlay", "confidence", "marks") or place.suffix.lower() == ".json"


def _zip_picture(
    place: PurePosixPath, data: bytes, pictures: Mapping[int, tuple[str, Shape]], shown: int
) -> int:
    """The picture that a file of a ZIP is for: that of its folder, or the one that a JSON file names."""
    numbers = _by_file_name(pictures)
    stems = Counter(PurePosixPath(name).stem for name in numbers)
    for name, number in list(numbers.items()):
        stem = PurePosixPath(name).stem
        if stems[stem] == 1:
            numbers.setdefault(stem, number)
    if place.parent.name in numbers:
        return numbers[place.parent.name]
    if place.suffix.lower() == ".json":
        named = _file_name(_document(data).get("imagePath"))
        return numbers.get(named, numbers.get(place.stem, shown))
    if place.parent.name and len(pictures) > 1:
        example = pictures[shown][0]
        raise ValueError(
            f"The ZIP file has a folder {place.parent.name!r:.60}, but there is no such picture; name the "
            f"folders after the pictures, as {example}/sky.png."
        )
    return shown


def _zip_entry(
    data: bytes, place: PurePosixPath, picture: tuple[str, Shape], names: dict[int, str]
) -> tuple[list[Layer], dict[str, Any]]:
    if place.suffix.lower() == ".json":
        return read_layers(data, picture[1], names)
    if place.stem == "labels":
        return read_layers(data, picture[1], names)
    mask: NDArray[np.bool_] = png_values(data, picture[1]) > 0
    name = checked_name(re.sub(r"^mask_\d+_", "", place.stem).replace("_", " "))
    return [{"name": name, "runs": run_lengths(mask)}], {}
