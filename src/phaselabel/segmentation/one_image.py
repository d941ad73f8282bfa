"""One image and its marks in, its segmentation out."""

from typing import Literal

from numpy.typing import ArrayLike

from phaselabel.segmentation.bands import Scale
from phaselabel.segmentation.frames import Color
from phaselabel.segmentation.marks import Marks
from phaselabel.segmentation.segmentation import Segmentation
from phaselabel.segmentation.segmenter import Progress, Segmenter


def segment(
    image: ArrayLike,
    scribbles: Marks | ArrayLike,
    *,
    features: ArrayLike | None = None,
    patch: int = 5,
    position: Literal["auto"] | float = "auto",
    color: Color = "auto",
    scale: Scale = "auto",
    n_neighbors: int = 10,
    scale_neighbor: int | None = None,
    epsilon: float = 1.0,
    fidelity: float = 30.0,
    step: Literal["auto"] | float = "auto",
    max_iter: int = 500,
    tol: float = 1e-2,
    evidence: Literal["auto"] | None = "auto",
    max_pixels: int = 100_000,
    progress: Progress | None = None,
) -> Segmentation:
    """Give every pixel of an image the class of the marks it resembles.

    Each pixel is joined to the pixels whose surroundings look most alike, wherever they are, and to those it
    touches. Models of the looks and walks on the graph are evidence in the energy whose minimum the flow
    finds (see :func:`~phaselabel.minimize`). Pixels that look exactly alike are one vertex of the graph; the
    majority of its marks is the label of the vertex. For several images see :class:`Segmenter`.

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, B)
        Grey, colours or any number of bands; whole numbers or floats. Pixels that are masked or not finite
        have no data and get no class. A volume (Z, Y, X) or (Z, Y, X, B) has marks of shape (Z, Y, X).
    scribbles : Marks or array-like
        A label image (H, W) with 0 where nothing is marked; or a painting (H, W, 3 or 4) of bytes in which
        each colour is a class and black or transparent is not marked; or :class:`Marks` from points,
        strokes or polygons.
    features : array-like of shape (H, W, d), optional
        What to compare pixels by, for instance a network's features, instead of patches of the image.
    patch : int, default=5
        Pixels are compared by the square of this side around them; an odd number. On an image reduced to
        cells, the number of cells that comes nearest to it.
    position : "auto" or float, default="auto"
        Weight of a pixel's place: how large a difference in brightness (of a full range of 1) counts as much
        as crossing the whole image. 0 compares appearance alone. "auto" takes 0 unless marks are near every
        pixel.
    color : {"auto", "lab", "bands"}, default="auto"
        "lab" compares the first three bands as colours in CIELAB, "bands" takes the numbers as they are;
        "auto" is "lab" for three or four bands that share one scale.
    scale : {"auto", "image", "band"}, default="auto"
        One scale for all bands, or one for each; "auto" takes "image" for at most four bands.
    n_neighbors : int, default=10
        Neighbours of a pixel in the graph.
    scale_neighbor : int, optional
        The neighbour whose distance is the local scale; the last one by default.
    epsilon : float, default=1.0
        Width of the interface between classes, as in :func:`~phaselabel.minimize`.
    fidelity : float, default=30.0
        Weight of the marks, as in :func:`~phaselabel.minimize`.
    step : "auto" or float, default="auto"
        Time step, as in :func:`~phaselabel.minimize`.
    max_iter : int, default=500
        Greatest number of sweeps.
    tol : float, default=1e-2
        The flow stops when at most this share of the pixels changes class in a sweep; see
        :func:`~phaselabel.minimize`.
    evidence : "auto" or None, default="auto"
        "auto" pools models of the looks and walks on the graph, weighted by marks held back, as evidence in
        the energy; None is the graph of like pixels alone.
    max_pixels : int, default=100_000
        A larger image is averaged over cells until at most this many are left; the flow runs on the cells,
        and the result is extended to every pixel by likeness and nearness.
    progress : callable, optional
        Called with (stage, share done).

    Returns
    -------
    Segmentation
        ``labels``, ``confidence``, ``classes``; ``update`` takes more marks, ``save`` writes files.

    See Also
    --------
    Segmenter : Learns from several images, and segments new ones.
    read_image : Reads an image from a file.
    read_marks : Reads marks from a file.

    Examples
    --------
    >>> import numpy as np
    >>> from phaselabel import segment
    >>> image = np.zeros((12, 16), np.uint8)
    >>> image[3:9, 2:6] = image[3:9, 10:14] = 200  # two bright squares
    >>> scribbles = np.zeros((12, 16), int)
    >>> scribbles[5, 3:5] = 2  # a stroke in one of them
    >>> scribbles[0, :5] = 1
    >>> result = segment(image, scribbles, patch=1)
    >>> bool((result.labels[3:9, 10:14] == 2).all())  # the other one is found
    True
    """
    model = Segmenter(
        patch=patch,
        position=position,
        color=color,
        scale=scale,
        n_neighbors=n_neighbors,
        scale_neighbor=scale_neighbor,
        epsilon=epsilon,
        fidelity=fidelity,
        step=step,
        max_iter=max_iter,
        tol=tol,
        evidence=evidence,
        max_pixels=max_pixels,
        progress=progress,
    )
    ready = None if features is None else [features]
    return model.fit([image], [scribbles], features=ready).results_[0]
