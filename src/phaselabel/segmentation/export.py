"""A segmentation in, pictures and annotation files out."""

import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phaselabel import __version__
from phaselabel.flow.minimize import Solution
from phaselabel.graph import Graph
from phaselabel.io.atomic import replacing
from phaselabel.segmentation.color import Colour
from phaselabel.segmentation.geotiff import read_reference, write_labels
from phaselabel.segmentation.marks import Marks
from phaselabel.segmentation.objects import SegmentedObject, geojson, object_table, objects_of
from phaselabel.segmentation.pictures import (
    SIGNATURE,
    import_pillow,
    is_signed,
    one_sentence_errors,
    signature,
    stretched,
)

#: The names of all files that a result may have.
FILES = re.compile(
    r"(labels|overlay|confidence)\.(png|tif|ome\.tif)|mask_\d+(_[A-Za-z0-9-]+)?\.png|coco\.json|"
    r"objects\.(csv|geojson)|result\.json"
)

#: The largest class number in a PNG of 16 bits.
MAX_NUMBER = 65535


class Segmented(Protocol):
    """What this module reads of a segmentation; its meaning is that of :class:`phaselabel.Segmentation`."""

    @property
    def image(self) -> NDArray[Any]:
        """The pixels, (H, W, B)."""

    @property
    def labels(self) -> NDArray[Any]:
        """The class number of every pixel."""

    @property
    def confidence(self) -> NDArray[np.float32]:
        """The confidence of every pixel."""

    @property
    def classes(self) -> dict[int, str]:
        """The name of every class number."""

    @property
    def colors(self) -> dict[int, Colour]:
        """The colour of every class number."""

    @property
    def marks(self) -> Marks:
        """All marks."""

    @property
    def graph(self) -> Graph:
        """The graph that the flow ran on."""

    @property
    def solution(self) -> Solution:
        """Where the flow ended."""

    @property
    def cell(self) -> int:
        """Side of the cells that the flow ran on."""


def overlay(result: Segmented, opacity: float = 0.45) -> NDArray[np.uint8]:
    """The image with every class in its colour and white lines between classes."""
    if result.labels.ndim == 3:
        raise ValueError("A volume has no overlay; its labels and its confidence are arrays: result.labels.")
    if not 0 <= opacity <= 1:
        raise ValueError(f"opacity must be a number from 0 to 1; got {opacity!r}.")
    out = view(result.image)
    for number, colour in result.colors.items():
        members = result.labels == number
        out[members] = ((1 - opacity) * out[members] + opacity * np.array(colour)).astype(np.uint8)
    out[borders(result.labels)] = 255
    return out


def view(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Any image as red, green and blue bytes; what isn't bytes is stretched between its percentiles."""
    n_bands = image.shape[2]
    colours = image[:, :, shown_bands(n_bands)]
    if colours.dtype == np.uint8 and n_bands <= 4:
        return colours.copy()
    return np.stack([stretched(colours[:, :, b]) for b in range(3)], axis=2)


def shown_bands(n_bands: int) -> list[int]:
    """The bands that are shown as red, green and blue.

    Examples
    --------
    >>> shown_bands(1), shown_bands(4), shown_bands(200)
    ([0, 0, 0], [0, 1, 2], [149, 100, 50])
    """
    if n_bands < 3:
        return [0, 0, 0]
    if n_bands <= 4:
        return [0, 1, 2]
    return [int(b) for b in np.linspace(n_bands - 1, 0, 5)[1:4].round()]


def borders(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Pixels whose right or lower neighbour is of another class."""
    out = np.zeros(labels.shape, bool)
    out[:, :-1] = labels[:, :-1] != labels[:, 1:]
    out[:-1] |= labels[:-1] != labels[1:]
    return out


def run_lengths(mask: NDArray[np.bool_]) -> list[int]:
    """COCO's run lengths: column by column, zeros first.

    Examples
    --------
    >>> run_lengths(np.array([[False, True], [True, True]]))
    [1, 3]
    """
    flat = mask.ravel(order="F")
    turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    counts = np.diff(np.concatenate([[0], turns, [flat.size]])).tolist()
    return [0, *counts] if flat[0] else counts


def mask_from_run_lengths(counts: list[int], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Undo :func:`run_lengths`.

    Examples
    --------
    >>> mask_from_run_lengths([1, 3], (2, 2)).tolist()
    [[False, True], [True, True]]
    """
    flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    return flat.reshape(shape, order="F")


def coco(
    result: Segmented, file_name: str = "image", parts: list[SegmentedObject] | None = None
) -> dict[str, Any]:
    """A COCO document: one annotation for every object, run-length encoded.

    An object is a connected part of a class, of at least ``MIN_PIXELS`` pixels.
    """
    height, width = result.labels.shape
    annotations: list[dict[str, Any]] = []
    for part in objects_of(result.labels, list(result.classes)) if parts is None else parts:
        rows, columns = part.box
        box = [columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start]
        annotations.append(
            {
                "id": len(annotations) + 1,
                "image_id": 1,
                "category_id": part.number,
                "segmentation": {"size": [height, width], "counts": part.run_lengths((height, width))},
                "area": part.n_pixels,
                "bbox": box,
                "iscrowd": 0,
            }
        )
    return {
        "images": [{"id": 1, "file_name": file_name, "height": height, "width": width}],
        "categories": [{"id": number, "name": name} for number, name in result.classes.items()],
        "annotations": annotations,
    }


def summary(result: Segmented, parts: list[SegmentedObject] | None = None) -> dict[str, Any]:
    """The result class by class: name, colour, size and confidence."""
    classes = []
    parts = objects_of(result.labels, list(result.classes)) if parts is None else parts
    counts = Counter(part.number for part in parts)
    for number, name in result.classes.items():
        members = result.labels == number
        classes.append(
            {
                "number": number,
                "name": name,
                "color": "#{:02x}{:02x}{:02x}".format(*result.colors[number]),
                "marked_pixels": int((result.marks.labels == number).sum()),
                "pixels": int(members.sum()),
                "share": round(float(members.mean()), 6),
                "objects": counts[number],
                "mean_confidence": (
                    round(float(result.confidence[members].mean()), 4) if members.any() else None
                ),
            }
        )
    *depth, height, width = result.labels.shape
    return {
        "phaselabel": __version__,
        **({"depth": depth[0]} if depth else {}),
        "height": height,
        "width": width,
        "classes": classes,
        "pixels_without_class": int((result.labels == 0).sum()),
        "solved_on": {"vertices": result.graph.n_vertices, "cell": result.cell},
        "sweeps": result.solution.n_iter,
        "converged": result.solution.converged,
        "status": result.solution.status,
    }


def save(
    result: Segmented, folder: str | Path, file_name: str = "image", *, source: str | Path | None = None
) -> list[Path]:
    """Write everything into a folder: first under temporary names, then all at once.

    Files of an earlier run that this one doesn't write are removed; other files stay. A file that no run has
    written is never replaced.

    Parameters
    ----------
    result : Segmentation
        What to write.
    folder : str or Path
        Where to write; made if it is not there.
    file_name : str, default="image"
        The name of the image in ``coco.json`` and ``result.json``.
    source : str or Path, optional
        The file of the image. If it is a GeoTIFF, the labels are written as one too, and the polygons have
        its coordinates.

    Returns
    -------
    list of Path
        The files that were written.
    """
    folder = Path(folder)
    refuse_inputs(folder, [] if source is None else [source])
    refuse_foreign(folder)
    reference = None if source is None or result.labels.ndim == 3 else read_reference(source)
    folder.mkdir(parents=True, exist_ok=True)
    earlier = _files_of(folder / "result.json")
    with tempfile.TemporaryDirectory() as unfinished:
        draft = Path(unfinished)
        parts = objects_of(result.labels, list(result.classes))
        if result.labels.ndim == 3:
            _write_volume(result, draft)
        else:
            _write_pictures(result, draft)
            _write_json(draft / "coco.json", coco(result, file_name, parts))
            place = (None, None) if reference is None else (reference.transform, reference.crs)
            document = geojson(result.labels, result.classes, place[0], crs=place[1], parts=parts)
            _write_json(draft / "objects.geojson", document)
        if reference is not None:
            write_labels(draft / "labels.tif", result.labels, reference, result.classes, result.colors)
        table = object_table(parts, result.classes, result.confidence)
        (draft / "objects.csv").write_text(table, encoding="utf-8")
        # The labels come first: they are signed, so the files of a run that is killed half-way are known.
        written = sorted(
            (path.name for path in draft.iterdir()), key=lambda name: (name[:7] != "labels.", name)
        )
        names = [*written, "result.json"]
        _write_json(draft / "result.json", summary(result, parts) | {"image": file_name, "files": names})
        with ExitStack() as stack:
            # All files are complete before the first takes its place. The last context ends first;
            # result.json, which lists the others, takes its place last.
            for name in reversed(names):
                shutil.copyfile(draft / name, stack.enter_context(replacing(folder / name, overwrite=True)))
    for name in earlier - set(names):
        (folder / name).unlink(missing_ok=True)
    return [folder / name for name in names]


def refuse_inputs(folder: str | Path, inputs: Iterable[str | Path]) -> None:
    """Raise if a file that is read may be overwritten by a result.

    Parameters
    ----------
    folder : str or Path
        Where the result is to be written.
    inputs : iterable of str or Path
        The image and its marks.
    """
    for path in map(Path, inputs):
        if FILES.fullmatch(path.name) and path.resolve().parent == Path(folder).resolve():
            raise FileExistsError(
                f"The result would overwrite {path}, which is read; write it into another folder."
            )


def refuse_foreign(folder: str | Path) -> None:
    """Raise if a folder has a file of a name that a result uses, and no run has written it.

    All PNG files of a result are signed. So are the labels of a volume, and the labels are written first:
    other files beside them are the result's. Those of 0.1.0 are not signed; ``result.json`` lists them.

    Parameters
    ----------
    folder : str or Path
        Where a result is to be written.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file, and the result is a folder; choose another name.")
    there = sorted(path for path in folder.glob("*") if FILES.fullmatch(path.name))
    signed = is_signed(folder / "labels.png") or _is_signed_volume(folder / "labels.ome.tif")
    listed = _files_of(folder / "result.json")
    for path in there:
        ours = is_signed(path) if signed and path.suffix == ".png" else signed or path.name in listed
        if not ours:
            raise FileExistsError(
                f"{path} would be overwritten, and it is not a result of phaselabel; write into another "
                "folder."
            )


def _is_signed_volume(path: Path) -> bool:
    """Whether a file is a TIFF stack that names this program as its writer."""
    if not path.is_file():
        return False
    try:
        import tifffile

        with one_sentence_errors(path), tifffile.TiffFile(path) as file:
            return bool(file.pages.first.software == SIGNATURE)
    except (ImportError, ValueError):
        return False


def _write_pictures(result: Segmented, draft: Path) -> None:
    """Labels, overlay, confidence and masks of an image."""
    (image_module,) = import_pillow("PIL.Image")
    label_picture(result.labels, result.classes, result.colors).save(
        draft / "labels.png", pnginfo=signature()
    )
    image_module.fromarray(overlay(result)).save(draft / "overlay.png", pnginfo=signature())
    grey = (255 * result.confidence).round().astype(np.uint8)
    image_module.fromarray(grey).save(draft / "confidence.png", pnginfo=signature())
    for name, picture in mask_pictures(result):
        picture.save(draft / name, pnginfo=signature())


def mask_pictures(result: Segmented) -> Iterator[tuple[str, Any]]:
    """The file name and the black and white picture of every class."""
    (image_module,) = import_pillow("PIL.Image")
    for number, name in result.classes.items():
        mask = (result.labels == number).astype(np.uint8) * 255
        yield f"mask_{number}{_suffix(name, number)}.png", image_module.fromarray(mask)


def _write_volume(result: Segmented, draft: Path) -> None:
    """Labels and confidence of a volume as stacks; viewers of volumes show them over the image."""
    try:
        import tifffile
    except ImportError:
        raise ImportError('tifffile is needed for volumes: pip install "phaselabel[images]".') from None
    options: dict[str, Any] = {"ome": True, "metadata": {"axes": "ZYX"}, "compression": "zlib"}
    options["software"] = SIGNATURE
    tifffile.imwrite(draft / "labels.ome.tif", result.labels, **options)
    tifffile.imwrite(
        draft / "confidence.ome.tif", (255 * result.confidence).round().astype(np.uint8), **options
    )


def label_picture(labels: NDArray[Any], classes: dict[int, str], colors: dict[int, Colour]) -> Any:
    """An indexed PNG with a palette; class numbers above 255 need 16 bits and have no palette."""
    (image_module,) = import_pillow("PIL.Image")
    refuse_large_numbers(classes)
    if max(classes) > 255:
        return image_module.fromarray(labels.astype(np.uint16))
    picture = image_module.fromarray(labels.astype(np.uint8)).convert("P")
    palette: list[Colour] = [(0, 0, 0)] * 256
    for number, colour in colors.items():
        palette[number] = colour
    picture.putpalette([int(value) for colour in palette for value in colour])
    return picture


def refuse_large_numbers(classes: Iterable[int]) -> None:
    """Raise if a class number has no place in a label image.

    Parameters
    ----------
    classes : iterable of int
        The class numbers.
    """
    if max(classes, default=0) > MAX_NUMBER:
        raise ValueError(f"Class numbers above {MAX_NUMBER} don't fit a PNG; number the classes from 1.")


def _suffix(name: str, number: int) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name)[:60].strip("-")
    return f"_{plain}" if plain and plain != str(number) else ""


def _files_of(summary_path: Path) -> set[str]:
    """The files that an earlier run lists in its ``result.json``."""
    try:
        listed = json.loads(summary_path.read_text(encoding="utf-8"))["files"]
        return {name for name in map(str, listed) if FILES.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document; the name of an image may have bytes that are no text."""
    path.write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace"
    )
