"""
Images
======

Four strokes on a photograph in, a class and a confidence for every pixel out. Pixels are joined where their
surroundings look alike, wherever they are; the confidence is a map of outlines and doubts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from phaselabel import Marks, segment

picture = load_sample_image("flower.jpg")[::2, ::2]
strokes = [
    ("flower", [(145, 100), (200, 95)]),
    ("flower", [(125, 125), (140, 135)]),
    ("leaves", [(20, 12), (280, 18)]),
    ("leaves", [(10, 180), (55, 198)]),
    ("leaves", [(270, 60), (300, 120)]),
]
marks = Marks.from_strokes(strokes, picture.shape[:2], width=5)
result = segment(picture, marks, max_pixels=8_000)  # a small budget, for a quick look
flower = next(number for number, name in result.classes.items() if name == "flower")
print(f"{np.count_nonzero(marks.labels):,} of {marks.labels.size:,} pixels marked")
print(f"{np.mean(result.labels == flower):.0%} of the picture is flower")

figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="constrained")
axes[0].imshow(picture)
axes[0].imshow(np.ma.masked_equal(marks.labels, 0), cmap="cool", interpolation="nearest")
axes[1].imshow(np.where((result.labels == flower)[..., None], picture, 255))
axes[2].imshow(result.confidence, cmap="viridis", vmin=0.5, vmax=1)
for axis, title in zip(axes, ("strokes", "found", "confidence")):
    axis.set_title(title)
    axis.set_axis_off()
