"""Three strokes find most of 24 coins, and five tell tissue, stroma and glass apart in a section.

python examples/coins_and_cells.py --out out [--max-pixels 120000]
"""

import argparse
from pathlib import Path

import numpy as np

import phaselabel as pl

COINS = [
    ("coin", [(35, 52), (55, 58)]),
    ("coin", [(320, 35), (350, 50)]),
    ("coin", [(330, 180), (360, 190)]),
    ("ground", [(75, 20), (75, 280)]),
    ("ground", [(20, 90), (370, 92)]),
    ("ground", [(20, 222), (370, 224)]),
    ("ground", [(10, 6), (130, 6)]),
]
CELLS = [
    ("tissue", [(120, 150), (170, 190)]),
    ("tissue", [(50, 300), (80, 310)]),
    ("stroma", [(250, 250), (280, 275)]),
    ("stroma", [(460, 200), (490, 260)]),
    ("glass", [(20, 350), (40, 380)]),
]


def main():
    """Segment both pictures, and draw strokes and result side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--max-pixels", type=int, default=10_000)
    arguments = parser.parse_args()
    try:
        from skimage import data
    except ImportError:
        print("The pictures come with scikit-image: pip install scikit-image")
        return
    panels = []
    for image, strokes in ((data.coins(), COINS), (data.immunohistochemistry(), CELLS)):
        marks = pl.Marks.from_strokes(strokes, image.shape[:2], width=5)
        result = pl.segment(image, marks, max_pixels=arguments.max_pixels)
        print(result)
        drawn = result.image[:, :, [0, 1, 2] if image.ndim == 3 else [0, 0, 0]].copy()
        for number, colour in result.colors.items():
            drawn[marks.labels == number] = colour
        panels += [drawn, result.overlay()]
    draw(panels, arguments.out)


def draw(panels, folder):
    """Draw the panels, two by two."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    heights = [panel.shape[0] / panel.shape[1] for panel in panels[::2]]
    figure, axes = plt.subplots(
        2, 2, figsize=(9, 4.5 * np.sum(heights)), height_ratios=heights, layout="constrained"
    )
    for ax, panel in zip(axes.ravel(), panels):
        ax.imshow(panel)
        ax.axis("off")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "coins_and_cells.jpg", dpi=85, pil_kwargs={"quality": 82})


if __name__ == "__main__":
    main()
