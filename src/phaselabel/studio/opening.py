"""A path in, the workspace for it out."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phaselabel.io.photo_folders import PICTURES, pictures_in
from phaselabel.segmentation import read_image
from phaselabel.segmentation.limits import MAX_PIXELS
from phaselabel.segmentation.pictures import import_pillow, open_picture
from phaselabel.studio.album import open_album
from phaselabel.studio.drawing import DrawingWorkspace
from phaselabel.studio.items import FolderItems, Items, read_items
from phaselabel.studio.items.source import digest
from phaselabel.studio.project import Project

if TYPE_CHECKING:
    from phaselabel.studio.answering import AnsweringWorkspace


def open_workspace(
    source: Path, publish: Callable[[dict[str, Any]], None], *, project: str | None = None,
    mode: str | None = None, **options: Any,
) -> "DrawingWorkspace | AnsweringWorkspace":  # fmt: skip
    """Open a picture for drawing (with ``mode``, a folder of them), and any other source for answering.

    Parameters
    ----------
    source : Path
        What to label.
    publish : callable
        Called with every event that the workspace publishes.
    project : str, optional
        The file of the project; beside the source by default.
    mode : {"drawing", "answering"}, optional
        The kind of workspace; by default the extension decides.
    **options
        Options of :func:`~phaselabel.studio.items.read_items`, ``classes``, ``annotator`` (the name of
        the user), ``n_people`` (who answer at once), and ``evidence``: "auto", "none" or a file with
        probabilities, a column per class.

    Returns
    -------
    DrawingWorkspace or AnsweringWorkspace
        The workspace; not started yet.
    """
    if not source.exists():
        raise FileNotFoundError(f"There is no file or folder {source}; check the name and where you are.")
    drawing = mode == "drawing" or (mode is None and source.suffix.lower() in PICTURES and source.is_file())
    path = Path(project) if project else source.absolute().with_name(f"{source.absolute().name}.studio")
    if drawing and options.get("embed") is not None:
        raise ValueError("--embed is for answering questions about texts and pictures; leave it out here.")
    if drawing and source.is_dir():
        return open_album(source, pictures_in(source), _read_picture, path, publish, MAX_PIXELS)
    if drawing:
        image = _read_picture(source)
        if image.shape[0] * image.shape[1] < 2:
            raise ValueError(f"{source.name} has 1 pixel; there is nothing to segment.")
        # Project files call the mode "room".
        journal = Project(path, {"room": "drawing", "content": digest(source)})
        return DrawingWorkspace(image, source.name, journal, publish)
    from phaselabel.studio.answering import AnsweringWorkspace
    from phaselabel.studio.evidence import GivenProbabilities

    names = [name for name in (options.pop("classes", None) or "").split(",") if name.strip()]
    word, annotator = options.pop("evidence", "auto"), options.pop("annotator", None) or ""
    n_people = max(1, options.pop("n_people", 1))
    about = {"room": "answering", "label": options.get("label") or ""}
    reading = dict(options.get("reading") or {})
    if source.is_dir():
        items, journal = _open_folder(source, path, about, options)
        try:
            evidence = _evidence(word, len(items), reading)
        except BaseException:
            journal.close()
            raise
    else:
        items = read_items(source, **options)
        evidence = _evidence(word, len(items), reading)
        journal = Project(path, {**about, "content": items.fingerprint})
    if isinstance(evidence, GivenProbabilities):
        names = names or list(evidence.columns)
    return AnsweringWorkspace(items, journal, publish, names, evidence, annotator, n_people)


def _evidence(word: str, n_items: int, reading: dict[str, Any]) -> Any:
    """What ``--evidence`` names: "auto", None, or the probabilities in a file."""
    if word in ("auto", "none"):
        return "auto" if word == "auto" else None
    if not Path(word).is_file():
        raise FileNotFoundError(f"--evidence must be auto, none or a file; there is no file {word}.")
    from phaselabel.studio.evidence import GivenProbabilities

    return GivenProbabilities.read(Path(word), n_items, reading)


def _open_folder(
    source: Path, path: Path, about: dict[str, str], options: dict[str, Any]
) -> tuple[Items, Project]:
    """Open a folder, whose pictures may have changed since the last time."""
    # Before a file is made: the folder may have no pictures.
    items = None if path.exists() else read_items(source, **options)
    project = Project(path, about)
    try:
        if items is None:
            items = read_items(source, earlier=json.loads(project.load("pictures", "[]")), **options)
        assert isinstance(items, FolderItems)
        # Earlier studios stored a digest of the folder, and refused it after any change.
        if project.source.get("content") not in (None, items.old_fingerprint):
            raise ValueError(
                f"{path} was made for something else than {source}, or the folder has changed since an "
                "earlier studio made it. Name a new project with --project."
            )
    except BaseException:
        project.close()
        raise
    project.store("pictures", json.dumps(items.names))
    return items, project


def _read_picture(source: Path) -> Any:
    _check_pixels(source)
    return read_image(source)


def _check_pixels(source: Path) -> None:
    """Check the size of a picture before it is unpacked: a small file may hold a huge picture."""
    image_module, *_ = import_pillow("PIL.Image")
    if source.suffix.lower() not in PICTURES:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", image_module.DecompressionBombWarning)
            with open_picture(source) as picture:
                width, height = picture.size
    except image_module.DecompressionBombError as error:
        raise ValueError(f"{source.name} is too large to draw on ({error}).") from None
    except OSError:
        return  # a TIFF that only tifffile reads, or not a picture: read_image reports it
    if width * height > MAX_PIXELS:
        raise ValueError(
            f"{source.name} has {width:,} × {height:,} pixels; the studio takes up to {MAX_PIXELS:,}. "
            "Make it smaller, or use phaselabel segment."
        )
