"""
Probabilities from elsewhere, and a few labels
==============================================

A model that has never seen your data may still have an opinion: a language model about texts, a vision model
about pictures. Here the opinion about handwritten digits comes from printed ones. No handwritten digit was
seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from phaselabel import GinzburgLandauClassifier


def printed(digit):
    """A printed digit with 8 pixels a side, as those of the data."""
    figure = Figure(figsize=(1, 1), dpi=64)
    figure.text(0.5, 0.5, str(digit), size=60, ha="center", va="center", weight="bold")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    ink = 255 - np.asarray(canvas.buffer_rgba())[..., 0].astype(float)
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    grid = np.zeros((64, 64))
    at_row = np.linspace(0, len(ink) - 1, 64).astype(int)
    at_column = np.linspace(0, ink.shape[1] - 1, 40).astype(int)
    grid[:, 12:52] = ink[np.ix_(at_row, at_column)]
    return grid.reshape(8, 8, 8, 8).mean(axis=(1, 3)).ravel()


X, truth = load_digits(return_X_y=True)
templates = np.array([printed(digit) for digit in range(10)])

# %%
# How alike a digit and each printed one are, as probabilities:


def unit(rows):
    """Rows without their mean, of length 1."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


scores = 10 * unit(X) @ unit(templates).T
probabilities = np.exp(scores)
probabilities /= probabilities.sum(axis=1, keepdims=True)
alone = np.mean(probabilities.argmax(axis=1) == truth)

# %%
# Two labels per class, with and without the probabilities:

known = np.concatenate([np.flatnonzero(truth == digit)[:2] for digit in range(10)])
y = np.full(len(X), -1)
y[known] = truth[known]
rest = np.setdiff1d(np.arange(len(X)), known)
few = GinzburgLandauClassifier().fit(X, y).transduction_
both = GinzburgLandauClassifier(evidence=probabilities).fit(X, y).transduction_
accuracies = {
    "printed digits alone": alone,
    "two labels per class": np.mean(few[rest] == truth[rest]),
    "both": np.mean(both[rest] == truth[rest]),
}
for name, accuracy in accuracies.items():
    print(f"{name:22} {accuracy:.1%}")

# %%
# From the command line: ``phaselabel label table.csv --label class --evidence probabilities.csv``.

figure, axes = plt.subplots(1, 2, figsize=(9, 3))
axes[0].imshow(np.hstack(templates.reshape(10, 8, 8)), cmap="gray_r")
axes[0].set(title="the printed digits", xticks=[], yticks=[])
axes[1].barh(list(accuracies), list(accuracies.values()))
axes[1].set(xlim=(0, 1), title="share of digits right")
figure.tight_layout()
plt.show()
