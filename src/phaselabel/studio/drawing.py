"""An image and strokes in, the segmentation after each stroke out: the drawing workspace."""

import io
import json
import tempfile
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation import Marks, Segmenter, export
from phaselabel.segmentation.pictures import signature
from phaselabel.studio.attempt import attempt
from phaselabel.studio.page_images import PageLabels, described_bands, encoded_picture, newest_labels
from phaselabel.studio.project import Project
from phaselabel.studio.regions import clicked_region
from phaselabel.studio.strokes import Drawing

#: The number of places where a further stroke is suggested.
N_HINTS = 3

#: Seconds without a stroke after which the experts are asked anew.
REST = 1.0

#: The files that can be exported, and their media types.
EXPORTS = {
    "labels.png": "image/png",
    "marks.png": "image/png",
    "masks.zip": "application/zip",
    "coco.json": "application/json",
    "strokes.json": "application/json",
    "everything.zip": "application/zip",
}


@dataclass(frozen=True, eq=False)
class Result:
    """A segmentation in the form that :mod:`phaselabel.segmentation.export` exports."""

    version: int
    image: NDArray[Any]
    labels: NDArray[Any]
    confidence: NDArray[np.float32]
    classes: dict[int, str]
    colors: dict[int, tuple[int, int, int]]
    marks: Marks
    graph: Any
    solution: Any
    cell: int
    shares: dict[int, float]
    hints: list[list[float]]


class SupersededError(Exception):
    """A newer stroke has come, so that what is being computed is not needed."""


class DrawingWorkspace:
    """Record strokes, and segment again in a background thread.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, B)
        The picture.
    title : str
        The name of the picture.
    project : Project
        The journal of all actions.
    publish : callable
        Called with every event for the page.
    **options
        Options of :class:`~phaselabel.Segmenter`.
    """

    mode = "drawing"
    exports = EXPORTS

    def __init__(
        self,
        image: NDArray[Any],
        title: str,
        project: Project,
        publish: Callable[[dict[str, Any]], None] = lambda event: None,
        **options: Any,
    ) -> None:
        self.image, self.title, self.project, self.publish = image, title, project, publish
        self.shape = (int(image.shape[0]), int(image.shape[1]))
        self.drawing = self._replay()
        self.result: Result | None = None
        self.previews: dict[int, PageLabels] = {}
        self.status = "preparing"
        self._options = options
        self._changed = threading.Condition()
        self._outdated = True
        self._segmentation: Any = None
        self._computing = threading.RLock()  # held by whoever uses the model
        self._unsettled: Callable[[bool], None] | None = None  # takes the results of the model once more
        self._thread = threading.Thread(target=self._work, name="studio-drawing", daemon=True)

    def start(self) -> None:
        """Build the graph and segment after every stroke, in a background thread."""
        self._thread.start()

    @property
    def notes(self) -> list[str]:
        """What the user should know about the project."""
        return self.project.notes

    @property
    def description(self) -> list[tuple[str, str]]:
        """What the source is, as headings and texts."""
        return [("picture", f"{self.title}: {self.shape[1]:,} × {self.shape[0]:,} pixels")]

    def close(self) -> None:
        """Close the project. Nothing can be recorded afterwards."""
        self.project.close()

    # -- requests of the page

    @property
    def queries(self) -> dict[str, Callable[..., Any]]:
        """Functions whose result the page can request as JSON."""
        return {"state": self.state}

    def state(self, image: str = "", person: str = "") -> dict[str, Any]:
        """Return all that the page needs to show the workspace."""
        with self._changed:
            drawing, result, version = self.drawing, self.result, self.project.version
        return self._described(drawing, drawing.layers, result, version, self.image)

    def _described(
        self,
        drawing: Drawing,
        layers: list[dict[str, Any]],
        result: Result | None,
        version: int,
        image: NDArray[Any],
    ) -> dict[str, Any]:
        """What the page shows of one picture: its classes, layers and result; and of the project."""
        shares = {} if result is None else result.shares
        return {
            "mode": self.mode,
            "project": self.project.id,
            "title": self.title,
            "version": version,
            "width": image.shape[1],
            "height": image.shape[0],
            **described_bands(image),
            "status": self.status,
            "notes": self.notes,
            "classes": [
                {"id": k, "name": name, "color": drawing.colors[k], "share": shares.get(k)}
                for k, name in drawing.names.items()
            ],
            "layers": [visible(layer) for layer in layers],
            "undo": len(self.project.actions) > 0,
            "redo": len(self.project.undone) > 0,
            "segmented": None if result is None else result.version,
            "previewed": max((p.version for p in self.previews.values()), default=None),
            "hints": [] if result is None else result.hints,
            "exports": list(self.exports),
        }

    def act(self, kind: Any, body: Any, request_id: str | None = None, person: str = "") -> dict[str, Any]:
        """Check an action, record it on disk, apply it and return the new state."""
        with self._changed:
            if kind in ("undo", "redo"):
                self.project.record(kind, {}, request_id)
            else:
                if kind == "region" and isinstance(body, dict):
                    body = {**body, "runs": self._region(body)}
                self.project.record(kind, self.drawing.checked(kind, body), request_id)
            return self._apply()

    def _region(self, body: dict[str, Any]) -> list[int]:
        """The run lengths of the region that a click means."""
        drawing, image = self._drawn_on(body)
        return clicked_region(body, image, drawing.labels())

    def _drawn_on(self, body: dict[str, Any]) -> tuple[Drawing, NDArray[Any]]:
        """The drawing and the pixels of the picture that a request is about."""
        return self.drawing, self.image

    def import_file(self, data: bytes, request_id: str | None = None, image: str = "") -> dict[str, Any]:
        """Put the shapes of an uploaded file on top and return the new state."""
        with self._changed:
            self.project.record("add", self._read(data, image), request_id)
            return self._apply()

    def _read(self, data: bytes, image: str) -> dict[str, Any]:
        """The action that adds a file."""
        return self.drawing.read(data, self.title)

    @property
    def data(self) -> dict[str, Callable[..., tuple[bytes, str, int]]]:
        """Functions whose bytes the page can request; each returns (content, media type, version)."""
        return {"picture": self._picture, "segmentation": self._label_bytes}

    def _picture(self, bands: str = "") -> tuple[bytes, str, int]:
        """The image for the page; ``bands`` names three bands of a cube, or its main directions."""
        return encoded_picture(self.image, bands)

    def _label_bytes(self) -> tuple[bytes, str, int]:
        """The newest labels of the picture."""
        return newest_labels(self.result, self.previews.get(0))

    def export(self, name: str) -> bytes:
        """Return one of the files in ``exports``."""
        if name == "strokes.json":
            return json_bytes(self.drawing.document(self.title))
        if name == "marks.png":
            return self._marks_picture()
        self.settle_once()
        result = self.result
        if result is None:
            raise ValueError("There is no segmentation yet; mark at least two classes.")
        if name == "coco.json":
            return json_bytes(export.coco(result, self.title))
        if name == "labels.png":
            return label_png(result)
        if name == "masks.zip":
            return archived(mask_pngs(result))
        with tempfile.TemporaryDirectory() as folder:
            files = {path.name: path.read_bytes() for path in export.save(result, folder, self.title)}
        files["strokes.json"] = json_bytes(self.drawing.document(self.title))
        files["marks.png"] = self._marks_picture()
        return archived(files)

    # -- helpers

    def _replay(self) -> Drawing:
        return Drawing.replay(self.project.actions, self.shape)

    def _apply(self) -> dict[str, Any]:
        self.drawing = self._replay()
        self._outdated = True
        self._changed.notify_all()
        state = self.state()
        self.publish({"changed": state["version"]})
        return state

    def _marks_picture(self) -> bytes:
        drawing = self.drawing
        colors = {k: rgb(text) for k, text in drawing.colors.items()}
        return _png(export.label_picture(drawing.labels(), {drawing.last: ""}, colors))

    def _work(self) -> None:
        if not self.prepare():
            return
        while True:
            with self._changed:
                rest = None if self._unsettled is None else REST
                drawn = self._changed.wait_for(lambda: self._outdated, rest)
            if drawn:
                self.segment_once()
            else:
                self.settle_once()

    def prepare(self) -> bool:
        """Build the graph before the first stroke; return whether that was possible."""
        return attempt(self._build_graph, "The picture can't be segmented", self._set_status)

    def segment_once(self) -> None:
        """Segment the picture by the present strokes, with experts as they were weighed last."""
        with self._computing:
            with self._changed:
                self._outdated = False
                drawing, version = self.drawing, self.project.version
            self._try(lambda: self._segment(drawing, version))

    def settle_once(self) -> None:
        """Weigh the experts by all strokes, unless that has been done."""
        with self._computing:
            take, self._unsettled = self._unsettled, None
            if take is not None and not self._outdated:
                self._try(lambda: self._settle(take))

    def _settle(self, take: Callable[[bool], None]) -> None:
        self._segmentation.settle()
        take(True)

    def _try(self, work: Callable[[], None]) -> None:
        """Do some work on the model, unless a newer stroke comes."""

        def unless_late() -> None:
            with suppress(SupersededError):
                work()

        attempt(unless_late, "Segmenting failed", self._set_status)

    def _early(self, version: int) -> Callable[[], None] | None:
        """What is done with labels of the cells; nothing before the first result: corners made them."""
        return None if self.result is None else lambda: self._preview(version)

    def _preview(self, version: int) -> None:
        """Publish the labels of the cells: those of the pixels of a large picture take much longer."""
        previews = {}
        for k, result in enumerate(self._segmentation.results_):
            labels, confidence = self._segmentation.cell_labels(k)
            previews[k] = PageLabels(version, labels, confidence, result.cell)
        self.previews = previews
        self._set_status("segmenting", previewed=version)
        if self._outdated:
            raise SupersededError

    def _build_graph(self) -> None:
        """Build the graph. It does not depend on the marks, so any two pixels serve."""
        height, width = self.shape
        corners = np.zeros(self.shape, np.int32)
        corners[0, 0], corners[height - 1, width - 1] = 1, 2
        if (self.image == self.image[0, 0]).all():
            # Without any difference in colour, what is left to compare is the place.
            self._options = {"position": 1.0, **self._options}
        options = {"progress": self._progress, **self._options}
        self._segmentation = Segmenter(**options).fit([self.image], [marks_of(corners, [1, 2])])

    def _progress(self, stage: str, share: float) -> None:
        if stage in ("evidence", "extending") and self._outdated and self._segmentation is not None:
            raise SupersededError
        if self._segmentation is None:
            self._set_status(
                {"features": "reading the pixels", "neighbours": "comparing the pixels"}.get(stage, "ready")
            )

    def _segment(self, drawing: Drawing, version: int) -> None:
        labels = drawing.labels()
        used = [k for k in drawing.names if (labels == k).any()]
        if len(used) < 2:
            self.result, self.previews, self._unsettled = None, {}, None
            missing = "every class" if len(drawing.names) > 1 else "at least two classes"
            self._set_status(f"draw a stroke in {missing}", segmented=None)
            return
        self._set_status("segmenting")
        marks = changed_marks(self._segmentation.results_[0].marks.labels, labels, used)
        self._segmentation.update([marks], early=self._early(version))
        self._unsettled = partial(self._take, drawing, version, labels, used)
        self._unsettled(False)

    def _take(
        self,
        drawing: Drawing,
        version: int,
        labels: NDArray[np.int32],
        used: list[int],
        settled: bool,
    ) -> None:
        """Show what the model has found; where to draw next is asked when the pen rests."""
        result, hints = self._segmentation.results_[0], [] if self.result is None else self.result.hints
        if settled or self.result is None:
            hints = [[float(x), float(y)] for y, x in result.suggest_marks(N_HINTS)]
        self.result = Result(
            version=version,
            image=result.image,
            labels=result.labels,
            confidence=result.confidence,
            classes={k: drawing.names[k] for k in used},
            colors={k: rgb(drawing.colors[k]) for k in used},
            marks=Marks(labels, {k: drawing.names[k] for k in used}),
            graph=result.graph,
            solution=result.solution,
            cell=result.cell,
            shares={k: float(np.mean(result.labels == k)) for k in used},
            hints=hints,
        )
        self._set_status("ready", **{"settled" if settled else "segmented": version})

    def _set_status(self, status: str, **event: Any) -> None:
        if status != self.status or event:
            self.status = status
            self.publish({"status": status, **event})


def visible(layer: dict[str, Any]) -> dict[str, Any]:
    """The entries of a layer that the page draws."""
    return {key: layer[key] for key in ("class", "size", "points", "polygon", "runs") if key in layer}


def marks_of(labels: NDArray[Any], numbers: list[int]) -> Marks:
    """Marks whose classes are called by their numbers, so that a renamed class is the same class."""
    return Marks(labels.astype(np.int32, copy=False), {k: str(k) for k in numbers})


def changed_marks(before: NDArray[np.int32], labels: NDArray[np.int32], numbers: list[int]) -> Marks:
    """What leads from some marks to others; -1 removes a mark that is gone."""
    changed = np.flatnonzero(before.ravel() != labels.ravel())
    more = np.zeros(labels.shape, np.int32)
    now = labels.ravel()[changed]
    more.reshape(-1)[changed] = np.where(now > 0, now, -1)
    return marks_of(more, numbers)


def rgb(text: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour like #0072b2."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def json_bytes(document: Any) -> bytes:
    """A document as the content of a JSON file."""
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def label_png(result: Result) -> bytes:
    """The file of a result's labels."""
    return _png(export.label_picture(result.labels, result.classes, result.colors), pnginfo=signature())


def mask_pngs(result: Result) -> dict[str, bytes]:
    """The files of a result's masks, by name."""
    return {name: _png(picture, pnginfo=signature()) for name, picture in export.mask_pictures(result)}


def _png(picture: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, format="PNG", **options)
    return file.getvalue()


def archived(files: dict[str, bytes]) -> bytes:
    """A ZIP file of some files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()
