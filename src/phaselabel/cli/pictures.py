"""Words of the command line in, the images to be segmented out: files, folders, patterns and frames."""

import glob
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from phaselabel.io.photo_folders import visible_in

#: Files with these endings are images in a folder.
IMAGE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jp2", ".webp", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".npy"),
    *(".npz", ".mat", ".hdr", ".zarr"),
)


@dataclass(frozen=True)
class Picture:
    """An image to be segmented: a file, or one frame of a series.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        The name of its result.
    frame : int or None
        The number of the frame, from 0; None for a file that is one image.
    """

    path: Path
    name: str
    frame: int | None = None

    @property
    def title(self) -> str:
        """What it is called in messages and in the table."""
        return self.path.name if self.frame is None else f"{self.path.name} frame {self.frame}"

    @property
    def stem(self) -> str:
        """The name of its file of marks, without the ending."""
        return self.path.stem if self.frame is None else f"{self.path.stem}_{self.frame}"

    def read(self, variable: str | None) -> Any:
        """The pixels."""
        return read_pixels(self.path, variable) if self.frame is None else frames_of(self.path)[self.frame]


@lru_cache(maxsize=1)
def frames_of(path: Path) -> Any:
    """The frames of a series (T, Y, X) or (T, Y, X, B); the last one that was asked for is kept."""
    from phaselabel.segmentation import read_image

    return read_image(path, "frames")


def read_pixels(path: Path, variable: str | None) -> Any:
    """Read an image, or a volume if that is said; refuse an array with an axis too many."""
    from phaselabel.segmentation import read_image

    image = read_image(path, variable)
    if image.ndim == 4 and variable != "volume":
        raise ValueError(
            f"{path.name} has the axes {image.shape}, which are not those of one image; say what its planes "
            "are with --variable volume or --variable frames."
        )
    return image


def size_of(image: Any, n_axes: int) -> str:
    """How an image was read: its sides and bands.

    Examples
    --------
    >>> import numpy as np
    >>> size_of(np.zeros((6, 12, 17)), 2), size_of(np.zeros((6, 12, 17)), 3)
    ('12 × 6 pixels, 17 bands', '17 × 12 × 6 voxels, 1 band')
    """
    sides = " × ".join(str(side) for side in reversed(image.shape[:n_axes]))
    n_bands = image.shape[n_axes] if image.ndim > n_axes else 1
    return f"{sides} {'pixels' if n_axes == 2 else 'voxels'}, {n_bands} {'band' if n_bands == 1 else 'bands'}"


def found_images(words: Sequence[str]) -> list[Path]:
    """The images that files, folders and patterns name, each once, in the order of their names.

    Parameters
    ----------
    words : sequence of str
        Files, folders (whose images are taken, those of folders in them not) and patterns such as
        ``new/*.jpg``.
    """
    from phaselabel.segmentation.image_files import is_zarr

    images: dict[Path, None] = {}
    for word in words:
        path = Path(word)
        if path.is_dir() and not is_zarr(path):
            inside = [p for p in visible_in(path) if p.suffix.lower() in IMAGE_SUFFIXES]
            if not inside:
                raise ValueError(f"There are no images in the folder {word}.")
            images.update(dict.fromkeys(inside))
        elif path.exists():
            images[path] = None
        else:
            matching = sorted(Path(match) for match in glob.glob(word))
            if not matching:
                raise FileNotFoundError(2, "There is no such image", word)
            images.update(dict.fromkeys(matching))
    return list(images)


def output_names(images: Sequence[Path]) -> list[str]:
    """A name for the result of every image: its own without the ending, unless two would be equal.

    Examples
    --------
    >>> output_names([Path("a.jpg"), Path("b.jpg"), Path("b.png"), Path("c/a.png")])
    ['a_jpg', 'b_jpg', 'b_png', 'a_png']
    """
    stems = Counter(image.stem for image in images)
    names = [i.stem if stems[i.stem] == 1 else f"{i.stem}_{i.suffix.lstrip('.')}" for i in images]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"Two images would be written as {twice}; segment their folders one by one.")
    return names


def pictures_of(paths: Sequence[Path], *, frames: bool = False) -> list[Picture]:
    """The images in some files: one in each, or one for every frame.

    A series that can't be read counts as one image, so that it fails when it is its turn.
    """
    frames_of.cache_clear()  # files may have changed since an earlier run of this process
    pictures: list[Picture] = []
    for path, name in zip(paths, output_names(paths)):
        try:
            numbers = range(len(frames_of(path))) if frames else ()
        except (OSError, ValueError):
            numbers = ()
        several = [Picture(path, f"{name}_{number}", number) for number in numbers]
        pictures += several or [Picture(path, name)]
    return pictures
