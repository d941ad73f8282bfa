"""Files of pictures in, a row of features for each out: colours and textures, or an ONNX model; cached."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel.embedding.models import DEFAULT_PICTURE_MODEL, cache_home, find_picture_model
from phaselabel.embedding.onnx_pictures import PictureModel
from phaselabel.embedding.vector_cache import VectorCache, key_of
from phaselabel.segmentation.pictures import (
    as_seen,
    check_pixels,
    import_pillow,
    one_sentence_errors,
    open_picture,
)

#: Names the features below, and how pictures are read; other vectors are never taken from the cache.
SIMPLE, READING = "colours-and-textures-2", b"as seen"
#: How these features are named in the output.
SIMPLE_WORDS = "simple colours and textures"
#: Pictures are read at this many pixels a side for simple features.
SIDE = 64
#: Cells a side, over which colours and directions are counted.
CELLS = 4
#: Directions of edges, and levels of a colour channel, that are told apart.
DIRECTIONS, LEVELS = 8, 4
#: Pictures that are kept in the cache at once.
KEPT_AT_ONCE = 32


def photo_features(
    paths: Sequence[Path], model: str | None = None, bar: Any = None
) -> tuple[NDArray[np.float32], list[int], list[str]]:
    """Turn pictures into rows of features.

    Parameters
    ----------
    paths : sequence of Path
        The pictures.
    model : str, optional
        A vision model, as for :func:`find_picture_model`; by default simple colours and textures are used.
    bar : object, optional
        Its ``update(n)`` is called after every n pictures.

    Returns
    -------
    rows : ndarray of shape (n_readable, n_features)
        The features.
    readable : list of int
        The numbers of the pictures that could be read.
    refused : list of str
        A sentence for each of the others.
    """
    vision = None if model is None else PictureModel(find_picture_model(model))
    cache = VectorCache(cache_home() / "vectors" / f"{vision.digest if vision else SIMPLE}.sqlite")
    rows, readable, refused = [], [], []
    new: dict[bytes, NDArray[np.float32]] = {}
    for number, path in enumerate(paths):
        try:
            key = key_of(READING + path.read_bytes())
            row = cache.load([key]).get(key)
            if row is None:
                row = new[key] = _row(path, vision)
            rows.append(row)
            readable.append(number)
        except (OSError, ValueError) as error:
            refused.append(str(error))
        if len(new) >= KEPT_AT_ONCE or (new and number == len(paths) - 1):
            cache.keep(new)
            new = {}
        if bar is not None:
            bar.update(1)
    if not rows:
        raise ValueError(f"No picture can be read: {refused[0]}" if refused else "There are no pictures.")
    return np.stack(rows), readable, refused


def words_for(model: str | None) -> str:
    """How the features are named in the output."""
    if model is None:
        return SIMPLE_WORDS
    return f"vectors of {Path(model or DEFAULT_PICTURE_MODEL).name}"


def left_out(refused: Sequence[str]) -> str:
    """How the pictures that can't be read are named in the output.

    Examples
    --------
    >>> left_out(["a.png can't be read: it is empty."])
    "1 file can't be read and is left out: a.png can't be read: it is empty."
    """
    n = len(refused)
    words = "1 file can't be read and is" if n == 1 else f"{n:,} files can't be read and are"
    end = "" if refused[0].endswith((".", "?")) else "."
    return f"{words} left out: {refused[0]}{end}"


def simple_features(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The features of one picture: which colours, which colours where, which directions of edges where.

    Parameters
    ----------
    pixels : ndarray of shape (SIDE, SIDE, 3)
        The picture.

    Returns
    -------
    ndarray of float32
        Three blocks of length 1, one after another.
    """
    levels = pixels.astype(np.int64) * LEVELS // 256
    codes = (levels * (LEVELS**2, LEVELS, 1)).sum(axis=2)
    # Square roots: distances of counts are then those of Hellinger.
    colours = np.sqrt(np.bincount(codes.ravel(), minlength=LEVELS**3))
    size = len(pixels) // CELLS
    grid = pixels.astype(np.float64) / 255
    where = grid.reshape(CELLS, size, CELLS, size, 3).mean(axis=(1, 3)) - 0.5
    down, right = np.gradient(grid.mean(axis=2))
    strength = np.hypot(down, right)
    # An edge and its negative have the same direction.
    turn = (np.arctan2(down, right) % np.pi) / np.pi * DIRECTIONS
    direction = turn.astype(int) % DIRECTIONS
    cell = np.arange(len(pixels)) // size
    place = (cell[:, None] * CELLS + cell[None, :]) * DIRECTIONS + direction
    edges = np.bincount(place.ravel(), weights=strength.ravel(), minlength=CELLS**2 * DIRECTIONS)
    blocks = [colours, where.ravel(), np.sqrt(edges)]
    return np.concatenate([b / max(float(np.linalg.norm(b)), 1e-6) for b in blocks]).astype(np.float32)


def _row(path: Path, vision: PictureModel | None) -> NDArray[np.float32]:
    side = vision.side if vision else SIDE
    (image_module,) = import_pillow("PIL.Image")
    with one_sentence_errors(path), open_picture(path) as picture:
        check_pixels(picture)
        picture.draft("RGB", (4 * side, 4 * side))
        upright = as_seen(picture)
        filter_ = image_module.Resampling.BOX if vision is None else image_module.Resampling.BICUBIC
        pixels = np.asarray(upright.resize((side, side), filter_))
    return vision.vector(pixels) if vision else simple_features(pixels)
