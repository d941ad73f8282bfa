"""Segment an image from a few marks; or learn from marks on some images and segment any number of them.

Marks are a painted PNG (each colour a class; black or transparent is not marked), an indexed or grey PNG (the
value is the class, 0 is not marked), points in a CSV file (x,y,label) or shapes in a LabelMe JSON file.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from phaselabel.cli.console import between, positive

EPILOG = """\
examples:
  phaselabel segment photo.jpg --scribbles marks.png --out result/
  phaselabel segment photo.jpg --points points.csv
  phaselabel segment cube.npy --shapes shapes.json --patch 3
  phaselabel segment film.tif --variable frames --scribbles marks.tif
  phaselabel segment --train marks/ images/ --out masks/ --save cows
  phaselabel segment --model cows new/*.jpg --out masks/

written into the folder: labels.png (indexed, with palette), overlay.png, confidence.png, one mask per class,
coco.json (objects, run-length encoded), objects.geojson (polygons), objects.csv (sizes) and result.json
(legend, shares, how the flow ended); labels.tif if the image is a GeoTIFF. With --train or --model: a label
image NAME.png and NAME.json for every image, and summary.csv; with --everything also a folder NAME with all
of the above. Images that have both already are left out, so that an interrupted run can be continued; an
image that can't be read does not stop the others.

--variable frames: the planes of a stack are images of one model, called NAME_0, NAME_1, …, and written as
with --train. Marks are a stack of label images, or those of the first frame; with --train also NAME_3.png.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Image, marks, output and the knobs."""
    parser.add_argument(
        "images", nargs="+", metavar="image", help="PNG, JPEG, TIFF, NPY, NPZ, MAT, Zarr or ENVI file"
    )
    many = parser.add_argument_group("many images: image is then any number of files, folders or patterns")
    many.add_argument(
        "--train", metavar="FOLDER", help="learn from the marks in this folder, by name of image"
    )
    many.add_argument("--model", metavar="PATH", help="segment with a model that --save wrote")
    many.add_argument("--save", metavar="PATH", help="write the model")
    many.add_argument("--everything", action="store_true", help="also a folder of all files for every image")
    many.add_argument("--force", action="store_true", help="segment again what is there already")
    marks = parser.add_argument_group("marks (at least one; several are put on top of each other)")
    marks.add_argument("--scribbles", metavar="FILE", help="painted, indexed or grey image of the same size")
    marks.add_argument("--points", metavar="FILE", help="CSV file with the columns x, y, label")
    marks.add_argument("--shapes", metavar="FILE", help="LabelMe JSON file: polygons, lines, points, …")
    marks.add_argument("--legend", metavar="FILE", help='JSON that names colours: {"#ff0000": "cow"}')
    marks.add_argument("--pen", type=positive, default=3, metavar="N", help="width of lines in --shapes (3)")
    parser.add_argument(
        "--out", metavar="FOLDER", help="where to write (default: <image>_segmented, or masks)"
    )
    parser.add_argument(
        "--variable",
        metavar="NAME",
        help="array of an NPZ or MAT file; of a stack the number of a plane, or volume, frames or bands",
    )
    knobs = parser.add_argument_group("how pixels are compared")
    knobs.add_argument("--patch", type=positive, default=5, metavar="N", help="side of the patch (5)")
    knobs.add_argument(
        "--position", type=_position, default="auto", metavar="W", help="weight of place (auto)"
    )
    knobs.add_argument("--scale", choices=("auto", "image", "band"), default="auto", help="scale of bands")
    knobs.add_argument("--neighbors", type=positive, default=10, metavar="N", help="neighbours (10)")
    knobs.add_argument(
        "--max-pixels",
        type=positive,
        default=100_000,
        metavar="N",
        help="solve on at most this many, then extend to all (100000)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress, no summary")


def _position(word: str) -> Any:
    """The type of an argument that is a number or the word auto."""
    return word if word == "auto" else between(0, 1e6)(word)


def run(arguments: argparse.Namespace) -> int:
    """Read, segment, write, say what was found."""
    from phaselabel.cli import pictures, segment_many

    if arguments.train and arguments.model:
        raise ValueError("Give either --train, to learn a model, or --model, to use one.")
    if arguments.train or arguments.model:
        _refuse_idle_marks(arguments)
        return segment_many.run(arguments)
    series = arguments.variable == "frames"
    if len(arguments.images) > 1 or (not series and (arguments.save or arguments.force)):
        raise ValueError("Several images, --save and --force need --train FOLDER or --model PATH.")
    if not (arguments.scribbles or arguments.points or arguments.shapes):
        raise ValueError("There are no marks; give --scribbles, --points or --shapes.")
    source = Path(arguments.images[0])
    arguments.out = arguments.out or str(source.with_name(f"{source.stem}_segmented"))
    if series:
        pictures.frames_of(source)  # what can't be read is said before anything else
        return segment_many.run(arguments)
    _segment_one(arguments)
    return 0


def _refuse_idle_marks(arguments: argparse.Namespace) -> None:
    """Refuse marks of one image where there is a folder of them, or where none are needed."""
    names = ["scribbles", "points", "shapes", *([] if arguments.train else ["legend"])]
    if given := [f"--{name}" for name in names if getattr(arguments, name)]:
        why = "the marks are in the folder of --train" if arguments.train else "--model needs no marks"
        raise ValueError(f"{why[0].upper()}{why[1:]}; leave out {', '.join(given)}.")


def _segment_one(arguments: argparse.Namespace) -> None:
    """Segment one image by its own marks."""
    from functools import reduce

    from phaselabel.cli.pictures import read_pixels, size_of
    from phaselabel.segmentation import Marks, read_marks, segment
    from phaselabel.segmentation.export import (
        refuse_foreign,
        refuse_inputs,
        refuse_large_numbers,
        save,
        summary,
    )

    given = [f for f in (arguments.scribbles, arguments.points, arguments.shapes) if f]
    source, folder = Path(arguments.images[0]), Path(arguments.out)
    refuse_inputs(folder, [source, *given, *filter(None, [arguments.legend])])
    refuse_foreign(folder)
    started = time.perf_counter()
    image = read_pixels(source, arguments.variable)
    volume = arguments.variable == "volume"
    shape = image.shape[: 3 if volume else 2]
    if not arguments.quiet:
        print(f"{source.name}: {size_of(image, len(shape))}", file=sys.stderr)
    options = {"legend": arguments.legend, "image": image if image.ndim == 3 and not volume else None}
    marks = reduce(Marks.merged, [read_marks(file, shape, width=arguments.pen, **options) for file in given])
    refuse_large_numbers(marks.classes)
    result = segment(
        image,
        marks,
        patch=arguments.patch,
        position=arguments.position,
        scale=arguments.scale,
        n_neighbors=arguments.neighbors,
        max_pixels=arguments.max_pixels,
        progress=None if arguments.quiet else _Progress(started),
    )
    save(result, folder, source.name, source=source)
    if not arguments.quiet:
        _report(summary(result), folder)


def _report(found: dict[str, Any], folder: object) -> None:
    print(f"{'class':20} {'colour':8} {'marked':>8} {'pixels':>10} {'share':>7} {'confidence':>11}")
    for c in found["classes"]:
        sure = "-" if c["mean_confidence"] is None else f"{c['mean_confidence']:.3f}"
        print(
            f"{c['name'][:20]:20} {c['color']:8} {c['marked_pixels']:8} {c['pixels']:10} "
            f"{c['share']:7.1%} {sure:>11}"
        )
    if found["pixels_without_class"]:
        print(f"{found['pixels_without_class']} pixels have no data; they are 0 in labels.png")
    print(f"{found['status']} Written to {folder}")


class _Progress:
    """One line per stage on standard error; on a terminal the share done is rewritten in place."""

    def __init__(self, started: float) -> None:
        self._started, self._stage = started, ""

    def __call__(self, stage: str, share: float) -> None:
        seconds = time.perf_counter() - self._started
        if stage != self._stage:
            print(f"{seconds:6.1f} s  {stage}", file=sys.stderr, flush=True)
            self._stage = stage
        elif sys.stderr.isatty() and share < 1:
            print(f"{seconds:6.1f} s  {stage} {share:.0%}", end="\r", file=sys.stderr, flush=True)
