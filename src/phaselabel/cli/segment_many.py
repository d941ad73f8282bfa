"""Images and a model, or marks to learn one from, in; a label image and a summary for every image out."""

import argparse
import csv
import io
import json
import math
import sys
import time
from collections.abc import Sequence
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

from phaselabel.cli.console import refuse_clashes
from phaselabel.cli.pictures import Picture, found_images, frames_of, pictures_of, size_of
from phaselabel.io.photo_folders import visible_in

#: Files with these endings are marks.
MARK_SUFFIXES = (".png", ".csv", ".json", ".npy", ".tif", ".tiff", ".bmp", ".gif")

#: Columns of the table of all images.
COLUMNS = ("image", "class", "name", "pixels", "share", "objects", "mean_confidence")


def run(arguments: argparse.Namespace) -> int:
    """Learn or open a model, and segment image by image; return 1 if any image failed."""
    from phaselabel.segmentation import Segmenter
    from phaselabel.segmentation.saving import load

    out = Path(arguments.out or "masks")
    images = pictures_of(found_images(arguments.images), frames=arguments.variable == "frames")
    progress = _Lines(len(images), arguments.quiet)
    marks = _given_marks(arguments)
    refuse_clashes(
        {"--save": arguments.save, "--out": out}, [*(i.path for i in images), *marks, arguments.legend]
    )
    _refuse_foreign(out, [image.name for image in images], arguments.everything)
    if arguments.save and not arguments.force and Path(arguments.save).exists():
        raise FileExistsError(
            f"{arguments.save} is there already; go on with it (--model {arguments.save}), choose another "
            "name, or replace it (--force)."
        )
    fitted: dict[Picture, Any] = {}
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
    for image in images:
        if not arguments.force and _is_done(out, image.name):
            progress.done(image.title, "is there already")
            continue
        started = time.perf_counter()
        try:
            result = fitted.get(image) or model.segment(image.read(arguments.variable))
            _write_one(result, image, out, arguments)
        except Exception as error:  # one broken image must not stop the others
            failed[image.title] = " ".join(str(error).split()) or type(error).__name__
            progress.done(image.title, f"failed: {failed[image.title]}")
            continue
        progress.done(image.title, f"{time.perf_counter() - started:.1f} s")
    _write_table(out, [image.name for image in images])
    progress.say(f"{len(images) - len(failed)} of {len(images)} images are in {out}, with summary.csv")
    for name, reason in failed.items():
        sentence = reason if reason.startswith(name) else f"{name}: {reason}"
        print(f"phaselabel segment: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def _learned(
    images: list[Picture], arguments: argparse.Namespace, progress: "_Lines"
) -> tuple[Any, dict[Picture, Any]]:
    """A model of the images that have a file of marks of their name, and what the fit makes of its images.

    Images without marks join the fit while that does not make its cells larger: in one graph with the marked
    images they come out better than by a model of these.
    """
    from phaselabel.segmentation import Segmenter
    from phaselabel.segmentation.export import refuse_large_numbers

    pixels: dict[Picture, Any] = {}
    marks: list[Any] = []
    _marks_of_frames.cache_clear()
    for image, files in _files_of_marks(images, arguments).items():
        read = _readable(image, arguments.variable)
        found = None if read is None else _marks_of(image, files, read, arguments)
        if found is not None:
            refuse_large_numbers(found.classes)
            pixels[image] = read
            marks.append(found)
    if not pixels:
        raise ValueError("No image that can be read has marks; mark a few pixels of every class.")
    alone = len(pixels)
    _add_unmarked(pixels, [image for image in images if image not in pixels], arguments)
    without = len(pixels) - alone
    joined = f"; {without} without marks are in the same graph" if without else ""
    progress.say(f"learning from {alone} of {len(images)} images{joined}")
    first, read = next(iter(pixels.items()))
    progress.say(f"{first.title}: {size_of(read, 3 if arguments.variable == 'volume' else 2)}")
    options = {name: getattr(arguments, name) for name in ("patch", "position", "scale", "max_pixels")}
    model = Segmenter(n_neighbors=arguments.neighbors, **options)
    model.fit(list(pixels.values()), [*marks, *[None] * without])
    return model, dict(zip(pixels, model.results_))


def _given_marks(arguments: argparse.Namespace) -> list[Path]:
    """The files of marks in the folder of ``--train``, or those that are named."""
    if not arguments.train:
        return [Path(file) for file in (arguments.scribbles, arguments.points, arguments.shapes) if file]
    folder = Path(arguments.train)
    if not folder.is_dir():
        raise FileNotFoundError(2, "There is no such folder of marks", str(folder))
    return [path for path in visible_in(folder) if path.suffix.lower() in MARK_SUFFIXES]


def _files_of_marks(images: list[Picture], arguments: argparse.Namespace) -> dict[Picture, list[Path]]:
    """The files of marks of every image that has some.

    Those that have the name of a series are of its first frame, unless they are stacks of label images.
    """
    by_stem: dict[str, list[Path]] = {}
    for path in _given_marks(arguments):
        by_stem.setdefault(path.stem if arguments.train else images[0].path.stem, []).append(path)
    files = {}
    for image in images:
        found = by_stem.get(image.path.stem, [])
        if image.frame is not None:
            own = by_stem.get(image.stem, [])
            found = [p for p in found if image.frame == 0 or _marks_of_frames(p, image.path)] + own
        if found:
            files[image] = found
    if not files:
        raise ValueError(
            f"No image has a file of marks of its name in {arguments.train}; marks of photo.jpg are "
            "photo.png, photo.csv or photo.json, those of the first frame of film.tif are film_0.png."
        )
    return files


def _readable(image: Picture, variable: str | None) -> Any:
    """The pixels of an image; None if it can't be read, which is said when it is its turn."""
    try:
        return image.read(variable)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=4)
def _marks_of_frames(path: Path, series: Path) -> Any:
    """The marks of every frame of a series if a file is a stack of label images; None for other files."""
    from phaselabel.segmentation.mark_files import read_marks_of_frames

    return read_marks_of_frames(path, frames_of(series).shape[:3])


def _marks_of(image: Picture, paths: list[Path], pixels: Any, arguments: argparse.Namespace) -> Any:
    """The marks of one image, those of several files put on top of each other; None if there are none."""
    from phaselabel.segmentation import read_marks

    volume = arguments.variable == "volume"
    layers = []
    for path in paths:
        stack = None if image.frame is None else _marks_of_frames(path, image.path)
        if stack is not None:
            layers.append(stack[image.frame])
            continue
        layers.append(
            read_marks(
                path,
                pixels.shape[: 3 if volume else 2],
                width=arguments.pen,
                legend=arguments.legend,
                image=pixels if pixels.ndim == 3 and not volume else None,
            )
        )
    marked = [layer for layer in layers if layer is not None]
    return reduce(lambda below, above: below.merged(above), marked) if marked else None


def _add_unmarked(pixels: dict[Picture, Any], others: list[Picture], arguments: argparse.Namespace) -> None:
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


def _refuse_foreign(out: Path, names: Sequence[str], everything: bool) -> None:
    """Raise if a result would overwrite an image, marks or anything else that no run has written."""
    from phaselabel.segmentation.export import refuse_foreign
    from phaselabel.segmentation.pictures import is_signed

    if out.exists() and not out.is_dir():
        raise FileExistsError(
            f"{out} is a file, and the results are a folder; choose another name with --out."
        )
    table = out / "summary.csv"
    foreign = [table] if table.exists() and not _is_table(table) else []
    for name in names:
        picture, document = out / f"{name}.png", out / f"{name}.json"
        ours = _earlier(out, name) is not None
        foreign += [document] if document.exists() and not ours else []
        foreign += [picture] if picture.exists() and not ours and not is_signed(picture) else []
        if everything:
            refuse_foreign(out / name)
    if foreign:
        raise FileExistsError(
            f"{foreign[0]} would be overwritten, and it is not a result of phaselabel; choose another folder "
            "with --out."
        )


def _is_table(path: Path) -> bool:
    """Whether a file begins as the table of all images does."""
    try:
        with path.open("rb") as file:
            return file.readline() == f"{','.join(COLUMNS)}\n".encode()
    except OSError:
        return False


def _write_one(result: Any, image: Picture, out: Path, arguments: argparse.Namespace) -> None:
    """Write the label image and the summary of one image; the summary last, so that a run can be resumed."""
    from phaselabel.io.atomic import replacing
    from phaselabel.segmentation.export import label_picture, save, summary
    from phaselabel.segmentation.pictures import signature

    if arguments.everything or result.labels.ndim == 3:
        save(result, out / image.name, image.title, source=image.path)
    if result.labels.ndim == 2:
        with replacing(out / f"{image.name}.png", True) as draft:
            picture = label_picture(result.labels, result.classes, result.colors)
            picture.save(draft, format="PNG", pnginfo=signature())
    with replacing(out / f"{image.name}.json", True) as draft:
        document = summary(result) | {"image": image.title}
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
