"""
Images
======

Every pixel is a row: its colour and its place. A few strokes of labels, and the flow finds the rest; the
confidence is
a map of edges and doubts.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from phaselabel import GinzburgLandauClassifier

picture = load_sample_image("flower.jpg")[::8, ::8] / 255.0
height, width, _ = picture.shape
rows, columns = np.mgrid[:height, :width]
X = np.c_[picture.reshape(-1, 3) * 3, rows.ravel() / height, columns.ravel() / width]

# %%
# Two strokes on the flower, two on what lies behind it.

strokes = np.full((height, width), -1)
strokes[22:26, 36:50] = 1
strokes[30:34, 30:36] = 1
strokes[2:5, 5:70] = 0
strokes[45:50, 2:14] = 0

model = GinzburgLandauClassifier().fit(X, strokes.ravel())
found = model.transduction_.reshape(height, width)
print(
    f"{height} × {width} pixels, {np.sum(strokes >= 0)} of them labelled; flower: {np.mean(found == 1):.0%}"
)

figure, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="constrained")
axes[0].imshow(picture)
axes[0].imshow(np.ma.masked_less(strokes, 0), cmap="cool", alpha=0.8, interpolation="nearest")
axes[0].set_title("strokes")
axes[1].imshow(np.where((found == 1)[..., None], picture, 1.0))
axes[1].set_title("found")
axes[2].imshow(model.confidence_.reshape(height, width), cmap="viridis", vmin=0.5, vmax=1)
axes[2].set_title("confidence")
for axis in axes:
    axis.set_axis_off()
