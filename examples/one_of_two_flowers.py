"""Mark one of two flowers and find both, beside scikit-image's random walker where that is installed.

python examples/one_of_two_flowers.py --out out [--max-pixels 100000]
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_sample_image

import phaselabel as pl

STROKES = [
    ("flower", [(230, 180), (300, 140), (370, 170)]),
    ("flower", [(250, 270), (320, 240)]),
    ("leaves", [(40, 150), (60, 260)]),
    ("leaves", [(180, 40), (420, 60)]),
    ("leaves", [(480, 280), (600, 160)]),
    ("leaves", [(120, 360), (240, 390)]),
]


def main():
    """Segment, compare, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--max-pixels", type=int, default=10_000)
    arguments = parser.parse_args()
    image = load_sample_image("flower.jpg")
    marks = pl.Marks.from_strokes(STROKES, image.shape[:2], width=7)
    result = pl.segment(image, marks, max_pixels=arguments.max_pixels)
    print(result)
    panels = {
        "six strokes, none on the lower flower": strokes_on(image, marks),
        "phaselabel": result.overlay(),
        "confidence": result.confidence,
    }
    walked = random_walker(image, marks)
    if walked is not None:
        panels["scikit-image random_walker"] = painted(image, walked, marks)
    draw(panels, arguments.out)


def strokes_on(image, marks):
    """The photograph with its strokes."""
    out = image.copy()
    for number, colour in marks.palette().items():
        out[marks.labels == number] = colour
    return out


def random_walker(image, marks):
    """The labels of the random walker, or None where scikit-image is not installed."""
    try:
        from skimage.segmentation import random_walker as walk
    except ImportError:
        return None
    return walk(image, marks.labels, mode="cg_j", channel_axis=-1)


def painted(image, labels, marks):
    """An overlay of any label image."""
    from phaselabel.segmentation.export import borders

    out = image.astype(float)
    for number, colour in marks.palette().items():
        out[labels == number] = 0.55 * out[labels == number] + 0.45 * np.array(colour)
    out[borders(labels)] = 255
    return out.astype(np.uint8)


def draw(panels, folder):
    """All panels in one picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
    for ax in axes.ravel():
        ax.axis("off")
    for ax, (title, picture) in zip(axes.ravel(), panels.items()):
        ax.imshow(picture, cmap="gray", vmin=0.5 if picture.ndim == 2 else None)
        ax.set_title(title, fontsize=11)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "one_of_two_flowers.jpg", dpi=110, pil_kwargs={"quality": 85})


if __name__ == "__main__":
    main()
