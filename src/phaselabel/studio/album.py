"""A folder of pictures and strokes in, the segmentation of all of them by one model out: the album."""

import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation import Marks, Segmenter, export, saving
from phaselabel.studio.drawing import (
    N_HINTS,
    DrawingWorkspace,
    Result,
    SupersededError,
    archived,
    changed_marks,
    json_bytes,
    label_png,
    marks_of,
    mask_pngs,
    rgb,
)
from phaselabel.studio.imported_files import read_file
from phaselabel.studio.page_images import encoded_picture, newest_labels
from phaselabel.studio.project import Action, Project
from phaselabel.studio.strokes import Drawing

#: All pictures together are reduced to at least this many cells, as one picture is.
MIN_CELLS = 100_000

#: Cells per picture, where there are many pictures.
CELLS_PER_PICTURE = 10_000

#: All pictures together are reduced to at most this many cells.
MAX_CELLS = 400_000

#: The files that can be exported, and their media types.
EXPORTS = {
    "labels.zip": "application/zip",
    "masks.zip": "application/zip",
    "coco.json": "application/json",
    "strokes.zip": "application/zip",
    "model.zip": "application/zip",
}


@dataclass
class AlbumDrawing(Drawing):
    """Classes that all pictures share, and layers, each on one picture.

    Attributes
    ----------
    shapes : dict of int to (int, int)
        Height and width of every picture, by its number.
    """

    shapes: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, actions: Iterable[Action], shapes: dict[int, tuple[int, int]]) -> "AlbumDrawing":
        """Apply all actions in force to an empty album."""
        drawing = cls((0, 0), shapes=shapes)
        for action in actions:
            drawing.apply(action, action.body)
        return drawing

    def checked(self, kind: Any, body: Any) -> dict[str, Any]:
        """Return what may be recorded of a request; a stroke names its picture."""
        if kind not in ("stroke", "polygon", "region", "clear") or not isinstance(body, dict):
            return super().checked(kind, body)
        number = body.get("image")
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.shapes:
            raise ValueError(f"There is no picture {number!r:.40}.")
        self.shape = self.shapes[number]
        return {**super().checked(kind, body), "image": number}

    def _do_clear(self, body: dict[str, Any]) -> None:
        self.layers = [layer for layer in self.layers if layer["image"] != body["image"]]

    def read_album(self, data: bytes, titles: dict[int, str], shown: int) -> dict[str, Any]:
        """Return the action that adds a file of strokes, polygons or masks on some of the pictures."""
        pictures = {number: (titles[number], shape) for number, shape in self.shapes.items()}
        layers, colors = read_file(data, pictures, shown, self.names)
        placed = [{**layer, "image": number} for number, some in layers.items() for layer in some]
        return self._addition(placed, colors)

    def on(self, number: int) -> Drawing:
        """The drawing on one picture."""
        layers = [layer for layer in self.layers if layer["image"] == number]
        return Drawing(self.shapes[number], self.names, self.colors, layers, self.last)


class AlbumWorkspace(DrawingWorkspace):
    """Record strokes on any picture of a folder, and segment all pictures by one model.

    Parameters
    ----------
    pictures : dict of int to (str, ndarray)
        Name and pixels of every picture, by its number in the journal.
    title : str
        The name of the folder.
    project : Project
        The journal of all actions.
    publish : callable
        Called with every event for the page.
    notes : list of str
        What the user should know about the folder.
    **options
        Options of :class:`~phaselabel.Segmenter`.
    """

    exports = EXPORTS

    def __init__(
        self,
        pictures: dict[int, tuple[str, NDArray[Any]]],
        title: str,
        project: Project,
        publish: Callable[[dict[str, Any]], None] = lambda event: None,
        notes: Iterable[str] = (),
        **options: Any,
    ) -> None:
        self.pictures = {number: name for number, (name, _) in pictures.items()}
        images = _with_equal_bands([image for _, image in pictures.values()])
        self.images = dict(zip(pictures, images))
        self.shapes = {k: (int(i.shape[0]), int(i.shape[1])) for k, i in self.images.items()}
        self.results: dict[int, Result] = {}
        self._notes, self._last_drawn = list(notes), next(iter(pictures))
        super().__init__(next(iter(self.images.values())), title, project, publish, **options)

    @property
    def notes(self) -> list[str]:
        """What the user should know about the project and the folder."""
        return [*self.project.notes, *self._notes]

    @property
    def description(self) -> list[tuple[str, str]]:
        """What the source is, as headings and texts."""
        return [("pictures", f"{self.title}: {len(self.images):,} pictures, segmented by one model")]

    # -- requests of the page

    def state(self, image: str = "", person: str = "") -> dict[str, Any]:
        """Return all that the page needs to show one picture of the album."""
        number = self._number(image)
        with self._changed:
            drawing, results, version = self.drawing, self.results, self.project.version
        assert isinstance(drawing, AlbumDrawing)
        layers = [layer for layer in drawing.layers if layer["image"] == number]
        described = self._described(drawing, layers, results.get(number), version, self.images[number])
        return described | {
            "image": number,
            "images": [
                {
                    "id": k,
                    "name": name,
                    "strokes": sum(layer["image"] == k for layer in drawing.layers),
                    "confidence": float(results[k].confidence.mean()) if k in results else None,
                }
                for k, name in self.pictures.items()
            ],
            "next_image": self._next(number),
        }

    def act(self, kind: Any, body: Any, request_id: str | None = None, person: str = "") -> dict[str, Any]:
        """Check an action, record it on disk, apply it and return the new state of its picture."""
        super().act(kind, body, request_id)
        moved = {"undo": self.project.undone, "redo": self.project.actions}.get(kind, [])
        if moved:
            body = moved[-1].body
        number = body.get("image") if isinstance(body, dict) else None
        if number not in self.pictures:
            return self.state(image=str(self._last_drawn))
        self._last_drawn = int(number)
        state = self.state(image=str(number))
        # What is taken back may be on another picture than the page shows.
        return {**state, "concerns": number} if moved else state

    def _read(self, data: bytes, image: str) -> dict[str, Any]:
        """The action that adds a file to the pictures that it names, or to the one that is shown."""
        return self._album.read_album(data, self.pictures, self._number(image))

    def _drawn_on(self, body: dict[str, Any]) -> tuple[Drawing, NDArray[Any]]:
        number = self._number(str(body.get("image")))
        return self._album.on(number), self.images[number]

    def _number(self, image: str) -> int:
        """The number of a picture as the page names it; the first one by default."""
        if not image:
            return next(iter(self.pictures))
        if not image.isdecimal() or int(image) not in self.pictures:
            raise ValueError("There is no such picture.")
        return int(image)

    def _next(self, shown: int) -> int | None:
        """The picture of least confidence besides the one that is shown."""
        others = {k: float(r.confidence.mean()) for k, r in self.results.items() if k != shown}
        return min(others, key=lambda k: others[k]) if others else None

    def _picture(self, bands: str = "", image: str = "") -> tuple[bytes, str, int]:
        return encoded_picture(self.images[self._number(image)], bands)

    def _label_bytes(self, image: str = "") -> tuple[bytes, str, int]:
        number = self._number(image)
        return newest_labels(self.results.get(number), self.previews.get(list(self.images).index(number)))

    def export(self, name: str) -> bytes:
        """Return one of the files in ``exports``, with all pictures in it."""
        drawing = self._album
        if name == "strokes.zip":
            documents = {
                f"{title}.json": json_bytes(drawing.on(number).document(title))
                for number, title in self.pictures.items()
            }
            return archived(documents)
        self.settle_once()
        if not self.results:
            raise ValueError("There is no segmentation yet; mark at least two classes.")
        if name == "coco.json":
            return json_bytes(self._coco())
        if name == "model.zip":
            return self._model()
        files: dict[str, bytes] = {}
        for number, result in self.results.items():
            found = {"labels.png": label_png(result)} if name == "labels.zip" else mask_pngs(result)
            files |= {f"{self.pictures[number]}/{file}": data for file, data in found.items()}
        return archived(files)

    def _model(self) -> bytes:
        """The file of the model, for ``phaselabel.load``."""
        with tempfile.TemporaryDirectory() as folder, self._computing:
            path, drawing = Path(folder) / "model.zip", self.drawing
            colors = {number: rgb(color) for number, color in drawing.colors.items()}
            try:  # the model calls its classes by their numbers
                saving.save(self._segmentation, path, names=drawing.names, colors=colors)
            except SupersededError:
                raise ValueError("A stroke came in between; save the model again.") from None
            return path.read_bytes()

    def _coco(self) -> dict[str, Any]:
        """One COCO document of all pictures."""
        merged: dict[str, Any] = {"images": [], "categories": [], "annotations": []}
        for place, (number, result) in enumerate(self.results.items(), 1):
            one = export.coco(result, self.pictures[number])
            merged["images"] += [{**entry, "id": place} for entry in one["images"]]
            merged["categories"] = one["categories"]
            for entry in one["annotations"]:
                merged["annotations"].append(
                    {**entry, "id": len(merged["annotations"]) + 1, "image_id": place}
                )
        return merged

    # -- the model

    @property
    def _album(self) -> AlbumDrawing:
        assert isinstance(self.drawing, AlbumDrawing)
        return self.drawing

    def _replay(self) -> Drawing:
        return AlbumDrawing.of(self.project.actions, self.shapes)

    def _build_graph(self) -> None:
        """Build the graph. It does not depend on the marks, so any two pixels serve."""
        marks: list[Marks | None] = [None] * len(self.images)
        height, width = next(iter(self.shapes.values()))
        corners = np.zeros((height, width), np.int32)
        corners[0, 0], corners[height - 1, width - 1] = 1, 2
        marks[0] = marks_of(corners, [1, 2])
        n_cells = min(MAX_CELLS, max(MIN_CELLS, CELLS_PER_PICTURE * len(self.images)))
        options = {"max_pixels": n_cells, "progress": self._progress, **self._options}
        self._segmentation = Segmenter(**options).fit(list(self.images.values()), marks)

    def _segment(self, drawing: Drawing, version: int) -> None:
        assert isinstance(drawing, AlbumDrawing)
        labels = {k: drawing.on(k).labels() for k in self.images}
        used = [k for k in drawing.names if any((one == k).any() for one in labels.values())]
        if len(used) < 2:
            self.results, self.result, self.previews, self._unsettled = {}, None, {}, None
            missing = "every class" if len(drawing.names) > 1 else "at least two classes"
            self._set_status(f"draw a stroke in {missing}", segmented=None)
            return
        self._set_status("segmenting")
        marks = [
            changed_marks(result.marks.labels, one, used)
            for result, one in zip(self._segmentation.results_, labels.values())
        ]
        self._segmentation.update(marks, early=self._early(version))
        self._unsettled = partial(self._take_all, drawing, version, labels, used)
        self._unsettled(False)

    def _take_all(
        self,
        drawing: Drawing,
        version: int,
        labels: dict[int, NDArray[np.int32]],
        used: list[int],
        settled: bool,
    ) -> None:
        """Show what the model has found in all pictures; where to draw next is asked when the pen rests."""
        before, colors = self.results, {k: rgb(drawing.colors[k]) for k in used}
        names = {k: drawing.names[k] for k in used}
        results = {
            k: Result(
                version=version, image=self.images[k], labels=one.labels, confidence=one.confidence,
                classes=names, colors=colors, marks=Marks(labels[k], names), graph=one.graph,
                solution=one.solution, cell=one.cell,
                hints=before[k].hints if k in before else [],
                shares={c: float(np.mean(one.labels == c)) for c in used},
            )
            for k, one in zip(self.images, self._segmentation.results_)
        }  # fmt: skip
        self.results = results
        # Places are suggested on the pictures that are looked at next; on all of them it would take too long.
        looked_at = {self._last_drawn, self._next(self._last_drawn)} if settled or not before else set()
        for k in looked_at - {None}:
            assert k is not None
            place = list(self.images).index(k)
            hints = [
                [float(x), float(y)] for y, x in self._segmentation.results_[place].suggest_marks(N_HINTS)
            ]
            results[k] = replace(results[k], hints=hints)
        self.results, self.result = dict(results), next(iter(results.values()))
        self._set_status("ready", **{"settled" if settled else "segmented": version})


def _with_equal_bands(images: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Grey pictures as colours, and colours without opacity, where pictures differ in this."""
    bands = {1 if image.ndim == 2 else image.shape[2] for image in images}
    if len(bands) == 1:
        return images
    if not bands <= {1, 2, 3, 4}:
        listed = ", ".join(map(str, sorted(bands)))
        raise ValueError(f"The pictures of a folder must have equally many bands; these have {listed}.")
    colours = []
    for image in images:
        cube = image[:, :, None] if image.ndim == 2 else image
        colours.append(np.repeat(cube[:, :, :1], 3, axis=2) if cube.shape[2] < 3 else cube[:, :, :3])
    return colours


def open_album(
    source: Path,
    listed: list[str],
    read: Callable[[Path], NDArray[Any]],
    path: Path,
    publish: Callable[[dict[str, Any]], None],
    max_pixels: int,
) -> AlbumWorkspace:
    """Open a folder for drawing; pictures that are new join those of earlier openings.

    Parameters
    ----------
    source : Path
        The folder.
    listed : list of str
        The names of its pictures.
    read : callable
        Reads one picture.
    path : Path
        The file of the project.
    publish : callable
        Called with every event that the workspace publishes.
    max_pixels : int
        The largest number of pixels that all pictures may have together.

    Returns
    -------
    AlbumWorkspace
        The workspace; not started yet.
    """
    images, notes, total = {}, [], 0
    for name in listed:
        try:
            images[name] = read(source / name)
        except (OSError, ValueError) as error:
            notes.append(f"{name} can't be read and is left out: {error}")
            continue
        total += images[name].shape[0] * images[name].shape[1]
        if total > max_pixels:
            raise ValueError(
                f"The pictures of {source.name} have more than {max_pixels:,} pixels together; put fewer "
                "into the folder, or make them smaller."
            )
    if not images:
        raise ValueError(f"No picture in {source} can be read: {notes[0]}")
    project = Project(path, {"room": "album"})
    known = json.loads(project.load("pictures", "[]"))
    names = list(dict.fromkeys([*known, *images]))
    project.store("pictures", json.dumps(names))
    if known and (new := len(set(images) - set(known))):
        notes.append(f"{new} picture{'s are' if new > 1 else ' is'} new since the last opening.")
    if gone := len(set(known) - set(images)):
        whose = "s are gone; their strokes come" if gone > 1 else " is gone; its strokes come"
        notes.append(f"{gone} picture{whose} back with the file.")
    pictures = {k: (name, images[name]) for k, name in enumerate(names) if name in images}
    return AlbumWorkspace(pictures, source.name, project, publish, notes)
