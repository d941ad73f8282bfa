"""A path in, the room that it opens out."""

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phaselabel.segmentation import read_image
from phaselabel.segmentation.marks import import_pillow
from phaselabel.studio.drawing import DrawingRoom
from phaselabel.studio.items import MOST_PIXELS, PICTURES, read_items
from phaselabel.studio.project import Project


def room_for(
    source: Path, tell: Callable[[dict[str, Any]], None], *, project: str | None = None,
    room: str | None = None, **options: Any,
) -> Any:  # fmt: skip
    """Open the drawing room for a picture and the answering room for everything else.

    Parameters
    ----------
    source : Path
        What to label.
    tell : callable
        For what the room has to say.
    project : str, optional
        The project's file; beside the source by default.
    room : {"drawing", "answering"}, optional
        Where the extension leaves it open.
    **options
        For the items to ask about.
    """
    if not source.exists():
        raise FileNotFoundError(f"There is no file or folder {source}; check the name and where you are.")
    drawing = room == "drawing" or (room is None and source.suffix.lower() in PICTURES and source.is_file())
    place = Path(project) if project else source.absolute().with_name(f"{source.absolute().name}.studio")
    if drawing:
        _check_pixels(source)
        image = read_image(source)
        journal = Project(place, {"room": "drawing", "content": _fingerprint(source)})
        return DrawingRoom(image, source.name, journal, tell)
    from phaselabel.studio.answering import AnsweringRoom

    names = [name for name in (options.pop("classes", None) or "").split(",") if name.strip()]
    items = read_items(source, **options)
    source_of = {"room": "answering", "content": items.fingerprint, "label": options.get("label") or ""}
    return AnsweringRoom(items, Project(place, source_of), tell, names)


def _check_pixels(source: Path) -> None:
    """Look at a picture's size before anything is unpacked: a small file may hold a huge one."""
    image_module, *_ = import_pillow("PIL.Image")
    if source.suffix.lower() not in PICTURES:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", image_module.DecompressionBombWarning)
            with image_module.open(source) as picture:
                width, height = picture.size
    except image_module.DecompressionBombError as error:
        raise ValueError(f"{source.name} is too large to draw on ({error}).") from None
    except OSError:
        return  # a TIFF that only tifffile reads, or no picture at all: read_image says so
    if width * height > MOST_PIXELS:
        raise ValueError(
            f"{source.name} has {width:,} × {height:,} pixels; the studio takes up to {MOST_PIXELS:,}. "
            "Make it smaller, or use phaselabel segment."
        )


def _fingerprint(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
