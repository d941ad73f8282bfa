"""A napari viewer with an image and a labels layer in, layers of the segmentation and its confidence out."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.segmentation.segmenter import Segmenter

#: The names of the layers that are written.
RESULT, CONFIDENCE = "phaselabel", "phaselabel confidence"

#: A layer as napari takes it: data, attributes, type.
LayerData = tuple[NDArray[Any], dict[str, Any], str]


class LiveSegmentation:
    """Segments an image from a labels layer, and again after every stroke.

    Parameters
    ----------
    image : ndarray
        The data of an image layer: (H, W), (H, W, 3 or 4) if it is shown as colours, or (Z, Y, X).
    rgb : bool, default=False
        Whether the last axis are colours.
    **options
        Options of :class:`~phaselabel.Segmenter`.
    """

    def __init__(self, image: NDArray[Any], *, rgb: bool = False, **options: Any) -> None:
        self.image = np.asarray(image)
        self.shape = self.image.shape[:-1] if rgb else self.image.shape
        if len(self.shape) not in (2, 3):
            raise ValueError(f"The image must be a picture or a volume; it has the axes {self.image.shape}.")
        self.options = options
        self._model: Segmenter | None = None
        self._stop: Callable[[], None] | None = None

    def follow(self, strokes: Any, show: Callable[..., None]) -> None:
        """Call a function after every stroke, until :meth:`stop`.

        Parameters
        ----------
        strokes : napari.utils.events.EventEmitter
            What tells of strokes.
        show : callable
            What to call with every event.
        """
        self.stop()
        strokes.connect(show)
        self._stop = lambda: strokes.disconnect(show)

    def stop(self) -> None:
        """Follow strokes no longer."""
        if self._stop is not None:
            self._stop()
            self._stop = None

    def layers(self, labels: NDArray[Any]) -> list[LayerData]:
        """The layers for the present labels.

        Parameters
        ----------
        labels : ndarray of int
            The data of a labels layer: 0 where nothing is marked.

        Returns
        -------
        list of (data, attributes, type)
            A labels layer of classes and an image layer of confidences; empty if fewer than two classes are
            marked.
        """
        marks = np.asarray(labels)
        if marks.shape != self.shape:
            raise ValueError(f"The labels have the shape {marks.shape} and the image {self.shape}.")
        if len(np.unique(marks[marks > 0])) < 2:
            return []
        if self._model is None:
            self._model = Segmenter(**self.options).fit([self.image], [marks])
        else:
            self._model.update(np.where(marks > 0, marks, -1), image=0)
        result = self._model.results_[0]
        return [
            (result.labels.astype(np.int32), {"name": RESULT, "opacity": 0.4}, "labels"),
            (
                result.confidence,
                {"name": CONFIDENCE, "visible": False, "contrast_limits": (0.5, 1.0)},
                "image",
            ),
        ]


def segment_layers(
    viewer: Any, image_layer: Any, labels_layer: Any, *, live: bool = True
) -> LiveSegmentation:
    """Segment an image layer from a labels layer; with ``live`` again after every stroke.

    Parameters
    ----------
    viewer : napari.Viewer
        Where the layers are shown.
    image_layer : napari.layers.Image
        The image.
    labels_layer : napari.layers.Labels
        The marks.
    live : bool, default=True
        Whether to follow the labels layer.

    Returns
    -------
    LiveSegmentation
        What keeps the graph; its ``stop`` ends ``live``.
    """
    segmentation = LiveSegmentation(image_layer.data, rgb=bool(getattr(image_layer, "rgb", False)))

    def show(_: Any = None) -> None:
        for data, attributes, kind in segmentation.layers(np.asarray(labels_layer.data)):
            if attributes["name"] in viewer.layers:
                viewer.layers[attributes["name"]].data = data
            elif kind == "labels":
                viewer.add_labels(data, **attributes)
            else:
                viewer.add_image(data, **attributes)
        viewer.layers.selection.active = labels_layer

    show()
    if live:
        # One event for every finished stroke; the event for every touched pixel would come too often.
        segmentation.follow(getattr(labels_layer.events, "paint", None) or labels_layer.events.data, show)
    return segmentation


def segment_widget() -> Any:
    """The widget of the plug-in: choose an image and a labels layer, and press the button.

    Returns
    -------
    magicgui.widgets.FunctionGui
        The widget; napari calls this function.
    """
    try:
        import napari
        from magicgui import magicgui
    except ImportError:
        raise ImportError('napari is needed for this: pip install "phaselabel[napari]".') from None

    # Both would write the same layers if the segmentation of an earlier press still followed strokes.
    followed: list[LiveSegmentation] = []

    def segment(
        viewer: napari.Viewer, image: napari.layers.Image, marks: napari.layers.Labels, live: bool = True
    ) -> None:
        if image is None or marks is None:
            raise ValueError("Choose an image layer and a labels layer with strokes of two classes.")
        while followed:
            followed.pop().stop()
        followed.append(segment_layers(viewer, image, marks, live=live))

    return magicgui(segment, call_button="Segment")
