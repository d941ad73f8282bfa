"""Images and a model, or marks to learn one from, in; a label image and a summary for every image out."""

import argparse
import csv
import glob
import io
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

#: Files with these endings are images in a folder.
IMAGE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jp2", ".webp", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".npy"),
    *(".npz", ".mat", ".hdr", ".zarr"),
)

#: Files with these endings are marks.
MARK_SUFFIXES = (".png", ".csv", ".json", ".npy", ".tif", ".tiff", ".bmp", ".gif")

#: Columns of the table of all images.
COLUMNS = ("image", "class", "name", "pixels", "share", "objects", "mean_confidence")


def run(arguments: argparse.Namespace) -> int:
    """Learn or open a model, and segment image by image; return 1 if any image failed."""
    from phaselabel.segmentation import Segmenter, read_image
    from phaselabel.segmentation.saving import load

    images = found_images(arguments.images)
    out = Path(arguments.out or "masks")
    names = output_names(images)
    progress = _Lines(len(images), arguments.quiet)
    for name in names:
        _refuse_foreign(out, name)
    if arguments.save and not arguments.force and Path(arguments.save).exists():
        raise FileExistsError(
            f"{arguments.save} is there already; go on with it (--model {arguments.save}), choose another "
            "name, or replace it (--force)."
        )
    fitted: dict[Path, Any] = {}
    if arguments.model:
        model = load(arguments.model)
        if not isinstance(model, Segmenter):
            raise ValueError(f"{arguments.model} is not a model of images; phaselabel predict is for tables.")
    else:
        model, fitted = _learned(images, arguments, progress)
    if arguments.save:
        model.save(arguments.save, overwrite=arguments.force)
        progress.say(f"the model is in {arguments.save}")
    out.mkdir(parents=True, exist_ok=True)
    failed: dict[str, str] = {}
    for image, name in zip(images, names):
        if not arguments.force and _is_done(out, name):
            progress.done(image.name, "is there already")
            continue
        started = time.perf_counter()
        try:
            result = fitted.get(image) or model.segment(read_image(image, arguments.variable))
            _write_one(result, image, out, name, arguments)
        except Exception as error:  # one broken image must not stop the others
            failed[image.name] = " ".join(str(error).split()) or type(error).__name__
            progress.done(image.name, f"failed: {failed[image.name]}")
            continue
        progress.done(image.name, f"{time.perf_counter() - started:.1f} s")
    _write_table(out, names)
    progress.say(f"{len(images) - len(failed)} of {len(images)} images are in {out}, with summary.csv")
    for name, reason in failed.items():
        sentence = reason if reason.startswith(name) else f"{name}: {reason}"
        print(f"phaselabel segment: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def found_images(words: Sequence[str]) -> list[Path]:
    """The images that files, folders and patterns name, each once, in the order of their names.

    Parameters
    ----------
    words : sequence of str
        Files, folders (whose images are taken, those of folders in them not) and patterns such as
        ``new/*.jpg``.
    """
    images: dict[Path, None] = {}
    for word in words:
        path = Path(word)
        if path.is_dir() and path.suffix.lower() != ".zarr":
            inside = sorted(p for p in path.iterdir() if p.suffix.lower() in IMAGE_SUFFIXES)
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


def _learned(
    images: list[Path], arguments: argparse.Namespace, progress: "_Lines"
) -> tuple[Any, dict[Path, Any]]:
    """A model of the images that have a file of marks of their name, and what the fit makes of its images.

    Images without marks join the fit while that does not make its cells larger: in one graph with the marked
    images they come out better than by a model of these.
    """
    from phaselabel.segmentation import Segmenter

    folder = Path(arguments.train)
    if not folder.is_dir():
        raise FileNotFoundError(2, "There is no such folder of marks", str(folder))
    of_stem: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in MARK_SUFFIXES:
            of_stem.setdefault(path.stem, []).append(path)
    marked = [image for image in images if image.stem in of_stem]
    if not marked:
        raise ValueError(
            f"No image has a file of marks of its name in {folder}; marks of photo.jpg are photo.png, "
            "photo.csv or photo.json."
        )
    pixels: dict[Path, Any] = {}
    for image in marked:
        read = _readable(image, arguments.variable)
        if read is not None:
            pixels[image] = read
    if not pixels:
        raise ValueError("None of the images with marks can be read.")
    marks = [_marks_of(of_stem[image.stem], read, arguments) for image, read in pixels.items()]
    alone = len(pixels)
    _add_unmarked(pixels, [image for image in images if image not in set(marked)], arguments)
    without = len(pixels) - alone
    joined = f"; {without} without marks are in the same graph" if without else ""
    progress.say(f"learning from {alone} of {len(images)} images{joined}")
    options = {name: getattr(arguments, name) for name in ("patch", "position", "scale", "max_pixels")}
    model = Segmenter(n_neighbors=arguments.neighbors, **options)
    model.fit(list(pixels.values()), [*marks, *[None] * without])
    return model, dict(zip(pixels, model.results_))


def _readable(image: Path, variable: str | None) -> Any:
    """The pixels of an image; None if it can't be read, which is said when it is its turn."""
    from phaselabel.segmentation import read_image

    try:
        return read_image(image, variable)
    except (OSError, ValueError):
        return None


def _marks_of(paths: list[Path], image: Any, arguments: argparse.Namespace) -> Any:
    """The marks of one image, those of several files put on top of each other."""
    from phaselabel.segmentation import read_marks

    volume = arguments.variable == "volume"
    layers = [
        read_marks(
            path,
            image.shape[: 3 if volume else 2],
            width=arguments.pen,
            legend=arguments.legend,
            image=image if image.ndim == 3 and not volume else None,
        )
        for path in paths
    ]
    return reduce(lambda below, above: below.merged(above), layers)


def _add_unmarked(pixels: dict[Path, Any], others: list[Path], arguments: argparse.Namespace) -> None:
    """Add images of the kind of the marked ones, in their order, until cells would have to be larger."""
    from phaselabel.segmentation.cells import cell_size

    n_axes = 3 if arguments.variable == "volume" else 2
    first = next(iter(pixels.values()))
    sizes = [math.prod(read.shape[:n_axes]) for read in pixels.values()]
    cell = cell_size(sum(sizes), arguments.max_pixels, n_axes)
    for image in others:
        read = _readable(image, arguments.variable)
        if read is None or read.dtype != first.dtype or read.shape[n_axes:] != first.shape[n_axes:]:
            continue
        sizes.append(math.prod(read.shape[:n_axes]))
        if cell_size(sum(sizes), arguments.max_pixels, n_axes) > cell:
            return
        pixels[image] = read


def _earlier(out: Path, name: str) -> Any:
    """The summary that an earlier run wrote for an image; None if there is none."""
    try:
        document = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    ours = isinstance(document, dict) and {"phaselabel", "image", "classes"} <= document.keys()
    return document if ours else None


def _is_done(out: Path, name: str) -> bool:
    """Whether an earlier run has written the summary of an image and, if it is no volume, the label image."""
    found = _earlier(out, name)
    return found is not None and ("depth" in found or (out / f"{name}.png").is_file())


def _refuse_foreign(out: Path, name: str) -> None:
    """Raise if a result would overwrite an image, marks or anything else that no run has written."""
    from phaselabel.segmentation.pictures import is_signed

    picture, document = out / f"{name}.png", out / f"{name}.json"
    ours = _earlier(out, name) is not None
    foreign = [document] if document.exists() and not ours else []
    if picture.exists() and not ours and not is_signed(picture):
        foreign.append(picture)
    if foreign:
        raise FileExistsError(
            f"{foreign[0]} would be overwritten, and it is not a result of phaselabel; choose another folder "
            "with --out."
        )


def _write_one(result: Any, image: Path, out: Path, name: str, arguments: argparse.Namespace) -> None:
    """Write the label image and the summary of one image; the summary last, so that a run can be resumed."""
    from phaselabel.io.atomic import replacing
    from phaselabel.segmentation.export import label_picture, save, summary
    from phaselabel.segmentation.pictures import signature

    if arguments.everything or result.labels.ndim == 3:
        save(result, out / name, image.name, source=image)
    if result.labels.ndim == 2:
        with replacing(out / f"{name}.png", True) as draft:
            picture = label_picture(result.labels, result.classes, result.colors)
            picture.save(draft, format="PNG", pnginfo=signature())
    with replacing(out / f"{name}.json", True) as draft:
        document = summary(result) | {"image": image.name}
        draft.write_text(
            json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace"
        )


def _write_table(out: Path, names: Sequence[str]) -> None:
    """Write one line for every image and class."""
    from phaselabel.io.atomic import replacing

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for name in names:
        document = _earlier(out, name)
        if document is not None:
            for entry in document["classes"]:
                writer.writerow(entry | {"image": document["image"], "class": entry["number"]})
    with replacing(out / "summary.csv", True) as draft:
        draft.write_text(text.getvalue(), encoding="utf-8", errors="replace")


class _Lines:
    """A line on standard error for every image; on a terminal one line that is rewritten."""

    def __init__(self, total: int, quiet: bool) -> None:
        self._total, self._quiet, self._count = total, quiet, 0
        self._live = sys.stderr.isatty()

    def say(self, words: str) -> None:
        """Print one line."""
        if not self._quiet:
            print(f"{words:<79}" if self._live else words, file=sys.stderr, flush=True)

    def done(self, name: str, words: str) -> None:
        """Count one image."""
        self._count += 1
        if self._quiet:
            return
        line = f"{self._count}/{self._total} {name}: {words}"
        keep = not self._live or "failed" in words or self._count == self._total
        print(
            f"{line[:79]:<79}" if self._live else line,
            end="\n" if keep else "\r",
            file=sys.stderr,
            flush=True,
        )
