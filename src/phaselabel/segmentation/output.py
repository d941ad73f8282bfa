"""A segmentation in, pictures and annotation files out."""

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phaselabel import __version__
from phaselabel.segmentation.marks import Colour, import_pillow


def overlay(result: Any, opacity: float = 0.45) -> NDArray[np.uint8]:
    """The image with every class in its colour and white lines between classes."""
    out = view(result.image)
    for number, colour in result.colors.items():
        here = result.labels == number
        out[here] = ((1 - opacity) * out[here] + opacity * np.array(colour)).astype(np.uint8)
    out[borders(result.labels)] = 255
    return out


def view(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Any image as something to look at: bytes, three colours, stretched where it isn't bytes already."""
    n_bands = image.shape[2]
    chosen = [0, 1, 2] if n_bands in (3, 4) else np.linspace(n_bands - 1, 0, 5)[1:4].round().astype(int)
    if n_bands < 3:
        chosen = [0, 0, 0]
    colours = image[:, :, chosen]
    if colours.dtype == np.uint8 and n_bands <= 4:
        return colours.copy()
    out = np.empty(colours.shape, np.uint8)
    for b in range(3):
        low, high = np.percentile(colours[:, :, b], (1, 99))
        share = (colours[:, :, b].astype(np.float32) - low) / max(high - low, 1e-30)
        out[:, :, b] = np.clip(255 * share, 0, 255)
    return out


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


def coco(result: Any, file_name: str = "image") -> dict[str, Any]:
    """A COCO document: one annotation per class, run-length encoded."""
    height, width = result.labels.shape
    annotations: list[dict[str, Any]] = []
    for number in result.classes:
        mask = result.labels == number
        if not mask.any():
            continue
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        box = [columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1]
        annotations.append(
            {
                "id": len(annotations) + 1,
                "image_id": 1,
                "category_id": number,
                "segmentation": {"size": [height, width], "counts": run_lengths(mask)},
                "area": int(mask.sum()),
                "bbox": [int(side) for side in box],
                "iscrowd": 1,
            }
        )
    return {
        "images": [{"id": 1, "file_name": file_name, "height": height, "width": width}],
        "categories": [{"id": number, "name": name} for number, name in result.classes.items()],
        "annotations": annotations,
    }


def summary(result: Any) -> dict[str, Any]:
    """What was found, class by class: the legend."""
    classes = []
    for number, name in result.classes.items():
        here = result.labels == number
        classes.append(
            {
                "number": number,
                "name": name,
                "color": "#{:02x}{:02x}{:02x}".format(*result.colors[number]),
                "marked_pixels": int((result.marks.labels == number).sum()),
                "pixels": int(here.sum()),
                "share": round(float(here.mean()), 6),
                "mean_confidence": round(float(result.confidence[here].mean()), 4) if here.any() else None,
            }
        )
    height, width = result.labels.shape
    return {
        "phaselabel": __version__,
        "height": height,
        "width": width,
        "classes": classes,
        "pixels_without_class": int((result.labels == 0).sum()),
        "solved_on": {"vertices": result.graph.n_vertices, "cell": result.cell},
        "sweeps": result.solution.n_iter,
        "converged": result.solution.converged,
        "status": result.solution.status,
    }


def save(result: Any, folder: str | Path, file_name: str = "image") -> list[Path]:
    """Write everything into a folder: first under temporary names, then all at once.

    What an earlier run wrote there and this one doesn't is removed; other files are left alone.
    """
    (image_module,) = import_pillow("PIL.Image")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stale = _files_of(folder / "result.json")
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as unfinished:
        draft = Path(unfinished)
        _label_picture(result, image_module).save(draft / "labels.png")
        image_module.fromarray(result.overlay()).save(draft / "overlay.png")
        grey = (255 * result.confidence).round().astype(np.uint8)
        image_module.fromarray(grey).save(draft / "confidence.png")
        for number, name in result.classes.items():
            mask = (result.labels == number).astype(np.uint8) * 255
            image_module.fromarray(mask).save(draft / f"mask_{number}{_suffix(name, number)}.png")
        _write_json(draft / "coco.json", coco(result, file_name))
        names = [*sorted(path.name for path in draft.iterdir()), "result.json"]
        _write_json(draft / "result.json", summary(result) | {"image": file_name, "files": names})
        for name in names:
            os.replace(draft / name, folder / name)
    for name in stale - set(names):
        (folder / name).unlink(missing_ok=True)
    return [folder / name for name in names]


def _label_picture(result: Any, image_module: Any) -> Any:
    """An indexed PNG with a palette; class numbers above 255 need 16 bits and have no palette."""
    if max(result.classes) > 255:
        if max(result.classes) > 65535:
            raise ValueError("Class numbers above 65535 don't fit a PNG; number the classes from 1.")
        return image_module.fromarray(result.labels.astype(np.uint16))
    picture = image_module.fromarray(result.labels.astype(np.uint8)).convert("P")
    palette: list[Colour] = [(0, 0, 0)] * 256
    for number, colour in result.colors.items():
        palette[number] = colour
    picture.putpalette([int(value) for colour in palette for value in colour])
    return picture


def _suffix(name: str, number: int) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "-", name)[:60].strip("-")
    return f"_{plain}" if plain and plain != str(number) else ""


def _files_of(summary_path: Path) -> set[str]:
    """What an earlier run says it wrote."""
    try:
        listed = json.loads(summary_path.read_text(encoding="utf-8"))["files"]
        return {str(name) for name in listed if Path(str(name)).name == name}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
