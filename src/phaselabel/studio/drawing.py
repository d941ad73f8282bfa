"""An image and strokes as they come in, its segmentation after each of them out: the drawing room."""

import io
import json
import logging
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation import Marks, output, segment
from phaselabel.segmentation.marks import import_pillow
from phaselabel.studio.project import Project
from phaselabel.studio.strokes import Board

log = logging.getLogger(__name__)

#: Where hints are shown at once.
HINTS = 3

#: Up to so many pixels the page gets a PNG, of larger images a JPEG.
SMALL = 4_000_000

EXPORTS = {
    "labels.png": "image/png",
    "marks.png": "image/png",
    "masks.zip": "application/zip",
    "coco.json": "application/json",
    "strokes.json": "application/json",
    "everything.zip": "application/zip",
}


@dataclass(frozen=True, eq=False)
class Found:
    """A segmentation as the export functions of :mod:`phaselabel.segmentation.output` take it."""

    number: int
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
    seconds: float
    hints: list[list[float]]

    def overlay(self, opacity: float = 0.45) -> NDArray[np.uint8]:
        """The image with every class in its colour."""
        return output.overlay(self, opacity)


class DrawingRoom:
    """Takes strokes, keeps them, and segments again in a thread of its own.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, B)
        The picture.
    title : str
        What to call it.
    project : Project
        Where everything is kept.
    tell : callable
        Called with a dict whenever the page should know something.
    """

    kind = "drawing"
    exports = EXPORTS

    def __init__(
        self,
        image: NDArray[Any],
        title: str,
        project: Project,
        tell: Callable[[dict[str, Any]], None] = lambda news: None,
        **options: Any,
    ) -> None:
        self.image, self.title, self.project, self.tell = image, title, project, tell
        self.shape = (int(image.shape[0]), int(image.shape[1]))
        self.board = Board.after(project.actions, self.shape)
        self.found: Found | None = None
        self.status = "preparing"
        self._options = options
        self._wanted = threading.Condition()
        self._dirty = True
        self._segmentation: Any = None
        self._thread = threading.Thread(target=self._work, name="studio-drawing", daemon=True)

    def start(self) -> None:
        """Build the graph and go on segmenting."""
        self._thread.start()

    # -- what the page asks

    @property
    def questions(self) -> dict[str, Callable[..., Any]]:
        """What the page may ask for as JSON."""
        return {"state": self.state}

    def state(self) -> dict[str, Any]:
        """All the page needs to show the room."""
        with self._wanted:
            board, found, number = self.board, self.found, self.project.number
        shares = {} if found is None else found.shares
        return {
            "room": self.kind,
            "title": self.title,
            "number": number,
            "width": self.shape[1],
            "height": self.shape[0],
            "status": self.status,
            "classes": [
                {"id": k, "name": name, "color": board.colors[k], "share": shares.get(k)}
                for k, name in board.names.items()
            ],
            "layers": [self._shown(layer) for layer in board.layers],
            "undo": len(self.project.actions) > 0,
            "redo": len(self.project.undone) > 0,
            "segmented": None if found is None else found.number,
            "hints": [] if found is None else found.hints,
            "exports": list(self.exports),
        }

    def do(self, kind: Any, body: Any, mark: str | None = None) -> dict[str, Any]:
        """Check, keep on disk, then draw."""
        with self._wanted:
            if kind in ("undo", "redo"):
                self.project.record(kind, {}, mark)
            else:
                self.project.record(kind, self.board.checked(kind, body), mark)
            return self._changed()

    def take(self, data: bytes, mark: str | None = None) -> dict[str, Any]:
        """Put the strokes of an uploaded file on top."""
        with self._wanted:
            self.project.record("add", self.board.read(data), mark)
            return self._changed()

    @property
    def data(self) -> dict[str, Callable[..., tuple[bytes, str, int]]]:
        """Bytes the page may ask for, each as (content, type, version)."""
        return {"picture": self._picture, "segmentation": self._as_bytes}

    def _picture(self) -> tuple[bytes, str, int]:
        """The image for the page."""
        (image_module,) = import_pillow("PIL.Image")
        image = self.image if self.image.ndim == 3 else self.image[:, :, None]
        shown = image_module.fromarray(output.view(image))
        large = shown.width * shown.height > SMALL
        file = io.BytesIO()
        shown.save(
            file, **({"format": "JPEG", "quality": 92} if large else {"format": "PNG", "compress_level": 1})
        )
        return file.getvalue(), "image/jpeg" if large else "image/png", 0

    def _as_bytes(self) -> tuple[bytes, str, int]:
        """Class numbers and confidences, a byte each: all pixels of the one, then of the other."""
        found = self.found
        if found is None:
            return b"", "application/octet-stream", -1
        sure = (255 * found.confidence).round().astype(np.uint8)
        content = found.labels.astype(np.uint8).tobytes() + sure.tobytes()
        return content, "application/octet-stream", found.number

    def export(self, name: str) -> bytes:
        """One of the files in ``exports``."""
        if name == "strokes.json":
            return _json(self.board.document())
        if name == "marks.png":
            return self._marks_picture()
        found = self.found
        if found is None:
            raise ValueError("There is no segmentation yet; mark at least two classes.")
        if name == "coco.json":
            return _json(output.coco(found, self.title))
        with tempfile.TemporaryDirectory() as folder:
            paths = output.save(found, folder, self.title)
            if name == "labels.png":
                return (Path(folder) / name).read_bytes()
            chosen = [p for p in paths if name == "everything.zip" or p.name.startswith("mask_")]
            file = io.BytesIO()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in chosen:
                    archive.write(path, path.name)
                if name == "everything.zip":
                    archive.writestr("strokes.json", _json(self.board.document()))
                    archive.writestr("marks.png", self._marks_picture())
            return file.getvalue()

    # -- behind the page

    def _shown(self, layer: dict[str, Any]) -> dict[str, Any]:
        return {key: layer[key] for key in ("class", "size", "points", "runs") if key in layer}

    def _changed(self) -> dict[str, Any]:
        self.board = Board.after(self.project.actions, self.shape)
        self._dirty = True
        self._wanted.notify_all()
        state = self.state()
        self.tell({"changed": state["number"]})
        return state

    def _marks_picture(self) -> bytes:
        (image_module,) = import_pillow("PIL.Image")
        picture = image_module.fromarray(self.board.labels().astype(np.uint8)).convert("P")
        palette = [0] * 768
        for k, text in self.board.colors.items():
            palette[3 * k : 3 * k + 3] = _rgb(text)
        picture.putpalette(palette)
        file = io.BytesIO()
        picture.save(file, format="PNG")
        return file.getvalue()

    def _work(self) -> None:
        try:
            self._prepare()
        except Exception as error:
            log.exception("the picture could not be prepared")
            self._say(f"The picture can't be segmented: {error}")
            return
        while True:
            with self._wanted:
                while not self._dirty:
                    self._wanted.wait()
                self._dirty = False
                board, number = self.board, self.project.number
            try:
                self._segment(board, number)
            except Exception as error:
                log.exception("segmenting failed")
                self._say(f"Segmenting failed: {error}")

    def _prepare(self) -> None:
        """Build the graph before the first stroke: any two pixels will do as marks for that."""
        height, width = self.shape
        corners = np.zeros(self.shape, np.int32)
        corners[0, 0], corners[height - 1, width - 1] = 1, 2
        self._segmentation = segment(
            self.image,
            _marks(corners, [1, 2]),
            progress=self._progress,
            **self._options,
        )

    def _progress(self, stage: str, share: float) -> None:
        if self._segmentation is None:
            self._say(
                {"features": "looking at the pixels", "neighbours": "finding alike pixels"}.get(
                    stage, "ready"
                )
            )

    def _segment(self, board: Board, number: int) -> None:
        labels = board.labels()
        used = [k for k in board.names if (labels == k).any()]
        if len(used) < 2:
            self.found = None
            missing = "every class" if len(board.names) > 1 else "at least two classes"
            self._say(f"draw a stroke in {missing}", segmented=None)
            return
        started = time.perf_counter()
        self._say("segmenting")
        # All marks anew: -1 takes away what is no longer there.
        self._segmentation.update(_marks(np.where(labels > 0, labels, -1), used))
        result = self._segmentation
        self.found = Found(
            number=number,
            image=result.image,
            labels=result.labels,
            confidence=result.confidence,
            classes={k: board.names[k] for k in used},
            colors={k: _rgb(board.colors[k]) for k in used},
            marks=Marks(labels, {k: board.names[k] for k in used}),
            graph=result.graph,
            solution=result.solution,
            cell=result.cell,
            shares={k: float(np.mean(result.labels == k)) for k in used},
            seconds=time.perf_counter() - started,
            hints=[[float(x), float(y)] for y, x in result.suggest_marks(HINTS)],
        )
        self._say("ready", segmented=number)

    def _say(self, status: str, **news: Any) -> None:
        if status != self.status or news:
            self.status = status
            self.tell({"status": status, **news})


def _marks(labels: NDArray[Any], numbers: list[int]) -> Marks:
    """Marks whose classes go by their numbers, so that a new name is no new class."""
    return Marks(labels.astype(np.int32), {k: str(k) for k in numbers})


def _rgb(text: str) -> tuple[int, int, int]:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _json(document: Any) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()
